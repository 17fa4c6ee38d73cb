// The state of an agent: what the machine knows, and all that is stored of it.

package agent

import (
	"encoding/json"
	"slices"
)

// Version is the version of Step and of the encodings in codec.go. It grows
// when a log written before would replay to another state; the log then
// carries a Migrated event from which newer code starts.
const Version = 1

// State is what the machine knows of one agent. It stays small: ids and
// counters only, whatever the length of the history or the number of children.
type State struct {
	// Spec never changes after Created but for what Fitted and Chosen say; it
	// is stored once, beside the agent, and is not part of the encoded state.
	Spec Spec `json:"-"`

	Phase Phase `json:"-"` // encoded by codec.go

	Turn     int   `json:"turn,omitempty"`     // model turns begun in the agent's life
	Pos      int   `json:"pos,omitempty"`      // the next free position of the history
	View     View  `json:"view,omitzero"`      // which part of the history the model is sent
	Epoch    int   `json:"epoch,omitempty"`    // grows when the history was compacted or the model changed
	Model    int   `json:"model,omitempty"`    // index into Spec.Models
	Context  int64 `json:"context,omitempty"`  // estimated tokens of the next request
	LastAt   int64 `json:"last_at,omitempty"`  // time of the newest event, in Unix milliseconds
	Active   int64 `json:"active,omitempty"`   // since when the agent is active, 0 while it stands still
	Tasks    int   `json:"tasks,omitempty"`    // children started in the agent's life; the number of the last one
	Items    int   `json:"items,omitempty"`    // inbox items opened in the agent's life
	LastText Span  `json:"last_text,omitzero"` // where the newest answer in plain text stands

	Queue       []string `json:"queue,omitempty"`        // user messages that wait for a turn, by arrival
	QueueTokens int64    `json:"queue_tokens,omitempty"` // their tokens, which Context does not contain yet

	Groups []Group `json:"groups,omitempty"` // spawn groups with a child that has not ended, or results not delivered
	Asked  []Asked `json:"asked,omitempty"`  // questions the orchestrator's model has answered

	Repeats  []Repeat `json:"repeats,omitempty"`  // calls that may turn out to be a loop, oldest first
	Waiting  []string `json:"waiting,omitempty"`  // of an orchestrator: items of agents below it that wait for the user
	Answered []string `json:"answered,omitempty"` // and those answered on the user's behalf that it has not been told
	Work     string   `json:"work,omitempty"`     // the item about what it left in its worktree
	Fitted   *Toolset `json:"fitted,omitempty"`   // of an orchestrator: the tools that an epoch gave it instead of those of Spec
	Chosen   *Choice  `json:"chosen,omitempty"`   // of an orchestrator: the models that a message chose instead of those of Spec
	Choosing *Choice  `json:"choosing,omitempty"` // and those that a message in the queue chooses
	Unread   int      `json:"unread,omitempty"`   // of a sub-agent: messages in its history that its model has not answered to

	Continued bool `json:"continued,omitempty"` // the last reply was cut by length and is being continued
	Cut       bool `json:"cut,omitempty"`       // the last reply was cut off before anything of it could be used
	Corrected bool `json:"corrected,omitempty"` // an invalid result has been sent back once
	Rejected  bool `json:"rejected,omitempty"`  // a result has failed acceptance once

	Sides   int `json:"sides,omitempty"`   // model calls beside the turns
	Calls   int `json:"calls,omitempty"`   // tool calls that were run in the agent's life
	Records int `json:"records,omitempty"` // and those of them that left a record

	Cause string  `json:"cause,omitempty"` // the user message behind the present work
	Run   Meter   `json:"run,omitzero"`    // counted against the limits
	Life  Meter   `json:"life,omitzero"`   // counted for the record
	Held  Amount  `json:"held,omitzero"`   // reserved for running children
	Lent  Amount  `json:"lent,omitzero"`   // at most so much of it was given to them beyond their budgets
	Last  Outcome `json:"last,omitzero"`   // how the last run (or the agent) ended
}

