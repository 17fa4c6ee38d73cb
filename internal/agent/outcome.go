// How agents end, and the words that the outside world has for it and for
// what they are doing.

package agent

// Reason says why an agent, or an orchestrator's run, ended.
type Reason string

// The reasons. Only ReasonCompleted is success.
const (
	ReasonCompleted   Reason = "completed"
	ReasonPartial     Reason = "partial"
	ReasonFailed      Reason = "failed" // Outcome.Kind tells of what
	ReasonCancelled   Reason = "cancelled"
	ReasonTimeout     Reason = "timeout"
	ReasonMaxTurns    Reason = "max_turns"
	ReasonBudget      Reason = "budget"
	ReasonSuperseded  Reason = "superseded" // a sibling's result made it unnecessary
	ReasonInterrupted Reason = "interrupted"
)

// Kind refines a failure.
type Kind string

// The kinds of failure.
const (
	KindModel      Kind = "model_error"
	KindTool       Kind = "tool_error"
	KindSubAgent   Kind = "sub_agent_error"
	KindInvalid    Kind = "invalid_result"
	KindAcceptance Kind = "failed_acceptance"
)

// Outcome is how an agent or a run ended. Result says where in the history
// the result stands; what it says is in the documents.
type Outcome struct {
	Reason Reason `json:"reason,omitempty"`
	Kind   Kind   `json:"kind,omitempty"`
	Result Ref    `json:"result,omitzero"`
}

// Success tells whether the work was done. A limit is never success.
func (o Outcome) Success() bool { return o.Reason == ReasonCompleted }

// Ref points at a result: the text of the replies From to To, or, if Call is
// not 0, the input of that call (counted from 1) of the reply at From.
type Ref struct {
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	Call int `json:"call,omitempty"`
}

// None tells whether there is no result.
func (r Ref) None() bool { return r == Ref{} }

// Names are the words that the outside world has for an outcome: the states
// of tasks and sub-agents, the status and bailout reason of the recorded
// call, and the badge of the user interface.
type Names struct {
	Task     string // pending running waiting success partial failed cancelled
	SubAgent string // active completed failed waiting_for_user
	Status   string // pending running completed failed cancelled timeout
	Bailout  string // why it stopped early
	Badge    string
}

// endings is the one table that maps a reason to those words. Task is the
// state when no result was kept; with one, a limit or a wrong form leaves it
// partial.
var endings = []struct {
	reason Reason
	names  Names
}{
	{ReasonCompleted, Names{"success", "completed", "completed", "", "completed"}},
	{ReasonPartial, Names{"partial", "failed", "failed", "partial", "partial"}},
	{ReasonFailed, Names{"failed", "failed", "failed", "error", "failed"}},
	{ReasonCancelled, Names{"cancelled", "failed", "cancelled", "cancelled", "cancelled"}},
	{ReasonTimeout, Names{"failed", "failed", "timeout", "timeout", "timed out"}},
	{ReasonMaxTurns, Names{"failed", "failed", "failed", "max_iterations", "turn limit"}},
	{ReasonBudget, Names{"failed", "failed", "failed", "budget", "budget spent"}},
	{ReasonSuperseded, Names{"cancelled", "failed", "cancelled", "superseded", "superseded"}},
	{ReasonInterrupted, Names{"failed", "failed", "failed", "interrupted", "interrupted"}},
}

// Names returns the words for o.
func (o Outcome) Names() Names {
	for _, e := range endings {
		if e.reason != o.Reason {
			continue
		}
		n := e.names
		if n.Task == "failed" && (o.Reason != ReasonFailed || o.Kind == KindInvalid) && !o.Result.None() {
			n.Task = "partial"
		}
		return n
	}
	return Names{}
}

// Status is what an agent is doing, in one word a person can be shown.
type Status string

// The statuses of an agent that has not ended; an ended one has its badge.
const (
	StatusIdle       Status = "idle"
	StatusQueued     Status = "queued"
	StatusThinking   Status = "thinking"
	StatusRetrying   Status = "retrying"
	StatusCompacting Status = "compacting"
	StatusActing     Status = "acting"
	StatusApproval   Status = "awaiting_approval"
	StatusAnswer     Status = "awaiting_answer"
	StatusChildren   Status = "awaiting_children"
	StatusAccepting  Status = "accepting"
	StatusBudget     Status = "awaiting_budget"
	StatusCancelling Status = "cancelling"
	StatusSettling   Status = "settling"
)

// Status tells what the agent is doing. Among several open calls the one that
// a person can do something about comes first.
func (s State) Status() Status {
	switch p := s.Phase.(type) {
	case Idle:
		if s.LiveChildren() > 0 {
			return StatusChildren
		}
		return StatusIdle
	case Thinking:
		if p.Why != "" {
			return StatusQueued
		}
		return StatusThinking
	case Backoff:
		return StatusRetrying
	case Compacting:
		return StatusCompacting
	case Acting:
		return actingStatus(p)
	case Accepting:
		return StatusAccepting
	case Extending:
		return StatusBudget
	case Cancelling:
		return StatusCancelling
	case Settling:
		return StatusSettling
	case Completed:
		return Status(p.Outcome.Reason)
	case Failed:
		return Status(p.Outcome.Reason)
	}
	return StatusIdle
}

func actingStatus(a Acting) Status {
	has := func(phases ...CallPhase) bool {
		for _, c := range a.Calls {
			for _, p := range phases {
				if c.Phase == p {
					return true
				}
			}
		}
		return false
	}
	switch {
	case has(CallApproval):
		return StatusApproval
	case has(CallAsked, CallPaused):
		return StatusAnswer
	case has(CallRunning, CallStarted, CallAsking):
		return StatusActing
	case has(CallChildren):
		return StatusChildren
	}
	return StatusActing
}

// Names returns the words for the agent as it is now, ended or not.
func (s State) Names() Names {
	if _, idle := s.Phase.(Idle); s.Ended() || idle && s.Last.Reason != "" && s.LiveChildren() == 0 {
		return s.Last.Names() // an orchestrator at rest: how its last run ended
	}
	n := Names{Task: "running", SubAgent: "active", Status: "running", Badge: string(s.Status())}
	if st := s.Status(); st == StatusAnswer || st == StatusApproval || st == StatusBudget {
		n.Task, n.SubAgent = "waiting", "waiting_for_user"
	}
	return n
}
