package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// Recover goes on with everything that was unfinished when the process
// stopped, or, with chat != "", with that chat alone. Agents whose effects
// were under way are told; the deadlines of those that wait are set. All else
// stands as it stood and costs nothing.
func (e *Engine) Recover(ctx context.Context, chat string) error {
	waiting, err := e.cfg.Store.Unfinished(ctx, chat)
	if err != nil {
		return fmt.Errorf("looking for unfinished agents: %w", err)
	}
	var acks []chan error
	for _, w := range waiting {
		d := delivery{agent: w.Agent, ev: agent.Recovered{}, reply: make(chan error, 1)}
		if !w.Busy {
			d.ev = agent.Tick{} // sets its timer, or does what is due
		}
		if !e.box.put(d) {
			return ErrClosed
		}
		acks = append(acks, d.reply)
	}
	for _, ack := range acks {
		select {
		case err := <-ack:
			if err != nil && !errors.Is(err, agent.ErrStale) {
				return fmt.Errorf("going on with unfinished agents: %w", err)
			}
		case <-e.ended:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if chat == "" { // all that was left of a process before this one has been told
		e.spool.sweep(func(call string) bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			return e.prints[call] != nil
		})
	}
	return nil
}

// agent returns an agent's place in memory, loading it from the store.
func (e *Engine) agent(id string) (*live, error) {
	if l, ok := e.live[id]; ok {
		return l, nil
	}
	st, fresh, err := Load(e.base, e.cfg.Store, id)
	if err != nil {
		return nil, err
	}
	l := &live{state: st, fresh: fresh, running: map[effectKey]context.CancelFunc{}}
	if st.Pos == 0 {
		l.history = []message.Message{} // there is nothing to read
	}
	if !st.Ended() {
		e.live[id] = l
	}
	return l, nil
}

// Load gives the present state of an agent: the newest snapshot and the
// events since, replayed. It also tells how many those were.
func Load(ctx context.Context, s store.Store, id string) (agent.State, int, error) {
	var st agent.State
	loaded, err := s.Load(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return st, 0, fmt.Errorf("%s: %w", id, ErrUnknown)
	}
	if err != nil {
		return st, 0, fmt.Errorf("loading agent %s: %w", id, err)
	}
	if loaded.Snapshot != nil {
		if loaded.Version > agent.Version {
			return st, 0, fmt.Errorf("loading agent %s: written by a newer version (%d, this is %d)", id, loaded.Version, agent.Version)
		}
		if err := errors.Join(json.Unmarshal(loaded.Agent.Spec, &st.Spec), json.Unmarshal(loaded.Snapshot, &st)); err != nil {
			return st, 0, fmt.Errorf("loading agent %s: %w: %w", id, store.ErrCorrupt, err)
		}
	}
	st, n, err := replay(st, loaded.Events, nil)
	if err != nil {
		return st, 0, fmt.Errorf("loading agent %s: %w", id, err)
	}
	return st, n, nil
}

// replay steps the applied events of a log. Whatever comes before the last
// Migrated event was written by an older Step and is not replayed. see, if
// given, is told the state after each of them.
func replay(st agent.State, events []store.Event, see func(store.Event, agent.State)) (agent.State, int, error) {
	for i := len(events) - 1; i > 0; i-- {
		if events[i].Type == "migrated" {
			events = events[i:]
			break
		}
	}
	n := 0
	for _, e := range events {
		if e.Version > agent.Version {
			return st, n, fmt.Errorf("event %d was written by a newer version (%d, this is %d)", e.Seq, e.Version, agent.Version)
		}
		ev, err := agent.DecodeEvent(e.Type, e.Body)
		if err != nil {
			return st, n, fmt.Errorf("event %d: %w: %w", e.Seq, store.ErrCorrupt, err)
		}
		next, _, err := agent.Step(st, ev)
		switch {
		case e.Verdict == store.Applied && err != nil:
			return st, n, fmt.Errorf("event %d (%s) was applied, but is refused now: %w", e.Seq, e.Type, err)
		case e.Verdict != store.Applied && err == nil:
			return st, n, fmt.Errorf("event %d (%s) was %s, but is taken now", e.Seq, e.Type, e.Verdict)
		case err == nil:
			st = next
			n++
			if see != nil {
				see(e, st)
			}
		}
	}
	return st, n, nil
}

// Statuses tells what an agent was doing after each event of its log, by the
// number of the event. Events that changed nothing, and those of before a
// migration, are not in it.
func Statuses(ctx context.Context, s store.Store, id string) (map[int64]agent.Status, error) {
	events, err := s.Log(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading the log of %s: %w", id, err)
	}
	out := make(map[int64]agent.Status, len(events))
	_, _, err = replay(agent.State{}, events, func(e store.Event, st agent.State) { out[e.Seq] = st.Status() })
	if err != nil {
		return nil, fmt.Errorf("replaying the log of %s: %w", id, err)
	}
	return out, nil
}

// Verify replays the whole log of every agent of a chat and compares the
// result with the stored state. It returns what differs, in plain sentences.
func Verify(ctx context.Context, s store.Store, chat string) (agents int, problems []string, err error) {
	tree, err := s.Tree(ctx, chat)
	if err != nil {
		return 0, nil, fmt.Errorf("reading the tree of %s: %w", chat, err)
	}
	for _, a := range tree {
		p, err := verifyAgent(ctx, s, a.ID)
		if err != nil {
			return 0, nil, err
		}
		problems = append(problems, p...)
	}
	return len(tree), problems, nil
}

func verifyAgent(ctx context.Context, s store.Store, id string) ([]string, error) {
	events, err := s.Log(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading the log of %s: %w", id, err)
	}
	replayed, _, err := replay(agent.State{}, events, nil)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", id, err)}, nil
	}
	stored, _, err := Load(ctx, s, id)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", id, err)}, nil
	}
	a, err := replayed.Hash()
	if err != nil {
		return nil, err
	}
	b, err := stored.Hash()
	if err != nil {
		return nil, err
	}
	if a != b {
		return []string{fmt.Sprintf("%s: the log replays to another state than the stored one", id)}, nil
	}
	return nil, nil
}

