// The feed: every change as it happens, by number, as server-sent events or as
// lines of JSON.

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
)

const (
	eventStream = "text/event-stream"
	lineStream  = "application/x-ndjson"

	maxPatterns = 16
	// sendBytes is how much of what waits for a client is sent together.
	sendBytes = 64 << 10
	// sendTime is how long a piece may take to reach a client's machine before
	// the client is cut off.
	sendTime = 20 * time.Second
	// lookTime is how often it is looked whether the server can store anything.
	lookTime = 2 * time.Second
)

func (s *Server) feedRoutes() {
	reg := s.api.OpenAPI().Components.Schemas
	lines := &huma.Schema{OneOf: []*huma.Schema{
		reg.Schema(typeOf[wire.Change](), true, ""), reg.Schema(typeOf[wire.Delta](), true, ""),
		reg.Schema(typeOf[wire.State](), true, ""), reg.Schema(typeOf[wire.Heartbeat](), true, ""),
	}}
	op := func(id, path, summary string) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: path, Summary: summary,
			Description: "Each change has its number as id and carries prev, the number before it in this feed. Resume with Last-Event-ID or since. " +
				"410 means that there is no way on from that number: a chat was deleted after it, and its changes with it, it is of what a restored backup has replaced, or of another data folder. " +
				"The problem carries what to begin anew with, a snapshot or an overview, and the seq to follow from. An event state tells that the server can store nothing, and when it can again. Comments, or heartbeat lines, come when nothing else does. " +
				"Deltas are pieces of replies on their way (kind text, thinking or tool_call, with the id of the message to come) and of what running tools print (kind output, whose call is the id of the tool call). " +
				"Documents come as their collections list them; read-marks holds {chatId, readSeq} by chat, and settings, in the feed of a user, what the user has set.",
			Responses: map[string]*huma.Response{"200": {Description: "One change or delta after another", Content: map[string]*huma.MediaType{
				eventStream: {Schema: &huma.Schema{Type: huma.TypeString}}, lineStream: {Schema: lines},
			}}},
		}
	}
	register(s, access.Read, op("followChat", chatPath+"/changes", "Follow a chat with all its agents"), s.followChat)
	register(s, access.Read, op("followUser", "/v1/users/{user}/changes", "Follow all chats of the user"), s.followUser)
}

// FeedInput says what to follow, from where and how.
type FeedInput struct {
	Since       string `query:"since" pattern:"^[0-9]{1,18}$" doc:"The last change seen; 0: from the beginning. Empty: only what is new."`
	Until       string `query:"until" pattern:"^[0-9]{1,18}$" doc:"End after the changes up to this number, which must exist; without deltas."`
	LastEventID string `header:"Last-Event-ID" maxLength:"20" doc:"Goes before since."`
	Format      string `query:"format" enum:"sse,ndjson"`
	Accept      string `header:"Accept"`
	Agent       string `query:"agent" maxLength:"200" doc:"Only this agent and those below it."`
	Collections string `query:"collections" maxLength:"1000" doc:"Only these, separated by commas: messages, tasks, sub-agents, sub-agents/*/messages, inbox, orch-chats, read-marks, settings …"`
	Deltas      bool   `query:"deltas" default:"true" doc:"Also pieces of replies on their way, and of what running tools print."`
}

func (in FeedInput) lines() bool {
	return in.Format == "ndjson" || in.Format == "" && strings.Contains(in.Accept, lineStream)
}

func (s *Server) followChat(ctx context.Context, in *struct {
	ChatInput
	FeedInput
},
) (*huma.StreamResponse, error) {
	return s.follow(ctx, in.FeedInput, store.Filter{Chat: in.Chat})
}

func (s *Server) followUser(ctx context.Context, in *struct {
	UserInput
	FeedInput
},
) (*huma.StreamResponse, error) {
	return s.follow(ctx, in.FeedInput, store.Filter{User: visitOf(ctx).User.ID})
}

