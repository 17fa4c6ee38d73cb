// This file reads the numbered changes with the documents they touched.

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	changeColumns = `e.id, e.at, e.type, e.touched, c.id, c.user, a.id, d.path`
	changeTables  = ` FROM events e LEFT JOIN chats c ON c.n = e.chat LEFT JOIN agents a ON a.n = e.agent
LEFT JOIN agent_details d ON d.n = e.agent `

	changesSQL        = `SELECT ` + changeColumns + changeTables + `WHERE e.id > ?1 ORDER BY e.id LIMIT ?2`
	changesOfAgentSQL = `SELECT ` + changeColumns + changeTables + `WHERE e.agent = ?3 AND e.id > ?1 ORDER BY e.id LIMIT ?2`
	// A deleted chat is told by an event without a chat.
	changesOfChatSQL = `SELECT ` + changeColumns + changeTables + `WHERE e.id > ?1 AND (e.chat = ?3 OR e.chat IS NULL) ORDER BY e.id LIMIT ?2`

	chatBornSQL  = `SELECT n, born FROM chats WHERE id = ?`
	agentFindSQL = `SELECT n FROM agents WHERE id = ?`
)

// changesAtOnce is how many events are read before their documents are.
const changesAtOnce = 500

// Changes implements store.Store.
func (s *Store) Changes(ctx context.Context, since int64, limit int, f store.Filter) (changes []store.Change, upTo int64, err error) {
	for _, pattern := range f.Collections {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, since, fmt.Errorf("reading changes: pattern %q: %w", pattern, err)
		}
	}
	err = s.readers.snapshot(ctx, func(r *reader) error {
		t := tail{reader: r, filter: f, docs: map[docKey]*store.Document{}}
		changes, upTo, err = t.read(ctx, since, limit)
		return err
	})
	if err != nil {
		return nil, since, failure("reading the changes", err)
	}
	return changes, upTo, nil
}

// tail is one reading of changes. A document that several of them touched is
// read once.
type tail struct {
	*reader
	filter store.Filter
	docs   map[docKey]*store.Document // nil: it is gone

	sql string
	row int64 // of the agent or the chat in the filter
}

type docKey struct {
	letter byte
	n      int64
	user   string
}

// raw is an event before its documents are read.
type raw struct {
	store.Change
	touched string
}

func scanRaw(c *columns) (raw, error) {
	r := raw{Change: store.Change{Seq: c.int64(), At: c.int64(), Type: c.text()}, touched: c.text()}
	r.Chat, r.User, r.Agent, r.Path = c.text(), c.text(), c.text(), c.text()
	return r, nil
}

func (t *tail) read(ctx context.Context, since int64, limit int) (changes []store.Change, upTo int64, err error) {
	last, err := one(t.reader, lastSeqSQL, nil, func(c *columns) (int64, error) { return c.int64(), nil })
	if err != nil {
		return nil, since, err
	}
	if since, err = t.aim(since); err != nil {
		return nil, since, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, since, err
		}
		size := changesAtOnce
		if limit > 0 {
			size = min(size, limit)
		}
		events, err := list(t.reader, t.sql, func(p *params) {
			p.ints(since, int64(size))
			if t.row != 0 {
				p.int(t.row)
			}
		}, scanRaw)
		if err != nil {
			return nil, since, err
		}
		for _, e := range events {
			since = e.Seq
			c, ok, err := t.expand(e)
			if err != nil {
				return nil, since, err
			}
			if !ok {
				continue
			}
			changes = append(changes, c)
			if limit > 0 && len(changes) == limit {
				return changes, since, nil
			}
		}
		if len(events) < size {
			return changes, *last, nil
		}
	}
}

// aim chooses the statement for the filter. No change before the one that
// made a chat is about it.
func (t *tail) aim(since int64) (int64, error) {
	t.sql = changesSQL
	id := func(id string) func(*params) { return func(p *params) { p.text(id) } }
	switch {
	case t.filter.Agent != "":
		t.sql, t.row = changesOfAgentSQL, noRow
		n, err := one(t.reader, agentFindSQL, id(t.filter.Agent), func(c *columns) (int64, error) { return c.int64(), nil })
		if err == nil {
			t.row = *n
		} else if !errors.Is(err, store.ErrNotFound) {
			return since, err
		}
	case t.filter.Chat != "":
		t.sql, t.row = changesOfChatSQL, noRow
		found, err := one(t.reader, chatBornSQL, id(t.filter.Chat), func(c *columns) (docKey, error) {
			t.row = c.int64()
			return docKey{n: c.int64()}, nil
		})
		if err == nil {
			since = max(since, found.n-1)
		} else if !errors.Is(err, store.ErrNotFound) {
			return since, err
		}
	}
	return since, nil
}

