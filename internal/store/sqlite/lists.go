// This file reads lists a page at a time.

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cadre-dev/cadre/internal/store"
)

var _ store.Lists = (*Store)(nil)

const (
	chatRowColumns = chatColumns + `, a.status, a.recorded, a.bailout, a.live, a.turns, a.tokens + a.child_tokens, a.cost + a.child_cost, a.unpriced,
  (SELECT count(*) FROM inbox i WHERE i.chat = c.n AND i.status = 'open'), ifnull(r.seq, 0),
  ifnull((SELECT e.id FROM events e WHERE e.agent = a.n AND e.type = 'model_replied' ORDER BY e.id DESC LIMIT 1), 0)`
	listChatsSQL = `SELECT ` + chatRowColumns + `, %s, c.n FROM chats c JOIN agents a ON a.id = c.id LEFT JOIN read_marks r ON r.n = c.n WHERE c.user = ?`

	listAgentsSQL  = `SELECT ` + agentColumns + `, %s, a.n` + agentTables + `WHERE a.chat = (SELECT n FROM chats WHERE id = ?)`
	listRunningSQL = `SELECT ` + agentColumns + `, %s, a.n` + agentTables + `WHERE d.ended_at = 0 AND a.status <> 'idle'
AND a.chat IN (SELECT c.n FROM chats c JOIN agents r ON r.id = c.id WHERE c.user = ? AND (r.status <> 'idle' OR r.live > 0))`
	listTasksSQL = `SELECT ` + taskColumns + `, t.n, t.n` + taskTables + `LEFT JOIN agents b ON b.id = t.sub_agent LEFT JOIN agent_details d ON d.n = b.n
WHERE a.chat = (SELECT n FROM chats WHERE id = ?)`

	listPlacedSQL = `SELECT ` + messageColumns + `, m.pos, m.pos` + messageTables + `WHERE m.agent = (SELECT n FROM agents WHERE id = ?) AND m.pos IS NOT NULL`
	listQueuedSQL = `SELECT ` + messageColumns + `, -1, m.n` + messageTables + `WHERE m.agent = (SELECT n FROM agents WHERE id = ?) AND m.pos IS NULL`

	listCallsSQL  = `SELECT ` + callColumns + `, t.turn, t.call` + callTables + `WHERE t.agent = (SELECT n FROM agents WHERE id = ?)`
	listModelsSQL = `SELECT ` + modelColumns + `, m.n, m.n` + modelTables + `WHERE m.agent = (SELECT n FROM agents WHERE id = ?)`
	listItemsSQL  = `SELECT ` + itemColumns + `, i.n, i.n` + itemTables + `WHERE i.status <> 'hidden'`
	listEventsSQL = `SELECT id, at, type, version, NULL, verdict, id, id FROM events WHERE agent = (SELECT n FROM agents WHERE id = ?)`

	countItemsSQL       = `SELECT count(*) FROM inbox WHERE status = 'open' AND user = ?`
	countItemsOfChatSQL = `SELECT count(*) FROM inbox WHERE status = 'open' AND user = ? AND chat = (SELECT n FROM chats WHERE id = ?)`
)

// selection puts a statement together with what is bound to it.
type selection struct {
	sql  strings.Builder
	args []any // int64, string, bool
}

func selecting(sql string, args ...any) *selection {
	q := &selection{}
	return q.add(sql, args...)
}

func (q *selection) add(sql string, args ...any) *selection {
	q.sql.WriteString(sql)
	q.args = append(q.args, args...)
	return q
}

// text adds a condition if there is something to compare with.
func (q *selection) text(sql, value string) *selection {
	if value != "" {
		q.add(sql, value)
	}
	return q
}

// window adds the bounds and the order of a page. Without a key that changes,
// rows are sorted by their number alone.
func (q *selection) window(w store.Window, key, row string) *selection {
	than, order := ">", "ASC"
	if w.Desc {
		than, order = "<", "DESC"
	}
	sorted := key != row
	switch {
	case w.After != nil && sorted:
		q.add(fmt.Sprintf(" AND (%s, %s) %s (?, ?)", key, row, than), w.After.Key, w.After.Row)
	case w.After != nil:
		q.add(fmt.Sprintf(" AND %s %s ?", row, than), w.After.Row)
	}
	if sorted {
		q.add(fmt.Sprintf(" ORDER BY %s %s, %s %s", key, order, row, order))
	} else {
		q.add(fmt.Sprintf(" ORDER BY %s %s", row, order))
	}
	return q.add(" LIMIT ?", int64(w.Limit)+1)
}

