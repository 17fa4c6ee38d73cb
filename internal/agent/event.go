// The events: everything that can happen to an agent.

package agent

import "github.com/cadre-dev/cadre/internal/message"

// Event is something that happened to an agent. The set is sealed.
//
// Fields tagged `json:"-"` are bodies: what was said, read or answered. They
// pass through Step into effects, are stored as documents and never decide
// anything, so that the log replays without them.
//
//sumtype:decl
type Event interface {
	isEvent()
	when() int64
}

// At is the time of an event in Unix milliseconds.
type At int64

func (a At) when() int64 { return int64(a) }

// Created brings the agent to life. A sub-agent begins at once with its task.
type Created struct {
	At   `json:"at"`
	Spec Spec `json:"spec"`

	Tokens int64           `json:"tokens,omitempty"` // estimate for prompt, tools and task
	Prior  int             `json:"prior,omitempty"`  // messages taken over from the agent that Spec.Adopts names
	Task   message.Message `json:"-"`
}

// UserMessage is a message from a person (or, for a sub-agent, from the
// orchestrator on a person's behalf).
type UserMessage struct {
	At     `json:"at"`
	ID     string          `json:"id"`
	Tokens int64           `json:"tokens,omitempty"`
	Choice *Choice         `json:"choice,omitempty"` // the models that an orchestrator answers with from this message on
	Body   message.Message `json:"-"`
}

// ModelQueued tells that a model call waits for its place: a rate limit, a
// full queue. It costs no try.
type ModelQueued struct {
	At    `json:"at"`
	Turn  int    `json:"turn"`
	Try   int    `json:"try"`
	Why   string `json:"why"` // empty: the wait is over
	Until int64  `json:"until,omitempty"`
}

// ModelReplied is a whole reply of the model.
type ModelReplied struct {
	At     `json:"at"`
	Turn   int        `json:"turn"`
	Try    int        `json:"try"`
	Stop   Stop       `json:"stop"`
	Text   bool       `json:"text,omitempty"` // it says something in plain text
	Calls  []Proposal `json:"calls,omitempty"`
	Spent  Amount     `json:"spent,omitzero"`
	Priced bool       `json:"priced,omitempty"`
	Tokens int64      `json:"tokens,omitempty"` // context after the reply: what it read and wrote
	Agents int        `json:"agents,omitempty"` // how many agents the chat has had, told by the engine where the reply delegates

	Body message.Message `json:"-"`
	Info CallInfo        `json:"-"`
}

// ModelFailed is a model call that gave no reply.
type ModelFailed struct {
	At         `json:"at"`
	Turn       int     `json:"turn"`
	Try        int     `json:"try"`
	Kind       Failure `json:"kind"`
	RetryAfter int64   `json:"retry_after,omitempty"` // milliseconds the vendor asked for
	GaveUp     bool    `json:"gave_up,omitempty"`     // it waited too long for its place, and there is another model
	Spent      Amount  `json:"spent,omitzero"`
	Priced     bool    `json:"priced,omitempty"`

	Message string   `json:"-"`
	Info    CallInfo `json:"-"`
}

// Compacted tells that the history was shortened (or could not be).
type Compacted struct {
	At      `json:"at"`
	Turn    int    `json:"turn"`
	OK      bool   `json:"ok,omitempty"`
	View    View   `json:"view,omitzero"`     // what the model is sent from now on
	Summary bool   `json:"summary,omitempty"` // Body stands for what View.Keep leaves out
	Tokens  int64  `json:"tokens,omitempty"`  // context afterwards
	Spent   Amount `json:"spent,omitzero"`
	Priced  bool   `json:"priced,omitempty"`

	// Fit is what an orchestrator has from this epoch on, if that is not what
	// it had: servers of tools come and go.
	Fit *Toolset `json:"fit,omitempty"`

	Body    message.Message `json:"-"`
	Message string          `json:"-"`
	Info    CallInfo        `json:"-"`
}

// ToolStarted is committed before a tool that is no pure read begins.
type ToolStarted struct {
	At   `json:"at"`
	Turn int `json:"turn"`
	Call int `json:"call"`
}

// ToolFinished carries the result of a tool call.
type ToolFinished struct {
	At      `json:"at"`
	Turn    int    `json:"turn"`
	Call    int    `json:"call"`
	IsError bool   `json:"is_error,omitempty"`
	Tokens  int64  `json:"tokens,omitempty"`
	Same    string `json:"same,omitempty"` // hash of what it answered, by which loops are found
	Did     bool   `json:"did,omitempty"`  // it left a record

	Parts    []message.Part `json:"-"`
	Artifact *Artifact      `json:"-"` // the whole of what Parts is a preview of
	Record   []byte         `json:"-"` // what it did, as the system saw it
}

