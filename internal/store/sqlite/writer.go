// This file is the one goroutine that writes: it takes what callers wait to
// have committed, writes it in one transaction, and answers after the fsync.

package sqlite

import (
	"context"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cadre-dev/cadre/internal/store"
)

// maxEntries bounds a transaction of several batches. There is no waiting for
// more: what arrives during one fsync is the next group.
const maxEntries = 256

// Commit implements store.Store. Once the batch is queued the context no
// longer matters, so that an error always means that nothing was written.
func (s *Store) Commit(ctx context.Context, b *store.Batch) error {
	if s.writer == nil {
		return fmt.Errorf("committing: %w", errReadOnly)
	}
	if len(b.Entries) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	r := &request{batch: b, done: make(chan struct{})}
	if !s.writer.queue.add(r) {
		return fmt.Errorf("committing: %w", errClosed)
	}
	<-r.done
	return r.err
}

// request is a batch that waits for its commit, or something that is no
// change and is written beside it.
type request struct {
	batch *store.Batch
	doing string              // what write does
	write func(*writer) error // with an empty batch
	first int64               // the number of its first entry
	err   error
	done  chan struct{} // closed when it is over
}

// aside writes what is no change. It shares transactions with commits.
func (s *Store) aside(ctx context.Context, doing string, write func(*writer) error) error {
	if s.writer == nil {
		return fmt.Errorf("%s: %w", doing, errReadOnly)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	r := &request{batch: &store.Batch{}, doing: doing, write: write, done: make(chan struct{})}
	if !s.writer.queue.add(r) {
		return fmt.Errorf("%s: %w", doing, errClosed)
	}
	<-r.done
	return r.err
}

// Writable makes sure that something can be written durably now: it writes what
// is there already.
func (s *Store) Writable(ctx context.Context) error {
	return s.aside(ctx, "trying to write", func(w *writer) error {
		version, err := queryInt(w.conn, "PRAGMA user_version")
		if err != nil {
			return failure("trying to write", err)
		}
		return failure("trying to write", sqlitex.ExecuteTransient(w.conn, fmt.Sprintf("PRAGMA user_version = %d", version), nil))
	})
}

// queue holds the requests in order of arrival.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	closed  bool
	wake    chan struct{} // of size 1
}