// named is how many agents of a role a chat has had.
type named struct{ chat, role string }

// name gives the next agent of a role in a chat its name: coder, coder-2, ….
// The count is the engine's once the batch is committed.
func (t *tx) name(chat, role string) string {
	key := named{chat, role}
	if _, ok := t.names[key]; !ok {
		if err := t.e.countNames(chat); err != nil {
			t.fail(fmt.Errorf("reading the names of chat %s: %w", chat, err))
		}
		t.names[key] = t.e.names[key]
	}
	t.names[key]++
	if n := t.names[key]; n > 1 {
		return fmt.Sprintf("%s-%d", role, n)
	}
	return role
}

// agents is how many agents the chat has had.
func (t *tx) agents(chat string) int {
	if err := t.e.countNames(chat); err != nil {
		t.fail(fmt.Errorf("counting the agents of chat %s: %w", chat, err))
	}
	return t.e.totals[chat] + t.started[chat]
}

// countNames reads how many agents of each role a chat has, once.
func (e *Engine) countNames(chat string) error {
	if e.counted[chat] {
		return nil
	}
	tree, err := e.cfg.Store.Tree(e.base, chat)
	if err != nil {
		return err
	}
	e.counted[chat] = true
	for _, a := range tree {
		e.names[named{chat, a.Role}]++
	}
	e.totals[chat] = len(tree)
	return nil
}

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// randomID makes an id of 50 random bits that is easy to read and to type.
func randomID() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range b {
		b[i] = idAlphabet[int(b[i])%len(idAlphabet)]
	}
	return string(b[:])
}
