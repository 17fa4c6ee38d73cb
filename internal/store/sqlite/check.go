// This file looks for damage.

package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/cadre-dev/cadre/internal/store"
)

// check is one thing that must hold. Its statement returns a row for each
// place where it does not; the columns fill in the sentence.
type check struct {
	sentence string
	columns  int
	sql      string
}

const (
	integritySQL = `PRAGMA integrity_check(100)`
	numbersSQL   = `SELECT count(*), ifnull(max(id), 0) FROM events`
	deletionsSQL = `SELECT touched FROM events WHERE chat IS NULL AND agent IS NULL AND (touched LIKE '%D%' OR type = '` + restored + `')`
)

// checks do not ask whether the user of a chat is known: a store for one
// person has no need of a row for that.
var checks = []check{
	{"agent %s belongs to a chat that does not exist", 1, `SELECT a.id FROM agents a LEFT JOIN chats c ON c.n = a.chat WHERE c.n IS NULL`},
	{"agent %s has lost the part of its row that describes it", 1, `SELECT a.id FROM agents a LEFT JOIN agent_details d ON d.n = a.n WHERE d.n IS NULL`},
	{"the description of an agent (row %s) belongs to no agent", 1, `SELECT d.n FROM agent_details d LEFT JOIN agents a ON a.n = d.n WHERE a.n IS NULL`},
	{"agent %s has a parent that does not exist", 1, `SELECT a.id FROM agents a LEFT JOIN agents p ON p.n = a.parent WHERE a.parent IS NOT NULL AND p.n IS NULL`},
	{"agent %s is in another chat than its parent %s", 2, `SELECT a.id, p.id FROM agents a JOIN agents p ON p.n = a.parent WHERE p.chat <> a.chat`},
	{"agent %s has no events: nothing says how it came to be", 1, `SELECT a.id FROM agents a WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.agent = a.n)`},
	{"the newest snapshot of agent %s (event %s) is missing", 2, `SELECT a.id, a.snapshot FROM agents a LEFT JOIN events e ON e.id = a.snapshot AND e.agent = a.n
WHERE a.snapshot IS NOT NULL AND e.state IS NULL`},
	{"agent %s does not lead to its newest snapshot, event %s", 2, `SELECT a.id, max(e.id) FROM events e JOIN agents a ON a.n = e.agent WHERE e.state IS NOT NULL GROUP BY a.n
HAVING max(e.id) <> ifnull(a.snapshot, 0)`},
	{"agent %s is marked wrongly for recovery", 1, `SELECT id FROM agents WHERE waits <> (busy = 1 OR wake_at > 0)`},
	{"event %s belongs to an agent that does not exist", 1, `SELECT e.id FROM events e LEFT JOIN agents a ON a.n = e.agent WHERE e.agent IS NOT NULL AND a.n IS NULL`},
	{"event %s belongs to a chat that does not exist", 1, `SELECT e.id FROM events e LEFT JOIN chats c ON c.n = e.chat WHERE e.chat IS NOT NULL AND c.n IS NULL`},
	{"event %s is in another chat than its agent %s", 2, `SELECT e.id, a.id FROM events e JOIN agents a ON a.n = e.agent WHERE e.chat IS NOT a.chat`},
	{"message row %s belongs to an agent that does not exist", 1, `SELECT m.n FROM messages m LEFT JOIN agents a ON a.n = m.agent WHERE a.n IS NULL`},
	{"message row %s of agent %s is queued but has no id", 2, `SELECT m.n, a.id FROM messages m JOIN agents a ON a.n = m.agent WHERE m.pos IS NULL AND m.id IS NULL`},
	{"message row %s of agent %s has no readable parts", 2, `SELECT m.n, a.id FROM messages m JOIN agents a ON a.n = m.agent
WHERE m.parts IS NOT NULL AND NOT json_valid(CAST(m.parts AS TEXT))`},
	{"the history of agent %s, which has ended, has %s messages in %s places", 3, `SELECT a.id, count(*), max(m.pos) + 1 FROM messages m JOIN agents a ON a.n = m.agent
JOIN agent_details d ON d.n = a.n WHERE d.ended_at > 0 AND m.pos IS NOT NULL GROUP BY m.agent HAVING count(*) <> max(m.pos) + 1`},
	{"task %s belongs to an agent that does not exist", 1, `SELECT t.id FROM tasks t LEFT JOIN agents a ON a.n = t.agent WHERE a.n IS NULL`},
	{"task %s names sub-agent %s, which does not exist", 2, `SELECT t.id, t.sub_agent FROM tasks t LEFT JOIN agents a ON a.id = t.sub_agent
WHERE t.sub_agent <> '' AND a.n IS NULL`},
	{"tool call row %s belongs to an agent that does not exist", 1, `SELECT t.n FROM tool_calls t LEFT JOIN agents a ON a.n = t.agent WHERE a.n IS NULL`},
	{"tool call row %s has lost its input", 1, `SELECT t.n FROM tool_calls t LEFT JOIN tool_inputs i ON i.n = t.n WHERE i.n IS NULL`},
	{"the input in row %s belongs to no tool call", 1, `SELECT i.n FROM tool_inputs i LEFT JOIN tool_calls t ON t.n = i.n WHERE t.n IS NULL`},
	{"the record in row %s belongs to no tool call", 1, `SELECT r.n FROM tool_records r LEFT JOIN tool_calls t ON t.n = r.n WHERE t.n IS NULL`},
	{"model call row %s belongs to an agent that does not exist", 1, `SELECT m.n FROM model_calls m LEFT JOIN agents a ON a.n = m.agent WHERE a.n IS NULL`},
	{"inbox item %s belongs to an agent that does not exist", 1, `SELECT i.id FROM inbox i LEFT JOIN agents a ON a.n = i.agent WHERE a.n IS NULL`},
	{"inbox item %s belongs to a chat that does not exist", 1, `SELECT i.id FROM inbox i LEFT JOIN chats c ON c.n = i.chat WHERE c.n IS NULL`},
	{"artifact %s belongs to a chat that does not exist", 1, `SELECT f.id FROM artifacts f LEFT JOIN chats c ON c.n = f.chat WHERE c.n IS NULL`},
	{"artifact %s belongs to an agent that does not exist", 1, `SELECT f.id FROM artifacts f LEFT JOIN agents a ON a.n = f.agent WHERE f.agent IS NOT NULL AND a.n IS NULL`},
}