// ToolAsked tells that a running tool waits for an answer of the user.
type ToolAsked struct {
	At       `json:"at"`
	Turn     int   `json:"turn"`
	Call     int   `json:"call"`
	Deadline int64 `json:"deadline,omitempty"` // wall time; then it counts as declined

	Action string `json:"-"`
	Reason string `json:"-"`
}

// Artifact is something too large for a message, kept beside the history.
type Artifact struct {
	ID        string
	Name      string
	MediaType string
	Data      []byte
}

// ApprovalNeeded tells that a tool may not run before a person allowed it.
// Grant is the hash of the exact action that is shown.
type ApprovalNeeded struct {
	At       `json:"at"`
	Turn     int    `json:"turn"`
	Call     int    `json:"call"`
	Grant    string `json:"grant"`
	Deadline int64  `json:"deadline,omitempty"` // wall time; then it counts as denied

	Action string `json:"-"`
	Reason string `json:"-"`
	Detail []byte `json:"-"` // the action in its parts, for those who show it
}

// ApprovalAnswered is a person's (or a policy's) decision.
type ApprovalAnswered struct {
	At    `json:"at"`
	Item  string `json:"item"`
	Allow bool   `json:"allow,omitempty"`
	Scope string `json:"scope,omitempty"` // once, agent, role, subtree, chat

	By     string `json:"-"`
	Reason string `json:"-"`
}

// Consulted is the orchestrator's model's answer to a sub-agent's question:
// an answer with a confidence, or the wish to ask the user.
type Consulted struct {
	At         `json:"at"`
	Item       string `json:"item"`
	Answered   bool   `json:"answered,omitempty"`
	Confidence int    `json:"confidence,omitempty"` // percent
	Tokens     int64  `json:"tokens,omitempty"`

	Answer string `json:"-"`
}

// QuestionAnswered is the answer to a question, by the user or on the user's
// behalf. Declined tells that the user will not answer.
type QuestionAnswered struct {
	At       `json:"at"`
	Item     string `json:"item"`
	Declined bool   `json:"declined,omitempty"`
	Tokens   int64  `json:"tokens,omitempty"`

	By     string `json:"-"`
	Answer string `json:"-"`
}

// ChildEnded is a child's report, in the same commit as the child's end. What
// it found is in its task.
type ChildEnded struct {
	At       `json:"at"`
	Task     int    `json:"task"` // its number among this agent's tasks
	Reason   Reason `json:"reason"`
	Spent    Amount `json:"spent,omitzero"`
	Held     Amount `json:"held,omitzero"` // what had been reserved for it
	Unpriced bool   `json:"unpriced,omitempty"`
	Tokens   int64  `json:"tokens,omitempty"` // estimate of its result
}

// TaskAsks tells an orchestrator that an agent below it waits for the user, or
// no longer does.
type TaskAsks struct {
	At   `json:"at"`
	Item string `json:"item"`
	Over bool   `json:"over,omitempty"` // the item is closed
	For  bool   `json:"for,omitempty"`  // the orchestrator's model answered it on the user's behalf
}

// Extended tells that a descendant was given more than its budget: what is
// held for it grows, and so does this agent's own limit.
type Extended struct {
	At     `json:"at"`
	Amount Amount `json:"amount"`
}

// WorkInspected tells what an agent with a worktree of its own leaves there.
type WorkInspected struct {
	At    `json:"at"`
	Empty bool `json:"empty,omitempty"` // nothing to decide about

	Action string `json:"-"` // the difference
	Reason string `json:"-"`
	Detail []byte `json:"-"`
}

// WorkDecided tells what became of that work.
type WorkDecided struct {
	At   `json:"at"`
	Item string `json:"item"`

	How    string `json:"-"` // accepted, merged, kept, discarded
	By     string `json:"-"`
	Answer string `json:"-"`
}

// Charged books a side call to this agent, such as a consultation.
type Charged struct {
	At     `json:"at"`
	Spent  Amount `json:"spent,omitzero"`
	Priced bool   `json:"priced,omitempty"`

	Info CallInfo `json:"-"`
}

// AcceptanceDone is the outcome of the acceptance command.
type AcceptanceDone struct {
	At     `json:"at"`
	Passed bool  `json:"passed,omitempty"`
	Tokens int64 `json:"tokens,omitempty"`

	Output string `json:"-"`
}

// Cancel asks the agent to end. Reason is cancelled, timeout, superseded,
// budget or interrupted; Force ends it without waiting for its children.
type Cancel struct {
	At      `json:"at"`
	Reason  Reason `json:"reason"`
	Force   bool   `json:"force,omitempty"`
	Printed bool   `json:"printed,omitempty"` // the tool run that it stops has printed something

	By string `json:"-"`
	SoFar
}

// Tick tells that a deadline of the agent has come (see State.Deadline).
type Tick struct {
	At `json:"at"`
	SoFar
}

