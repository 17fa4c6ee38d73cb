// This file tests the writer: groups, its memory, and the views.

package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cadre-dev/cadre/internal/store"
)

// group commits batches as one group. The writer rests meanwhile, so the test
// may do its work.
func group(s *Store, batches ...*store.Batch) []error {
	reqs := make([]*request, len(batches))
	for i, b := range batches {
		reqs[i] = &request{batch: b, done: make(chan struct{}, 1)}
	}
	s.writer.commit(reqs)
	errs := make([]error, len(reqs))
	for i, r := range reqs {
		<-r.done
		errs[i] = r.err
	}
	return errs
}

func TestFaultyBatchesOfAGroupFailAlone(t *testing.T) {
	s := open(t, t.TempDir())
	defer mustClose(t, s)
	commit(t, s, chatBatch("c0"))
	late := &store.Batch{Entries: []*store.Entry{ // its fault comes after it has written
		{Chat: "c0", Agent: "c0", Type: "Noted"},
		chatBatch("c-late").Entries[0],
		{Chat: "c0", Agent: "c-unknown", Type: "Noted"},
	}}
	after := noteBatch("c-late") // of an agent that the batch before failed to make
	batches := []*store.Batch{chatBatch("c1"), chatBatch("c0"), chatBatch("c2"), late, after, noteBatch("c1")}
	errs := group(s, batches...)
	for i, want := range []error{nil, store.ErrDuplicate, nil, store.ErrNotFound, store.ErrNotFound, nil} {
		if !errors.Is(errs[i], want) {
			t.Errorf("batch %d got %v, want %v", i, errs[i], want)
		}
	}
	for i, want := range map[int]int64{0: 2, 1: 0, 2: 3, 3: 0, 4: 0, 5: 4} {
		if got := batches[i].Entries[0].Seq; got != want {
			t.Errorf("batch %d has number %d, want %d", i, got, want)
		}
	}
	for id, want := range map[string]error{"c0": nil, "c1": nil, "c2": nil, "c-late": store.ErrNotFound} {
		if _, err := s.Agent(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("reading %s gave %v, want %v", id, err, want)
		}
	}
	if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("the check found %q, %v", found, err)
	}
	// A group in which nothing can be written is no change at all.
	errs = group(s, chatBatch("c0"), chatBatch("c1"))
	if !errors.Is(errs[0], store.ErrDuplicate) || !errors.Is(errs[1], store.ErrDuplicate) {
		t.Errorf("a group of faults got %v", errs)
	}
	b := noteBatch("c2")
	commit(t, s, b)
	if b.Entries[0].Seq != 5 {
		t.Errorf("the next number is %d, want 5", b.Entries[0].Seq)
	}
}

