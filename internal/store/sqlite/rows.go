// This file remembers where rows are, so that the writer updates them by
// number instead of looking up their ids.

package sqlite

// maxRows bounds each memory of rows. What does not fit is looked up again.
const maxRows = 1 << 15

// rows remembers a value per key as the open transaction sees it. Entries put
// since a mark can be taken back when the transaction, or a part of it, is.
type rows[K comparable, V any] struct {
	known map[K]V
	fresh []K // put or changed in the open transaction
	ended []K // to forget once it is committed
}

func newRows[K comparable, V any]() *rows[K, V] {
	return &rows[K, V]{known: map[K]V{}}
}

func (r *rows[K, V]) get(k K) (V, bool) {
	v, ok := r.known[k]
	return v, ok
}

// put remembers v until the transaction is rolled back.
func (r *rows[K, V]) put(k K, v V) {
	r.known[k] = v
	r.fresh = append(r.fresh, k)
}

// forgetLater drops k when the transaction is committed.
func (r *rows[K, V]) forgetLater(k K) { r.ended = append(r.ended, k) }

type mark struct{ fresh, ended int }

func (r *rows[K, V]) mark() mark { return mark{len(r.fresh), len(r.ended)} }

// back forgets what was put since the mark. A key that had been put before it
// as well is forgotten, too: it will be looked up in the transaction.
func (r *rows[K, V]) back(m mark) {
	for _, k := range r.fresh[m.fresh:] {
		delete(r.known, k)
	}
	r.fresh, r.ended = r.fresh[:m.fresh], r.ended[:m.ended]
}

// committed makes what was put permanent, and the memory fit its bound.
func (r *rows[K, V]) committed() {
	for _, k := range r.ended {
		delete(r.known, k)
	}
	r.fresh, r.ended = r.fresh[:0], r.ended[:0]
	if len(r.known) <= maxRows {
		return
	}
	for k := range r.known {
		delete(r.known, k)
		if len(r.known) <= maxRows*3/4 {
			return
		}
	}
}

// forgetAll drops everything, for good: a rollback has no need of it.
func (r *rows[K, V]) forgetAll() { clear(r.known) }

// agentRow is what the writer knows of an agent.
type agentRow struct {
	n, chat int64
	root    bool
	waits   bool
	moved   int64 // of a root at work: when its chat was last moved up in the list
}

// callKey names a tool call.
type callKey struct {
	agent      int64
	turn, call int
}