// follow checks what is asked for while an error can still be told, and then
// streams.
func (s *Server) follow(ctx context.Context, in FeedInput, f store.Filter) (*huma.StreamResponse, error) {
	wanted, err := sectionOf(in)
	if err != nil {
		return nil, err
	}
	since, until, err := s.span(ctx, in, f)
	if err != nil {
		return nil, err
	}
	if s.streams.Add(1) > int64(s.cfg.Streams) {
		s.streams.Add(-1)
		return nil, problem(http.StatusServiceUnavailable, "streams", "too many feeds are open", "close some, or try again later")
	}
	v := visitOf(ctx)
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer s.streams.Add(-1)
		r, w := humago.Unwrap(hc)
		ctx, release := s.cfg.Gate.Bind(r.Context(), v.Identity)
		defer release()
		defer context.AfterFunc(s.ctx, release)()
		out := &stream{s: s, w: w, rc: http.NewResponseController(w), wanted: wanted, lines: in.lines(), last: since, chat: f.Chat}
		if in.Until != "" {
			err = out.upTo(ctx, until, f)
		} else {
			err = out.run(ctx, s.cfg.Feed.Subscribe(ctx, since, f, feed.Options{Deltas: in.Deltas}))
		}
		if err != nil {
			s.log.Debug("a feed ended", "request", requestID(ctx), "user", v.User.ID, "err", err)
		}
	}}, nil
}

// span finds out where to begin, and where to end if that is asked for.
func (s *Server) span(ctx context.Context, in FeedInput, f store.Filter) (since, until int64, err error) {
	last, err := s.cfg.Store.LastSeq(ctx)
	if err != nil {
		return 0, 0, err
	}
	if in.Until != "" {
		until, _ = strconv.ParseInt(in.Until, 10, 64) // the pattern holds
		if until > last {
			return 0, 0, unprocessable("until", fmt.Sprintf("change %d does not exist yet, the newest is %d", until, last), "follow without until")
		}
	}
	since, err = s.since(ctx, in, f, last)
	return since, until, err
}

func (s *Server) since(ctx context.Context, in FeedInput, f store.Filter, last int64) (int64, error) {
	text := in.Since
	if in.LastEventID != "" {
		text = in.LastEventID
	}
	if text == "" {
		return last, nil
	}
	since, err := strconv.ParseInt(text, 10, 64)
	if err != nil || since < 0 {
		return 0, unprocessable("since", fmt.Sprintf("%q is no number of a change", text), "use the id of the last change seen, or 0")
	}
	if since > last {
		return 0, s.gone(ctx, f, "ahead", fmt.Sprintf("change %d does not exist, the newest is %d: the number is of another data folder", since, last))
	}
	replaced, err := s.cfg.Store.Replaced(ctx, since)
	if err != nil {
		return 0, err
	}
	if replaced && since > 0 {
		return 0, s.gone(ctx, f, "restored", fmt.Sprintf("change %d is of what a restored copy has replaced", since))
	}
	if f.User != "" && since > 0 {
		missing, err := s.cfg.Store.DeletedAfter(ctx, f.User, since)
		if err != nil {
			return 0, err
		}
		if missing {
			return 0, s.gone(ctx, f, "deleted", fmt.Sprintf("a chat was deleted after change %d, and its changes with it", since))
		}
	}
	return since, nil
}

// gone tells that there is no way on from a number, and what to begin anew with:
// it is complete with the changes since its seq, and so is what is read later.
func (s *Server) gone(ctx context.Context, f store.Filter, code, detail string) error {
	p := problem(http.StatusGone, code, detail, "forget what is shown, begin anew with the snapshot or the overview in this answer, and follow the changes since seq")
	if f.Chat != "" {
		now, err := s.snapshot(ctx, f.Chat)
		if err != nil {
			return err
		}
		p.Snapshot, p.Seq = &now.Body, now.Body.Seq
		return p
	}
	now, err := s.overview(ctx)
	if err != nil {
		return err
	}
	p.Overview, p.Seq = now, now.Seq
	return p
}