// noRow is the number of no row.
const noRow = -1

// expand adds the documents and tells whether the change fits the filter.
func (t *tail) expand(e raw) (store.Change, bool, error) {
	codes, err := parseTouched(e.touched)
	if err != nil {
		return e.Change, false, err
	}
	c := e.Change
	for _, code := range codes {
		switch code.letter {
		case touchedDeleted:
			c.Chat, c.User = code.gone.chat, code.gone.user
		case touchedSettings:
			c.User = code.user
		}
	}
	f := t.filter
	if f.Chat != "" && f.Chat != c.Chat || f.User != "" && f.User != c.User || f.Agent != "" && f.Agent != c.Agent {
		return c, false, nil
	}
	for _, code := range codes {
		d, err := t.document(c.Chat, code)
		if err != nil {
			return c, false, err
		}
		if d != nil && inCollections(f.Collections, d.Collection) {
			c.Docs = append(c.Docs, *d)
		}
	}
	return c, len(f.Collections) == 0 || len(c.Docs) > 0, nil
}

func inCollections(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); err == nil && ok {
			return true
		}
	}
	return len(patterns) == 0
}

// document returns what a code stands for, nil if there is nothing to show.
func (t *tail) document(chat string, c code) (*store.Document, error) {
	if c.letter == touchedDeleted {
		return &store.Document{Collection: "orch-chats", ID: c.gone.chat, Deleted: true}, nil
	}
	if c.letter == touchedGap {
		return nil, nil
	}
	key := docKey{c.letter, c.n, c.user}
	if d, ok := t.docs[key]; ok {
		return d, nil
	}
	d, err := t.fetch(chat, c)
	if errors.Is(err, store.ErrNotFound) {
		d, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	t.docs[key] = d
	return d, nil
}

func (t *tail) fetch(chat string, c code) (*store.Document, error) {
	row := func(p *params) { p.int(c.n) }
	switch c.letter {
	case touchedChat:
		v, err := one(t.reader, chatRowSQL, row, scanChat)
		if err != nil {
			return nil, err
		}
		return &store.Document{Collection: "orch-chats", ID: v.ID, Data: *v}, nil
	case touchedAgent:
		v, err := one(t.reader, agentRowSQL, row, scanAgent)
		if err != nil {
			return nil, err
		}
		return &store.Document{Collection: v.Collection(), ID: v.ID, Data: *v}, nil
	case touchedTask:
		v, err := one(t.reader, taskRowSQL, row, scanTask)
		if err != nil {
			return nil, err
		}
		return &store.Document{Collection: "tasks", ID: v.ID, Data: *v}, nil
	case touchedMessage:
		v, err := one(t.reader, messageRowSQL, row, scanMessage)
		if err != nil {
			return nil, err
		}
		return &store.Document{Collection: store.Collection(chat, v.Agent, "messages"), ID: v.ID, Data: *v}, nil
	case touchedToolCall:
		v, err := one(t.reader, callRowSQL, row, scanToolCall)
		if err != nil {
			return nil, err
		}
		return &store.Document{Collection: store.Collection(chat, v.Agent, "tool-calls"), ID: v.ID, Data: *v}, nil
	case touchedModelCall:
		v, err := one(t.reader, modelRowSQL, row, scanModelCall)
		if err != nil {
			return nil, err
		}
		return &store.Document{Collection: store.Collection(chat, v.Agent, "model-calls"), ID: v.ID, Data: *v}, nil
	case touchedItem:
		v, err := one(t.reader, itemRowSQL, row, scanItem)
		if err != nil {
			return nil, err
		}
		return &store.Document{Collection: "inbox", ID: v.ID, Data: *v}, nil
	case touchedReadMark:
		v, err := one(t.reader, readMarkRowSQL, row, scanReadMark)
		if err != nil {
			return nil, err
		}
		return &store.Document{Collection: "read-marks", ID: v.ChatID, Data: *v}, nil
	case touchedSettings:
		v, err := one(t.reader, settingsSQL, func(p *params) { p.text(c.user) }, scanSettings)
		if err != nil {
			return nil, err
		}
		return &store.Document{Collection: "settings", ID: c.user, Data: *v}, nil
	}
	return nil, fmt.Errorf("reading what an event touched: unknown letter %q", c.letter)
}
