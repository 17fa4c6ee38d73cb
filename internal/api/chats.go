// Chats: listed, created, changed, forked, stopped, deleted.

package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

const (
	chatsPath = "/v1/users/{user}/orch-chats"
	chatPath  = chatsPath + "/{chat}"
)

// UserInput names the caller. Types of input are exported because huma fills in
// exported fields only.
type UserInput struct {
	User string `path:"user" maxLength:"40" doc:"me, or the caller's own id"`
}

// ChatInput names a chat.
type ChatInput struct {
	UserInput
	Chat string `path:"chat" maxLength:"100"`
}

func (s *Server) chatRoutes() {
	register(s, access.Read, huma.Operation{OperationID: "listChats", Method: http.MethodGet, Path: chatsPath, Summary: "List chats, those with the newest activity first"}, s.listChats)
	register(s, access.Write, huma.Operation{OperationID: "createChat", Method: http.MethodPost, Path: chatsPath, Summary: "Create a chat, and send its first message", DefaultStatus: http.StatusCreated}, s.createChat)
	register(s, access.Read, huma.Operation{OperationID: "getChat", Method: http.MethodGet, Path: chatPath, Summary: "What a page about a chat needs first"}, s.getChat)
	register(s, access.Write, huma.Operation{OperationID: "setChat", Method: http.MethodPatch, Path: chatPath, Summary: "Rename a chat, put it into the archive or take it out"}, s.setChat)
	register(s, access.Write, huma.Operation{OperationID: "deleteChat", Method: http.MethodDelete, Path: chatPath, Summary: "Delete a chat with everything in it", DefaultStatus: http.StatusNoContent}, s.deleteChat)
	register(s, access.Write, huma.Operation{OperationID: "stopChat", Method: http.MethodPost, Path: chatPath + "/stop", Summary: "Stop all agents of a chat", DefaultStatus: http.StatusNoContent}, s.stopChat)
	register(s, access.Write, huma.Operation{OperationID: "forkChat", Method: http.MethodPost, Path: chatPath + "/fork", Summary: "Begin a new chat with what was said before a message", DefaultStatus: http.StatusCreated}, s.forkChat)
	register(s, access.Read, huma.Operation{OperationID: "getTree", Method: http.MethodGet, Path: chatPath + "/tree", Summary: "All agents of a chat with states, usage and cost"}, s.getTree)
	register(s, access.Read, huma.Operation{OperationID: "getRun", Method: http.MethodGet, Path: chatPath + "/run", Summary: "Whether agents are at work, how the last run ended and what the chat has used"}, s.getRun)
	register(s, access.Write, huma.Operation{OperationID: "markRead", Method: http.MethodPut, Path: chatPath + "/read", Summary: "Remember how far the chat was read", DefaultStatus: http.StatusNoContent}, s.markRead)
}

func (s *Server) listChats(ctx context.Context, in *struct {
	UserInput
	PageInput
	Archived string `query:"archived" enum:"true,false,all" default:"false"`
	Status   string `query:"status" maxLength:"40" doc:"What the orchestrator does: idle, thinking, acting …"`
	Role     string `query:"role" maxLength:"100"`
	Search   string `query:"search" maxLength:"200" doc:"Part of the title."`
	Sort     string `query:"sort" enum:"updated,created" default:"updated"`
},
) (*body[wire.Page[wire.Chat]], error) {
	w, err := in.window("desc")
	if err != nil {
		return nil, err
	}
	q := store.ChatList{User: visitOf(ctx).User.ID, Status: in.Status, Role: in.Role, Search: in.Search, Sort: in.Sort, Window: w}
	if in.Archived != "all" {
		archived := in.Archived == "true"
		q.Archived = &archived
	}
	return pageOf(s.cfg.Store.ListChats(ctx, q))
}

// row reads a chat as it is listed.
func (s *Server) row(ctx context.Context, chat string) (wire.Chat, error) {
	rows, _, err := s.cfg.Store.ListChats(ctx, store.ChatList{User: visitOf(ctx).User.ID, ID: chat, Window: store.Window{Limit: 1}})
	if err == nil && len(rows) == 0 {
		err = notFound("chat", chat)
	}
	if err != nil {
		return wire.Chat{}, err
	}
	return rows[0], nil
}

// snapshot reads the number before the documents: whatever they do not show yet
// comes as a change after it.
func (s *Server) snapshot(ctx context.Context, chat string) (*body[wire.Snapshot], error) {
	seq, err := s.cfg.Store.LastSeq(ctx)
	if err != nil {
		return nil, err
	}
	row, err := s.row(ctx, chat)
	if err != nil {
		return nil, err
	}
	a, err := s.cfg.Store.Agent(ctx, chat)
	if err != nil {
		return nil, err
	}
	return &body[wire.Snapshot]{wire.Snapshot{Chat: row, Orchestrator: *a, Seq: seq}}, nil
}

func (s *Server) getChat(ctx context.Context, in *ChatInput) (*body[wire.Snapshot], error) {
	return s.snapshot(ctx, in.Chat)
}