// overview reads the number before the lists, as snapshot does.
func (s *Server) overview(ctx context.Context) (*wire.Overview, error) {
	seq, err := s.cfg.Store.LastSeq(ctx)
	if err != nil {
		return nil, err
	}
	user, shown, first := visitOf(ctx).User.ID, false, store.Window{Limit: defaultPage, Bytes: pageBytes / 4}
	newest := first
	newest.Desc = true
	chats, err := pageOf(s.cfg.Store.ListChats(ctx, store.ChatList{User: user, Archived: &shown, Window: newest}))
	if err != nil {
		return nil, err
	}
	items, err := pageOf(s.cfg.Store.ListItems(ctx, store.ItemList{User: user, Window: first}))
	if err != nil {
		return nil, err
	}
	return &wire.Overview{Chats: chats.Body, Inbox: items.Body, Seq: seq}, nil
}

// section is which part of the changes of a chat or user a subscriber wants.
type section struct {
	agent       string
	collections []string
	key         string // the same for the same part
}

func sectionOf(in FeedInput) (section, error) {
	v := section{agent: in.Agent, key: in.Agent + "\x00" + in.Collections}
	if in.Collections == "" {
		return v, nil
	}
	v.collections = strings.Split(in.Collections, ",")
	if len(v.collections) > maxPatterns {
		return v, unprocessable("collections", "there are too many patterns", "")
	}
	for _, p := range v.collections {
		if _, err := path.Match(p, ""); err != nil || p == "" {
			return v, unprocessable("collections", fmt.Sprintf("%q is no pattern of collections", p), "use names such as tasks or sub-agents/*/messages")
		}
	}
	return v, nil
}

// stream writes one feed.
type stream struct {
	s      *Server
	w      http.ResponseWriter
	rc     *http.ResponseController
	wanted section
	lines  bool
	last   int64
	chat   string
	buf    []byte  // to be sent
	lent   *[]byte // what buf is in, of scratches
	paused string  // what the client was told
	turn   func()  // ends the turn; nil: there is none
}

// batch is how many changes are read at once for a feed that ends.
const batch = 256

// upTo writes the changes up to a number that exists.
func (t *stream) upTo(ctx context.Context, until int64, f store.Filter) error {
	if err := t.begin(); err != nil {
		return err
	}
	for at := t.last; at < until; {
		changes, upTo, err := t.s.cfg.Store.Changes(ctx, at, batch, f)
		if err != nil {
			return err
		}
		for i := range changes {
			if changes[i].Seq > until {
				break
			}
			t.item(feed.Item{Change: &changes[i]})
			if len(t.buf) < sendBytes {
				continue
			}
			if err := t.flush(); err != nil {
				return err
			}
		}
		at = upTo
	}
	return t.flush()
}

// run writes what comes until the client goes, is too slow, or loses its key.
func (t *stream) run(ctx context.Context, sub *feed.Subscription) error {
	defer sub.Close()
	if err := t.begin(); err != nil {
		return err
	}
	look := min(lookTime, t.s.cfg.Heartbeat)
	for beat := time.Duration(0); ; beat += look {
		t.state()
		if beat >= t.s.cfg.Heartbeat {
			beat = 0
			t.heartbeat()
		}
		if err := t.flush(); err != nil {
			return err
		}
		if err := t.until(ctx, sub, look); err != nil {
			return err
		}
	}
}

// state tells whether anything can be stored, if that has changed.
func (t *stream) state() {
	now := wire.State{Event: "state"}
	if err := t.s.cfg.Engine.Paused(); err != nil {
		now.Paused = err.Error()
	}
	if now.Paused == t.paused {
		return
	}
	t.paused = now.Paused
	b, err := json.Marshal(now)
	if err != nil {
		return // it is made of strings
	}
	if !t.lines {
		t.buf = append(t.buf, "event: state\ndata: "...)
	}
	t.end(b)
}

