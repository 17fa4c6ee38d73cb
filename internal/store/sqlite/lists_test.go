// The lists behind the API: none of them reads a table from end to end, whatever
// it is filtered by.

package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
)

func TestListsAreIndexed(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	defer mustClose(t, s)
	after := store.Window{After: &store.Cursor{}, Limit: 10}
	queries := map[string]*selection{
		"chats":             selecting(fmt.Sprintf(listChatsSQL, "c.updated_at"), "u").window(after, "c.updated_at", "c.n"),
		"chats by creation": selecting(fmt.Sprintf(listChatsSQL, "c.created_at"), "u").window(after, "c.created_at", "c.n"),
		"agents":            selecting(fmt.Sprintf(listAgentsSQL, "a.n"), "c").window(after, "a.n", "a.n"),
		"running":           selecting(fmt.Sprintf(listRunningSQL, "a.n"), "u").window(after, "a.n", "a.n"),
		"tasks":             selecting(listTasksSQL, "c").window(after, "t.n", "t.n"),
		"placed":            selecting(listPlacedSQL, "a").window(after, "m.pos", "m.pos"),
		"queued":            selecting(listQueuedSQL, "a").window(after, "m.n", "m.n"),
		"tool calls":        selecting(listCallsSQL, "a").window(after, "t.turn", "t.call"),
		"model calls":       selecting(listModelsSQL, "a").window(after, "m.n", "m.n"),
		"items of user":     selecting(listItemsSQL).add(inboxUserSQL, "u").window(after, "i.n", "i.n"),
		"items of chat":     selecting(listItemsSQL).add(inboxUserSQL, "u").add(inboxChatSQL, "c").window(after, "i.n", "i.n"),
		"events":            selecting(listEventsSQL, "a").window(after, "id", "id"),
		"count":             selecting(countItemsSQL, "u"),
		"spending":          selecting(fmt.Sprintf(spendingSQL, "d.role"), "u").add(" GROUP BY 1"),
		"deleted":           selecting(deletedSQL),
		"key":               selecting(keyByHashSQL),
		"keys of user":      selecting(keysOfUserSQL),
		"audit":             selecting(auditsSQL),
		"read mark":         selecting(readMarkSQL),
		"restored":          selecting(replacedSQL),
	}
	for name, q := range queries {
		r := &reader{conn: s.writer.conn}
		err := r.query("EXPLAIN QUERY PLAN "+q.sql.String(), nil, func(c *columns) error {
			if step := c.s.ColumnText(3); strings.HasPrefix(step, "SCAN") || strings.Contains(step, "AUTOMATIC") {
				t.Errorf("%s: %s", name, step)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
