// This file tests commits: numbers, all or nothing, concurrency, durability.

package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

func testNumbers(s *suite) {
	const committers, batches = 32, 20
	c, _ := s.startChat("c1")
	var agents []store.Agent
	for i := range committers {
		agents = append(agents, s.startAgent(c, "c1", fmt.Sprintf("c1.%d", i+1)))
	}
	first := int64(1 + committers) // already given
	seqs := make([][]int64, committers)
	var wg sync.WaitGroup
	for i, a := range agents {
		wg.Go(func() {
			pos := 0
			for n := range batches {
				b := &store.Batch{}
				for range 1 + n%3 {
					m := store.Message{Agent: a.ID, Pos: pos, Role: "user", Kind: "note", Parts: fmt.Appendf(nil, `[{"type":"text","text":"%s/%d"}]`, a.ID, pos)}
					pos++
					b.Entries = append(b.Entries, &store.Entry{
						Chat: "c1", Agent: a.ID, At: int64(n), Type: "Noted", Body: fmt.Appendf(nil, "%s/%d", a.ID, pos),
						Docs: []store.Doc{store.NewMessage{Message: m}, store.SetHead{ID: a.ID, Head: store.Head{Turns: pos}}},
					})
				}
				if err := s.Commit(s.ctx(), b); err != nil {
					s.Errorf("committing for %s: %v", a.ID, err)
					return
				}
				for k, e := range b.Entries {
					if e.Seq != b.Entries[0].Seq+int64(k) {
						s.Errorf("the entries of one batch have numbers %d and %d", b.Entries[0].Seq, e.Seq)
					}
					seqs[i] = append(seqs[i], e.Seq)
				}
				last, err := s.LastSeq(s.ctx())
				if err != nil || last < b.Entries[0].Seq {
					s.Errorf("after the commit of %d the newest number is %d (%v)", b.Entries[0].Seq, last, err)
				}
			}
		})
	}
	wg.Wait()
	var all []int64
	for i := range seqs {
		if !slices.IsSorted(seqs[i]) {
			s.Errorf("committer %d got its numbers out of order: %v", i, seqs[i])
		}
		all = append(all, seqs[i]...)
	}
	slices.Sort(all)
	for i, seq := range all {
		if seq != first+int64(i)+1 {
			s.Fatalf("the numbers have a gap or a double: %d stands where %d should", seq, first+int64(i)+1)
		}
	}
	for i, a := range agents {
		log, err := s.Log(s.ctx(), a.ID)
		s.ok(err)
		var got []int64
		for _, e := range log[1:] {
			got = append(got, e.Seq)
		}
		s.equal(got, seqs[i], "the numbers in the log of "+a.ID)
		history, err := s.History(s.ctx(), a.ID, 0)
		s.ok(err)
		if len(history) != len(seqs[i]) {
			s.Errorf("%s has %d messages, want %d", a.ID, len(history), len(seqs[i]))
		}
	}
}

// dup makes a batch that adds a message with an id that exists as its last
// document.
func (s *suite) dup(id string, before ...*store.Entry) *store.Batch {
	m := s.text("c1", -1, message.KindUser, "a double")
	m.ID = id
	return &store.Batch{Entries: append(before, s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: m}))}
}

func testAtomic(s *suite) {
	c, root := s.startChat("c1")
	m := s.text("c1", -1, message.KindUser, "once")
	m.ID = "u-1"
	s.commit(s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: m}))

	title := "must not stay"
	reply := s.text("c1", 0, message.KindReply, "must not stay")
	b := s.dup("u-1",
		s.entry("c1", "", "ChatChanged", store.SetChat{ID: "c1", Title: &title}, store.PutPrompt{ID: "p1", Text: "must not stay"}),
		s.entry("c1", "c1", "ModelReplied", store.NewMessage{Message: reply}, store.SetHead{ID: "c1", Head: store.Head{Turns: 99, Busy: true}},
			store.NewTask{Task: s.newTask(c, 1)}),
		s.entry("c1", "c1.1", "Created", store.NewAgent{Agent: s.newAgent(c, "c1", "c1.1")}),
	)
	s.fails(s.Commit(s.ctx(), b), store.ErrDuplicate, "a batch with a double")
	for _, e := range b.Entries {
		s.equal(e.Seq, int64(0), "the number of an entry that was not committed")
	}

	got, err := s.Chat(s.ctx(), "c1")
	s.ok(err)
	s.equal(got.Title, c.Title, "the title after the failed batch")
	agent, err := s.Agent(s.ctx(), "c1")
	s.ok(err)
	s.equal(*agent, root, "the orchestrator after the failed batch")
	for what, err := range map[string]error{
		"agent": second(s.Agent(s.ctx(), "c1.1")), "task": second(s.Task(s.ctx(), "c1.1")), "prompt": second(s.Prompt(s.ctx(), "p1")),
	} {
		s.fails(err, store.ErrNotFound, "reading the "+what+" of a failed batch")
	}
	history, err := s.History(s.ctx(), "c1", 0)
	s.ok(err)
	s.equal(history, []store.Message(nil), "the history after the failed batch")
	waiting, err := s.Unfinished(s.ctx(), "")
	s.ok(err)
	s.equal(waiting, []store.Waiting(nil), "what is unfinished after the failed batch")

	next := s.entry("c1", "c1", "Noted")
	s.commit(next)
	s.equal(next.Seq, int64(3), "the number after the failed batch")
}

