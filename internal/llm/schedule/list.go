// A list whose links lie in its members, so that a waiter leaves from the
// middle at no cost.

package schedule

// node is a member's place in a list. A value needs one for each list that it
// can be in at the same time.
type node[T any] struct {
	value      T
	list       *list[T] // nil: in none
	prev, next *node[T]
}

// list is a sequence of nodes; its zero value is empty.
type list[T any] struct {
	front, back *node[T]
	len         int
}

// push adds n, which is in no list, at the back.
func (l *list[T]) push(n *node[T]) {
	n.list, n.prev = l, l.back
	if l.back == nil {
		l.front = n
	} else {
		l.back.next = n
	}
	l.back = n
	l.len++
}

// drop takes n out of its list.
func (n *node[T]) drop() {
	l := n.list
	if n.prev == nil {
		l.front = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		l.back = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.list, n.prev, n.next = nil, nil, nil
	l.len--
}