func (s *Server) createChat(ctx context.Context, in *struct {
	UserInput
	Body wire.NewChat
},
) (*body[wire.Snapshot], error) {
	v := visitOf(ctx)
	dir, err := s.folder(v, in.Body.Dir)
	if err != nil {
		return nil, err
	}
	root := orchestrate.Root{
		Role: cmp.Or(in.Body.Role, role.Main), Model: in.Body.Model, Dir: dir,
		Limits: agent.Limits{Turns: in.Body.Limits.Turns, Active: in.Body.Limits.DurationMS, Tokens: in.Body.Limits.Tokens, Cost: in.Body.Limits.CostMicros},
	}
	title := cmp.Or(view.Title(in.Body.Title), view.Title(in.Body.Text), "New chat")
	id, err := s.begin(ctx, v, root, title, "", 0)
	if err != nil {
		return nil, err
	}
	if text := in.Body.Text; strings.TrimSpace(text) != "" {
		if err := s.cfg.Engine.Send(ctx, id, newMessageID(), message.Of(message.User, message.KindUser, text), nil); err != nil {
			return nil, err
		}
	}
	return s.snapshot(ctx, id)
}

// begin creates a chat that may take over the first messages of another one.
func (s *Server) begin(ctx context.Context, v *visit, root orchestrate.Root, title, from string, prior int) (string, error) {
	c, err := s.cfg.NewChat(root)
	if err != nil {
		return "", unprocessable("chat", err.Error(), "see /v1/roles and /v1/models for what there is")
	}
	c.User, c.Title = v.User, title
	if prior > 0 {
		tokens, err := s.adoptedTokens(ctx, from, prior)
		if err != nil {
			return "", err
		}
		c.Spec.Adopts, c.Prior, c.Tokens = from, prior, c.Tokens+tokens
	}
	return s.cfg.Engine.CreateChat(ctx, c)
}

// adoptedTokens estimates what the first messages of a history are to a model.
func (s *Server) adoptedTokens(ctx context.Context, agent string, count int) (int64, error) {
	var tokens int64
	w := store.Window{Limit: maxPage, Bytes: pageBytes}
	for {
		rows, next, err := s.cfg.Store.ListMessages(ctx, store.OfAgent{Agent: agent, Window: w})
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			if row.Pos < 0 || row.Pos >= count {
				return tokens, nil
			}
			m, err := row.Decode()
			if err != nil {
				return 0, err
			}
			tokens += engine.Tokens(m)
		}
		if next == nil {
			return tokens, nil
		}
		w.After = next
	}
}

// folder is where a chat works. Folders below the server's own are open to
// whoever may write; others show the machine, which takes scope admin. Links
// are followed before that is decided.
func (s *Server) folder(v *visit, dir string) (string, error) {
	if dir == "" {
		return s.cfg.Dir, nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.cfg.Dir, dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	home, homeErr := filepath.EvalSymlinks(s.cfg.Dir)
	inside := false
	if err == nil && homeErr == nil {
		rel, err := filepath.Rel(home, real)
		inside = err == nil && (rel == "." || filepath.IsLocal(rel))
	}
	if !inside && !v.Scope.Allows(access.Admin) { // whether it exists is not told either
		return "", problem(http.StatusForbidden, "dir", fmt.Sprintf("%s is not a folder below the one the server works in", dir),
			"choose a folder below "+s.cfg.Dir+", or use a key with scope admin")
	}
	info, statErr := os.Stat(real)
	if err != nil || statErr != nil || !info.IsDir() {
		return "", unprocessable("dir", fmt.Sprintf("%s is no folder", dir), "name a folder that exists")
	}
	return real, nil
}

func (s *Server) setChat(ctx context.Context, in *struct {
	ChatInput
	Body wire.SetChat
},
) (*body[wire.Chat], error) {
	if in.Body.Title == nil && in.Body.Archived == nil {
		return nil, unprocessable("empty", "nothing is to be changed", "send title or archived")
	}
	if t := in.Body.Title; t != nil {
		clean := view.Title(*t)
		if clean == "" {
			return nil, unprocessable("title", "the title is empty", "")
		}
		if err := s.cfg.Engine.SetChat(ctx, store.SetChat{ID: in.Chat, Title: &clean}); err != nil {
			return nil, err
		}
	}
	if a := in.Body.Archived; a != nil {
		if err := s.cfg.Engine.SetChat(ctx, store.SetChat{ID: in.Chat, Archived: a}); err != nil {
			return nil, err
		}
	}
	row, err := s.row(ctx, in.Chat)
	return &body[wire.Chat]{row}, err
}

func (s *Server) deleteChat(ctx context.Context, in *struct {
	ChatInput
	Force bool `query:"force" doc:"Also while agents are at work: they are stopped."`
},
) (*none, error) {
	if err := s.cfg.Engine.DeleteChat(ctx, in.Chat, in.Force); err != nil {
		return nil, err
	}
	s.audit(ctx, "chat.delete", in.Chat, visitOf(ctx).chat.Title)
	return nil, nil
}

func (s *Server) stopChat(ctx context.Context, in *ChatInput) (*none, error) {
	return s.cancel(ctx, "chat.stop", in.Chat)
}

// cancel stops an agent and all below it.
func (s *Server) cancel(ctx context.Context, action, id string) (*none, error) {
	if err := s.cfg.Engine.Cancel(ctx, id, visitOf(ctx).User.Name); err != nil {
		return nil, err
	}
	s.audit(ctx, action, id, "")
	return nil, nil
}

func (s *Server) forkChat(ctx context.Context, in *struct {
	ChatInput
	Body wire.Fork
},
) (*body[wire.Snapshot], error) {
	v := visitOf(ctx)
	old := v.chat
	at, err := s.ownMessage(ctx, old.ID, in.Body.Message)
	if err != nil {
		return nil, err
	}
	a, err := s.cfg.Store.Agent(ctx, old.ID)
	if err != nil {
		return nil, err
	}
	st, _, err := engine.Load(ctx, s.cfg.Store, old.ID)
	if err != nil {
		return nil, err
	}
	root := orchestrate.Root{
		Role: old.Role, Model: cmp.Or(strings.Join(st.Spec.Models, ","), old.Model), Dir: old.Dir,
		Limits: agent.Limits{Turns: a.MaxTurns, Active: a.MaxDuration, Tokens: a.MaxTokens, Cost: a.MaxCost},
	}
	id, err := s.begin(ctx, v, root, view.Title("Fork of "+old.Title), old.ID, at)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Body.Text) != "" {
		if err := s.cfg.Engine.Send(ctx, id, newMessageID(), message.Of(message.User, message.KindUser, in.Body.Text), nil); err != nil {
			return nil, err
		}
	}
	return s.snapshot(ctx, id)
}

