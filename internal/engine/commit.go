package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// snapshotEvery is after how many events the state of an agent that does not
// rest is stored anew, which bounds the replay at loading.
const snapshotEvery = 32

// commit steps a batch of deliveries, writes everything in one transaction
// and then acts. If nothing could be written, nothing has happened: the
// deliveries go back, and the states in memory are as before.
func (e *Engine) commit(batch []delivery) {
	t := &tx{e: e, at: e.cfg.Now().UnixMilli(), staged: map[string]*staged{}, ends: map[string]store.EndTask{}, prompts: map[string]bool{}, names: map[named]int{}, started: map[string]int{}}
	for _, d := range batch {
		t.deliver(d)
	}
	if e.crash("before-commit") {
		return
	}
	if err := t.write(); err != nil {
		e.notCommitted(batch, err)
		return
	}
	if e.crash("after-commit") {
		return
	}
	e.setPaused(nil)
	t.act()
}

// notCommitted handles a batch that could not be written. Callers who wait
// are told; what came from inside is kept and tried again.
func (e *Engine) notCommitted(batch []delivery, err error) {
	if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrCorrupt) {
		e.commitSingly(batch, err)
		return
	}
	e.setPaused(err)
	var keep []delivery
	for _, d := range append(batch, e.box.withdraw()...) { // those behind the batch would wait for ever
		if d.reply != nil {
			d.reply <- err
		} else {
			keep = append(keep, d)
		}
	}
	if len(keep) == 0 {
		return
	}
	// The cause may pass (disk full, locked): wait a little, then try again.
	select {
	case <-e.quit:
	case <-time.After(retryCommit):
	}
	e.box.putBack(keep)
}

const retryCommit = 500 * time.Millisecond

// commitSingly finds the one delivery that the store refuses (a duplicate,
// say), so that it does not take the others with it.
func (e *Engine) commitSingly(batch []delivery, err error) {
	if len(batch) > 1 {
		for _, d := range batch {
			if e.crashed {
				return
			}
			e.commit([]delivery{d})
		}
		return
	}
	d := batch[0]
	if d.reply != nil {
		d.reply <- err
		return
	}
	log := e.cfg.Log.With("agent", d.agent)
	if l, ok := e.live[d.agent]; ok {
		log = about(e.cfg.Log, l.state.Spec)
	}
	log.Error("an event could not be committed", "event", agent.EventType(d.ev), "err", err)
}

func (e *Engine) setPaused(err error) {
	e.mu.Lock()
	was := e.paused
	e.paused = err
	e.mu.Unlock()
	switch {
	case err != nil && was == nil:
		e.cfg.Log.Error("paused: nothing can be written; work goes on when the cause is gone", "err", err)
	case err == nil && was != nil:
		e.cfg.Log.Info("writing again")
	}
}

// tx is a batch on its way into the store.
type tx struct {
	e       *Engine
	at      int64 // the time of all its events
	staged  map[string]*staged
	order   []*staged
	entries []*store.Entry
	ends    map[string]store.EndTask // outcomes of tasks decided in this batch
	prompts map[string]bool          // written in this batch
	names   map[named]int            // given in this batch
	started map[string]int           // children started in this batch, by chat
	acts    []act
	replies []func()
	err     error      // why the batch cannot be written
	over    []string   // model calls that have ended: what they said so far is committed or void
	todo    []delivery // between agents, delivered in this same batch
	chats   []string   // that were created
	gone    []string   // chats that were deleted

	failures []failure // model calls that failed
}

// staged is an agent as it will be once the batch is committed.
type staged struct {
	live
	was   agent.Names
	last  *store.Entry // the newest applied one
	isNew bool
}

// blank returns an empty one, used before if possible: a state is large, and
// each event has one staged.
func (e *Engine) blank() *staged {
	n := len(e.blanks)
	if n == 0 {
		return &staged{}
	}
	s := e.blanks[n-1]
	e.blanks = e.blanks[:n-1]
	return s
}

// act is something to be done after the commit.
type act struct {
	agent  string
	effect agent.Effect
}

// deliver steps one event and everything that follows from it between agents.
func (t *tx) deliver(d delivery) {
	t.step(d)
	for len(t.todo) > 0 {
		next := t.todo[0]
		t.todo = t.todo[1:]
		t.step(next)
	}
}

