// What is configured, as it is told.

package wire

// Provider is a vendor or a server of models.
type Provider struct {
	Name    string `json:"name"`
	Kind    string `json:"kind" doc:"The wire format: anthropic, openai, openai-responses, gemini."`
	BaseURL string `json:"baseUrl,omitempty" doc:"Empty: the vendor's own."`
	Local   bool   `json:"local,omitempty" doc:"A server on this machine."`
	Ready   bool   `json:"ready"`
	KeyFrom string `json:"keyFrom,omitempty" doc:"The variable or the line of a file that has the key."`
	Missing string `json:"missing,omitempty" doc:"What to do to use it."`
	Models  int    `json:"models" doc:"How many of its models are known."`
}

// Finding is how a test went.
type Finding struct {
	OK   bool   `json:"ok"`
	Text string `json:"text" doc:"For people to read."`
	Hint string `json:"hint,omitempty" doc:"What to do."`
}

// Policy is what agents may do and use.
type Policy struct {
	Mode       string   `json:"mode" doc:"read-only, ask, edits or trusted."`
	Rules      []Rule   `json:"rules" nullable:"false"`
	Budget     Limits   `json:"budget" doc:"For each message to a chat; 0: no limit."`
	BudgetMS   int64    `json:"budgetMs" doc:"How long a person has to extend a spent budget."`
	ApprovalMS int64    `json:"approvalMs" doc:"How long an approval waits before it counts as denied."`
	QuestionMS int64    `json:"questionMs" doc:"How long a question waits before the agent goes on without an answer."`
	MaxAgents  int      `json:"maxAgents" doc:"In one chat."`
	MaxDepth   int      `json:"maxDepth"`
	Parallel   int      `json:"parallel,omitempty" doc:"Agents of one chat that think at the same time; 0: no limit."`
	Files      []string `json:"files" nullable:"false" doc:"The configuration files that were read."`
	Warnings   []string `json:"warnings" nullable:"false"`
}

// Rule allows, asks for or denies uses of tools.
type Rule struct {
	Effect string `json:"effect" doc:"allow, ask, deny"`
	What   string `json:"what"`
	Source string `json:"source,omitempty" doc:"Where it was written."`
}