func (q *selection) bind(p *params) {
	for _, a := range q.args {
		switch a := a.(type) {
		case int64:
			p.int(a)
		case bool:
			p.bool(a)
		case string:
			p.text(a)
		}
	}
}

// errFull ends the reading of a page.
var errFull = errors.New("the page is full")

// page reads rows until the window is full; size tells what a row has in
// bodies. Behind its own columns a row has its place.
func page[T any](r *reader, q *selection, w store.Window, scan func(*columns) (T, error), size func(T) int) (rows []T, next *store.Cursor, err error) {
	bytes := 0
	var last store.Cursor
	err = r.query(q.sql.String(), q.bind, func(c *columns) error {
		v, err := scan(c)
		if err != nil {
			return err
		}
		bytes += size(v)
		if len(rows) > 0 && (len(rows) == w.Limit || w.Bytes > 0 && bytes > w.Bytes) {
			next = &last
			return errFull
		}
		rows = append(rows, v)
		last = store.Cursor{Key: c.int64(), Row: c.int64()}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	return rows, next, err
}

func paged[T any](ctx context.Context, s *Store, doing string, q *selection, w store.Window, scan func(*columns) (T, error), size func(T) int) (rows []T, next *store.Cursor, err error) {
	err = s.readers.use(ctx, func(r *reader) error {
		rows, next, err = page(r, q, w, scan, size)
		return err
	})
	return rows, next, failure(doing, err)
}

func scanChatRow(c *columns) (store.ChatRow, error) {
	chat, err := scanChat(c)
	return store.ChatRow{
		Chat: chat, State: c.text(), Recorded: c.text(), Bailout: c.text(), Live: c.int(), Turns: c.int(), Tokens: c.int64(), Cost: c.int64(), Unpriced: c.bool(),
		Waiting: c.int(), Read: c.int64(), Replied: c.int64(),
	}, err
}

// ListChats implements store.Lists.
func (s *Store) ListChats(ctx context.Context, l store.ChatList) ([]store.ChatRow, *store.Cursor, error) {
	key := "c.updated_at"
	if l.Sort == store.ByCreation {
		key = "c.created_at"
	}
	q := selecting(fmt.Sprintf(listChatsSQL, key), l.User)
	q.text(" AND c.id = ?", l.ID).text(" AND a.status = ?", l.Status).text(" AND c.role = ?", l.Role)
	if l.Archived != nil {
		q.add(" AND c.archived = ?", *l.Archived)
	}
	if l.Search != "" {
		q.add(` AND c.title LIKE ? ESCAPE '\'`, "%"+likely.Replace(l.Search)+"%")
	}
	q.window(l.Window, key, "c.n")
	return paged(ctx, s, "listing the chats", q, l.Window, scanChatRow, func(c store.ChatRow) int { return len(c.Title) })
}

// likely takes the meaning from the wildcards of LIKE.
var likely = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// ListAgents implements store.Lists.
func (s *Store) ListAgents(ctx context.Context, l store.AgentList) ([]store.Agent, *store.Cursor, error) {
	key := "a.n"
	switch l.Sort {
	case store.ByUpdate:
		key = "a.updated_at"
	case store.ByCost:
		key = "a.cost"
	case store.ByTokens:
		key = "a.tokens"
	}
	sql, of := listAgentsSQL, l.Chat
	if l.Chat == "" {
		sql, of = listRunningSQL, l.User
	}
	q := selecting(fmt.Sprintf(sql, key), of).text(" AND d.role = ?", l.Role).text(" AND p.id = ?", l.Parent)
	if l.Status != "" {
		q.add(" AND (a.status = ? OR a.sub_agent = ?)", l.Status, l.Status)
	}
	if l.Depth != nil {
		q.add(" AND a.depth = ?", int64(*l.Depth))
	}
	if l.Below {
		q.add(" AND a.depth > 0")
	}
	q.window(l.Window, key, "a.n")
	return paged(ctx, s, "listing the agents of "+of, q, l.Window, scanAgent, func(a store.Agent) int {
		return len(a.Summary) + len(a.Error) + len(a.Metadata) + len(a.Spec)
	})
}

// ListTasks implements store.Lists.
func (s *Store) ListTasks(ctx context.Context, l store.TaskList) ([]store.Task, *store.Cursor, error) {
	q := selecting(listTasksSQL, l.Chat).text(" AND t.status = ?", l.Status).text(" AND d.role = ?", l.Role)
	if l.Depth != nil {
		q.add(" AND b.depth = ?", int64(*l.Depth))
	}
	q.window(l.Window, "t.n", "t.n")
	return paged(ctx, s, "listing the tasks of "+l.Chat, q, l.Window, scanTask, func(t store.Task) int {
		return len(t.Instruction) + len(t.Result) + len(t.Error) + len(t.Metadata)
	})
}

// ListMessages implements store.Lists: placed ones by position, queued ones
// behind them by arrival; descending the other way round. The cursor of a
// queued one has the key -1.
func (s *Store) ListMessages(ctx context.Context, l store.OfAgent) (rows []store.Message, next *store.Cursor, err error) {
	phases := []bool{false, true} // whether the queued ones
	begin := store.Cursor{Key: -1}
	if l.Desc {
		phases = []bool{true, false}
		begin = store.Cursor{Key: math.MaxInt64, Row: math.MaxInt64}
	}
	err = s.readers.snapshot(ctx, func(r *reader) error {
		after := l.After
		for _, queued := range phases {
			if after != nil && queued != (after.Key < 0) {
				continue // the page begins among the others
			}
			w := l.Window
			w.After, w.Limit = after, l.Limit-len(rows)
			if w.Limit == 0 {
				next = &begin
				return nil
			}
			q := selecting(listPlacedSQL, l.Agent).window(w, "m.pos", "m.pos")
			if queued {
				q = selecting(listQueuedSQL, l.Agent).window(w, "m.n", "m.n")
			}
			more, end, err := page(r, q, w, scanMessage, func(m store.Message) int { return len(m.Parts) })
			rows = append(rows, more...)
			if next = end; err != nil || next != nil {
				return err
			}
			after = nil
		}
		return nil
	})
	return rows, next, failure("listing the messages of "+l.Agent, err)
}

// ListToolCalls implements store.Lists.
func (s *Store) ListToolCalls(ctx context.Context, l store.OfAgent) ([]store.ToolCall, *store.Cursor, error) {
	q := selecting(listCallsSQL, l.Agent).text(" AND t.status = ?", l.Status).window(l.Window, "t.turn", "t.call")
	return paged(ctx, s, "listing the tool calls of "+l.Agent, q, l.Window, scanToolCall, func(t store.ToolCall) int {
		return len(t.Args) + len(t.Result) + len(t.Error) + len(t.Record)
	})
}

// ListModelCalls implements store.Lists.
func (s *Store) ListModelCalls(ctx context.Context, l store.OfAgent) ([]store.ModelCall, *store.Cursor, error) {
	q := selecting(listModelsSQL, l.Agent).text(" AND m.status = ?", l.Status).window(l.Window, "m.n", "m.n")
	return paged(ctx, s, "listing the model calls of "+l.Agent, q, l.Window, scanModelCall, func(m store.ModelCall) int {
		return len(m.Response) + len(m.Error)
	})
}

// ListItems implements store.Lists.
func (s *Store) ListItems(ctx context.Context, l store.ItemList) ([]store.Item, *store.Cursor, error) {
	q := selecting(listItemsSQL).add(inboxUserSQL, l.User).text(inboxChatSQL, l.Chat).text(" AND i.kind = ?", l.Kind)
	if !l.Closed {
		q.add(inboxWaitingSQL)
	}
	q.window(l.Window, "i.n", "i.n")
	return paged(ctx, s, "listing the inbox", q, l.Window, scanItem, func(i store.Item) int {
		return len(i.Action) + len(i.Detail) + len(i.Answer)
	})
}

// ListEvents implements store.Lists.
func (s *Store) ListEvents(ctx context.Context, l store.OfAgent) ([]store.Event, *store.Cursor, error) {
	q := selecting(listEventsSQL, l.Agent).window(l.Window, "id", "id")
	return paged(ctx, s, "listing the events of "+l.Agent, q, l.Window, func(c *columns) (store.Event, error) {
		return scanEvent(c), nil
	}, func(store.Event) int { return 0 })
}

// CountItems implements store.Lists.
func (s *Store) CountItems(ctx context.Context, user, chat string) (int, error) {
	sql := countItemsSQL
	if chat != "" {
		sql = countItemsOfChatSQL
	}
	n, err := readOne(ctx, s, "inbox of", user, sql, func(p *params) {
		p.text(user)
		if chat != "" {
			p.text(chat)
		}
	}, func(c *columns) (int, error) { return c.int(), nil })
	if err != nil {
		return 0, err
	}
	return *n, nil
}
