// Tool calls: opening, order, results, approvals, questions, submissions.

package agent

import (
	"fmt"
	"math"
	"slices"

	"github.com/cadre-dev/cadre/internal/message"
)

// open takes in the tool calls of a reply. Each ends with exactly one result
// at its reserved position before the next model turn.
func (m *machine) open(t Thinking, pos int, ev ModelReplied) {
	calls, before := ev.Calls, m.Tasks
	a := Acting{Pos: pos, Calls: make([]Call, len(calls))}
	for i, p := range calls {
		a.Calls[i] = Call{ID: p.ID, Name: p.Name, Class: p.Class, Phase: CallQueued, Question: p.Question, Key: p.Key}
		m.emit(OpenCall{Turn: m.Turn, Call: i, ID: p.ID, Name: p.Name, Class: p.Class})
	}
	m.Phase = a
	if p := calls[0]; len(calls) == 1 && terminal(p.Class) && m.may(p.Name) {
		m.submitted(t, pos, p)
		return
	}
	for i, p := range calls {
		switch {
		case !m.may(p.Name):
			m.answer(i, true, fmt.Sprintf("The tool %q is not available to you.", p.Name))
		case terminal(p.Class):
			m.answer(i, true, p.Name+" must be the only tool call of its turn; it was not executed. Call it alone when the other results are in.")
		case t.Last:
			m.answer(i, true, "Not executed: the turn limit is reached.")
		case p.Refused:
			m.answer(i, true, p.Why)
		case p.Class == ClassDelegate:
			if !m.loops(i) {
				m.spawn(i, p, ev.Agents+m.Tasks-before)
			}
		case p.Class == ClassAsk:
			m.ask(i, p)
		case p.Class != ClassRead && p.Class != ClassWrite:
			m.answer(i, true, fmt.Sprintf("The tool %q cannot be used here.", p.Name))
		}
	}
	if t.Last {
		m.finish(Outcome{Reason: ReasonMaxTurns, Result: m.soFar()}, "")
		return
	}
	m.advance()
}

func terminal(c Class) bool { return c == ClassSubmit || c == ClassGiveUp }

// may tells whether the agent has a tool. This is where capabilities are
// enforced: what a prompt says or a model believes does not matter.
func (m *machine) may(tool string) bool { return slices.Contains(m.Spec.Tools, tool) }

// submitted handles submit_result or submit_error as the only call of a turn.
func (m *machine) submitted(t Thinking, pos int, p Proposal) {
	ref := Ref{From: pos, To: pos, Call: 1}
	switch {
	case p.Refused && (t.Last || m.Corrected):
		m.answer(0, true, p.Why)
		o := Outcome{Reason: ReasonFailed, Kind: KindInvalid, Result: ref}
		if t.Last {
			o = Outcome{Reason: ReasonMaxTurns, Result: ref}
		}
		m.finish(o, p.Why)
	case p.Refused:
		m.Corrected = true
		m.answer(0, true, p.Why)
		m.advance()
	case !t.Last && m.hasNews():
		m.answer(0, true, "Not submitted: something new has arrived, see below. Take it into account, then submit again.")
		m.advance()
	case p.Class == ClassGiveUp:
		m.answer(0, false, "Recorded.")
		m.finish(Outcome{Reason: ReasonFailed, Kind: KindSubAgent, Result: ref}, "")
	case t.Last:
		m.answer(0, false, "Recorded.")
		m.finish(Outcome{Reason: ReasonMaxTurns, Result: ref}, "")
	default:
		m.answer(0, false, "Recorded.")
		m.submit(Outcome{Reason: ReasonCompleted, Result: ref})
	}
}

// submit ends a sub-agent's work successfully, after the acceptance command
// if it has one.
func (m *machine) submit(o Outcome) {
	if m.Spec.Acceptance {
		m.Phase = Accepting{Outcome: o}
		m.emit(RunAcceptance{})
		return
	}
	m.finish(o, "")
}

func (m *machine) acceptanceDone(ev AcceptanceDone) error {
	p, ok := m.Phase.(Accepting)
	if !ok {
		return ErrStale
	}
	m.Phase = Idle{}
	m.Context += ev.Tokens
	switch {
	case !ev.Passed && m.Rejected:
		m.finish(Outcome{Reason: ReasonFailed, Kind: KindAcceptance, Result: p.Outcome.Result}, ev.Output)
	case !ev.Passed:
		m.Rejected = true
		m.nextTurn("The acceptance check failed. Mend the cause and submit again.\n\n" + ev.Output)
	case m.hasNews():
		m.nextTurn()
	default:
		m.finish(p.Outcome, "")
	}
	return nil
}