// SoFar is what tools have printed whose calls the event may end.
type SoFar struct {
	Tokens int64          `json:"tokens,omitempty"` // of Output
	Output map[int]string `json:"-"`                // by call
}

// Recovered tells that the process that performed the agent's effects died.
type Recovered struct {
	At `json:"at"`
	SoFar
}

// Migrated replaces the state: what an older version of Step had made of the
// log before it, converted. Replay starts from the last one.
type Migrated struct {
	At    `json:"at"`
	Spec  Spec  `json:"spec"`
	State State `json:"state"`
}

// Stop says why a reply ended. The words are those of package llm.
type Stop string

// The reasons for a reply to end.
const (
	StopEnd     Stop = "end"
	StopTools   Stop = "tools"
	StopLength  Stop = "length"
	StopRefusal Stop = "refusal"
	StopFilter  Stop = "filter"
)

// Failure is the kind of a failed model call. The words are those of package
// llm.
type Failure string

// The kinds of failed model call.
const (
	FailAuth       Failure = "auth"
	FailPermission Failure = "permission"
	FailNotFound   Failure = "not_found"
	FailRateLimit  Failure = "rate_limit"
	FailOverloaded Failure = "overloaded"
	FailQuota      Failure = "quota"
	FailOverflow   Failure = "context_overflow"
	FailBadRequest Failure = "bad_request"
	FailFilter     Failure = "content_filter"
	FailNetwork    Failure = "network"
	FailTimeout    Failure = "timeout"
	FailServer     Failure = "server"
	FailEmpty      Failure = "empty" // a reply that said nothing
)

// Proposal is a tool call as the model wishes it, looked at by the engine
// before Step sees it: what it is, and whether it can be done at all.
type Proposal struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Class    Class  `json:"class"`
	Refused  bool   `json:"refused,omitempty"` // unknown tool or invalid input
	Question string `json:"question,omitempty"`
	Key      string `json:"key,omitempty"`  // hash of name and input, empty for calls that may well be repeated
	Plan     *Plan  `json:"plan,omitempty"` // for ClassDelegate

	Why string `json:"-"` // why it is refused, all violations at once
}

// Plan is what a delegating call asks for, in numbers; the children's specs
// travel beside it.
type Plan struct {
	Tasks      []Planned `json:"tasks"`
	Wait       int       `json:"wait,omitempty"`  // 0 = all
	Valid      bool      `json:"valid,omitempty"` // first_valid
	Background bool      `json:"background,omitempty"`
	Timeout    int64     `json:"timeout,omitempty"` // milliseconds until the group is closed with what there is
}

// Planned is one child of a plan.
type Planned struct {
	Role   string `json:"role"`
	Tokens int64  `json:"tokens,omitempty"` // its own maximum, 0 = none
	Cost   int64  `json:"cost,omitempty"`
	Priced bool   `json:"priced,omitempty"`
	Size   int64  `json:"size,omitempty"`  // token estimate of prompt, tools and task
	First  int64  `json:"first,omitempty"` // what its first turn costs at least, see Spec.FirstTurn
	Prior  int    `json:"prior,omitempty"` // messages it takes over from the agent that Spec.Adopts names
	Tool   string `json:"tool,omitempty"`  // it is one run of this tool of the parent's, not an agent with a model
	Class  Class  `json:"class,omitempty"` // of that run

	Spec Spec            `json:"-"` // without what Step decides: id, depth, budget, capabilities
	Task message.Message `json:"-"`
}

// CallInfo is what is recorded of a model call beside its outcome.
type CallInfo struct {
	Model     string
	Usage     message.Usage
	RequestID string
	Answered  string // the model that really answered, as the vendor names it
	Waited    int64  // milliseconds for a place, before it started
	StartedAt int64  // Unix milliseconds
	FirstAt   int64  // of the first piece of the reply, 0 if none came
	EndedAt   int64
}

func (Created) isEvent()          {}
func (UserMessage) isEvent()      {}
func (ModelQueued) isEvent()      {}
func (ModelReplied) isEvent()     {}
func (ModelFailed) isEvent()      {}
func (Compacted) isEvent()        {}
func (ToolStarted) isEvent()      {}
func (ToolFinished) isEvent()     {}
func (ApprovalNeeded) isEvent()   {}
func (ApprovalAnswered) isEvent() {}
func (Consulted) isEvent()        {}
func (QuestionAnswered) isEvent() {}
func (ChildEnded) isEvent()       {}
func (ToolAsked) isEvent()        {}
func (TaskAsks) isEvent()         {}
func (Extended) isEvent()         {}
func (WorkInspected) isEvent()    {}
func (WorkDecided) isEvent()      {}
func (Charged) isEvent()          {}
func (AcceptanceDone) isEvent()   {}
func (Cancel) isEvent()           {}
func (Tick) isEvent()             {}
func (Recovered) isEvent()        {}
func (Migrated) isEvent()         {}
