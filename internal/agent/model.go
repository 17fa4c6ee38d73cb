// Model calls: turns, replies, failures, retries.

package agent

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/cadre-dev/cadre/internal/message"
)

const (
	maxFails     = 5              // failed tries of one turn before the next model, or the end
	firstBackoff = 500            // milliseconds
	maxBackoff   = 30_000         // milliseconds
	modelTimeout = 10 * 60 * 1000 // milliseconds a model call of usual length may take at most
	tokenTime    = 50             // milliseconds for each token of a longer one
	minOutput    = 256            // tokens; a call with less room is not worth making
	maxOutput    = 8192           // tokens, where the spec does not say
	noteTokens   = 64             // what a note or a short answer of ours counts in Context
)

// nextTurn takes in what has come and asks the model. The order of the input:
// tool results (already placed, in call order), late results of children,
// notes, user messages by arrival.
func (m *machine) nextTurn(notes ...string) {
	m.deliverReady()
	for _, n := range notes {
		m.note(n)
	}
	if len(m.Queue) > 0 {
		m.Repeats = nil
		if m.Spec.Orchestrator() {
			m.Run = Meter{Extra: m.stillLent()} // an orchestrator's limits count per user message
			m.LastText = Span{}
			m.tellWaiting()
			m.choose()
		}
	}
	last := m.Spec.Limits.Turns > 0 && m.Run.Turns >= m.Spec.Limits.Turns
	spent := last && m.Run.Last
	if last && !spent {
		m.note(lastTurnNote(m.Spec.Orchestrator()))
		m.Run.Last = true
	}
	m.placeQueue()
	if spent {
		m.finish(Outcome{Reason: ReasonMaxTurns, Result: m.soFar()}, "")
		return
	}
	m.Last = Outcome{} // a run is under way
	m.Turn++
	m.Run.Turns++
	m.Life.Turns++
	m.think(Thinking{Try: 1, Last: last})
}

// think makes a model call, if the limits leave room for it.
func (m *machine) think(t Thinking) {
	if reason := m.exhausted(); reason != "" {
		m.outOf(reason, t)
		return
	}
	if m.overflows() && !t.Shrunk {
		t.Try-- // the call that was not made needs no number of its own
		m.compact(t, false)
		return
	}
	t.Deadline = m.at + m.patience()
	m.Phase = t
	m.emit(CallModel{Turn: m.Turn, Try: t.Try, Model: m.model(), MaxOutput: m.room(), Last: t.Last})
}

// patience is how long a model call may take: a long answer takes its time. A
// stream that stalls is ended much sooner, by the provider.
func (m *machine) patience() int64 {
	return modelTimeout + max(m.room()-maxOutput, 0)*tokenTime
}

func (m *machine) model() string {
	if m.Model < len(m.Spec.Models) {
		return m.Spec.Models[m.Model]
	}
	return ""
}

// choose goes over to the models that a message of the queue has chosen. What
// was encoded for the model before belongs to another epoch.
func (m *machine) choose() {
	c := m.Choosing
	m.Choosing = nil
	if c == nil || m.Model == 0 && slices.Equal(c.Models, m.Spec.Models) {
		return
	}
	m.Model, m.Chosen = 0, c
	m.fit()
	m.Epoch++
	m.emit(SetModel{Model: m.model()})
}

// thinking returns the call that an outcome belongs to, and ends it.
func (m *machine) thinking(turn, try int) (Thinking, error) {
	t, ok := m.Phase.(Thinking)
	switch {
	case ok && turn == m.Turn && try == t.Try:
		m.Phase = Idle{}
		return t, nil
	case turn < 1 || try < 1 || turn > m.Turn || turn == m.Turn && try > m.tries():
		return t, impossible("outcome of model call %d.%d, which was never made", turn, try)
	}
	return t, ErrStale
}

