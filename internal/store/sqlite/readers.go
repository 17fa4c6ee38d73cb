// This file lends out the read-only connections.

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/cadre-dev/cadre/internal/store"
)

// readers is a small pool. A place in it is taken for each read. Of the
// connections that are free the one used last is taken, as it knows the most
// statements and pages; a new one is opened only when all are in use.
type readers struct {
	name   string
	opts   Options
	places chan struct{} // one for each place that is free

	mu     sync.Mutex
	free   []*reader
	closed bool
}

// reader is a read-only connection in the hands of one read.
type reader struct {
	conn *sqlite.Conn
}

func newReaders(name string, opts Options) *readers {
	p := &readers{name: name, opts: opts, places: make(chan struct{}, opts.Readers)}
	for range opts.Readers {
		p.places <- struct{}{}
	}
	return p
}

// use runs read with a connection of its own.
func (p *readers) use(ctx context.Context, read func(*reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var open bool
	select {
	case _, open = <-p.places:
	default:
		select {
		case _, open = <-p.places:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !open {
		return errClosed
	}
	defer func() { p.places <- struct{}{} }()
	r := p.take()
	if r == nil {
		conn, err := openReader(p.name, p.opts)
		if err != nil {
			return err
		}
		r = &reader{conn: conn}
	}
	defer p.giveBack(r)
	return read(r)
}

// hot is what almost every message makes the server read.
var hot = []string{
	keyByHashSQL, userSQL, chatSQL, userMessageSQL, agentSQL, loadSQL, lastSeqSQL, changesSQL, changesOfChatSQL,
	chatRowSQL, agentRowSQL, messageRowSQL, taskRowSQL, callRowSQL, modelRowSQL, resultsSQL,
}

// Warm opens half of the read-only connections and prepares what they will be
// asked for, so that the first message does not wait for that.
func (s *Store) Warm(ctx context.Context) error {
	return s.readers.warm(ctx, s.readers.opts.Readers/2)
}

// warm does it for n connections, by holding them all.
func (p *readers) warm(ctx context.Context, n int) error {
	if n <= 0 {
		return nil
	}
	return p.use(ctx, func(r *reader) error {
		for _, sql := range hot {
			if _, err := r.conn.Prepare(sql); err != nil {
				return failure("preparing to read", err)
			}
		}
		return p.warm(ctx, n-1)
	})
}

// take returns the connection that was used last, nil if none is free.
func (p *readers) take() *reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.free)
	if n == 0 {
		return nil
	}
	r := p.free[n-1]
	p.free = p.free[:n-1]
	return r
}

func (p *readers) giveBack(r *reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, r)
}

// snapshot runs read so that all its statements see the same state.
func (p *readers) snapshot(ctx context.Context, read func(*reader) error) error {
	return p.use(ctx, func(r *reader) (err error) {
		if err := r.run("BEGIN"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.run("ROLLBACK")) }()
		return read(r)
	})
}

// close waits for the reads under way.
func (p *readers) close() error {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if closed {
		return nil
	}
	for range p.opts.Readers {
		<-p.places
	}
	close(p.places)
	var errs []error
	for r := p.take(); r != nil; r = p.take() {
		errs = append(errs, r.conn.Close())
	}
	return errors.Join(errs...)
}

func (r *reader) run(sql string) error {
	s, err := r.conn.Prepare(sql)
	if err != nil {
		return err
	}
	return exec(s)
}

// query binds a prepared statement and calls row for each row it returns.
func (r *reader) query(sql string, with func(*params), row func(*columns) error) (err error) {
	s, err := r.conn.Prepare(sql)
	if err != nil {
		return err
	}
	p := bind(s)
	if with != nil {
		with(&p)
	}
	defer func() { err = errors.Join(err, s.Reset()) }()
	for {
		ok, err := s.Step()
		if err != nil || !ok {
			return err
		}
		if err := row(&columns{s: s}); err != nil {
			return err
		}
	}
}

// list collects what scan makes of the rows of a statement.
func list[T any](r *reader, sql string, with func(*params), scan func(*columns) (T, error)) ([]T, error) {
	var all []T
	err := r.query(sql, with, func(c *columns) error {
		v, err := scan(c)
		all = append(all, v)
		return err
	})
	return all, err
}

// one returns what scan makes of the first row, or store.ErrNotFound.
func one[T any](r *reader, sql string, with func(*params), scan func(*columns) (T, error)) (*T, error) {
	var first *T
	err := r.query(sql, with, func(c *columns) error {
		if first != nil {
			return nil
		}
		v, err := scan(c)
		first = &v
		return err
	})
	if err != nil {
		return nil, err
	}
	if first == nil {
		return nil, store.ErrNotFound
	}
	return first, nil
}

// readList and readOne are what most methods of Store are made of.
func readList[T any](ctx context.Context, s *Store, doing, sql string, with func(*params), scan func(*columns) (T, error)) (all []T, err error) {
	err = s.readers.use(ctx, func(r *reader) error {
		all, err = list(r, sql, with, scan)
		return err
	})
	if err != nil {
		return nil, failure(doing, err)
	}
	return all, nil
}

func readOne[T any](ctx context.Context, s *Store, what, id, sql string, with func(*params), scan func(*columns) (T, error)) (v *T, err error) {
	err = s.readers.use(ctx, func(r *reader) error {
		v, err = one(r, sql, with, scan)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("%s %s: %w", what, id, err)
	}
	if err != nil {
		return nil, failure("reading "+what+" "+id, err)
	}
	return v, nil
}
