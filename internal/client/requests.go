// The requests, one function each. Lists are read whole.

package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/api/wire"
)

const (
	mePath    = "/v1/users/me"
	chatsPath = mePath + "/orch-chats"
)

func chatPath(chat string) string { return chatsPath + "/" + url.PathEscape(chat) }

// agentPath finds an agent by its id alone: an id begins with that of its chat.
func agentPath(agent string) string {
	return chatPath(ChatOf(agent)) + "/sub-agents/" + url.PathEscape(agent)
}

func itemPath(item string) string {
	return chatPath(ChatOf(item)) + "/inbox/" + url.PathEscape(item)
}

// ChatOf is the chat that an agent (CHAT.2.1) or an inbox item (CHAT.2-i1)
// belongs to.
func ChatOf(id string) string {
	if n := strings.IndexAny(id, ".-"); n >= 0 {
		return id[:n]
	}
	return id
}

// Me tells who asks, and how the server is.
func (c *Client) Me(ctx context.Context) (wire.Me, error) { return get[wire.Me](ctx, c, mePath, nil) }

// CreateChat creates a chat.
func (c *Client) CreateChat(ctx context.Context, in wire.NewChat) (wire.Snapshot, error) {
	return post[wire.Snapshot](ctx, c, chatsPath, in)
}

// Chat reads a chat and its orchestrator.
func (c *Client) Chat(ctx context.Context, chat string) (wire.Snapshot, error) {
	return get[wire.Snapshot](ctx, c, chatPath(chat), nil)
}

// Run tells whether a run is under way and how the last one ended.
func (c *Client) Run(ctx context.Context, chat string) (wire.Run, error) {
	return get[wire.Run](ctx, c, chatPath(chat)+"/run", nil)
}

// Post sends a message; the same id twice is one message.
func (c *Client) Post(ctx context.Context, chat string, m wire.NewMessage) (wire.Message, error) {
	var out wire.Message
	err := c.call(ctx, request{method: http.MethodPost, path: chatPath(chat) + "/messages", in: m, out: &out, again: m.ID != ""})
	return out, err
}

// Agents reads all agents of a chat, parents before children.
func (c *Client) Agents(ctx context.Context, chat string) ([]wire.Agent, error) {
	tree, err := get[wire.Tree](ctx, c, chatPath(chat)+"/tree", nil)
	if err != nil || !tree.More {
		return tree.Agents, err
	}
	below, err := all[wire.Agent](ctx, c, chatPath(chat)+"/sub-agents", nil)
	return append(tree.Agents[:1], below...), err
}

// Agent reads one agent.
func (c *Client) Agent(ctx context.Context, agent string) (wire.Agent, error) {
	return get[wire.Agent](ctx, c, agentPath(agent), nil)
}

// Running lists the agents of all chats that are at work or wait.
func (c *Client) Running(ctx context.Context) ([]wire.Agent, error) {
	return all[wire.Agent](ctx, c, mePath+"/agents", nil)
}

// Tasks lists the tasks of a chat.
func (c *Client) Tasks(ctx context.Context, chat string) ([]wire.Task, error) {
	return all[wire.Task](ctx, c, chatPath(chat)+"/tasks", nil)
}

// LastMessages reads the newest page of a chat's conversation, oldest first.
func (c *Client) LastMessages(ctx context.Context, chat string) ([]wire.Message, error) {
	page, err := get[wire.Page[wire.Message]](ctx, c, chatPath(chat)+"/messages", url.Values{"order": {"desc"}})
	slices.Reverse(page.Items)
	return page.Items, err
}

// ToolCalls lists the tool calls of an agent.
func (c *Client) ToolCalls(ctx context.Context, agent string) ([]wire.ToolCall, error) {
	return all[wire.ToolCall](ctx, c, agentPath(agent)+"/tool-calls", nil)
}

// ModelCalls lists the model calls of an agent.
func (c *Client) ModelCalls(ctx context.Context, agent string) ([]wire.ModelCall, error) {
	return all[wire.ModelCall](ctx, c, agentPath(agent)+"/model-calls", nil)
}

// Inbox lists what waits for the user, of all chats if chat is empty; closed
// also what no longer does.
func (c *Client) Inbox(ctx context.Context, chat string, closed bool) ([]wire.Item, error) {
	path, query := mePath, url.Values{}
	if chat != "" {
		path = chatPath(chat)
	}
	if closed {
		query.Set("all", "true")
	}
	return all[wire.Item](ctx, c, path+"/inbox", query)
}

// Item reads one inbox item.
func (c *Client) Item(ctx context.Context, item string) (wire.Item, error) {
	return get[wire.Item](ctx, c, itemPath(item), nil)
}

// Answer answers an inbox item; the first answer counts.
func (c *Client) Answer(ctx context.Context, item string, a wire.Answer) (wire.Answered, error) {
	return post[wire.Answered](ctx, c, itemPath(item)+"/answer", a)
}

// Stop ends an agent and all below it; with the id of a chat, all of it.
func (c *Client) Stop(ctx context.Context, id string) error {
	path := agentPath(id)
	if id == ChatOf(id) {
		path = chatPath(id)
	}
	return c.call(ctx, request{method: http.MethodPost, path: path + "/stop", again: true})
}

// Users lists the users.
func (c *Client) Users(ctx context.Context) ([]wire.User, error) {
	page, err := get[wire.Page[wire.User]](ctx, c, "/v1/users", nil)
	return page.Items, err
}

// AddUser adds a user.
func (c *Client) AddUser(ctx context.Context, name string) (wire.User, error) {
	return post[wire.User](ctx, c, "/v1/users", wire.NewUser{Name: name})
}

// RemoveUser shuts a user out.
func (c *Client) RemoveUser(ctx context.Context, id string) error {
	return c.call(ctx, request{method: http.MethodDelete, path: "/v1/users/" + url.PathEscape(id)})
}

// Tokens lists tokens and sessions.
func (c *Client) Tokens(ctx context.Context) ([]wire.Key, error) {
	page, err := get[wire.Page[wire.Key]](ctx, c, "/v1/tokens", nil)
	return page.Items, err
}

// CreateToken makes a token.
func (c *Client) CreateToken(ctx context.Context, in wire.NewToken) (wire.Token, error) {
	return post[wire.Token](ctx, c, "/v1/tokens", in)
}

// RevokeToken revokes a token or a session.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.call(ctx, request{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(id)})
}

// CreateCode makes a code that opens the page once.
func (c *Client) CreateCode(ctx context.Context) (wire.Code, error) {
	return post[wire.Code](ctx, c, "/v1/codes", nil)
}