// Toolset is what an agent may use, and what it may let those below it use.
type Toolset struct {
	Tools     []string   `json:"tools"`
	Delegable []string   `json:"delegable,omitempty"`
	Bounds    [][]string `json:"bounds,omitempty"`
	Passed    [][]string `json:"passed,omitempty"`
}

// fit puts the tools and models of the present epoch into Spec.
func (s *State) fit() {
	if s.Fitted != nil {
		s.Spec.Tools, s.Spec.Delegable = s.Fitted.Tools, s.Fitted.Delegable
		s.Spec.Bounds, s.Spec.Passed = s.Fitted.Bounds, s.Fitted.Passed
	}
	if s.Chosen != nil {
		s.Spec.Choice = *s.Chosen
	}
}

// Spec is what an agent is born with.
type Spec struct {
	ID     string `json:"id"`   // the path of numbers in the tree: chat, chat.2, chat.2.1
	Chat   string `json:"chat"` // equals the id of the orchestrator
	Parent string `json:"parent,omitempty"`
	Number int    `json:"number,omitempty"` // among the parent's tasks
	User   string `json:"user,omitempty"`
	Depth  int    `json:"depth,omitempty"`
	Role   string `json:"role"`
	Name   string `json:"name"` // coder, coder-2
	Path   string `json:"path"` // main/coder/tester
	Dir    string `json:"dir,omitempty"`
	Fixed  bool   `json:"fixed,omitempty"`  // an agent chose Dir: no link may take its place
	Cause  string `json:"cause,omitempty"`  // the user message that led to this agent
	Prompt string `json:"prompt,omitempty"` // id of its system prompt

	Choice

	Limits    Limits   `json:"limits,omitzero"`
	MaxDepth  int      `json:"max_depth,omitempty"`
	Tools     []string `json:"tools,omitempty"`     // what it may use itself
	Delegable []string `json:"delegable,omitempty"` // what its children may use
	Delegates []string `json:"delegates,omitempty"` // the roles it may delegate to

	// Bounds restrict how it uses its tools, Passed how those below it use
	// theirs. Each list restricts by itself. What they say is for the policy.
	Bounds [][]string `json:"bounds,omitempty"`
	Passed [][]string `json:"passed,omitempty"`

	Schema     bool            `json:"schema,omitempty"`     // its result must fit an output schema
	Output     json.RawMessage `json:"output,omitempty"`     // that schema
	Acceptance bool            `json:"acceptance,omitempty"` // a command must pass before its result counts
	Command    string          `json:"command,omitempty"`    // that command
	Continues  string          `json:"continues,omitempty"`  // the finished agent that it goes on for
	Adopts     string          `json:"adopts,omitempty"`     // the agent whose history its own begins with
	Worktree   bool            `json:"worktree,omitempty"`   // it works in a worktree of its own, which is settled at its end
	Origin     string          `json:"origin,omitempty"`     // the folder that the worktree was made of
	Tool       string          `json:"tool,omitempty"`       // it has no model, and runs this tool once
	Class      Class           `json:"class,omitempty"`      // of that run

	Effort      string   `json:"effort,omitempty"`      // how much its model is to think
	Temperature *float64 `json:"temperature,omitempty"` // nil: the vendor's default

	Context       string `json:"context,omitempty"`        // how much of the parent's context it was given
	ContextTokens int64  `json:"context_tokens,omitempty"` // and how many tokens that was

	Confidence  int   `json:"confidence,omitempty"`   // percent from which the orchestrator may answer for the user
	SameLimit   int   `json:"same_limit,omitempty"`   // how often it may answer the same question
	AskTimeout  int64 `json:"ask_timeout,omitempty"`  // milliseconds a question waits for the user, 0 = until answered or stopped
	BudgetWait  int64 `json:"budget_wait,omitempty"`  // milliseconds the user is given to extend a spent budget, 0 = never asked
	CancelGrace int64 `json:"cancel_grace,omitempty"` // milliseconds descendants have to end before they are ended by force
}