// tries is how often the model was called in this turn, as far as the phase
// still tells.
func (m *machine) tries() int {
	switch p := m.Phase.(type) {
	case Thinking:
		return p.Try
	case Backoff:
		return p.Try - 1
	case Compacting:
		return p.Try
	case Extending:
		return p.Then.Try - 1
	case Idle, Acting, Accepting, Cancelling, Settling, Completed, Failed:
	}
	return math.MaxInt
}

func (m *machine) modelQueued(ev ModelQueued) error {
	t, err := m.thinking(ev.Turn, ev.Try)
	if err != nil {
		return err
	}
	t.Why, t.Until = ev.Why, ev.Until
	t.Deadline = max(m.at, ev.Until) + m.patience()
	m.Phase = t
	return nil
}

func (m *machine) modelReplied(ev ModelReplied) error {
	t, err := m.thinking(ev.Turn, ev.Try)
	if err != nil {
		return err
	}
	m.charge(ev.Spent, ev.Priced)
	m.Unread = 0
	rec := RecordModel{
		Turn: ev.Turn, Try: ev.Try, Outcome: "replied", Stop: ev.Stop,
		Spent: ev.Spent, Priced: ev.Priced, Info: ev.Info, Pos: -1, Reply: ev.Body,
	}
	switch {
	case ev.Stop == StopRefusal || ev.Stop == StopFilter:
		m.emit(rec)
		m.finish(Outcome{Reason: ReasonFailed, Kind: KindModel, Result: m.soFar()}, refusalText(ev.Stop))
		return nil
	case !ev.Text && len(ev.Calls) == 0 && ev.Stop == StopLength:
		m.emit(rec)
		m.cutShort(t)
		return nil
	case !ev.Text && len(ev.Calls) == 0:
		rec.Outcome, rec.Kind = "failed", FailEmpty
		m.emit(rec)
		m.retry(t, FailEmpty, 0, "the model's answer was empty")
		return nil
	}
	m.Cut = false
	pos := m.Pos
	rec.Pos, rec.Reply = pos, message.Message{}
	m.emit(rec)
	m.Pos += 1 + len(ev.Calls)
	m.emit(AddMessage{Pos: pos, Body: ev.Body, Call: -1})
	if ev.Tokens > 0 {
		m.Context = ev.Tokens
	}
	if ev.Text {
		if !m.Continued || m.LastText == (Span{}) {
			m.LastText.From = pos
		}
		m.LastText.To = pos
	}
	if len(ev.Calls) > 0 {
		m.Continued = false
		m.open(t, pos, ev)
		return nil
	}
	m.said(t, ev.Stop)
	return nil
}

// cutShort handles a reply that was cut off before it said anything of use, as
// in the middle of a tool call. It is told so once.
func (m *machine) cutShort(t Thinking) {
	switch {
	case t.Last:
		m.finish(Outcome{Reason: ReasonMaxTurns, Result: m.soFar()}, "")
	case m.Cut:
		m.finish(Outcome{Reason: ReasonPartial, Result: m.soFar()}, "")
	default:
		m.Cut = true
		m.nextTurn("Your answer was cut off by the output limit before anything of it could be used. Say less at once: shorter texts, smaller calls.")
	}
}

// said handles a reply without tool calls.
func (m *machine) said(t Thinking, stop Stop) {
	result := m.soFar()
	switch {
	case t.Last:
		m.finish(Outcome{Reason: ReasonMaxTurns, Result: result}, "")
		return
	case stop == StopLength && !m.Continued:
		m.Continued = true
		m.nextTurn("Your answer was cut off by the output limit. Continue exactly where it stopped.")
		return
	case stop == StopLength && !m.hasNews():
		m.Continued = false
		m.finish(Outcome{Reason: ReasonPartial, Result: result}, "")
		return
	}
	m.Continued = false
	switch {
	case m.hasNews():
		m.nextTurn()
	case m.expects():
		m.Phase = Idle{} // detached tasks wake it
	case m.Spec.Orchestrator():
		m.finish(Outcome{Reason: ReasonCompleted, Result: result}, "")
	case m.Spec.Schema && !m.Corrected:
		m.Corrected = true
		m.nextTurn("Your result must be submitted with submit_result, in the form that its schema asks for.")
	case m.Spec.Schema:
		m.finish(Outcome{Reason: ReasonFailed, Kind: KindInvalid, Result: result}, "the result does not have the form that its schema asks for")
	default:
		m.submit(Outcome{Reason: ReasonCompleted, Result: result})
	}
}