func (q *queue) add(r *request) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.waiting = append(q.waiting, r)
	q.mu.Unlock()
	q.signal()
	return true
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take appends the next group to buf: at least one request, waiting for it.
// Nothing comes once the queue is closed and empty.
func (q *queue) take(buf []*request) []*request {
	for {
		q.mu.Lock()
		n, entries := 0, 0
		for n < len(q.waiting) {
			size := max(1, len(q.waiting[n].batch.Entries))
			if n > 0 && entries+size > maxEntries {
				break
			}
			entries += size
			n++
		}
		buf = append(buf, q.waiting[:n]...)
		rest := copy(q.waiting, q.waiting[n:])
		clear(q.waiting[rest:])
		q.waiting = q.waiting[:rest]
		closed := q.closed
		q.mu.Unlock()
		if n > 0 || closed {
			return buf
		}
		<-q.wake
	}
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// writer owns the writing connection. All fields but queue belong to its
// goroutine.
type writer struct {
	queue    queue
	finished chan struct{}
	closeErr error

	conn *sqlite.Conn
	st   statements

	last int64 // the newest committed number
	next int64 // the number the next entry gets

	agents  *rows[string, agentRow]
	chats   *rows[string, int64]
	tasks   *rows[string, int64]
	calls   *rows[callKey, int64]
	prompts *rows[string, struct{}]

	active  []activity // of chats in the open transaction
	touched []byte     // by the entry in hand
	snapped bool       // the snapshot of the entry in hand is noted
}

// moveEvery is how often, in milliseconds, a chat moves up in the list while its
// orchestrator is at work: that is two rows more in each of its commits.
const moveEvery = 1000

// activity is something that moves a chat up in the list. It is written once
// per chat and transaction.
type activity struct{ chat, at int64 }

func startWriter(conn *sqlite.Conn) (*writer, error) {
	w := &writer{
		queue:    queue{wake: make(chan struct{}, 1)},
		finished: make(chan struct{}),
		conn:     conn,
		agents:   newRows[string, agentRow](),
		chats:    newRows[string, int64](),
		tasks:    newRows[string, int64](),
		calls:    newRows[callKey, int64](),
		prompts:  newRows[string, struct{}](),
	}
	if err := w.st.prepare(conn); err != nil {
		return nil, err
	}
	// The event that tells of a deleted chat stays, so the newest number given
	// is always that of the newest event.
	last, err := queryInt(conn, lastSeqSQL)
	if err != nil {
		return nil, err
	}
	w.last = last
	go w.run()
	return w, nil
}

func (w *writer) close() error {
	w.queue.close()
	<-w.finished
	return w.closeErr
}

func (w *writer) run() {
	defer close(w.finished)
	var group []*request
	for {
		group = w.queue.take(group[:0])
		if len(group) == 0 {
			break
		}
		w.commit(group)
		clear(group)
	}
	if err := w.conn.Close(); err != nil {
		w.closeErr = failure("closing the database", err)
	}
}

// commit writes a group in one transaction and answers its requests. A batch
// that cannot be written fails alone: the group is then written again, with a
// savepoint before each batch. The first attempt does without them, as they
// copy each page they touch.
func (w *writer) commit(group []*request) {
	err := w.attempt(group, false)
	if err != nil && ownFault(err) && len(group) > 1 {
		err = w.attempt(group, true)
	}
	for _, r := range group {
		if err != nil {
			r.err = err
		} else if r.err == nil {
			for i, e := range r.batch.Entries {
				e.Seq = r.first + int64(i)
			}
		}
		close(r.done)
	}
}

// attempt writes a group. With alone, the faults of a batch go into its
// request and the others are committed; without, any fault ends the attempt.
func (w *writer) attempt(group []*request, alone bool) error {
	w.next, w.active = w.last+1, w.active[:0]
	if err := exec(w.st.begin); err != nil {
		return failure("beginning a transaction", err)
	}
	for _, r := range group {
		r.err = nil
		var err error
		if alone {
			r.err, err = w.batchAlone(r)
		} else {
			err = w.batch(r)
		}
		if err != nil {
			return w.giveUp(err)
		}
	}
	if err := w.noteActivity(); err != nil {
		return w.giveUp(err)
	}
	if err := exec(w.st.commit); err != nil {
		return w.giveUp(failure("committing", err))
	}
	w.last = w.next - 1
	w.settle()
	return nil
}

func (w *writer) batch(r *request) error {
	r.first = w.next
	if r.write != nil {
		return failure(r.doing, r.write(w))
	}
	for _, e := range r.batch.Entries {
		if err := w.entry(e, w.next); err != nil {
			return err
		}
		w.next++
	}
	return nil
}

// batchAlone writes a batch behind a savepoint. It returns the batch's own
// fault, and what ends the whole transaction.
func (w *writer) batchAlone(r *request) (own, all error) {
	if err := exec(w.st.savepoint); err != nil {
		return nil, failure("setting a savepoint", err)
	}
	next, active, marks := w.next, len(w.active), w.marks()
	err := w.batch(r)
	if err != nil {
		if !ownFault(err) || w.conn.AutocommitEnabled() {
			return nil, err
		}
		w.next, w.active = next, w.active[:active]
		w.back(marks)
		if back := exec(w.st.rollbackTo); back != nil {
			return nil, failure("going back to a savepoint", back)
		}
	}
	if rel := exec(w.st.release); rel != nil {
		return nil, failure("releasing a savepoint", rel)
	}
	return err, nil
}

// giveUp rolls the transaction back, and the memory with it.
func (w *writer) giveUp(err error) error {
	if !w.conn.AutocommitEnabled() {
		if back := exec(w.st.rollback); back != nil {
			err = fmt.Errorf("%w (and rolling back failed: %w)", err, back)
		}
	}
	w.back([5]mark{})
	return err
}

func (w *writer) marks() [5]mark {
	return [5]mark{w.agents.mark(), w.chats.mark(), w.tasks.mark(), w.calls.mark(), w.prompts.mark()}
}

func (w *writer) back(m [5]mark) {
	w.agents.back(m[0])
	w.chats.back(m[1])
	w.tasks.back(m[2])
	w.calls.back(m[3])
	w.prompts.back(m[4])
}

// settle makes the memory that of the committed transaction.
func (w *writer) settle() {
	w.agents.committed()
	w.chats.committed()
	w.tasks.committed()
	w.calls.committed()
	w.prompts.committed()
}

// noteActivity moves the chats that something happened in up in the list.
func (w *writer) noteActivity() error {
	for i, a := range w.active {
		newer := false
		for _, b := range w.active[i+1:] {
			if b.chat == a.chat && b.at >= a.at {
				newer = true
				break
			}
		}
		if newer {
			continue
		}
		p := bind(w.st.touchChat)
		p.ints(a.at, a.chat)
		if err := exec(w.st.touchChat); err != nil {
			return failure("noting the activity of a chat", err)
		}
	}
	return nil
}
