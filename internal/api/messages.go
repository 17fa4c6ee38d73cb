// Messages: what was said in a chat, and what a user says.

package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/store"
)

func (s *Server) messageRoutes() {
	register(s, access.Read, huma.Operation{OperationID: "listMessages", Method: http.MethodGet, Path: chatPath + "/messages", Summary: "The conversation of a chat, queued messages last"}, s.listMessages)
	register(s, access.Write, huma.Operation{
		OperationID: "postMessage", Method: http.MethodPost, Path: chatPath + "/messages", Summary: "Send a message", DefaultStatus: http.StatusCreated,
		MaxBodyBytes: maxUpload, BodyReadTimeout: readTime,
		Responses: map[string]*huma.Response{"200": {Description: "It had been sent already", Content: map[string]*huma.MediaType{
			"application/json": {Schema: s.api.OpenAPI().Components.Schemas.Schema(typeOf[wire.Message](), true, "")},
		}}},
	}, s.postMessage)
}

func (s *Server) listMessages(ctx context.Context, in *struct {
	ChatInput
	PageInput
},
) (*body[wire.Page[wire.Message]], error) {
	return s.messagesOf(ctx, in.Chat, in.PageInput)
}

func (s *Server) messagesOf(ctx context.Context, agent string, p PageInput) (*body[wire.Page[wire.Message]], error) {
	w, err := p.window("asc")
	if err != nil {
		return nil, err
	}
	return pageOf(s.cfg.Store.ListMessages(ctx, store.OfAgent{Agent: agent, Window: w}))
}

type posted struct {
	Status int
	Body   wire.Message
}

func newMessageID() string { return "msg-" + strings.ToLower(rand.Text()) }

func (s *Server) postMessage(ctx context.Context, in *struct {
	ChatInput
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"The same key twice is one message."`
	Body wire.NewMessage
},
) (*posted, error) {
	to, text, err := s.addressee(ctx, in.Chat, in.Body.Text)
	if err != nil {
		return nil, err
	}
	m, err := compose(text, in.Body.Attachments)
	if err != nil {
		return nil, err
	}
	id := in.Body.ID
	if id == "" && in.Key != "" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", visitOf(ctx).User.ID, in.Chat, in.Key))
		id = "msg-" + hex.EncodeToString(sum[:16])
	}
	id = cmp.Or(id, newMessageID())
	if sent, err := s.sentBefore(ctx, in.Chat, id, m); sent != nil || err != nil {
		return sent, err
	}
	models, err := s.chosen(ctx, to, in.Body.Model)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Engine.Send(ctx, to, id, m, models); err != nil {
		return nil, err
	}
	sent, err := s.sentBefore(ctx, in.Chat, id, m)
	if err == nil && sent == nil {
		err = fmt.Errorf("message %s: %w", id, store.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	sent.Status = http.StatusCreated
	return sent, nil
}

// chosen finds the models that a message chooses, nil if it chooses none.
func (s *Server) chosen(ctx context.Context, to, model string) (*agent.Choice, error) {
	chat := visitOf(ctx).chat
	if strings.TrimSpace(model) == "" {
		return nil, nil
	}
	if to != chat.ID {
		return nil, unprocessable("model", "a message chooses the model of the orchestrator, and this one is for another agent", "leave the model out, or write without the @")
	}
	c, err := s.cfg.Choose(chat.Dir, model)
	if err != nil {
		return nil, unprocessable("model", err.Error(), "see /v1/models for what there is")
	}
	return &c, nil
}

// sentBefore finds a message with that id, nil if there is none. One of another
// chat, or one that says something else, is a mistake of the client.
func (s *Server) sentBefore(ctx context.Context, chat, id string, m message.Message) (*posted, error) {
	old, err := s.cfg.Store.UserMessage(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if old.Agent != chat && !strings.HasPrefix(old.Agent, chat+".") {
		return nil, problem(http.StatusConflict, "id", "the id is taken", "choose another one")
	}
	parts, err := message.EncodeParts(m.Parts)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(parts, old.Parts) {
		return nil, unprocessable("idempotency", "a message with this id or key was sent already, and says something else", "use a new id or key for a new message")
	}
	return &posted{Status: http.StatusOK, Body: *old}, nil
}

// addressee finds out whom a text is for: "@name …" one agent, all else the
// orchestrator.
func (s *Server) addressee(ctx context.Context, chat, text string) (to, rest string, err error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "@") {
		return chat, text, nil
	}
	agents, err := s.cfg.Store.Tree(ctx, chat)
	if err != nil {
		return "", "", err
	}
	a, rest, addressed, err := orchestrate.Addressed(agents, text)
	if err != nil {
		return "", "", unprocessable("addressee", err.Error(), "see sub-agents for those at work, or write without the @")
	}
	if !addressed {
		return chat, text, nil
	}
	return a.ID, rest, nil
}

// images are the kinds of picture that models can see.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// compose makes a message of a text and files. What a file is is decided by
// what it holds, not by what it is said to be.
func compose(text string, files []wire.Attachment) (message.Message, error) {
	m := message.Message{Role: message.User, Kind: message.KindUser}
	if strings.TrimSpace(text) != "" {
		m.Parts = append(m.Parts, message.TextPart{Text: text})
	}
	for _, f := range files {
		kind := http.DetectContentType(f.Data)
		switch {
		case len(f.Data) == 0:
			return m, unprocessable("attachment", fmt.Sprintf("%s is empty", f.Name), "")
		case slices.Contains(images, kind):
			m.Parts = append(m.Parts, message.ImagePart{MediaType: kind, Data: f.Data})
		case utf8.Valid(f.Data) && !bytes.ContainsRune(f.Data, 0):
			m.Parts = append(m.Parts, message.TextPart{Text: fmt.Sprintf("Attached file %q:\n\n%s", f.Name, f.Data)})
		default:
			return m, unprocessable("attachment", fmt.Sprintf("%s is neither a text nor a picture that models can see (%s)", f.Name, kind),
				"attach PNG, JPEG, GIF, WebP, or text in UTF-8")
		}
	}
	if len(m.Parts) == 0 {
		return m, unprocessable("empty", "the message is empty", "send text or attachments")
	}
	return m, nil
}

// ms is a time as it is told.
func ms(t time.Time) int64 { return t.UnixMilli() }
