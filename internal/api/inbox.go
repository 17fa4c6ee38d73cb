// The inbox: what waits for the user.

package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/store"
)

const inboxPath = chatPath + "/inbox"

func (s *Server) inboxRoutes() {
	register(s, access.Read, huma.Operation{OperationID: "listInbox", Method: http.MethodGet, Path: "/v1/users/{user}/inbox", Summary: "What waits for the user in all chats"}, s.listInbox)
	register(s, access.Read, huma.Operation{OperationID: "listChatInbox", Method: http.MethodGet, Path: inboxPath, Summary: "What waits for the user in a chat"}, s.listChatInbox)
	register(s, access.Read, huma.Operation{OperationID: "getItem", Method: http.MethodGet, Path: inboxPath + "/{item}", Summary: "One item"}, s.getItem)
	register(s, access.Write, huma.Operation{OperationID: "answerItem", Method: http.MethodPost, Path: inboxPath + "/{item}/answer", Summary: "Answer an item; the first answer counts"}, s.answerItem)
}

// InboxFilter selects inbox items.
type InboxFilter struct {
	PageInput
	All  bool   `query:"all" doc:"Also what no longer waits."`
	Kind string `query:"kind" enum:"approval,question,elicitation,budget,worktree"`
}

func (s *Server) items(ctx context.Context, chat string, f InboxFilter) (*body[wire.Page[wire.Item]], error) {
	w, err := f.window("asc")
	if err != nil {
		return nil, err
	}
	return pageOf(s.cfg.Store.ListItems(ctx, store.ItemList{User: visitOf(ctx).User.ID, Chat: chat, Closed: f.All, Kind: f.Kind, Window: w}))
}

func (s *Server) listInbox(ctx context.Context, in *struct {
	UserInput
	InboxFilter
},
) (*body[wire.Page[wire.Item]], error) {
	return s.items(ctx, "", in.InboxFilter)
}

func (s *Server) listChatInbox(ctx context.Context, in *struct {
	ChatInput
	InboxFilter
},
) (*body[wire.Page[wire.Item]], error) {
	return s.items(ctx, in.Chat, in.InboxFilter)
}

// ItemInput names an inbox item.
type ItemInput struct {
	ChatInput
	Item string `path:"item" maxLength:"200"`
}

// item finds an item of the chat in the path. A hidden one waits for nobody yet.
func (s *Server) item(ctx context.Context, in ItemInput) (*store.Item, error) {
	i, err := s.cfg.Store.Item(ctx, in.Item)
	if errors.Is(err, store.ErrNotFound) || err == nil && (i.ChatID != in.Chat || i.Status == "hidden") {
		return nil, notFound("inbox item", in.Item)
	}
	return i, err
}

func (s *Server) getItem(ctx context.Context, in *ItemInput) (*body[wire.Item], error) {
	i, err := s.item(ctx, *in)
	if err != nil {
		return nil, err
	}
	return &body[wire.Item]{*i}, nil
}

func (s *Server) answerItem(ctx context.Context, in *struct {
	ItemInput
	Body wire.Answer
},
) (*body[wire.Answered], error) {
	if _, err := s.item(ctx, in.ItemInput); err != nil {
		return nil, err
	}
	b := in.Body
	said, err := s.cfg.Inbox.Answer(ctx, in.Item, orchestrate.Answer{
		By: visitOf(ctx).User.Name, Allow: b.Allow, Scope: permission.Scope(b.Scope), Reason: b.Reason, Text: b.Text, How: b.How, Refuse: b.Decline,
	})
	if err != nil {
		return nil, err
	}
	i, err := s.cfg.Store.Item(ctx, in.Item)
	if err != nil {
		return nil, err
	}
	s.audit(ctx, "inbox.answer", in.Item, i.Kind+" "+i.How+" "+i.Scope)
	return &body[wire.Answered]{wire.Answered{Said: said, Item: *i}}, nil
}