// advance goes on after something about the open calls changed: runs what may
// run now, detaches delegations when the user waits, starts the next turn
// once every call has its result.
func (m *machine) advance() {
	a, ok := m.Phase.(Acting)
	if !ok {
		return
	}
	m.dispatch(a)
	open, delegated := 0, 0
	for _, c := range a.Calls {
		switch c.Phase {
		case CallDone:
		case CallChildren:
			delegated++
		case CallQueued, CallRunning, CallStarted, CallPaused, CallApproval, CallAsking, CallAsked:
			open++
		}
	}
	switch {
	case open > 0:
		return
	case delegated > 0 && len(m.Queue) == 0:
		return
	}
	if m.Spec.ToolRun() {
		m.endToolRun(a)
		return
	}
	for i, c := range a.Calls {
		if c.Phase == CallChildren {
			m.detach(i)
		}
	}
	m.nextTurn()
}

// dispatch runs the calls whose turn has come: consecutive reads together, a
// write alone, in call order. One that repeats itself is answered instead.
func (m *machine) dispatch(a Acting) {
	reading := false
	for i, c := range a.Calls {
		if c.Class != ClassRead && c.Class != ClassWrite || c.Phase == CallDone {
			continue
		}
		if c.Class == ClassWrite && reading {
			return
		}
		if c.Phase == CallQueued {
			if m.loops(i) {
				continue
			}
			m.run(i)
		}
		if c.Class == ClassWrite {
			return
		}
		reading = true
	}
}

// call returns the open call i of the present turn for changing.
func (m *machine) call(i int) *Call { return &m.Phase.(Acting).Calls[i] }

func (m *machine) run(i int) {
	c := m.call(i)
	c.Phase, c.Item, c.Deadline = CallRunning, "", 0
	m.emit(
		SetCall{Turn: m.Turn, Call: i, Phase: CallRunning},
		RunTool{Turn: m.Turn, Call: i, ID: c.ID, Name: c.Name, Class: c.Class, Grant: c.Grant},
	)
}

// answer gives call i its result in words of our own.
func (m *machine) answer(i int, isError bool, text string) {
	m.Context += noteTokens
	m.result(i, isError, []message.Part{message.TextPart{Text: text}})
}

func (m *machine) result(i int, isError bool, parts []message.Part) {
	m.conclude(i, isError, parts, nil)
}

// conclude ends call i with its result and the record of what it did.
func (m *machine) conclude(i int, isError bool, parts []message.Part, record []byte) {
	c := m.call(i)
	c.Phase, c.Item, c.Grant, c.Deadline = CallDone, "", "", 0
	c.Failed = isError && m.Spec.ToolRun()
	m.emit(
		SetCall{Turn: m.Turn, Call: i, Phase: CallDone, IsError: isError, Record: record},
		AddMessage{Pos: m.Phase.(Acting).Pos + 1 + i, Call: i, Body: message.Message{
			Role: message.Tool, Kind: message.KindResult,
			Parts: []message.Part{message.ToolResult{CallID: c.ID, Name: c.Name, IsError: isError, Parts: parts}},
		}},
	)
}

// running returns the call that an outcome belongs to.
func (m *machine) running(turn, i int) (*Call, error) {
	a, ok := m.Phase.(Acting)
	if turn < 1 || turn > m.Turn || i < 0 || turn == m.Turn && m.tries() < math.MaxInt {
		return nil, impossible("outcome of tool call %d.%d", turn, i)
	}
	if !ok || turn < m.Turn {
		return nil, ErrStale
	}
	if i >= len(a.Calls) {
		return nil, impossible("outcome of tool call %d.%d", turn, i)
	}
	c := &a.Calls[i]
	if c.Class != ClassRead && c.Class != ClassWrite {
		return nil, impossible("tool outcome for a call of class %s", c.Class)
	}
	switch c.Phase {
	case CallRunning, CallStarted, CallPaused:
		return c, nil
	case CallQueued:
		return nil, impossible("outcome of a tool call that was not run")
	case CallDone, CallApproval, CallAsking, CallAsked, CallChildren:
	}
	return nil, ErrStale
}

