// This file tests what recovery and replay read: loads, logs, the unfinished.

package storetest

import (
	"fmt"

	"github.com/cadre-dev/cadre/internal/store"
)

// events are entries as they should be read back.
func events(entries ...*store.Entry) (list []store.Event) {
	for _, e := range entries {
		list = append(list, store.Event{
			Seq: e.Seq, Chat: e.Chat, Agent: e.Agent, At: e.At, Type: e.Type, Version: e.Version, Body: e.Body, Verdict: e.Verdict,
		})
	}
	return list
}

func (s *suite) load(agent string) *store.Loaded {
	s.Helper()
	got, err := s.Load(s.ctx(), agent)
	s.ok(err)
	return got
}

func testLoadWithoutSnapshot(s *suite) {
	c, _ := s.startChat("c1")
	a := s.newAgent(c, "c1", "c1.1")
	first := s.entry("c1", "c1.1", "Created", store.NewAgent{Agent: a})
	refused := s.entry("c1", "c1.1", "ToolFinished")
	refused.Verdict, refused.Version = store.Refused, 4
	stale := s.entry("c1", "c1.1", "Tick")
	stale.Verdict, stale.Body = store.Stale, nil
	s.commit(first, s.entry("c1", "c1", "ToolStarted"))
	s.commit(refused)
	s.commit(s.entry("c1", "c1", "Noted"), stale)
	got := s.load("c1.1")
	s.equal(got.Agent, a, "the loaded agent")
	s.equal(got.Snapshot, []byte(nil), "the snapshot")
	s.equal(got.Events, events(first, refused, stale), "the whole log")
}

func testLoadWithSnapshot(s *suite) {
	c, root := s.startChat("c1")
	a := s.newAgent(c, "c1", "c1.1")
	var log []*store.Entry
	add := func(snapshot string, docs ...store.Doc) {
		s.Helper()
		e := s.entry("c1", "c1.1", fmt.Sprintf("Event%d", len(log)), docs...)
		e.Version = len(log)
		if snapshot != "" {
			e.Snapshot = []byte(snapshot)
		}
		log = append(log, e)
		s.commit(e, s.entry("c1", "c1", "Noted"))
	}
	check := func(from int, snapshot string) {
		s.Helper()
		got := s.load("c1.1")
		s.equal(string(got.Snapshot), snapshot, "the newest snapshot")
		s.equal(got.Version, from, "the version of the snapshot")
		s.equal(got.Events, events(log[from+1:]...), "the events after the snapshot")
	}
	head := func(n int) store.SetHead { return store.SetHead{ID: "c1.1", Head: store.Head{Turns: n}} }

	add("first, at birth", store.NewAgent{Agent: a})
	check(0, "first, at birth")
	add("")
	add("", head(1))
	check(0, "first, at birth")
	add("second, without a head")
	check(3, "second, without a head")
	add("third, with a head", head(2))
	check(4, "third, with a head")
	add("", head(3))
	add("")
	check(4, "third, with a head")
	// The head of another agent carries no snapshot of this one.
	add("fourth, beside another's head", store.SetHead{ID: "c1", Head: root.Head})
	check(7, "fourth, beside another's head")
	add("fifth, with both heads", store.SetHead{ID: "c1", Head: root.Head}, head(4))
	add("")
	check(8, "fifth, with both heads")
	s.reopen()
	check(8, "fifth, with both heads")
	s.equal(s.load("c1").Snapshot, []byte(nil), "the snapshot of the other agent")

	all, err := s.Log(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(all, events(log...), "the log, snapshots or not")
}

func testLog(s *suite) {
	c, _ := s.startChat("c1")
	other, _ := s.startChat("c2")
	s.startAgent(other, "c2", "c2.1")
	a := s.newAgent(c, "c1", "c1.1")
	log := []*store.Entry{s.entry("c1", "c1.1", "Created", store.NewAgent{Agent: a})}
	for i := range 50 {
		e := s.entry("c1", "c1.1", "Noted")
		e.Verdict = []store.Verdict{store.Applied, store.Stale, store.Refused}[i%3]
		e.Body = append(e.Body, 0, 255, byte(i)) // any bytes
		log = append(log, e)
	}
	b := &store.Batch{}
	for _, e := range log {
		b.Entries = append(b.Entries, e, s.entry("c2", "c2.1", "Noted"), s.entry("c1", "", "ChatChanged"))
	}
	s.ok(s.Commit(s.ctx(), b))
	got, err := s.Log(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(got, events(log...), "the log")
}

func testUnfinished(s *suite) {
	c, _ := s.startChat("c1")
	other, _ := s.startChat("c2")
	lists := func(chat, what string, want ...store.Waiting) {
		s.Helper()
		got, err := s.Unfinished(s.ctx(), chat)
		s.ok(err)
		s.equal(got, want, what)
	}
	lists("", "what is unfinished when all rest")
	for _, n := range []int{2, 1, 3} {
		s.startAgent(c, "c1", fmt.Sprintf("c1.%d", n))
	}
	born := s.newAgent(other, "c2", "c2.1")
	born.Busy = true
	s.commit(s.entry("c2", "c2.1", "Created", store.NewAgent{Agent: born}))
	set := func(id string, busy bool, wake int64) {
		s.Helper()
		chat := id[:2]
		s.commit(s.entry(chat, id, "Noted", store.SetHead{ID: id, Head: store.Head{Busy: busy, WakeAt: wake}}))
	}
	set("c1.2", true, 0)
	set("c1.1", false, 800)
	set("c1.3", true, 900)
	lists("", "the unfinished ones by creation", store.Waiting{Agent: "c1.2", Busy: true}, store.Waiting{Agent: "c1.1", WakeAt: 800},
		store.Waiting{Agent: "c1.3", Busy: true, WakeAt: 900}, store.Waiting{Agent: "c2.1", Busy: true})
	lists("c2", "the unfinished ones of a chat", store.Waiting{Agent: "c2.1", Busy: true})

	set("c1.2", false, 0)
	set("c1.3", false, 950)
	set("c2.1", false, 0)
	set("c2.1", false, 0)
	lists("", "the unfinished ones that are left", store.Waiting{Agent: "c1.1", WakeAt: 800}, store.Waiting{Agent: "c1.3", WakeAt: 950})
	lists("c2", "the unfinished ones of a chat at rest")
	set("c1.2", true, 1)
	lists("c1", "the unfinished ones again", store.Waiting{Agent: "c1.2", Busy: true, WakeAt: 1},
		store.Waiting{Agent: "c1.1", WakeAt: 800}, store.Waiting{Agent: "c1.3", WakeAt: 950})
}