func (t *tx) step(d delivery) {
	if d.managed != nil {
		t.manage(d)
		return
	}
	d.ev = agent.Stamp(d.ev, t.at)
	s, err := t.agent(d)
	if errors.Is(err, ErrUnknown) {
		t.reply(d, err)
		if d.reply == nil {
			t.e.cfg.Log.Error("an event for an agent that does not exist", "agent", d.agent, "event", agent.EventType(d.ev))
		}
		return
	}
	if err != nil {
		t.fail(err) // it may well exist: the event must not be lost
		return
	}
	if d.key.kind != "" {
		delete(s.running, d.key)
		if s.history == nil {
			s.history = d.history
		}
	}
	t.complete(s, &d)
	next, effects, stepErr := agent.Step(s.state, d.ev)
	if stepErr != nil {
		t.refused(s, d, stepErr)
		return
	}
	entry, err := t.entry(s, d, store.Applied)
	if err != nil {
		t.fail(err)
		return
	}
	if next.Epoch != s.state.Epoch {
		s.memo = nil // what was encoded belongs to another request
	}
	if ev, ok := d.ev.(agent.ModelFailed); ok {
		t.failures = append(t.failures, failure{s.state.Spec, ev})
	}
	turn := s.state.Turn
	s.state = next
	s.fresh++
	s.last = entry
	t.entries = append(t.entries, entry)
	t.reply(d, nil)
	p := projection{tx: t, s: s, d: d, entry: entry, turn: turn}
	if s.isNew {
		p.created(d)
		s.isNew = false
	}
	if ev, ok := d.ev.(agent.ToolFinished); ok && ev.Artifact != nil {
		p.artifact(ev.Artifact)
	}
	for _, f := range effects {
		if err := p.effect(f); err != nil {
			t.fail(fmt.Errorf("%s of %s: %w", entry.Type, d.agent, err))
			return
		}
	}
}

// complete adds what only the engine knows to an event.
func (t *tx) complete(s *staged, d *delivery) {
	if ev, ok := d.ev.(agent.ModelReplied); ok && delegates(ev) {
		ev.Agents = t.agents(s.state.Spec.Chat)
		d.ev = ev
	}
	if ev, ok := d.ev.(agent.Cancel); ok {
		ev.SoFar = t.e.soFar(&s.live)
		ev.Printed = s.state.Spec.ToolRun() && len(ev.Output) > 0
		d.ev = ev
	}
	if ev, ok := d.ev.(agent.Tick); ok {
		ev.SoFar = t.e.soFar(&s.live)
		d.ev = ev
	}
	if ev, ok := d.ev.(agent.Recovered); ok {
		ev.SoFar, d.after = t.e.spool.interrupted(s.state)
		d.ev = ev
	}
}

// fail keeps the batch from being written: a state without its documents, or
// a child's end without its parent's knowledge, must not be committed.
func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// refused keeps a record of an event that Step did not take. A tick that came
// too early is no news, and an agent that could not be created has no log.
func (t *tx) refused(s *staged, d delivery, err error) {
	t.reply(d, err)
	if _, tick := d.ev.(agent.Tick); tick || s.isNew {
		if s.isNew {
			delete(t.staged, d.agent)
		} else {
			t.e.timers.set(d.agent, s.state.Deadline())
		}
		return
	}
	verdict := store.Refused
	if errors.Is(err, agent.ErrStale) {
		verdict = store.Stale
	}
	if errors.Is(err, agent.ErrImpossible) {
		about(t.e.cfg.Log, s.state.Spec).Error("an impossible event was refused", "event", agent.EventType(d.ev), "err", err)
	}
	if entry, err := t.entry(s, d, verdict); err == nil {
		t.entries = append(t.entries, entry)
	}
}

func (t *tx) entry(s *staged, d delivery, v store.Verdict) (*store.Entry, error) {
	body, err := agent.EncodeEvent(d.ev)
	if err != nil {
		return nil, err
	}
	chat := s.state.Spec.Chat
	if c, ok := d.ev.(agent.Created); ok {
		chat = c.Spec.Chat
	}
	return &store.Entry{
		Chat: chat, Agent: d.agent, At: t.at,
		Type: agent.EventType(d.ev), Version: agent.Version, Body: body, Verdict: v,
	}, nil
}

func (t *tx) reply(d delivery, err error) {
	if d.after != nil {
		t.replies = append(t.replies, d.after)
	}
	if d.reply != nil {
		t.replies = append(t.replies, func() { d.reply <- err })
	}
}

// agent returns the staged copy of an agent, loading it if need be.
func (t *tx) agent(d delivery) (*staged, error) {
	if s, ok := t.staged[d.agent]; ok {
		return s, nil
	}
	_, isNew := d.ev.(agent.Created)
	var l *live
	if !isNew {
		var err error
		if l, err = t.e.agent(d.agent); err != nil {
			return nil, err
		}
	}
	s := t.e.blank()
	if s.isNew = isNew; !isNew {
		s.live, s.was = *l, l.state.Names()
	}
	if s.running == nil {
		s.running = map[effectKey]context.CancelFunc{}
	}
	t.staged[d.agent] = s
	t.order = append(t.order, s)
	return s, nil
}

// write commits the batch, with one head and at most one snapshot an agent.
func (t *tx) write() error {
	if t.err != nil {
		return t.err
	}
	for _, s := range t.order {
		if s.last == nil {
			continue
		}
		if err := s.close(); err != nil {
			return err
		}
	}
	if len(t.entries) == 0 {
		return nil
	}
	return t.e.cfg.Store.Commit(t.e.base, &store.Batch{Entries: t.entries})
}