// Orchestrator tells whether s is the chat's first agent.
func (s Spec) Orchestrator() bool { return s.Depth == 0 }

// Limits bound an agent's work; zero means no limit. An orchestrator's count
// per user message, a sub-agent's for its life. Tokens and Cost contain what
// its children use.
type Limits struct {
	Turns    int   `json:"turns,omitempty"`
	Active   int64 `json:"active,omitempty"` // milliseconds of model, tool and retry time
	Tokens   int64 `json:"tokens,omitempty"`
	Cost     int64 `json:"cost,omitempty"`     // millionths of a dollar
	Children int   `json:"children,omitempty"` // running at once
	Agents   int   `json:"agents,omitempty"`   // in the whole chat
}

// Price of a model in millionths of a dollar for a million tokens. It is only
// used to hold money before a call; what a call really cost arrives with its
// outcome.
type Price struct {
	Known  bool  `json:"known,omitempty"`
	Input  int64 `json:"input,omitempty"`
	Output int64 `json:"output,omitempty"`
}

// Facts are what the machine knows of a model.
type Facts struct {
	Price     Price `json:"price,omitzero"`
	MaxOutput int64 `json:"max_output,omitempty"`
	Window    int64 `json:"window,omitempty"`
}

// Choice is the model of an agent and those to fall back to, with what the
// machine knows of them.
type Choice struct {
	Models    []string `json:"models,omitempty"` // the model, and those to fall back to
	Price     Price    `json:"price,omitzero"`
	MaxOutput int64    `json:"max_output,omitempty"`
	Window    int64    `json:"window,omitempty"` // tokens the model can read, 0 if unknown
	Others    []Facts  `json:"others,omitempty"` // the same of the models to fall back to, Models[1:]
}

// priced tells whether the price of each of the models is known.
func (c Choice) priced() bool {
	return c.Price.Known && !slices.ContainsFunc(c.Others, func(f Facts) bool { return !f.Price.Known })
}

// Amount is what budgets are made of.
type Amount struct {
	Tokens int64 `json:"tokens,omitempty"`
	Cost   int64 `json:"cost,omitempty"`
}

// Add returns a + b.
func (a Amount) Add(b Amount) Amount { return Amount{a.Tokens + b.Tokens, a.Cost + b.Cost} }

// Sub returns a - b.
func (a Amount) Sub(b Amount) Amount { return Amount{a.Tokens - b.Tokens, a.Cost - b.Cost} }

// least returns the smaller of a and b, each of the two amounts for itself.
func (a Amount) least(b Amount) Amount { return Amount{min(a.Tokens, b.Tokens), min(a.Cost, b.Cost)} }

// Meter counts work.
type Meter struct {
	Turns    int    `json:"turns,omitempty"`
	Active   int64  `json:"active,omitempty"`
	Own      Amount `json:"own,omitzero"`       // spent by the agent's own model calls
	Children Amount `json:"children,omitzero"`  // spent by its children that have ended
	Unpriced bool   `json:"unpriced,omitempty"` // some call had no known price: the cost is a lower bound
	Last     bool   `json:"last,omitempty"`     // the last turn beyond the turn limit has been given
	Asked    bool   `json:"asked,omitempty"`    // the user was asked to extend the budget
	Extra    Amount `json:"extra,omitzero"`     // what was given beyond the limits
}

// Spent is everything counted so far.
func (m Meter) Spent() Amount { return m.Own.Add(m.Children) }

// Span is a range of history positions, both ends included; the zero Span is
// empty (position 0 is never an answer).
type Span struct {
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
}

// Asked counts how often the same question was answered on the user's behalf.
type Asked struct {
	Question string `json:"question"` // hash of its text
	Times    int    `json:"times"`
}

// Phase is what an agent is doing. The set is sealed.
//
//sumtype:decl
type Phase interface{ isPhase() }

// Idle: an orchestrator that has nothing to do, or any agent that has nothing
// to do until a detached task reports.
type Idle struct{}

