// A full database: one chat is made by Cadre itself and copied many times,
// row by row, under other ids. What a copy holds is what Cadre wrote, so that
// `cadre verify` finds each of them sound.

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cadre-dev/cadre/bench/chat"
)

// fill makes a data folder with so many chats of 1,000 sub-agents with 10
// messages each, and returns the ids of the chats.
func (b *bench) fill(ctx context.Context, data string, copies int) ([]string, error) {
	srv, err := b.serve(ctx, data)
	if err != nil {
		return nil, err
	}
	defer srv.stop(syscall.SIGTERM)
	id, seq, err := srv.newChat(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := srv.run(ctx, id, seq, chat.Script{Kind: chat.Root, Fan: 1000, Leaf: 4}); err != nil {
		return nil, err
	}
	srv.stop(syscall.SIGTERM)
	return copyChat(ctx, data, id, copies-1)
}

func openDatabase(data string, flags sqlite.OpenFlags) (*sqlite.Conn, error) {
	return sqlite.OpenConn(filepath.Join(data, "cadre.db"), flags)
}

// count runs a query for one number.
func count(data, query string) (n float64, err error) {
	conn, err := openDatabase(data, sqlite.OpenReadOnly)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // it was only read
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnFloat(0)
		return nil
	}})
	return n, err
}

// verify has Cadre replay the log of a chat.
func (b *bench) verify(ctx context.Context, data, id string) error {
	cmd := exec.CommandContext(ctx, b.cadre, "verify", "--data", data, id)
	cmd.Env = append(os.Environ(), b.env()...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("a copied chat is not sound: %w: %s", err, out)
	}
	return nil
}

// The columns of each table, as expressions over the row that is copied.
// other(x) replaces ids in a text, shift(x) the row numbers in what an event
// touched; ?1 to ?7 are how far the numbers of chats, agents, events,
// messages, tasks, tool calls and model calls move, ?8 is the last row of the
// original.
var copied = []struct{ table, columns string }{
	{"chats", "n+?1, other(id), user, title, role, model, dir, status, archived, created_at, updated_at, born+?3"},
	{"agents", "n+?2, other(id), chat+?1, parent+?2, depth, snapshot+?3, status, sub_agent, recorded, bailout, why, until, turns, active_ms, tokens, cost, unpriced, child_tokens, child_cost, children, live, busy, wake_at, updated_at, waits, extra_tokens, extra_cost"},
	{"agent_details", "n+?2, other(task), role, name, path, model, prompt, dir, other(cause), context_mode, context_tokens, max_turns, max_duration, max_tokens, max_cost, continues, created_at, ended_at, summary, error, metadata, blob(spec)"},
	{"events", "id+?3, agent+?2, chat+?1, at, version, type, verdict, shift(touched), blob(body), blob(state)"},
	{"messages", "n+?4, agent+?2, pos, turn, created_at, other(id), role, kind, other(call), blob(parts)"},
	{"tasks", "n+?5, other(id), agent+?2, number, type, name, other(sub_agent), turn, call, status, error_kind, reason, other(cause), created_at, updated_at, instruction, metadata, error, result"},
	{"tool_calls", "n+?6, agent+?2, turn, call, pos, created_at, started_at, ended_at, phase, status, class, name, call_id"},
	{"tool_inputs", "n+?6, args"},
	{"tool_records", "n+?6, record"},
	{"model_calls", "n+?7, agent+?2, turn, try, from_pos, reply_pos, input, output, cache_read, cache_write, reasoning, cost, priced, started_at, first_at, ended_at, model, request_type, status, stop, error_kind, error, request_id, response, answered, waited"},
}

// letters tell which tables the documents of an event are in.
var letters = map[byte]string{'C': "chats", 'A': "agents", 'T': "tasks", 'M': "messages", 'X': "tool_calls", 'R': "model_calls"}