// ownMessage finds the place of a user's message in the history of a chat.
func (s *Server) ownMessage(ctx context.Context, chat, id string) (int, error) {
	w := store.Window{Limit: maxPage, Bytes: pageBytes}
	for {
		rows, next, err := s.cfg.Store.ListMessages(ctx, store.OfAgent{Agent: chat, Window: w})
		if err != nil {
			return 0, err
		}
		for _, m := range rows {
			if m.ID != id {
				continue
			}
			if m.Kind != string(message.KindUser) || m.Pos < 0 {
				return 0, unprocessable("fork", "a chat is forked at a message of yours that was taken up", "choose another message")
			}
			return m.Pos, nil
		}
		if next == nil {
			return 0, notFound("message", id)
		}
		w.After = next
	}
}

func (s *Server) getTree(ctx context.Context, in *ChatInput) (*body[wire.Tree], error) {
	seq, err := s.cfg.Store.LastSeq(ctx)
	if err != nil {
		return nil, err
	}
	agents, next, err := s.cfg.Store.ListAgents(ctx, store.AgentList{Chat: in.Chat, Window: store.Window{Limit: maxTree, Bytes: 4 * pageBytes}})
	if err != nil {
		return nil, err
	}
	t := wire.Tree{Seq: seq, Agents: agents, More: next != nil}
	if len(agents) > 0 { // the orchestrator, who knows what those below it have used
		t.Tokens, t.Cost = agents[0].Tokens+agents[0].ChildTokens, agents[0].Cost+agents[0].ChildCost
	}
	return &body[wire.Tree]{t}, nil
}

func (s *Server) getRun(ctx context.Context, in *ChatInput) (*body[wire.Run], error) {
	st, _, err := engine.Load(ctx, s.cfg.Store, in.Chat)
	if err != nil {
		return nil, err
	}
	_, idle := st.Phase.(agent.Idle)
	d, err := view.Summarise(ctx, s.cfg.Store, in.Chat, st.Last)
	if err != nil {
		return nil, err
	}
	return &body[wire.Run]{wire.Run{
		Idle: idle, Live: st.LiveChildren(), Outcome: d.Outcome, ErrorKind: d.ErrorKind, Error: d.Error,
		Result: d.Result, ResultPos: st.Last.Result.From, Usage: wire.Usage(d.Usage), Cost: d.Cost, Agents: d.Agents,
	}}, nil
}

func (s *Server) markRead(ctx context.Context, in *struct {
	ChatInput
	Body wire.ReadMark
},
) (*none, error) {
	last, err := s.cfg.Store.LastSeq(ctx)
	if err != nil {
		return nil, err
	}
	if in.Body.Seq > last {
		return nil, unprocessable("seq", fmt.Sprintf("change %d does not exist, the newest is %d", in.Body.Seq, last), "use the number of a change that was shown")
	}
	mark, err := s.cfg.Store.ReadMark(ctx, in.Chat)
	if err != nil || mark >= in.Body.Seq { // it only moves on
		return nil, err
	}
	return nil, s.cfg.Engine.MarkRead(ctx, store.ReadMark{ChatID: in.Chat, Seq: in.Body.Seq})
}
