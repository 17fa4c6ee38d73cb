// Paged reads: what the HTTP API lists, a bounded page at a time.

package store

import "context"

// Lists are reads that stay bounded however much there is: each returns a page
// and where the next one begins, nil after the last.
type Lists interface {
	ListChats(ctx context.Context, q ChatList) ([]ChatRow, *Cursor, error)
	ListAgents(ctx context.Context, q AgentList) ([]Agent, *Cursor, error)
	ListTasks(ctx context.Context, q TaskList) ([]Task, *Cursor, error)
	ListMessages(ctx context.Context, q OfAgent) ([]Message, *Cursor, error)
	ListToolCalls(ctx context.Context, q OfAgent) ([]ToolCall, *Cursor, error)
	ListModelCalls(ctx context.Context, q OfAgent) ([]ModelCall, *Cursor, error)
	ListItems(ctx context.Context, q ItemList) ([]Item, *Cursor, error)
	// ListEvents returns the log of an agent without bodies.
	ListEvents(ctx context.Context, q OfAgent) ([]Event, *Cursor, error)

	// CountItems counts the items of a user, or of one chat, that wait openly.
	CountItems(ctx context.Context, user, chat string) (int, error)
	// Spending sums up model calls.
	Spending(ctx context.Context, q SpendingQuery) ([]Spending, error)
	// Living counts the agents at work or waiting, by state.
	Living(ctx context.Context) (map[string]int, error)
	// DeletedAfter tells whether a chat of the user was deleted by a change
	// after number since, so that changes before it are missing.
	DeletedAfter(ctx context.Context, user string, since int64) (bool, error)
	// Replaced tells whether number since was given before a restore to a
	// change that is no longer there.
	Replaced(ctx context.Context, since int64) (bool, error)
}

// Window bounds a page: up to Limit rows after the cursor, and no more once
// they have Bytes (0: no such bound) in bodies. There is always room for one.
type Window struct {
	After *Cursor
	Limit int
	Bytes int
	Desc  bool
}

// Cursor is the place of a row in a list: what it is sorted by, and its number
// among those alike.
type Cursor struct{ Key, Row int64 }

// The orders of lists.
const (
	ByCreation = "created"
	ByUpdate   = "updated"
	ByCost     = "cost"
	ByTokens   = "tokens"
)

// ChatRow is a chat as it is listed: with what its orchestrator does, what the
// whole tree has used, what waits for the user, what they have read and what
// there is to read.
type ChatRow struct {
	Chat
	State    string `json:"state"`
	Recorded string `json:"recordedStatus"`          // how its last run ended
	Bailout  string `json:"bailoutReason,omitempty"` // and why, if it stopped early
	Live     int    `json:"liveChildren"`
	Turns    int    `json:"turns"`
	Tokens   int64  `json:"tokens"`
	Cost     int64  `json:"costMicros"`
	Unpriced bool   `json:"unpriced,omitempty"`
	Waiting  int    `json:"waitingItems"`
	Read     int64  `json:"readSeq"`
	Replied  int64  `json:"repliedSeq"` // the change with the newest reply of the orchestrator
}

// ChatList selects chats of a user. Status is what the orchestrator does;
// Search is looked for in titles.
type ChatList struct {
	User     string
	ID       string // this one alone
	Archived *bool  // nil: both
	Status   string
	Role     string
	Search   string
	Sort     string // ByUpdate (the default), ByCreation
	Window
}

// AgentList selects agents of a chat, the orchestrator included; or, without a
// chat, those of all chats of a user that are at work or wait. Status is
// what the agent does (thinking, acting …) or its sub-agent status (active …).
type AgentList struct {
	Chat   string
	User   string
	Status string
	Role   string
	Depth  *int
	Below  bool // without the orchestrator
	Parent string
	Sort   string // ByCreation (the default), ByUpdate, ByCost, ByTokens
	Window
}

// TaskList selects tasks of a chat. Role is that of the sub-agent.
type TaskList struct {
	Chat   string
	Status string
	Role   string
	Depth  *int // of the sub-agent
	Window
}

// OfAgent selects what belongs to one agent.
type OfAgent struct {
	Agent  string
	Status string
	Window
}

// ItemList selects inbox items of a user, or of one chat of theirs; hidden ones
// never.
type ItemList struct {
	User   string
	Chat   string
	Closed bool // also those that no longer wait
	Kind   string
	Window
}

// SpendingQuery selects model calls of a user that ended in [From, To).
type SpendingQuery struct {
	User     string
	Chat     string
	By       string // agent, role, model, day, chat
	From, To int64
	Limit    int
}

// Spending is what a group of model calls has used.
type Spending struct {
	Key        string `json:"key"`
	Calls      int64  `json:"calls"`
	Failed     int64  `json:"failed"`
	Input      int64  `json:"inputTokens"`
	Output     int64  `json:"outputTokens"`
	CacheRead  int64  `json:"cacheReadTokens"`
	CacheWrite int64  `json:"cacheWriteTokens"`
	Reasoning  int64  `json:"reasoningTokens"`
	Cost       int64  `json:"costMicros"`
	Unpriced   int64  `json:"unpricedCalls"`
}
