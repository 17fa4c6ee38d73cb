// This file reads agents, their logs and what recovery needs.

package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/store"
)

const (
	agentColumns = `a.n, a.snapshot, a.id, c.id, c.user, d.task, p.id, d.role, d.name, d.path, a.depth, d.model, d.prompt, d.dir, d.cause,
  d.context_mode, d.context_tokens, d.max_turns, d.max_duration, d.max_tokens, d.max_cost, d.continues, d.summary, d.error,
  a.status, a.sub_agent, a.recorded, a.bailout, a.why, a.until, a.turns, a.active_ms, a.tokens, a.cost, a.unpriced,
  a.extra_tokens, a.extra_cost, a.child_tokens, a.child_cost, a.children, a.live, a.busy, a.wake_at, a.updated_at, d.created_at, d.ended_at, d.spec, d.metadata`
	agentTables = ` FROM agents a JOIN agent_details d ON d.n = a.n JOIN chats c ON c.n = a.chat LEFT JOIN agents p ON p.n = a.parent `

	agentSQL    = `SELECT ` + agentColumns + agentTables + `WHERE a.id = ?`
	agentRowSQL = `SELECT ` + agentColumns + agentTables + `WHERE a.n = ?`
	childrenSQL = `SELECT ` + agentColumns + agentTables + `WHERE a.parent = (SELECT n FROM agents WHERE id = ?) ORDER BY a.n`
	treeSQL     = `SELECT ` + agentColumns + agentTables + `WHERE a.chat = (SELECT n FROM chats WHERE id = ?) ORDER BY a.n`
	causedSQL   = `SELECT ` + agentColumns + ` FROM agent_details d JOIN agents a ON a.n = d.n JOIN chats c ON c.n = a.chat
LEFT JOIN agents p ON p.n = a.parent WHERE d.cause = ? AND d.cause <> '' ORDER BY d.n`

	eventColumns = `id, at, type, version, body, verdict`
	loadSQL      = `SELECT ` + eventColumns + `, CASE WHEN id = ?2 THEN state END FROM events WHERE agent = ?1 AND id >= ?2 ORDER BY id`
	logSQL       = `SELECT ` + eventColumns + ` FROM events WHERE agent = ?1 ORDER BY id`

	unfinishedSQL       = `SELECT id, busy, wake_at FROM agents INDEXED BY agents_waiting WHERE waits = 1 ORDER BY n`
	unfinishedOfChatSQL = `SELECT id, busy, wake_at FROM agents INDEXED BY agents_waiting WHERE waits = 1 AND chat = (SELECT n FROM chats WHERE id = ?) ORDER BY n`
)

// located is an agent with where it is stored.
type located struct {
	store.Agent
	n, snapshot int64
}

func scanLocated(c *columns) (located, error) {
	l := located{n: c.int64(), snapshot: c.int64()}
	a := &l.Agent
	a.ID, a.ChatID, a.UserID, a.TaskID, a.Parent = c.text(), c.text(), c.text(), c.text(), c.text()
	a.Role, a.Name, a.Path, a.Depth = c.text(), c.text(), c.text(), c.int()
	a.Model, a.Prompt, a.Dir, a.Cause = c.text(), c.text(), c.text(), c.text()
	a.ContextMode, a.ContextTokens = c.text(), c.int64()
	a.MaxTurns, a.MaxDuration, a.MaxTokens, a.MaxCost = c.int(), c.int64(), c.int64(), c.int64()
	a.Continues, a.Summary, a.Error = c.text(), c.text(), c.text()
	a.Status, a.SubAgent, a.Recorded, a.Bailout = c.text(), c.text(), c.text(), c.text()
	a.Why, a.Until = c.text(), c.int64()
	a.Turns, a.ActiveMS, a.Tokens, a.Cost, a.Unpriced = c.int(), c.int64(), c.int64(), c.int64(), c.bool()
	a.ExtraTokens, a.ExtraCost = c.int64(), c.int64()
	a.ChildTokens, a.ChildCost, a.Children, a.Live = c.int64(), c.int64(), c.int(), c.int()
	a.Busy, a.WakeAt, a.UpdatedAt = c.bool(), c.int64(), c.int64()
	a.CreatedAt, a.EndedAt = c.int64(), c.int64()
	a.Spec, a.Metadata = c.blob(), c.blob()
	return l, nil
}