func (m *machine) toolStarted(ev ToolStarted) error {
	c, err := m.running(ev.Turn, ev.Call)
	if err != nil {
		return err
	}
	if c.Class != ClassWrite || c.Phase != CallRunning {
		return ErrStale
	}
	c.Phase = CallStarted
	m.emit(SetCall{Turn: ev.Turn, Call: ev.Call, Phase: CallStarted})
	return nil
}

func (m *machine) toolFinished(ev ToolFinished) error {
	c, err := m.running(ev.Turn, ev.Call)
	if err != nil {
		return err
	}
	if c.Item != "" { // it went on without the answer
		m.emit(CloseItem{ID: c.Item, How: "withdrawn"})
	}
	m.Calls++
	if ev.Did {
		m.Records++
	}
	m.Context += ev.Tokens
	m.remember(c, ev.Same, m.Phase.(Acting).Pos+1+ev.Call)
	m.conclude(ev.Call, ev.IsError, ev.Parts, ev.Record)
	m.advance()
	return nil
}

func (m *machine) newItem() string {
	m.Items++
	return fmt.Sprintf("%s-i%d", m.Spec.ID, m.Items)
}

func (m *machine) approvalNeeded(ev ApprovalNeeded) error {
	c, err := m.running(ev.Turn, ev.Call)
	if err != nil {
		return err
	}
	if c.Phase != CallRunning {
		return impossible("approval for a call that has started")
	}
	c.Phase, c.Item, c.Grant, c.Deadline = CallApproval, m.newItem(), ev.Grant, ev.Deadline
	m.emit(
		SetCall{Turn: ev.Turn, Call: ev.Call, Phase: CallApproval},
		OpenItem{ID: c.Item, Kind: "approval", Turn: ev.Turn, Call: ev.Call, Deadline: ev.Deadline, Action: ev.Action, Reason: ev.Reason, Grant: ev.Grant, Detail: ev.Detail},
	)
	return nil
}

// toolAsked pauses a running tool until the user has answered.
func (m *machine) toolAsked(ev ToolAsked) error {
	c, err := m.running(ev.Turn, ev.Call)
	if err != nil {
		return err
	}
	switch {
	case c.Phase == CallPaused:
		return impossible("a tool asks while it waits for an answer")
	case c.Class == ClassWrite && c.Phase == CallRunning:
		return impossible("a tool that is no pure read asks before it has begun")
	}
	c.Phase, c.Item, c.Deadline = CallPaused, m.newItem(), ev.Deadline
	m.emit(
		SetCall{Turn: ev.Turn, Call: ev.Call, Phase: CallPaused},
		OpenItem{ID: c.Item, Kind: "elicitation", Turn: ev.Turn, Call: ev.Call, Deadline: ev.Deadline, Action: ev.Action, Reason: ev.Reason},
	)
	return nil
}

// resume lets a paused tool go on with its answer. That it has begun was on
// record before, if it is no pure read.
func (m *machine) resume(i int, declined bool, answer string) {
	c := m.call(i)
	c.Phase, c.Item, c.Deadline = CallRunning, "", 0
	if c.Class == ClassWrite {
		c.Phase = CallStarted
	}
	m.emit(SetCall{Turn: m.Turn, Call: i, Phase: c.Phase}, TellTool{Turn: m.Turn, Call: i, Declined: declined, Answer: answer})
}

// waiting finds the call that waits for an inbox item in one of the phases.
func (m *machine) waiting(item string, phases ...CallPhase) (int, error) {
	if a, ok := m.Phase.(Acting); ok {
		for i, c := range a.Calls {
			if c.Item == item && item != "" && slices.Contains(phases, c.Phase) {
				return i, nil
			}
		}
	}
	return 0, ErrNotWaiting
}

func (m *machine) approvalAnswered(ev ApprovalAnswered) error {
	if p, ok := m.Phase.(Extending); ok && p.Item == ev.Item {
		m.budgetAnswered(p, ev)
		return nil
	}
	i, err := m.waiting(ev.Item, CallApproval)
	if err != nil {
		return err
	}
	if ev.Allow {
		m.emit(CloseItem{ID: ev.Item, How: "allowed", By: ev.By, Scope: ev.Scope, Answer: ev.Reason})
		m.run(i)
		return nil
	}
	m.emit(CloseItem{ID: ev.Item, How: "denied", By: ev.By, Scope: ev.Scope, Answer: ev.Reason})
	text := "Denied by the user."
	if ev.Reason != "" {
		text = "Denied by the user: " + ev.Reason
	}
	m.answer(i, true, text)
	m.advance()
	return nil
}