// end adds the last field of an event.
func (t *stream) end(data []byte) {
	t.buf = append(append(t.buf, data...), '\n')
	if !t.lines {
		t.buf = append(t.buf, '\n')
	}
}

// begin writes the head of the answer.
func (t *stream) begin() error {
	h := t.w.Header()
	h.Set("Content-Type", eventStream)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	first := "retry: 1000\n: connected\n\n"
	if t.lines {
		h.Set("Content-Type", lineStream)
		first = ""
	}
	if err := t.rc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	t.w.WriteHeader(http.StatusOK)
	return t.send([]byte(first))
}

func (t *stream) heartbeat() {
	if t.lines {
		t.buf = fmt.Appendf(t.buf, "{\"event\":\"heartbeat\",\"at\":%d}\n", ms(t.s.cfg.Now()))
		return
	}
	t.buf = append(t.buf, ": heartbeat\n\n"...)
}

// until writes items for a while.
func (t *stream) until(ctx context.Context, sub *feed.Subscription, look time.Duration) error {
	beat, cancel := context.WithTimeout(ctx, look)
	defer cancel()
	for {
		item, err := sub.Next(beat)
		if err != nil {
			sent := t.flush()
			if beat.Err() != nil && ctx.Err() == nil {
				return sent
			}
			return err
		}
		if err := t.takeTurn(ctx); err != nil {
			return err
		}
		gone := t.item(item)
		if !gone && sub.Waiting() && len(t.buf) < sendBytes {
			continue
		}
		if err := t.flush(); err != nil {
			return err
		}
		if gone {
			return store.ErrNotFound
		}
	}
}

// item adds an item to what is to be sent; gone tells that the chat was
// deleted.
func (t *stream) item(item feed.Item) (gone bool) {
	tail := t.s.shared.encode(item, t.wanted)
	if tail == nil {
		return false
	}
	b := t.buf
	if b == nil {
		t.lent = scratches.Get().(*[]byte) //nolint:forcetypeassert // there is nothing else in it
		b = (*t.lent)[:0]
	}
	if item.Change == nil {
		if !t.lines {
			b = append(b, "event: delta\ndata: "...)
		}
		b = append(b, `{"event":"delta",`...)
	} else {
		if !t.lines {
			b = strconv.AppendInt(append(b, "id: "...), item.Change.Seq, 10)
			b = append(b, "\nevent: change\ndata: "...)
		}
		b = strconv.AppendInt(append(b, `{"event":"change","prev":`...), t.last, 10)
		b = append(b, ',')
		t.last = item.Change.Seq
		for _, d := range item.Change.Docs {
			gone = gone || d.Deleted && t.chat != "" && d.ID == t.chat
		}
	}
	t.buf = b
	t.end(tail)
	return gone
}

// takeTurn waits until it is this feed's turn to send, if there are many. Until
// it has sent, it adds what waits for it.
func (t *stream) takeTurn(ctx context.Context) (err error) {
	if t.turn == nil && t.s.streams.Load() > fewStreams {
		t.turn, err = t.s.turns.take(ctx)
	}
	return err
}

// flush sends what was added, and ends the turn.
func (t *stream) flush() error {
	if t.turn != nil {
		defer func() {
			t.turn()
			t.turn = nil
		}()
	}
	b := t.buf
	t.buf = nil // a thousand feeds that wait hold no buffers
	if lent := t.lent; lent != nil {
		t.lent = nil
		defer func() {
			if cap(b) <= maxScratch {
				*lent = b
				scratches.Put(lent)
			}
		}()
	}
	if len(b) == 0 {
		return nil
	}
	return t.send(b)
}

func (t *stream) send(b []byte) error {
	if err := t.rc.SetWriteDeadline(time.Now().Add(sendTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := t.w.Write(b); err != nil {
		return err
	}
	return t.rc.Flush()
}