func testDuplicatesFailAlone(s *suite) {
	const callers = 64
	s.startChat("c1")
	m := s.text("c1", -1, message.KindUser, "the first")
	m.ID = "u-taken"
	s.commit(s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: m}))

	batches := make([]*store.Batch, callers)
	for i := range batches {
		if i%4 == 3 {
			batches[i] = s.dup("u-taken")
			continue
		}
		m := s.text("c1", -1, message.KindUser, fmt.Sprintf("good %d", i))
		m.ID = fmt.Sprintf("u-%d", i)
		batches[i] = &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: m})}}
	}
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i, b := range batches {
		wg.Go(func() { errs[i] = s.Commit(s.ctx(), b) })
	}
	wg.Wait()
	var seqs []int64
	for i, err := range errs {
		if i%4 == 3 {
			s.fails(err, store.ErrDuplicate, "a message that exists")
			continue
		}
		if err != nil {
			s.Errorf("batch %d failed with the others: %v", i, err)
			continue
		}
		seqs = append(seqs, batches[i].Entries[0].Seq)
		got, err := s.UserMessage(s.ctx(), fmt.Sprintf("u-%d", i))
		s.ok(err)
		decoded, err := got.Decode()
		s.ok(err)
		s.equal(decoded.Text(), fmt.Sprintf("good %d", i), "the message")
	}
	slices.Sort(seqs)
	for i, seq := range seqs {
		if seq != int64(i)+3 {
			s.Fatalf("failed batches left a gap: %v", seqs)
		}
	}
	got, err := s.UserMessage(s.ctx(), "u-taken")
	s.ok(err)
	s.equal(*got, m, "the message that was there first")

	a := s.newAgent(store.Chat{ID: "c1", UserID: user}, "", "c1")
	s.fails(s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1", "Created", store.NewAgent{Agent: a})}}),
		store.ErrDuplicate, "an agent that exists")
	s.fails(s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{s.entry("c1", "", "ChatStarted", store.NewChat{Chat: store.Chat{ID: "c1"}})}}),
		store.ErrDuplicate, "a chat that exists")
}

// testRolledBackIsForgotten makes sure that nothing a failed batch created is
// taken to exist afterwards, in whatever group it was written.
func testRolledBackIsForgotten(s *suite) {
	c, _ := s.startChat("c1")
	m := s.text("c1", -1, message.KindUser, "the first")
	m.ID = "u-1"
	s.commit(s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: m}))
	busy := store.SetHead{ID: "c1", Head: store.Head{Busy: true}}

	for round := range 3 {
		child := s.newAgent(c, "c1", "c1.1")
		b := s.dup("u-1",
			s.entry("c1", "c1.1", "Created", store.NewAgent{Agent: child}, store.NewTask{Task: s.newTask(c, 1)},
				store.NewToolCall{ToolCall: store.ToolCall{Agent: "c1.1", Turn: 1}}),
			s.entry("c1", "c1", "ModelReplied", busy))
		var wg sync.WaitGroup
		var errs [4]error
		wg.Go(func() { errs[0] = s.Commit(s.ctx(), b) })
		for i := range 3 {
			wg.Go(func() {
				errs[i+1] = s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{{Chat: "c1", Agent: "c1", Type: "Noted"}}})
			})
		}
		wg.Wait()
		s.fails(errs[0], store.ErrDuplicate, "the batch with a double")
		s.ok(errors.Join(errs[1:]...))
		for what, d := range map[string]store.Doc{
			"head": store.SetHead{ID: "c1.1"}, "task": store.SetTask{ID: "c1.1"}, "call": store.SetToolCall{Agent: "c1.1", Turn: 1},
		} {
			err := s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1", "Test", d)}})
			s.fails(err, store.ErrNotFound, fmt.Sprintf("round %d: changing the %s of a failed batch", round, what))
		}
	}
	// What the failed batches said about the orchestrator is forgotten, too.
	s.commit(s.entry("c1", "c1", "ModelReplied", busy))
	waiting, err := s.Unfinished(s.ctx(), "")
	s.ok(err)
	s.equal(waiting, []store.Waiting{{Agent: "c1", Busy: true}}, "what is unfinished")
	s.startAgent(c, "c1", "c1.1")
	s.commit(s.entry("c1", "c1.1", "ModelReplied", store.SetHead{ID: "c1.1", Head: store.Head{Turns: 5}}))
	got, err := s.Agent(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(got.Turns, 5, "the turns of the agent that was made after all")
}