// Thinking: a model call is under way or waits for its place.
type Thinking struct {
	Try      int    `json:"try"`             // counts from 1 within the turn; part of the effect's id
	Fails    int    `json:"fails,omitempty"` // tries that count as failed
	Deadline int64  `json:"deadline,omitempty"`
	Last     bool   `json:"last,omitempty"` // only submit_result is accepted in this turn
	Shrunk   bool   `json:"shrunk,omitempty"`
	Why      string `json:"why,omitempty"`   // why it waits for its place: rate_limit, queue
	Until    int64  `json:"until,omitempty"` // until when, if that is known
}

// Backoff: the model call failed and will be tried again.
type Backoff struct {
	Try    int     `json:"try"` // the try that comes next
	Fails  int     `json:"fails,omitempty"`
	Until  int64   `json:"until"`
	Why    Failure `json:"why"`
	Last   bool    `json:"last,omitempty"`
	Shrunk bool    `json:"shrunk,omitempty"`
}

// Compacting: the history did not fit the model and is being shortened.
type Compacting struct {
	Try      int   `json:"try"`
	Fails    int   `json:"fails,omitempty"`
	Deadline int64 `json:"deadline,omitempty"`
	Last     bool  `json:"last,omitempty"`
	Refused  bool  `json:"refused,omitempty"` // the vendor said that it does not fit
}

// Acting: tool calls of the last reply are open.
type Acting struct {
	Pos   int    `json:"pos"` // of the reply; the result of call i stands at Pos+1+i
	Calls []Call `json:"calls"`
}

// Accepting: a result was submitted and the acceptance command runs.
type Accepting struct {
	Outcome Outcome `json:"outcome"`
}

// Cancelling: the outcome is decided, and children have still to end.
type Cancelling struct {
	Outcome  Outcome `json:"outcome"`
	Deadline int64   `json:"deadline"`
	Kept     int     `json:"kept,omitempty"` // messages queued before the stop: they start nothing
}

// Extending: the budget is spent, and the user is asked for more.
type Extending struct {
	Item     string   `json:"item"`
	Deadline int64    `json:"deadline"`
	Then     Thinking `json:"then"` // the call that waits
}

// Settling: the outcome is decided, and what the agent leaves in its worktree
// is being looked at.
type Settling struct {
	Outcome  Outcome `json:"outcome"`
	Deadline int64   `json:"deadline"`
}

// Completed: a sub-agent has done its task. Terminal.
type Completed struct {
	Outcome Outcome `json:"outcome"`
}

// Failed: a sub-agent has ended in any other way. Terminal.
type Failed struct {
	Outcome Outcome `json:"outcome"`
}

func (Idle) isPhase()       {}
func (Thinking) isPhase()   {}
func (Backoff) isPhase()    {}
func (Compacting) isPhase() {}
func (Acting) isPhase()     {}
func (Accepting) isPhase()  {}
func (Cancelling) isPhase() {}
func (Extending) isPhase()  {}
func (Settling) isPhase()   {}
func (Completed) isPhase()  {}
func (Failed) isPhase()     {}

// Class sorts tool calls by how the machine treats them.
type Class string

// The classes of call.
const (
	ClassRead     Class = "read"     // runs with its neighbours, and again after a crash
	ClassWrite    Class = "write"    // runs alone, at most once
	ClassDelegate Class = "delegate" // starts children at once
	ClassAsk      Class = "ask"      // a question to the user
	ClassSubmit   Class = "submit"   // submit_result
	ClassGiveUp   Class = "give_up"  // submit_error
)

// CallPhase is how far a tool call has come.
type CallPhase string

// The phases of a call.
const (
	CallQueued   CallPhase = "queued"   // its turn has not come
	CallRunning  CallPhase = "running"  // handed to its tool, which has not begun to change anything
	CallStarted  CallPhase = "started"  // a call that is no pure read has begun
	CallApproval CallPhase = "approval" // waits for an approval
	CallAsking   CallPhase = "asking"   // the orchestrator's model is asked first
	CallAsked    CallPhase = "asked"    // waits for the user's answer
	CallChildren CallPhase = "children" // held open by a spawn group
	CallPaused   CallPhase = "paused"   // runs, and waits for an answer of the user
	CallDone     CallPhase = "done"     // has its result
)