func scanAgent(c *columns) (store.Agent, error) {
	l, err := scanLocated(c)
	return l.Agent, err
}

// Agent implements store.Store.
func (s *Store) Agent(ctx context.Context, id string) (*store.Agent, error) {
	return readOne(ctx, s, "agent", id, agentSQL, func(p *params) { p.text(id) }, scanAgent)
}

// Children implements store.Store.
func (s *Store) Children(ctx context.Context, agent string) ([]store.Agent, error) {
	list, err := readList(ctx, s, "reading the children of "+agent, childrenSQL, func(p *params) { p.text(agent) }, scanAgent)
	sortAgents(list)
	return list, err
}

// Tree implements store.Store.
func (s *Store) Tree(ctx context.Context, chat string) ([]store.Agent, error) {
	list, err := readList(ctx, s, "reading the tree of "+chat, treeSQL, func(p *params) { p.text(chat) }, scanAgent)
	sortAgents(list)
	return list, err
}

// Caused implements store.Store.
func (s *Store) Caused(ctx context.Context, message string) ([]store.Agent, error) {
	list, err := readList(ctx, s, "reading what message "+message+" led to", causedSQL, func(p *params) { p.text(message) }, scanAgent)
	sortAgents(list)
	return list, err
}

// sortAgents puts parents before their children and siblings in order of
// their numbers: chat, chat.2, chat.2.1, chat.10.
func sortAgents(list []store.Agent) {
	slices.SortStableFunc(list, func(a, b store.Agent) int { return compareIDs(a.ID, b.ID) })
}

func compareIDs(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, ".")
		y, restB, moreB := strings.Cut(b, ".")
		// Among numbers without leading zeros the longer one is the larger.
		if c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); c != 0 {
			return c
		}
		if !moreA || !moreB {
			return cmp.Compare(len(restA), len(restB))
		}
		a, b = restA, restB
	}
}

// Load implements store.Store: the agent's row, and then its log from the
// event on that carries the newest snapshot.
func (s *Store) Load(ctx context.Context, agent string) (*store.Loaded, error) {
	var loaded store.Loaded
	err := s.readers.snapshot(ctx, func(r *reader) error {
		a, err := one(r, agentSQL, func(p *params) { p.text(agent) }, scanLocated)
		if err != nil {
			return err
		}
		loaded.Agent = a.Agent
		with := func(p *params) { p.ints(a.n, a.snapshot) }
		return r.query(loadSQL, with, func(c *columns) error {
			e := scanEvent(c)
			if e.Seq == a.snapshot {
				loaded.Version, loaded.Snapshot = e.Version, c.blob()
				return nil
			}
			e.Chat, e.Agent = a.ChatID, a.ID
			loaded.Events = append(loaded.Events, e)
			return nil
		})
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("agent %s: %w", agent, err)
	}
	if err != nil {
		return nil, failure("loading agent "+agent, err)
	}
	return &loaded, nil
}

func scanEvent(c *columns) store.Event {
	return store.Event{
		Seq: c.int64(), At: c.int64(), Type: c.text(), Version: c.int(),
		Body: c.blob(), Verdict: store.Verdict(c.text()),
	}
}

// Log implements store.Store.
func (s *Store) Log(ctx context.Context, agent string) ([]store.Event, error) {
	var events []store.Event
	err := s.readers.snapshot(ctx, func(r *reader) error {
		a, err := one(r, agentSQL, func(p *params) { p.text(agent) }, scanLocated)
		if err != nil {
			return err
		}
		return r.query(logSQL, func(p *params) { p.int(a.n) }, func(c *columns) error {
			e := scanEvent(c)
			e.Chat, e.Agent = a.ChatID, a.ID
			events = append(events, e)
			return ctx.Err()
		})
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("agent %s: %w", agent, err)
	}
	if err != nil {
		return nil, failure("reading the log of "+agent, err)
	}
	return events, nil
}

// Unfinished implements store.Store.
func (s *Store) Unfinished(ctx context.Context, chat string) ([]store.Waiting, error) {
	sql, with := unfinishedSQL, func(*params) {}
	if chat != "" {
		sql, with = unfinishedOfChatSQL, func(p *params) { p.text(chat) }
	}
	return readList(ctx, s, "reading what is unfinished", sql, with, func(c *columns) (store.Waiting, error) {
		return store.Waiting{Agent: c.text(), Busy: c.bool(), WakeAt: c.int64()}, nil
	})
}
