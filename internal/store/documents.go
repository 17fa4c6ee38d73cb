package store

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/message"
)

// Times are Unix milliseconds, 0 when a thing has not happened; money is in
// millionths of a dollar.

// User owns chats.
type User struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	CreatedAt int64  `json:"createdAt"`
}

// Chat is one thread between a user and an orchestrator. Its id is also the
// id of the orchestrator's agent.
type Chat struct {
	ID        string `json:"id"`
	UserID    string `json:"userId"`
	Title     string `json:"title"`
	Role      string `json:"role"`
	Model     string `json:"model"`
	Dir       string `json:"dir"`
	Status    string `json:"status,omitempty"`
	Archived  bool   `json:"archived,omitempty"`
	CreatedAt int64  `json:"createdAt"`
	UpdatedAt int64  `json:"updatedAt"`
}

// Agent is a role at work. The orchestrator is one, too.
type Agent struct {
	ID     string `json:"id"`
	ChatID string `json:"chatId"`
	UserID string `json:"userId"`
	TaskID string `json:"taskId,omitempty"` // the same id, in the collection of tasks
	Parent string `json:"parent,omitempty"`

	Role   string `json:"role"`
	Name   string `json:"name"`
	Path   string `json:"path"`
	Depth  int    `json:"depth"`
	Model  string `json:"model"`
	Prompt string `json:"systemPromptId,omitempty"`
	Dir    string `json:"dir,omitempty"`
	Cause  string `json:"triggerMessageId,omitempty"`

	ContextMode   string `json:"contextMode,omitempty"`
	ContextTokens int64  `json:"contextTokenCount,omitempty"`
	MaxTurns      int    `json:"maxTurns,omitempty"`
	MaxDuration   int64  `json:"maxDurationMs,omitempty"`
	MaxTokens     int64  `json:"maxTokens,omitempty"`
	MaxCost       int64  `json:"maxCostMicros,omitempty"`
	Continues     string `json:"continues,omitempty"`

	Summary string `json:"summary,omitempty"`
	Error   string `json:"error,omitempty"`
	Head

	CreatedAt int64 `json:"createdAt"`
	EndedAt   int64 `json:"endedAt,omitempty"`

	Spec     json.RawMessage `json:"-"` // as the agent was created
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Collection names where the agent is among the documents of its chat.
func (a *Agent) Collection() string {
	if a.ID == a.ChatID {
		return "orchestrator"
	}
	return "sub-agents"
}

// Head is the part of an agent's row that changes as it works.
type Head struct {
	Status   string `json:"state"`                   // what it is doing, in detail
	SubAgent string `json:"status"`                  // active, completed, failed, waiting_for_user
	Recorded string `json:"recordedStatus"`          // pending, running, completed, failed, cancelled, timeout
	Bailout  string `json:"bailoutReason,omitempty"` // why it stopped early
	Why      string `json:"waitsFor,omitempty"`      // what it waits for at the model: a place, a retry after a failure
	Until    int64  `json:"waitsUntil,omitempty"`    // and until when, if that is known
	Turns    int    `json:"turns"`
	ActiveMS int64  `json:"activeMs"`
	Tokens   int64  `json:"tokens"`     // its own
	Cost     int64  `json:"costMicros"` // its own
	Unpriced bool   `json:"unpriced,omitempty"`

	ExtraTokens int64 `json:"extraTokens,omitempty"`     // given beyond maxTokens
	ExtraCost   int64 `json:"extraCostMicros,omitempty"` // given beyond maxCostMicros

	ChildTokens int64 `json:"childTokens,omitempty"`
	ChildCost   int64 `json:"childCostMicros,omitempty"`
	Children    int   `json:"children,omitempty"`
	Live        int   `json:"liveChildren,omitempty"`

	Busy      bool  `json:"busy,omitempty"` // effects are under way: recovery must look at it
	WakeAt    int64 `json:"wakeAt,omitempty"`
	UpdatedAt int64 `json:"updatedAt"`
}

// Task links a parent's decision to the sub-agent that carries it out.
type Task struct {
	ID     string `json:"id"`
	ChatID string `json:"chatId"`
	UserID string `json:"userId"`
	Agent  string `json:"parentAgentId"`
	Number int    `json:"number"` // among the parent's tasks

	Type        string `json:"type"` // agent, tool
	Name        string `json:"name"` // agent:researcher
	Instruction string `json:"instruction"`
	SubAgentID  string `json:"subAgentId,omitempty"`
	Turn        int    `json:"turn"` // the parent's turn and call that asked for it
	Call        int    `json:"call"`

	Status    string `json:"status"` // pending running waiting success partial failed cancelled
	Result    string `json:"result,omitempty"`
	Error     string `json:"error,omitempty"`
	ErrorKind string `json:"errorKind,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Cause     string `json:"triggerMessageId,omitempty"`

	Metadata  json.RawMessage `json:"metadata,omitempty"`
	CreatedAt int64           `json:"createdAt"`
	UpdatedAt int64           `json:"updatedAt"`
}

// Message is one entry of an agent's conversation. Pos is its place in the
// history, -1 while it waits in the queue.
type Message struct {
	ID    string `json:"id"`
	Agent string `json:"agentId"`
	Pos   int    `json:"pos"`
	Role  string `json:"role"`
	Kind  string `json:"kind"`
	Turn  int    `json:"turn,omitempty"`
	Call  string `json:"toolCallId,omitempty"` // the id of the tool call that this is the result of

	Parts     json.RawMessage `json:"parts"` // package message's encoding
	CreatedAt int64           `json:"createdAt"`
}

// Decode gives the message back.
func (m Message) Decode() (message.Message, error) {
	parts, err := message.DecodeParts(m.Parts)
	if err != nil {
		return message.Message{}, err
	}
	return message.Message{Role: message.Role(m.Role), Kind: message.Kind(m.Kind), Parts: parts}, nil
}

// ToolCall is one use of a tool. Its result is the message with its id; Result
// and Error are filled in when it is read.
type ToolCall struct {
	ID     string `json:"id"` // AGENT-cTURN.CALL
	Agent  string `json:"subAgentId"`
	Turn   int    `json:"turn"`
	Call   int    `json:"call"`
	CallID string `json:"callId"` // the provider's

	Name   string          `json:"toolName"`
	Class  string          `json:"class"`
	Args   json.RawMessage `json:"args"`
	Phase  string          `json:"phase"`  // queued running started approval asking asked children done
	Status string          `json:"status"` // pending success failed
	Pos    int             `json:"-"`      // where in the history its result stands
	Result string          `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
	Record json.RawMessage `json:"record,omitempty"` // what it did, as the system saw it: files, command, who decided

	CreatedAt int64 `json:"createdAt"`
	StartedAt int64 `json:"startedAt,omitempty"`
	EndedAt   int64 `json:"endedAt,omitempty"`
}

// ResultText joins what the message of a tool result says.
func ResultText(parts []message.Part) (text string, isError bool) {
	var said []string
	for _, p := range parts {
		switch p := p.(type) {
		case message.ToolResult:
			said = append(said, message.Text(p.Parts))
			isError = isError || p.IsError
		case message.TextPart:
			said = append(said, p.Text)
		case message.ThinkingPart, message.ImagePart, message.ToolCall:
		}
	}
	return strings.Join(said, "\n\n"), isError
}

// ModelCall is one request to a model.
type ModelCall struct {
	ID    string `json:"id"` // AGENT-tTURN.TRY
	Agent string `json:"agentId"`
	Turn  int    `json:"turn"`
	Try   int    `json:"try"`
	Model string `json:"model"`

	RequestType string `json:"requestType"`        // prompt, tool_call, delegation, continuation
	From        int    `json:"fromPos"`            // the request sent the history up to here
	Reply       int    `json:"replyPos"`           // where the reply stands, -1 if it has no place
	Response    string `json:"response,omitempty"` // what was said, when it has no place in the history
	Status      string `json:"status"`             // replied, failed, lost, side
	Stop        string `json:"stop,omitempty"`
	ErrorKind   string `json:"errorKind,omitempty"`
	Error       string `json:"error,omitempty"`
	RequestID   string `json:"requestId,omitempty"`

	Answered string `json:"responseModel,omitempty"` // what the vendor says that answered

	message.Usage
	Cost   int64 `json:"costMicros"`
	Priced bool  `json:"priced"`

	WaitedMS  int64 `json:"waitedMs,omitempty"` // for a place, before it started
	StartedAt int64 `json:"startedAt"`
	FirstAt   int64 `json:"firstTokenAt,omitempty"`
	EndedAt   int64 `json:"endedAt"`
}

// Item waits in the inbox for a person.
type Item struct {
	ID     string `json:"id"`
	ChatID string `json:"chatId"`
	UserID string `json:"userId"`
	Agent  string `json:"agentId"`
	Path   string `json:"path"`
	Role   string `json:"role"`
	Turn   int    `json:"turn"`
	Call   int    `json:"call"`

	Kind     string          `json:"kind"` // approval, question, elicitation, budget, worktree
	Action   string          `json:"action"`
	Reason   string          `json:"reason,omitempty"`
	Grant    string          `json:"grant,omitempty"`
	Detail   json.RawMessage `json:"detail,omitempty"` // the action in its parts
	Deadline int64           `json:"deadline,omitempty"`
	Default  string          `json:"default,omitempty"` // what happens at the deadline

	Status string `json:"status"` // hidden, open, closed
	How    string `json:"how,omitempty"`
	By     string `json:"by,omitempty"`
	Scope  string `json:"scope,omitempty"`
	Answer string `json:"answer,omitempty"`

	CreatedAt int64 `json:"createdAt"`
	ClosedAt  int64 `json:"closedAt,omitempty"`
}

// ReadMark tells up to which change the owner of a chat has read it.
type ReadMark struct {
	ChatID string `json:"chatId"`
	Seq    int64  `json:"readSeq"`
}

// Artifact is something too large for a message.
type Artifact struct {
	ID        string `json:"id"`
	ChatID    string `json:"chatId"`
	Agent     string `json:"agentId"`
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
	Data      []byte `json:"-"`
	CreatedAt int64  `json:"createdAt"`
}

// Collection names where an agent's documents of a kind are: "messages",
// "tool-calls" or "model-calls".
func Collection(chat, agent, kind string) string {
	if agent == chat {
		return kind
	}
	return "sub-agents/" + agent + "/" + kind
}

// ToolCallID, ModelCallID and MessageID are the ids that documents of an agent
// have; a user message has the id it was sent with.
func ToolCallID(agent string, turn, call int) string {
	return agent + "-c" + strconv.Itoa(turn) + "." + strconv.Itoa(call)
}

// ArtifactID is the id of what a tool call left that was too large for its
// result.
func ArtifactID(agent string, turn, call int) string {
	return agent + "-a" + strconv.Itoa(turn) + "." + strconv.Itoa(call)
}

// ModelCallID is the id of a model call.
func ModelCallID(agent string, turn, try int) string {
	return agent + "-t" + strconv.Itoa(turn) + "." + strconv.Itoa(try)
}

// MessageID is the id of a message that no user sent.
func MessageID(agent string, pos int) string { return agent + "-m" + strconv.Itoa(pos) }