// Call is an open tool call.
type Call struct {
	ID       string    `json:"id"` // the provider's
	Name     string    `json:"name"`
	Class    Class     `json:"class"`
	Phase    CallPhase `json:"phase"`
	Item     string    `json:"item,omitempty"`     // the inbox item it waits for
	Grant    string    `json:"grant,omitempty"`    // hash of the action shown for approval, then of the approved one
	Deadline int64     `json:"deadline,omitempty"` // of the inbox item
	Question string    `json:"question,omitempty"` // hash of what is asked
	Key      string    `json:"key,omitempty"`      // hash of name and input
	Failed   bool      `json:"failed,omitempty"`   // of a tool run: its result is an error
}

// Group is the children of one spawn: tasks First to First+Size-1.
type Group struct {
	First    int    `json:"first"`
	Size     int    `json:"size"`
	Call     int    `json:"call"`            // index of the call it holds open, -1 when detached
	Wait     int    `json:"wait"`            // how many must end
	Valid    bool   `json:"valid,omitempty"` // only valid ones count for Wait (first_valid)
	Deadline int64  `json:"deadline,omitempty"`
	Key      string `json:"key,omitempty"` // of the call that asked for them

	Done   int    `json:"done,omitempty"`   // counted for the fan-in; pending is Size-Done
	Good   int    `json:"good,omitempty"`   // of those, completed ones
	Tokens int64  `json:"tokens,omitempty"` // of their results, which Context contains once they are delivered
	Ended  Bits   `json:"ended,omitempty"`  // which have really ended
	Live   int    `json:"live"`             // how many have not
	Closed bool   `json:"closed,omitempty"` // the fan-in is satisfied
	Rest   Reason `json:"rest,omitempty"`   // why those that had not ended by then were ended
	Ready  bool   `json:"ready,omitempty"`  // detached, satisfied, not yet delivered to the model
	Late   Bits   `json:"late,omitempty"`   // which have ended after that: recorded, not delivered
}

// Pending is how many children the fan-in still counts on.
func (g Group) Pending() int { return g.Size - g.Done }

func (g Group) holds(task int) bool { return task >= g.First && task < g.First+g.Size }

// Bits is a set of small numbers.
type Bits []byte

func newBits(n int) Bits { return make(Bits, (n+7)/8) }

// Has tells whether i is in the set.
func (b Bits) Has(i int) bool { return i/8 < len(b) && b[i/8]&(1<<(i%8)) != 0 }

// with returns a copy that also has i. States share their sets, so that none
// is ever changed in place.
func (b Bits) with(i int) Bits {
	c := append(Bits(nil), b...)
	c[i/8] |= 1 << (i % 8)
	return c
}

// clone makes a copy that shares nothing that Step changes with s.
func (s State) clone() State {
	if a, ok := s.Phase.(Acting); ok {
		a.Calls = append([]Call(nil), a.Calls...)
		s.Phase = a
	}
	s.Queue = append([]string(nil), s.Queue...)
	s.Asked = append([]Asked(nil), s.Asked...)
	s.Groups = append([]Group(nil), s.Groups...)
	s.Repeats = append([]Repeat(nil), s.Repeats...)
	s.Waiting = append([]string(nil), s.Waiting...)
	s.Answered = append([]string(nil), s.Answered...)
	return s
}

// Ended tells whether the agent is in a terminal phase.
func (s State) Ended() bool {
	switch s.Phase.(type) {
	case Completed, Failed:
		return true
	case Idle, Thinking, Backoff, Compacting, Extending, Acting, Accepting, Cancelling, Settling:
	}
	return false
}

// LiveChildren counts the children that have not ended.
func (s State) LiveChildren() int {
	n := 0
	for _, g := range s.Groups {
		n += g.Live
	}
	return n
}
