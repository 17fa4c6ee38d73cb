// The named reactions of the system, as people who come from trigger-driven
// designs look for them. They are no mechanism of their own: each is what Step
// does with one event. ARCHITECTURE.md shows the same table, and a test holds
// both against a run.

package agent

// Reaction is something that follows from an event.
type Reaction struct {
	Name      string
	Event     string   // as EventType names it
	Of        string   // whose: orchestrator, sub-agent or any
	When      string   // the condition, in words
	Effects   []string // the effects that Step asks for then
	Documents []string // the collections that the commit changes, as the feed names them
}

// Reactions lists them in the order in which a task meets them.
func Reactions() []Reaction {
	return []Reaction{
		{
			Name: "on-user-message", Event: "user_message", Of: "orchestrator",
			When:      "always kept; it starts a turn when the orchestrator is idle or only delegations are open",
			Effects:   []string{"CallModel", "Enqueue", "Place"},
			Documents: []string{"messages", "orchestrator"},
		},
		{
			Name: "on-new-task", Event: "created", Of: "sub-agent",
			When:      "in the commit in which the parent's model asked for it",
			Effects:   []string{"AddMessage", "CallModel"},
			Documents: []string{"sub-agents", "sub-agents/*/messages", "tasks"},
		},
		{
			Name: "on-sub-agent-message", Event: "tool_finished", Of: "sub-agent",
			When:      "once each call of the turn has its result; a message to the agent does the same at the end of its turn",
			Effects:   []string{"AddMessage", "CallModel", "SetCall"},
			Documents: []string{"sub-agents", "sub-agents/*/messages", "sub-agents/*/tool-calls"},
		},
		{
			Name: "on-sub-agent-tool", Event: "model_replied", Of: "sub-agent",
			When:      "the reply calls tools that the agent may use",
			Effects:   []string{"AddMessage", "OpenCall", "RecordModel", "RunTool", "SetCall"},
			Documents: []string{"sub-agents", "sub-agents/*/messages", "sub-agents/*/model-calls", "sub-agents/*/tool-calls"},
		},
		{
			Name: "on-task-waiting", Event: "consulted", Of: "sub-agent",
			When:      "the orchestrator's model does not know the answer; where it is not asked first, the reply with ask_user does the same",
			Effects:   []string{"SetCall", "ShowItem", "TellRoot"},
			Documents: []string{"inbox", "sub-agents", "sub-agents/*/tool-calls", "tasks"},
		},
		{
			Name: "on-task-completed", Event: "child_ended", Of: "orchestrator",
			When:      "in the commit in which the child ended, once as many have ended as the call waits for",
			Effects:   []string{"AddResults", "CallModel", "SetCall"},
			Documents: []string{"messages", "orchestrator", "tool-calls"},
		},
	}
}
