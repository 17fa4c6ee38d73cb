// This file binds parameters and reads columns in order, so that a statement's
// text and the code beside it list the same things in the same sequence.

package sqlite

import (
	"zombiezen.com/go/sqlite"
)

// params binds the parameters of a statement one after the other. All of them
// must be bound each time: statements keep what they were bound to before.
type params struct {
	s *sqlite.Stmt
	i int
}

func bind(s *sqlite.Stmt) params { return params{s: s} }

func (p *params) int(v int64) {
	p.i++
	p.s.BindInt64(p.i, v)
}

func (p *params) ints(vs ...int64) {
	for _, v := range vs {
		p.int(v)
	}
}

// ref binds a row number; 0 is NULL.
func (p *params) ref(n int64) {
	if n == 0 {
		p.null()
		return
	}
	p.int(n)
}

func (p *params) bool(v bool) {
	p.i++
	p.s.BindBool(p.i, v)
}

func (p *params) text(v string) {
	p.i++
	p.s.BindText(p.i, v)
}

func (p *params) texts(vs ...string) {
	for _, v := range vs {
		p.text(v)
	}
}

// blob binds bytes; none at all are NULL.
func (p *params) blob(v []byte) {
	if len(v) == 0 {
		p.null()
		return
	}
	p.i++
	p.s.BindBytes(p.i, v)
}

func (p *params) null() {
	p.i++
	p.s.BindNull(p.i)
}

// exec runs a statement that returns no rows, and makes it ready to be bound
// again.
func exec(s *sqlite.Stmt) error {
	if _, err := s.Step(); err != nil {
		return err
	}
	return s.Reset()
}

// columns reads the columns of the current row one after the other.
type columns struct {
	s *sqlite.Stmt
	i int
}

func (c *columns) int64() int64 {
	v := c.s.ColumnInt64(c.i)
	c.i++
	return v
}

func (c *columns) int() int   { return int(c.int64()) }
func (c *columns) bool() bool { return c.int64() != 0 }

func (c *columns) text() string {
	v := c.s.ColumnText(c.i)
	c.i++
	return v
}

// blob returns a copy of its own; NULL and no bytes are nil.
func (c *columns) blob() []byte {
	n := c.s.ColumnLen(c.i)
	if n == 0 {
		c.i++
		return nil
	}
	b := make([]byte, n)
	c.s.ColumnBytes(c.i, b)
	c.i++
	return b
}
