// Trace follows one agent through its life and asserts the rules that no
// single step can show.

package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
)

// Trace is the life of one agent. The zero Trace is an agent not yet born.
type Trace struct {
	State   agent.State
	Events  []Happened     // every event, refused ones too
	Effects []agent.Effect // of the last event
	Refused error          // why the last event was refused, nil if it was taken

	// Fast leaves the checks out that need encodings: replay, and that Step
	// does not touch what it is given.
	Fast bool

	shadow  agent.State // the same life, stepped from encoded events alone
	history history
	outside outside
	inbox   inbox
	talks   talks
	news    news
	waiting waitlist
	loops   loops
	family  family
	money   money
	ended   int // how often the end was told
}

// Happened is an event and the verdict on it.
type Happened struct {
	Event   agent.Event
	Verdict string
}

// Step delivers an event. The error it returns is a broken rule; that the
// machine refused the event is no error but noted in Refused.
func (tr *Trace) Step(ev agent.Event) error {
	if err := tr.step(ev); err != nil {
		return fmt.Errorf("event %d (%s) in phase %T: %w", len(tr.Events), agent.EventType(ev), tr.State.Phase, err)
	}
	return nil
}

func (tr *Trace) step(ev agent.Event) error {
	before := tr.State
	was := tr.encoded(before)
	after, fx, refused := agent.Step(before, ev)
	tr.Effects, tr.Refused = fx, refused
	tr.Events = append(tr.Events, Happened{ev, verdict(refused)})
	if tr.encoded(before) != was {
		return errors.New("the state given to Step was changed")
	}
	if err := tr.expected(ev, refused); err != nil {
		return err
	}
	if refused != nil {
		if len(fx) > 0 || tr.encoded(after) != was {
			return fmt.Errorf("refused (%w), but something changed", refused)
		}
	} else {
		if err := Check(before, ev, after, fx); err != nil {
			return err
		}
		tr.State = after
		if err := tr.follow(ev); err != nil {
			return err
		}
	}
	if tr.Fast {
		return nil
	}
	return tr.replayed(ev, refused)
}

// follow brings the ledgers up to date and compares them with the state.
func (tr *Trace) follow(ev agent.Event) error {
	if _, ok := ev.(agent.Migrated); ok {
		return tr.restart()
	}
	ledgers := []struct {
		name   string
		follow func(agent.Event, []agent.Effect, agent.State) error
	}{
		{"history", tr.history.follow},
		{"outside", tr.outside.follow},
		{"inbox", tr.inbox.follow},
		{"talks", tr.talks.follow},
		{"news", func(_ agent.Event, fx []agent.Effect, s agent.State) error { return tr.news.follow(&tr.inbox, fx, s) }},
		{"waiting", tr.waiting.follow},
		{"loops", tr.loops.follow},
		{"family", tr.family.follow},
		{"money", tr.money.follow},
	}
	for _, l := range ledgers {
		if err := l.follow(ev, tr.Effects, tr.State); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	for _, f := range tr.Effects {
		if _, ok := f.(agent.Report); ok {
			tr.ended++
		}
	}
	if want := tr.State.Ended(); tr.ended > 1 || want != (tr.ended == 1) {
		return fmt.Errorf("the end was told %d times", tr.ended)
	}
	return nil
}

// restart takes a Migrated event: it must have kept what the ledgers know.
func (tr *Trace) restart() error {
	if got, want := keys(tr.State.Outstanding()), tr.outside.running; !sameKeys(got, want) {
		return fmt.Errorf("migrated with %v under way, not %v", got, want)
	}
	return nil
}

// replayed steps the shadow by the logged form of the event, which has no
// bodies: it must meet the same verdict and come to the same state.
func (tr *Trace) replayed(ev agent.Event, refused error) error {
	body, err := agent.EncodeEvent(ev)
	if err != nil {
		return err
	}
	ev, err = agent.DecodeEvent(agent.EventType(ev), body)
	if err != nil {
		return err
	}
	next, _, err := agent.Step(tr.shadow, ev)
	if verdict(err) != verdict(refused) {
		return fmt.Errorf("live %q, replayed %q", verdict(refused), verdict(err))
	}
	tr.shadow = next
	live := tr.encoded(tr.State)
	if replayed := tr.encoded(tr.shadow); live != replayed {
		return fmt.Errorf("live and replayed states differ:\n%s\n%s", live, replayed)
	}
	var again agent.State
	again.Spec = tr.State.Spec
	if err := json.Unmarshal([]byte(live), &again); err != nil {
		return err
	}
	if decoded := tr.encoded(again); decoded != live {
		return fmt.Errorf("the state does not survive its encoding:\n%s\n%s", live, decoded)
	}
	a, err := tr.State.Hash()
	if err != nil {
		return err
	}
	b, err := again.Hash()
	if err != nil {
		return err
	}
	if a != b {
		return errors.New("the hash does not survive the encoding")
	}
	return nil
}

func (tr *Trace) encoded(s agent.State) string {
	if tr.Fast {
		return ""
	}
	b, err := json.Marshal(s)
	if err != nil {
		return "cannot be encoded: " + err.Error()
	}
	return string(b)
}

// Story tells the last n events of the life and what came of each, for the
// message of a failed test.
func (tr *Trace) Story(n int) string {
	var s agent.State
	var lines []string
	for i, h := range tr.Events {
		body, err := agent.EncodeEvent(h.Event)
		line := fmt.Sprintf("%d %s %s", i+1, agent.EventType(h.Event), body)
		next, fx, refused := agent.Step(s, h.Event)
		s = next
		line += "\n    " + clock(0).state(s)
		for _, f := range fx {
			line += "\n      " + clock(0).effect(f)
		}
		if err := errors.Join(err, refused); err != nil {
			line += "\n    refused: " + err.Error()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}