// close adds to the agent's last entry what is written once a batch.
func (s *staged) close() error {
	st := s.state
	names := st.Names()
	s.head(headOf(st, names, s.last.At))
	if !st.Spec.Orchestrator() && s.was.Task != names.Task {
		s.last.Docs = append(s.last.Docs, store.SetTask{ID: st.Spec.ID, Status: names.Task, At: s.last.At})
	}
	_, idle := st.Phase.(agent.Idle)
	if !st.Ended() && !idle && s.fresh < snapshotEvery {
		return nil
	}
	snap, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("encoding the state of %s: %w", st.Spec.ID, err)
	}
	s.last.Snapshot = snap
	s.fresh = 0
	return nil
}

// head writes the agent's head, into its row if that is new.
func (s *staged) head(h store.Head) {
	for i, d := range s.last.Docs {
		if born, ok := d.(store.NewAgent); ok && born.ID == s.state.Spec.ID {
			born.Head = h
			s.last.Docs[i] = born
			return
		}
	}
	s.last.Docs = append(s.last.Docs, store.SetHead{ID: s.state.Spec.ID, Head: h})
}

func headOf(st agent.State, names agent.Names, at int64) store.Head {
	_, cancelling := st.Phase.(agent.Cancelling)
	why, until := st.Waits()
	return store.Head{
		Status: string(st.Status()), SubAgent: names.SubAgent, Recorded: names.Status, Bailout: names.Bailout,
		Why: why, Until: until,
		Turns: st.Life.Turns, ActiveMS: st.Life.Active,
		Tokens: st.Life.Own.Tokens, Cost: st.Life.Own.Cost, Unpriced: st.Life.Unpriced,
		ExtraTokens: st.Run.Extra.Tokens, ExtraCost: st.Run.Extra.Cost,
		ChildTokens: st.Life.Children.Tokens, ChildCost: st.Life.Children.Cost,
		Children: st.Tasks, Live: st.LiveChildren(),
		Busy: st.Busy() || cancelling, WakeAt: st.Deadline(), UpdatedAt: at,
	}
}

// act makes the batch visible in memory, answers callers, and starts what was
// asked for.
func (t *tx) act() {
	e := t.e
	maps.Copy(e.prompts, t.prompts)
	maps.Copy(e.names, t.names)
	for _, chat := range t.chats {
		e.counted[chat], e.totals[chat] = true, 1
	}
	for chat, n := range t.started {
		if e.counted[chat] {
			e.totals[chat] += n
		}
	}
	for _, s := range t.order {
		if s.last == nil {
			continue
		}
		id := s.state.Spec.ID
		e.timers.set(id, s.state.Deadline())
		l := e.live[id]
		if l == nil {
			l = &live{}
			e.live[id] = l
		}
		*l = s.live
		if !working(l.state) {
			l.history, l.queued, l.memo = nil, nil, nil
		}
	}
	for _, chat := range t.gone {
		e.forget(chat)
	}
	e.cfg.Feed.Notify(t.entries)
	for _, call := range t.over {
		e.cfg.Feed.Discard(call)
	}
	t.tell()
	for _, r := range t.replies {
		r()
	}
	for _, a := range t.acts {
		if e.crash("effect") {
			return
		}
		if e.cfg.Hold {
			continue
		}
		e.perform(e.live[a.agent], a.effect)
	}
	for _, s := range t.order {
		if s.last == nil || !resting(s.state) {
			continue
		}
		delete(e.live, s.state.Spec.ID)
		if s.state.Ended() {
			e.cfg.Performer.Ended(s.state.Spec.ID)
		}
	}
	for _, s := range t.order {
		if len(e.blanks) < batchCap {
			*s = staged{}
			e.blanks = append(e.blanks, s)
		}
	}
}

// resting tells whether nothing is expected to happen to the agent: it has
// ended, or waits for the user's next message. Its snapshot is fresh, so that
// it costs no memory and is quickly loaded again.
func resting(s agent.State) bool {
	_, idle := s.Phase.(agent.Idle)
	return s.Ended() || idle && s.LiveChildren() == 0
}

// working tells whether the agent will need its history soon.
func working(s agent.State) bool {
	switch s.Phase.(type) {
	case agent.Thinking, agent.Backoff, agent.Compacting, agent.Extending, agent.Accepting:
		return true
	case agent.Acting:
		return len(s.Outstanding()) > 0 || s.LiveChildren() > 0
	case agent.Idle, agent.Cancelling, agent.Settling, agent.Completed, agent.Failed:
	}
	return false
}

// delegates tells whether a reply asks for children.
func delegates(ev agent.ModelReplied) bool {
	return slices.ContainsFunc(ev.Calls, func(p agent.Proposal) bool { return p.Class == agent.ClassDelegate })
}

// Tokens estimates what a message counts for a model: about four bytes each.
func Tokens(m message.Message) int64 { return int64(m.Size()/4 + 4) }