func (m *machine) modelFailed(ev ModelFailed) error {
	t, err := m.thinking(ev.Turn, ev.Try)
	if err != nil {
		return err
	}
	m.charge(ev.Spent, ev.Priced)
	m.emit(RecordModel{
		Turn: ev.Turn, Try: ev.Try, Outcome: "failed", Kind: ev.Kind, Message: ev.Message,
		Spent: ev.Spent, Priced: ev.Priced, Info: ev.Info, Pos: -1,
	})
	if !ev.GaveUp || !m.fallBack(t) {
		m.retry(t, ev.Kind, ev.RetryAfter, ev.Message)
	}
	return nil
}

// retry decides what follows a failed call: the same again after a while, a
// shorter history, the next model of the list, or the end.
func (m *machine) retry(t Thinking, kind Failure, after int64, text string) {
	switch kind {
	case FailRateLimit:
		// Waiting for a rate limit consumes no attempt; active time bounds it.
		m.backoff(t, kind, after)
		return
	case FailOverloaded, FailNetwork, FailTimeout, FailServer, FailEmpty:
		t.Fails++
		if t.Fails < maxFails {
			m.backoff(t, kind, after)
			return
		}
	case FailOverflow:
		if !t.Shrunk {
			m.compact(t, true)
			return
		}
	case FailAuth, FailPermission, FailNotFound, FailQuota, FailBadRequest, FailFilter:
	}
	if kind != FailOverflow && kind != FailBadRequest && kind != FailFilter && m.fallBack(t) {
		return
	}
	m.finish(Outcome{Reason: ReasonFailed, Kind: KindModel, Result: m.soFar()}, fmt.Sprintf("the model call failed (%s): %s", kind, text))
}

// fallBack calls the next model of the list, if there is one.
func (m *machine) fallBack(t Thinking) bool {
	if m.Model+1 >= len(m.Spec.Models) {
		return false
	}
	m.Model++
	m.Epoch++
	m.think(Thinking{Try: t.Try + 1, Last: t.Last, Shrunk: t.Shrunk})
	return true
}

func (m *machine) backoff(t Thinking, kind Failure, after int64) {
	d := m.delay(t.Try)
	if kind == FailRateLimit {
		d = m.delay(1) // the scheduler's cool-down is what makes everybody wait
	}
	wait := max(after, d)
	m.Phase = Backoff{Try: t.Try + 1, Fails: t.Fails, Until: m.at + wait, Why: kind, Last: t.Last, Shrunk: t.Shrunk}
}

// delay grows exponentially with the try. Its jitter, up to a quarter, comes
// from agent, turn and try, so that a thousand agents that failed together do
// not come back together and the machine stays deterministic.
func (m *machine) delay(try int) int64 {
	d := int64(firstBackoff) << min(try-1, 10)
	d = min(d, maxBackoff)
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", m.Spec.ID, m.Turn, try)
	return d + int64(h.Sum64()%uint64(d/4+1))
}

// compact shortens the history. That is a model call of its own, and needs
// room like any other.
func (m *machine) compact(t Thinking, refused bool) {
	if reason := m.exhausted(); reason != "" {
		t.Try++ // the next call is a new one
		m.outOf(reason, t)
		return
	}
	m.Phase = Compacting{Try: t.Try, Fails: t.Fails, Deadline: m.at + modelTimeout, Last: t.Last, Refused: refused}
	m.emit(Compact{Turn: m.Turn, Refused: refused})
}