func testCancelledContext(s *suite) {
	s.startChat("c1")
	ctx, cancel := context.WithCancel(s.ctx())
	cancel()
	err := s.Commit(ctx, &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1", "Noted")}})
	s.fails(err, context.Canceled, "committing with a cancelled context")
	_, err = s.Chat(ctx, "c1")
	s.fails(err, context.Canceled, "reading with a cancelled context")
	last, err := s.LastSeq(s.ctx())
	s.ok(err)
	s.equal(last, int64(1), "the newest number")
	s.ok(s.Commit(s.ctx(), &store.Batch{}))
}

func testClosedStore(s *suite) {
	s.startChat("c1")
	s.closed = true
	s.ok(s.Close())
	if err := s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{s.entry("c1", "c1", "Noted")}}); err == nil {
		s.Error("a closed store took a commit")
	}
	if _, err := s.Chat(s.ctx(), "c1"); err == nil || errors.Is(err, store.ErrNotFound) {
		s.Errorf("a closed store was read: %v", err)
	}
	s.ok(s.Close())
}

// testReadersDuringWrites reads all the while somebody writes: a reader never
// waits for the writer and never sees a part of a batch.
func testReadersDuringWrites(s *suite) {
	const batches, entries, before = 30, 100, 2
	s.startChat("c1")
	s.commit(s.entry("c1", "c1", "Noted", store.SetHead{ID: "c1"}))
	done := make(chan struct{})
	reading := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for range cap(reading) {
		wg.Go(func() {
			defer func() { reading <- struct{}{} }() // also when it fails early
			for n := 0; ; n++ {
				loaded, err := s.Load(s.ctx(), "c1")
				if err != nil {
					s.Errorf("reading during writes: %v", err)
					return
				}
				// Every entry sets Turns to the number of entries so far.
				if got, want := len(loaded.Events)-before, loaded.Agent.Turns; got != want || got%entries != 0 {
					s.Errorf("a reader saw a part of a batch: %d events with the head of %d", got, want)
					return
				}
				if n == 0 {
					reading <- struct{}{}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range cap(reading) {
		<-reading
	}
	turns := 0
	for range batches {
		b := &store.Batch{}
		for range entries {
			turns++
			e := s.entry("c1", "c1", "Noted", store.SetHead{ID: "c1", Head: store.Head{Turns: turns}})
			e.Body = make([]byte, 500)
			b.Entries = append(b.Entries, e)
		}
		s.ok(s.Commit(s.ctx(), b))
	}
	close(done)
	wg.Wait()
}

func testReopen(s *suite) {
	c, root := s.startChat("c1")
	child := s.startAgent(c, "c1", "c1.1")
	task := s.newTask(c, 1)
	m := s.text("c1", -1, message.KindUser, "still here")
	m.ID = "u-1"
	e := s.entry("c1", "c1", "UserMessage", store.NewMessage{Message: m}, store.NewTask{Task: task})
	e.Snapshot = []byte(`{"snapshot":"kept"}`)
	s.commit(e)

	s.reopen()
	s.commitless()
	got, err := s.Agent(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(*got, child, "the agent after reopening")
	loaded, err := s.Load(s.ctx(), "c1")
	s.ok(err)
	s.equal(loaded.Agent, root, "the orchestrator after reopening")
	s.equal(string(loaded.Snapshot), `{"snapshot":"kept"}`, "the snapshot after reopening")
	gotTask, err := s.Task(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(*gotTask, task, "the task after reopening")
	gotMessage, err := s.UserMessage(s.ctx(), "u-1")
	s.ok(err)
	s.equal(*gotMessage, m, "the message after reopening")

	// What a writer may know by memory must be found again.
	s.fails(s.Commit(s.ctx(), s.dup("u-1")), store.ErrDuplicate, "a message that exists since before")
	child.Head = store.Head{Turns: 50, Busy: true}
	next := s.entry("c1", "c1.1", "Noted", store.SetHead{ID: "c1.1", Head: child.Head}, store.SetTask{ID: "c1.1", Status: "running", At: 7})
	s.commit(next)
	s.equal(next.Seq, int64(4), "the first number after reopening")
	s.reopen()
	got, err = s.Agent(s.ctx(), "c1.1")
	s.ok(err)
	s.equal(*got, child, "the agent after reopening again")
	waiting, err := s.Unfinished(s.ctx(), "")
	s.ok(err)
	s.equal(waiting, []store.Waiting{{Agent: "c1.1", Busy: true}}, "what is unfinished after reopening")
}

// commitless makes sure that opening alone writes nothing.
func (s *suite) commitless() {
	s.Helper()
	before, err := s.LastSeq(s.ctx())
	s.ok(err)
	s.reopen()
	after, err := s.LastSeq(s.ctx())
	s.ok(err)
	s.equal(after, before, "the newest number after reopening")
}