func TestGroupsAreBounded(t *testing.T) {
	q := queue{wake: make(chan struct{}, 1)}
	sizes := []int{1, 100, 155, 1, 300, 2, 2}
	for _, n := range sizes {
		if !q.add(&request{batch: &store.Batch{Entries: make([]*store.Entry, n)}}) {
			t.Fatal("an open queue refused a request")
		}
	}
	var got [][]int
	for range 4 {
		var group []int
		for _, r := range q.take(nil) {
			group = append(group, len(r.batch.Entries))
		}
		got = append(got, group)
	}
	if want := "[[1 100 155] [1] [300] [2 2]]"; fmt.Sprint(got) != want {
		t.Errorf("the groups are %v, want %s", got, want)
	}
	q.close()
	if rest := q.take(nil); len(rest) > 0 || q.add(&request{}) {
		t.Errorf("a closed queue gave %v or took more", rest)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	r := newRows[int, int]()
	for i := range 3 * maxRows {
		r.put(i, i)
		if i%1000 == 0 {
			r.committed()
		}
	}
	r.committed()
	if len(r.known) > maxRows {
		t.Errorf("%d rows are remembered, more than %d", len(r.known), maxRows)
	}
	m := r.mark()
	r.put(-1, 1)
	r.put(-2, 2)
	r.forgetLater(-2)
	r.back(m)
	if _, ok := r.get(-1); ok {
		t.Error("a row of a rolled-back transaction is remembered")
	}
	r.put(-3, 3)
	r.put(-4, 4)
	r.forgetLater(-3)
	if _, ok := r.get(-3); !ok {
		t.Error("a row was forgotten before its transaction was committed")
	}
	r.committed()
	if _, ok := r.get(-3); ok {
		t.Error("a row that has ended is remembered")
	}
	if v, ok := r.get(-4); !ok || v != 4 {
		t.Error("a committed row is forgotten")
	}
}

func TestEndedAgentsAreForgotten(t *testing.T) {
	s := open(t, t.TempDir())
	defer mustClose(t, s)
	commit(t, s, chatBatch("c1"))
	commit(t, s, &store.Batch{Entries: []*store.Entry{{Chat: "c1", Agent: "c1.1", Type: "Created", Docs: []store.Doc{
		store.NewAgent{Agent: store.Agent{ID: "c1.1", ChatID: "c1", Parent: "c1"}},
		store.NewTask{Task: store.Task{ID: "c1.1", Agent: "c1", Number: 1}},
		store.NewToolCall{ToolCall: store.ToolCall{Agent: "c1.1", Turn: 1}},
	}}}})
	if _, ok := s.writer.agents.get("c1.1"); !ok {
		t.Error("a live agent is not remembered")
	}
	commit(t, s, &store.Batch{Entries: []*store.Entry{{Chat: "c1", Agent: "c1.1", Type: "Ended", Docs: []store.Doc{
		store.SetToolCall{Agent: "c1.1", Turn: 1, Phase: "done", EndedAt: 5},
		store.EndTask{ID: "c1.1"},
		store.EndAgent{ID: "c1.1", EndedAt: 5},
		store.SetHead{ID: "c1.1"},
	}}}})
	if _, ok := s.writer.agents.get("c1.1"); ok {
		t.Error("an ended agent is remembered")
	}
	if len(s.writer.tasks.known)+len(s.writer.calls.known) != 0 {
		t.Error("what has ended is remembered")
	}
}

// rowsOf returns what a query of a person would show.
func rowsOf(t *testing.T, s *Store, sql string) (rows []string) {
	t.Helper()
	err := sqlitex.ExecuteTransient(s.writer.conn, sql, &sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
		row := ""
		for i := range st.ColumnCount() {
			if i > 0 {
				row += "|"
			}
			row += st.ColumnText(i)
		}
		rows = append(rows, row)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestViews(t *testing.T) {
	s := open(t, t.TempDir())
	defer mustClose(t, s)
	commit(t, s, chatBatch("c1"))
	child := func(n int, status string, busy bool, docs ...store.Doc) {
		t.Helper()
		id := fmt.Sprintf("c1.%d", n)
		docs = append([]store.Doc{store.NewAgent{Agent: store.Agent{
			ID: id, ChatID: "c1", Parent: "c1", Path: "main/coder", Head: store.Head{Status: status, Busy: busy, Turns: 7, WakeAt: 99},
		}}}, docs...)
		commit(t, s, &store.Batch{Entries: []*store.Entry{{Chat: "c1", Agent: id, Type: "Created", Docs: docs}}})
	}
	call := func(agent string, n int, phase string) store.Doc {
		return store.NewToolCall{ToolCall: store.ToolCall{Agent: agent, Turn: 7, Call: n, Name: "grep", Phase: phase}}
	}
	child(1, "acting", true, call("c1.1", 0, "done"), call("c1.1", 1, "started"), call("c1.1", 2, "queued"))
	child(2, "thinking", true, call("c1.2", 0, "done"))
	child(3, "idle", false, call("c1.3", 0, "queued"))

	got := rowsOf(t, s, "SELECT * FROM pending_effects ORDER BY agent, call")
	want := []string{
		"c1|c1.1|acting|tool|7|1|grep|started|99",
		"c1|c1.2|thinking|model|7||||99",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("pending_effects shows\n%q, want\n%q", got, want)
	}
	got = rowsOf(t, s, "SELECT seq, type, chat, agent, path FROM changes WHERE seq > 3")
	if want := []string{"4|Created|c1|c1.3|main/coder"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("changes shows %q, want %q", got, want)
	}
}

func TestOrderOfIDs(t *testing.T) {
	ordered := []string{"k", "k.1", "k.1.1", "k.1.12", "k.2", "k.2.3.4", "k.10", "k.10.1", "k.100"}
	for i, a := range ordered {
		for j, b := range ordered {
			got := compareIDs(a, b)
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("compareIDs(%q, %q) = %d", a, b, got)
			}
		}
	}
}

// TestChatMovesUp: at work a chat moves up in the list once a second, at rest
// at once.
func TestChatMovesUp(t *testing.T) {
	s := opened(t, t.TempDir())
	commit(t, s, chatBatch("c0"))
	const begin = 1_000_000
	for _, c := range []struct {
		at   int64
		busy bool
		want int64
	}{{begin, true, begin}, {begin + 400, true, begin}, {begin + 1000, true, begin + 1000}, {begin + 1100, true, begin + 1000}, {begin + 1200, false, begin + 1200}} {
		commit(t, s, &store.Batch{Entries: []*store.Entry{{
			Chat: "c0", Agent: "c0", Type: "Noted", At: c.at, Verdict: store.Applied,
			Docs: []store.Doc{store.SetHead{ID: "c0", Head: store.Head{Busy: c.busy, UpdatedAt: c.at}}},
		}}})
		chat, err := s.Chat(t.Context(), "c0")
		if err != nil {
			t.Fatal(err)
		}
		if chat.UpdatedAt != c.want {
			t.Errorf("after %d ms (at work: %v) it is at %d, want %d", c.at-begin, c.busy, chat.UpdatedAt-begin, c.want-begin)
		}
	}
}