// copyChat copies the only chat of a database.
func copyChat(ctx context.Context, data, id string, copies int) (ids []string, err error) {
	conn, err := openDatabase(data, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := conn.Close(); err == nil {
			err = closed
		}
	}()
	// A kill in the middle costs a run of the benchmark, no more.
	for _, pragma := range []string{"PRAGMA synchronous = OFF", "PRAGMA cache_size = -65536"} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			return nil, err
		}
	}
	size := map[string]int64{}
	for _, table := range []string{"chats", "agents", "events", "messages", "tasks", "tool_calls", "model_calls"} {
		key := "n"
		if table == "events" {
			key = "id"
		}
		if err := sqlitex.ExecuteTransient(conn, "SELECT max("+key+") FROM "+table, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			size[table] = s.ColumnInt64(0)
			return nil
		}}); err != nil {
			return nil, err
		}
	}
	c := &copier{conn: conn, size: size, id: id}
	if err := c.functions(); err != nil {
		return nil, err
	}
	ids = []string{id}
	for k := 1; k <= copies; k++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := c.copy(int64(k)); err != nil {
			return nil, fmt.Errorf("copy %d: %w", k, err)
		}
		ids = append(ids, c.other(id))
	}
	return ids, nil
}

// copier makes the copies of one chat.
type copier struct {
	conn *sqlite.Conn
	size map[string]int64 // how far numbers move with each copy
	id   string           // of the chat that is copied
	k    int64            // the copy in hand
}

func (c *copier) functions() error {
	text := func(change func(string) string, blob bool) *sqlite.FunctionImpl {
		return &sqlite.FunctionImpl{NArgs: 1, Deterministic: false, Scalar: func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
			if args[0].Type() == sqlite.TypeNull {
				return sqlite.Value{}, nil
			}
			out := change(args[0].Text())
			if blob {
				return sqlite.BlobValue([]byte(out)), nil
			}
			return sqlite.TextValue(out), nil
		}}
	}
	for name, f := range map[string]*sqlite.FunctionImpl{"other": text(c.other, false), "blob": text(c.other, true), "shift": text(c.shift, false)} {
		if err := c.conn.CreateFunction(name, f); err != nil {
			return err
		}
	}
	return nil
}

// other gives the chat, and the messages that its user sent, another id of the
// same length.
func (c *copier) other(text string) string {
	mark := fmt.Sprintf("%04d", c.k)
	text = strings.ReplaceAll(text, c.id, c.id[:len(c.id)-len(mark)]+mark)
	const message, length = "msg-", 26
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, message)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString(message)
		if len(after) >= length {
			out.WriteString(after[:length-len(mark)] + mark)
			after = after[length:]
		}
		text = after
	}
}

// shift moves the row numbers in what an event touched.
func (c *copier) shift(touched string) string {
	fields := strings.Fields(touched)
	for i, f := range fields {
		n, err := strconv.ParseInt(f[1:], 10, 64)
		if err != nil {
			continue
		}
		fields[i] = f[:1] + strconv.FormatInt(n+c.k*c.size[letters[f[0]]], 10)
	}
	return strings.Join(fields, " ")
}

// copy makes one copy, in one transaction.
func (c *copier) copy(k int64) (err error) {
	c.k = k
	end, err := sqlitex.ImmediateTransaction(c.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	for _, t := range copied {
		key, of := "n", t.table
		switch t.table {
		case "events":
			key = "id"
		case "agent_details":
			of = "agents"
		case "tool_inputs", "tool_records":
			of = "tool_calls"
		}
		query := fmt.Sprintf("INSERT INTO %s SELECT %s FROM %s WHERE %s <= ?8", t.table, t.columns, t.table, key)
		args := []any{}
		for _, table := range []string{"chats", "agents", "events", "messages", "tasks", "tool_calls", "model_calls"} {
			args = append(args, k*c.size[table])
		}
		args = append(args, c.size[of])
		if err := sqlitex.Execute(c.conn, query, &sqlitex.ExecOptions{Args: args}); err != nil {
			return fmt.Errorf("copying %s: %w", t.table, err)
		}
	}
	return nil
}
