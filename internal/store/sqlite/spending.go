// This file sums up: what was spent, who is at work, what was deleted.

package sqlite

import (
	"context"
	"fmt"
	"math"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	spendingSQL = `SELECT %s, count(*), sum(m.status = 'failed'), sum(m.input), sum(m.output), sum(m.cache_read), sum(m.cache_write),
  sum(m.reasoning), sum(m.cost), sum(m.priced = 0)
FROM chats c JOIN agents a ON a.chat = c.n JOIN agent_details d ON d.n = a.n JOIN model_calls m ON m.agent = a.n
WHERE c.user = ? AND m.ended_at >= ? AND m.ended_at < ?`

	// Those with something under way or a deadline, those who wait for a person
	// without one, and those above them, who wait for them.
	livingSQL = `WITH RECURSIVE living(n) AS (
  SELECT n FROM agents INDEXED BY agents_waiting WHERE waits = 1
  UNION SELECT i.agent FROM inbox i INDEXED BY inbox_waiting JOIN agents a ON a.n = i.agent JOIN agent_details d ON d.n = i.agent
    WHERE i.status <> 'closed' AND a.status <> 'idle' AND d.ended_at = 0
  UNION SELECT a.parent FROM living l JOIN agents a ON a.n = l.n WHERE a.parent IS NOT NULL)
SELECT a.status, count(*) FROM living l JOIN agents a ON a.n = l.n GROUP BY a.status`

	deletedSQL = `SELECT touched FROM events WHERE chat IS NULL AND agent IS NULL AND id > ? ORDER BY id`
)

// groups are what spending can be summed up by.
var groups = map[string]string{
	"agent": "a.id", "role": "d.role", "model": "m.model", "chat": "c.id",
	"day": "strftime('%Y-%m-%d', m.ended_at / 1000, 'unixepoch')",
}

// Spending implements store.Lists: the dearest first, days in order.
func (s *Store) Spending(ctx context.Context, l store.SpendingQuery) ([]store.Spending, error) {
	key, ok := groups[l.By]
	if !ok {
		return nil, fmt.Errorf("summing up by %q: there is agent, role, model, day, chat", l.By)
	}
	to := l.To
	if to <= 0 {
		to = math.MaxInt64
	}
	q := selecting(fmt.Sprintf(spendingSQL, key), l.User, l.From, to).text(" AND c.id = ?", l.Chat)
	q.add(" GROUP BY 1 ORDER BY ")
	if l.By == "day" {
		q.add("1 DESC")
	} else {
		q.add("sum(m.cost) DESC, sum(m.input + m.output) DESC, 1")
	}
	q.add(" LIMIT ?", limitOf(store.Page{Limit: l.Limit}))
	return readList(ctx, s, "summing up model calls", q.sql.String(), q.bind, func(c *columns) (store.Spending, error) {
		return store.Spending{
			Key: c.text(), Calls: c.int64(), Failed: c.int64(), Input: c.int64(), Output: c.int64(), CacheRead: c.int64(), CacheWrite: c.int64(),
			Reasoning: c.int64(), Cost: c.int64(), Unpriced: c.int64(),
		}, nil
	})
}

// Living implements store.Lists.
func (s *Store) Living(ctx context.Context) (map[string]int, error) {
	states := map[string]int{}
	_, err := readList(ctx, s, "counting agents", livingSQL, nil, func(c *columns) (struct{}, error) {
		states[c.text()] = c.int()
		return struct{}{}, nil
	})
	return states, err
}

// DeletedAfter implements store.Lists.
func (s *Store) DeletedAfter(ctx context.Context, user string, since int64) (bool, error) {
	found := false
	_, err := readList(ctx, s, "looking for deleted chats", deletedSQL, func(p *params) { p.int(since) }, func(c *columns) (struct{}, error) {
		codes, err := parseTouched(c.text())
		for _, code := range codes {
			found = found || code.letter == touchedDeleted && code.gone.user == user
		}
		return struct{}{}, err
	})
	return found, err
}
