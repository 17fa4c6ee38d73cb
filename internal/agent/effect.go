// The effects: everything that the machine can ask for.

package agent

import "github.com/cadre-dev/cadre/internal/message"

// Effect is something Step asks for. The set is sealed, in three families by
// when an engine performs them:
//
//   - documents are written in the commit of the event itself;
//   - effects between agents are delivered in that same commit, so that no
//     crash can lose a spawn, a report or a cancel;
//   - outside effects start after the commit, and their outcomes come back as
//     events. Which of them must be under way is part of the state: see
//     State.Outstanding.
//
//sumtype:decl
type Effect interface{ isEffect() }

// Documents.
type (
	// AddMessage places a message in the history.
	AddMessage struct {
		Pos  int
		Body message.Message
		Call int // for the result of a tool call: its index, else -1
	}

	// Enqueue stores a user message that has no place in the history yet.
	Enqueue struct {
		ID   string
		Body message.Message
	}

	// Place gives a queued user message its place.
	Place struct {
		ID  string
		Pos int
	}

	// AddResults places the results of tasks, taken from their documents: as
	// the result of the call that waited for them, or, with Call -1, as one
	// message of their own.
	AddResults struct {
		Pos    int
		Call   int
		CallID string
		Name   string
		Groups []TaskRange
	}

	// SetCall records how far a tool call has come.
	SetCall struct {
		Turn    int
		Call    int
		Phase   CallPhase
		IsError bool
		Record  []byte // what it did, as the system saw it
	}

	// RepeatResult answers a call with the result of an earlier one, which
	// stands at From, behind a word of warning.
	RepeatResult struct {
		Pos    int
		Call   int
		CallID string
		Name   string
		From   int
		Text   string
	}

	// SetModel tells which model the orchestrator answers with from now on.
	SetModel struct {
		Model string
	}

	// Adopt puts the first Count messages of another agent's history before
	// its own.
	Adopt struct {
		From  string
		Count int
	}

	// AddWaiting places a note about who waits for the user, and what was
	// answered on the user's behalf, taken from the inbox.
	AddWaiting struct {
		Pos      int
		Waiting  []string
		Answered []string
	}

	// OpenCall records a tool call that the model wishes.
	OpenCall struct {
		Turn  int
		Call  int
		ID    string
		Name  string
		Class Class
	}

	// RecordModel records a model call that has ended, with or without reply.
	RecordModel struct {
		Turn    int
		Try     int
		Outcome string // replied, failed, lost, stopped, side
		Kind    Failure
		Message string
		Stop    Stop
		Spent   Amount
		Priced  bool
		Info    CallInfo
		Pos     int             // where the reply stands, -1 if it has no place
		Reply   message.Message // what was said, if it has no place
	}

	// OpenItem puts an approval or a question into the inbox. A question that
	// the orchestrator's model is asked first is hidden until it is asked of
	// the user.
	OpenItem struct {
		ID       string
		Kind     string // approval, question, elicitation, budget, worktree
		Turn     int
		Call     int // -1: of none
		Deadline int64
		Hidden   bool
		Action   string
		Reason   string
		Grant    string
		Detail   []byte
	}

	// ShowItem makes a hidden question visible to the user.
	ShowItem struct {
		ID       string
		Deadline int64
	}

	// CloseItem takes an item out of the inbox.
	CloseItem struct {
		ID     string
		How    string // allowed, denied, answered, answered_for_user, declined, expired, withdrawn; of worktrees: accepted, merged, kept, discarded
		By     string
		Scope  string
		Answer string
	}

	// Conclude records the decided outcome: its result is Text, or what the
	// outcome's Ref points at.
	Conclude struct {
		Outcome Outcome
		Text    string
	}
)

// Between agents.
type (
	// StartChild creates a child.
	StartChild struct {
		Task   int
		Spec   Spec
		Body   message.Message
		Tokens int64
		Prior  int
		Turn   int // of the parent that asked for it
		Call   int // in that turn
	}

	// CancelChild asks a child to end.
	CancelChild struct {
		Task   int
		Reason Reason
		Force  bool
	}

	// TellRoot tells the orchestrator of an item that waits for the user, or
	// no longer does.
	TellRoot struct {
		Item string
		Over bool
		For  bool
	}

	// ExtendParent raises the parent's limit by what this agent was given.
	ExtendParent struct {
		Amount Amount
	}

	// Report tells the parent that this agent has ended.
	Report struct {
		Task     int // its number among the parent's tasks
		Outcome  Outcome
		Spent    Amount
		Held     Amount
		Unpriced bool
	}
)

// Outside.
type (
	// TellTool gives a running tool the answer it waits for.
	TellTool struct {
		Turn     int
		Call     int
		Declined bool
		Answer   string
	}

	// InspectWork finds out what an agent that ends leaves in its worktree.
	InspectWork struct{}

	// CallModel asks the model for the next turn. With Last, only submit_result
	// will be accepted.
	CallModel struct {
		Turn      int
		Try       int
		Model     string
		MaxOutput int64
		Last      bool
	}

	// Compact shortens the history so that it fits the model. Refused tells
	// that the vendor said it does not, whatever is known of the window.
	Compact struct {
		Turn    int
		Refused bool
	}

	// RunTool runs a tool. Grant is the hash of the action a person has
	// approved, empty if none was asked.
	RunTool struct {
		Turn  int
		Call  int
		ID    string
		Name  string
		Class Class
		Grant string
	}

	// Consult asks the orchestrator's model whether it can answer a question.
	Consult struct {
		Item string
		Turn int
		Call int
	}

	// RunAcceptance runs the acceptance command.
	RunAcceptance struct{}

	// StopWork ends the outside effects of this agent that are under way:
	// its model call, or the tools it runs. Their outcomes will be stale.
	StopWork struct{}

	// Done tells observers that an orchestrator's run has ended.
	Done struct {
		Outcome Outcome
	}
)

// TaskRange is the tasks First to First+Size-1 of the agent. Those among them
// that have not ended, or too late (task First+i if Late has i), are told to
// have ended for the reason Rest.
type TaskRange struct {
	First, Size int
	Rest        Reason
	Late        Bits
}

func (AddMessage) isEffect()    {}
func (Enqueue) isEffect()       {}
func (Place) isEffect()         {}
func (AddResults) isEffect()    {}
func (SetCall) isEffect()       {}
func (OpenCall) isEffect()      {}
func (RecordModel) isEffect()   {}
func (OpenItem) isEffect()      {}
func (ShowItem) isEffect()      {}
func (CloseItem) isEffect()     {}
func (Conclude) isEffect()      {}
func (StartChild) isEffect()    {}
func (CancelChild) isEffect()   {}
func (Report) isEffect()        {}
func (CallModel) isEffect()     {}
func (Compact) isEffect()       {}
func (RunTool) isEffect()       {}
func (Consult) isEffect()       {}
func (RunAcceptance) isEffect() {}
func (StopWork) isEffect()      {}
func (Done) isEffect()          {}
func (RepeatResult) isEffect()  {}
func (SetModel) isEffect()      {}
func (Adopt) isEffect()         {}
func (AddWaiting) isEffect()    {}
func (TellTool) isEffect()      {}
func (InspectWork) isEffect()   {}
func (TellRoot) isEffect()      {}
func (ExtendParent) isEffect()  {}