// perCheck bounds how often one kind of damage is named.
const perCheck = 20

// Check implements store.Store. Damage that keeps it from reading on is named
// like any other.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	var found []string
	err := s.readers.snapshot(ctx, func(r *reader) (err error) {
		defer r.conn.SetInterrupt(r.conn.SetInterrupt(ctx.Done()))
		if found, err = r.integrity(found); err != nil {
			return err
		}
		for _, c := range checks {
			if found, err = r.check(c, found); err != nil {
				return err
			}
		}
		found, err = r.numbers(found)
		return err
	})
	err = failure("checking the database", err)
	if errors.Is(err, store.ErrCorrupt) {
		return append(found, err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (r *reader) integrity(found []string) ([]string, error) {
	err := r.query(integritySQL, nil, func(c *columns) error {
		if text := c.text(); text != "ok" {
			found = append(found, "the database file is damaged: "+text)
		}
		return nil
	})
	return found, err
}

func (r *reader) check(k check, found []string) ([]string, error) {
	n := 0
	err := r.query(k.sql, nil, func(c *columns) error {
		n++
		if n > perCheck {
			return nil
		}
		args := make([]any, k.columns)
		for i := range args {
			args[i] = c.text()
		}
		found = append(found, fmt.Sprintf(k.sentence, args...))
		return nil
	})
	if n > perCheck {
		found = append(found, fmt.Sprintf("… and %d more of the kind before this line", n-perCheck))
	}
	return found, err
}

// numbers makes sure that no change is missing: those of deleted chats are,
// and the event that tells of the deletion says how many they were.
func (r *reader) numbers(found []string) ([]string, error) {
	var count, last, deleted int64
	err := r.query(numbersSQL, nil, func(c *columns) error {
		count, last = c.int64(), c.int64()
		return nil
	})
	if err != nil {
		return found, err
	}
	err = r.query(deletionsSQL, nil, func(c *columns) error {
		codes, err := parseTouched(c.text())
		for _, code := range codes {
			deleted += code.gone.events + code.gap.skipped
		}
		return err
	})
	if err != nil {
		return found, err
	}
	if missing := last - count - deleted; missing != 0 {
		found = append(found, fmt.Sprintf("the log has %d events and %d were deleted with their chats or left out by a restore, but the newest has number %d: %d are missing",
			count, deleted, last, missing))
	}
	return found, nil
}