func (m *machine) compacted(ev Compacted) error {
	c, ok := m.Phase.(Compacting)
	if !ok || ev.Turn != m.Turn {
		if ev.Turn > m.Turn {
			return impossible("compacted for turn %d", ev.Turn)
		}
		return ErrStale
	}
	m.Phase = Idle{}
	m.charge(ev.Spent, ev.Priced)
	if ev.Spent != (Amount{}) {
		m.side(ev.Spent, ev.Priced, ev.Info)
	}
	if !ev.OK {
		m.tooLong(ev.Message)
		return nil
	}
	m.Epoch++
	m.Context = ev.Tokens
	m.View = ev.View
	if ev.Fit != nil && m.Spec.Orchestrator() {
		m.Fitted = ev.Fit
		m.fit()
	}
	m.Repeats = nil // what a call gave may no longer be in sight
	if ev.Summary {
		m.View.Summary = m.Pos
		m.place(ev.Body)
	}
	m.think(Thinking{Try: c.Try + 1, Fails: c.Fails, Last: c.Last, Shrunk: true})
	return nil
}

// tooLong ends the work on a history that could not be shortened.
func (m *machine) tooLong(why string) {
	m.finish(Outcome{Reason: ReasonFailed, Kind: KindModel, Result: m.soFar()}, "the conversation no longer fits the model: "+why)
}

func (m *machine) charged(ev Charged) error {
	m.charge(ev.Spent, ev.Priced)
	m.side(ev.Spent, ev.Priced, ev.Info)
	return nil
}

// side records a model call beside the turns. Its try counts down from -1 over
// the agent's life, so that each has an id of its own.
func (m *machine) side(spent Amount, priced bool, info CallInfo) {
	m.Sides++
	m.emit(RecordModel{Turn: m.Turn, Try: -m.Sides, Outcome: "side", Spent: spent, Priced: priced, Info: info, Pos: -1})
}

func (m *machine) charge(spent Amount, priced bool) {
	for _, meter := range []*Meter{&m.Run, &m.Life} {
		meter.Own = meter.Own.Add(spent)
		if !priced && spent.Tokens > 0 {
			meter.Unpriced = true
		}
	}
}

// soFar is what the agent has to show if it ends now: the result whose
// acceptance is being checked, or else its newest answer in plain text.
func (m *machine) soFar() Ref {
	if p, ok := m.Phase.(Accepting); ok {
		return p.Outcome.Result
	}
	return Ref{From: m.LastText.From, To: m.LastText.To}
}

// hasNews tells whether something has arrived that the model has not seen.
func (m *machine) hasNews() bool { return len(m.Queue) > 0 || m.hasReady() }

// place puts a message at the next position of the history.
func (m *machine) place(body message.Message) {
	m.emit(AddMessage{Pos: m.Pos, Body: body, Call: -1})
	m.Pos++
}

func (m *machine) note(text string) {
	m.place(message.Of(message.User, message.KindNote, text))
	m.Context += noteTokens
}

func (m *machine) placeQueue() {
	for _, id := range m.Queue {
		m.emit(Place{ID: id, Pos: m.Pos})
		m.Pos++
		if m.Spec.Orchestrator() {
			m.Cause = id
		} else {
			m.Unread++
		}
	}
	m.Context += m.QueueTokens
	m.Queue, m.QueueTokens = nil, 0
}

func lastTurnNote(orchestrator bool) string {
	if orchestrator {
		return "The turn limit is reached. This is your last turn: tools are no longer run. Say what was done, what was found and what is left."
	}
	return "The turn limit is reached. This is your last turn: only submit_result is accepted. Submit what you have."
}

func refusalText(s Stop) string {
	if s == StopFilter {
		return "the vendor's content filter cut the model's answer"
	}
	return "the model declined to answer"
}
