// This file reads tool calls and model calls.

package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

const (
	// The result of a call is the message at its place; position 0 is never a
	// result.
	callColumns = `a.id, t.turn, t.call, t.call_id, t.name, t.class, i.args, t.phase, t.status, t.pos, r.record,
  t.created_at, t.started_at, t.ended_at, m.parts`
	callTables = ` FROM tool_calls t JOIN agents a ON a.n = t.agent LEFT JOIN tool_inputs i ON i.n = t.n LEFT JOIN tool_records r ON r.n = t.n
LEFT JOIN messages m ON m.agent = t.agent AND m.pos = t.pos AND t.pos > 0 AND m.kind = 'result' `

	callSQL    = `SELECT ` + callColumns + callTables + `WHERE t.agent = ` + ofAgent + ` AND t.turn = ?2 AND t.call = ?3`
	callsSQL   = `SELECT ` + callColumns + callTables + `WHERE t.agent = ` + ofAgent + ` ORDER BY t.turn, t.call`
	recordsSQL = `SELECT r.record FROM tool_calls t JOIN tool_records r ON r.n = t.n WHERE t.agent = ` + ofAgent + ` ORDER BY t.turn, t.call`
	callRowSQL = `SELECT ` + callColumns + callTables + `WHERE t.n = ?`

	modelColumns = `a.id, m.turn, m.try, m.model, m.request_type, m.from_pos, m.reply_pos, m.response, m.status, m.stop, m.error_kind, m.error,
  m.request_id, m.input, m.output, m.cache_read, m.cache_write, m.reasoning, m.cost, m.priced, m.started_at, m.first_at, m.ended_at,
  m.waited, m.answered`
	modelTables   = ` FROM model_calls m JOIN agents a ON a.n = m.agent `
	modelCallsSQL = `SELECT ` + modelColumns + modelTables + `WHERE m.agent = ` + ofAgent + ` ORDER BY m.n`
	modelRowSQL   = `SELECT ` + modelColumns + modelTables + `WHERE m.n = ?`
)

func scanToolCall(c *columns) (store.ToolCall, error) {
	t := store.ToolCall{
		Agent: c.text(), Turn: c.int(), Call: c.int(), CallID: c.text(), Name: c.text(), Class: c.text(), Args: c.blob(),
		Phase: c.text(), Status: c.text(), Pos: c.int(), Record: c.blob(),
		CreatedAt: c.int64(), StartedAt: c.int64(), EndedAt: c.int64(),
	}
	t.ID = store.ToolCallID(t.Agent, t.Turn, t.Call)
	parts, err := message.DecodeParts(c.blob())
	if err != nil {
		return t, fmt.Errorf("reading the result of %s: %w", t.ID, err)
	}
	text, isError := store.ResultText(parts)
	if isError {
		t.Error = text
	} else {
		t.Result = text
	}
	return t, nil
}

// ToolCall implements store.Store.
func (s *Store) ToolCall(ctx context.Context, agent string, turn, call int) (*store.ToolCall, error) {
	return readOne(ctx, s, "tool call", store.ToolCallID(agent, turn, call), callSQL, func(p *params) {
		p.text(agent)
		p.ints(int64(turn), int64(call))
	}, scanToolCall)
}

// ToolCalls implements store.Store.
func (s *Store) ToolCalls(ctx context.Context, agent string) ([]store.ToolCall, error) {
	return readList(ctx, s, "reading the tool calls of "+agent, callsSQL, func(p *params) { p.text(agent) }, scanToolCall)
}

// Records implements store.Store.
func (s *Store) Records(ctx context.Context, agent string) ([]json.RawMessage, error) {
	return readList(ctx, s, "reading what "+agent+" did", recordsSQL, func(p *params) { p.text(agent) }, func(c *columns) (json.RawMessage, error) {
		return c.blob(), nil
	})
}

func scanModelCall(c *columns) (store.ModelCall, error) {
	m := store.ModelCall{
		Agent: c.text(), Turn: c.int(), Try: c.int(), Model: c.text(), RequestType: c.text(), From: c.int(), Reply: c.int(),
		Response: c.text(), Status: c.text(), Stop: c.text(), ErrorKind: c.text(), Error: c.text(), RequestID: c.text(),
		Usage: message.Usage{
			Input: c.int64(), Output: c.int64(), CacheRead: c.int64(), CacheWrite: c.int64(), Reasoning: c.int64(),
		},
		Cost: c.int64(), Priced: c.bool(), StartedAt: c.int64(), FirstAt: c.int64(), EndedAt: c.int64(),
		WaitedMS: c.int64(), Answered: c.text(),
	}
	m.ID = store.ModelCallID(m.Agent, m.Turn, m.Try)
	return m, nil
}

// ModelCalls implements store.Store.
func (s *Store) ModelCalls(ctx context.Context, agent string) ([]store.ModelCall, error) {
	return readList(ctx, s, "reading the model calls of "+agent, modelCallsSQL, func(p *params) { p.text(agent) }, scanModelCall)
}