// ask puts a question. A sub-agent's goes to the orchestrator's model first,
// unless that has answered the same question too often already.
func (m *machine) ask(i int, p Proposal) {
	c := m.call(i)
	c.Item = m.newItem()
	open := OpenItem{ID: c.Item, Kind: "question", Turn: m.Turn, Call: i}
	if !m.Spec.Orchestrator() && m.Spec.Confidence > 0 && m.asked(p.Question) < m.Spec.SameLimit {
		c.Phase = CallAsking
		open.Hidden = true
		m.emit(SetCall{Turn: m.Turn, Call: i, Phase: CallAsking}, open, Consult{Item: c.Item, Turn: m.Turn, Call: i})
		return
	}
	c.Phase = CallAsked
	c.Deadline = m.askDeadline()
	open.Deadline = c.Deadline
	m.emit(SetCall{Turn: m.Turn, Call: i, Phase: CallAsked}, open)
	m.tellRoot(c.Item, false, false)
}

// tellRoot keeps the orchestrator informed of who waits for the user.
func (m *machine) tellRoot(item string, over, answered bool) {
	if !m.Spec.Orchestrator() {
		m.emit(TellRoot{Item: item, Over: over, For: answered})
	}
}

func (m *machine) askDeadline() int64 {
	if m.Spec.AskTimeout == 0 {
		return 0
	}
	return m.at + m.Spec.AskTimeout
}

func (m *machine) asked(question string) int {
	for _, a := range m.Asked {
		if a.Question == question {
			return a.Times
		}
	}
	return 0
}

func (m *machine) consulted(ev Consulted) error {
	i, err := m.waiting(ev.Item, CallAsking)
	if err != nil {
		return ErrStale
	}
	c := m.call(i)
	if !ev.Answered || ev.Confidence < m.Spec.Confidence {
		c.Phase = CallAsked
		c.Deadline = m.askDeadline()
		m.emit(SetCall{Turn: m.Turn, Call: i, Phase: CallAsked}, ShowItem{ID: ev.Item, Deadline: c.Deadline})
		m.tellRoot(ev.Item, false, false)
		return nil
	}
	k := slices.IndexFunc(m.Asked, func(a Asked) bool { return a.Question == c.Question })
	if k < 0 {
		m.Asked = append(m.Asked, Asked{Question: c.Question})
		k = len(m.Asked) - 1
	}
	m.Asked[k].Times++
	m.emit(CloseItem{ID: ev.Item, How: "answered_for_user", By: m.Spec.Chat, Answer: ev.Answer})
	m.tellRoot(ev.Item, true, true)
	m.Context += ev.Tokens
	m.result(i, false, []message.Part{message.TextPart{Text: ev.Answer}})
	m.advance()
	return nil
}

func (m *machine) questionAnswered(ev QuestionAnswered) error {
	i, err := m.waiting(ev.Item, CallAsking, CallAsked, CallPaused)
	if err != nil {
		return err
	}
	how := "answered"
	if ev.Declined {
		how = "declined"
	}
	m.emit(CloseItem{ID: ev.Item, How: how, By: ev.By, Answer: ev.Answer})
	if m.call(i).Phase == CallPaused {
		m.resume(i, ev.Declined, ev.Answer)
		return nil
	}
	if m.call(i).Phase == CallAsked {
		m.tellRoot(ev.Item, true, false)
	}
	if ev.Declined {
		m.answer(i, true, "The user declined to answer. Go on without it, or say why you cannot.")
		m.advance()
		return nil
	}
	m.Context += ev.Tokens
	m.result(i, false, []message.Part{message.TextPart{Text: ev.Answer}})
	m.advance()
	return nil
}

// answerQuestionByMessage answers the agent's own open questions when the
// user writes to it: the message that follows is the answer.
func (m *machine) answerQuestionByMessage() {
	for i, c := range m.Phase.(Acting).Calls {
		if c.Phase == CallAsked || c.Phase == CallAsking {
			m.emit(CloseItem{ID: c.Item, How: "answered", By: m.Spec.User})
			if c.Phase == CallAsked {
				m.tellRoot(c.Item, true, false)
			}
			m.answer(i, false, "The user has answered in a message of their own, which follows.")
		}
	}
}
