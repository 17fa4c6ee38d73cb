// Package modelserver serves a scripted model over HTTP in the wire formats
// that Anthropic (Messages), OpenAI (Chat Completions, Responses) and Google
// (generateContent) publish, so that clients can be tested against the real
// thing: real requests, real streams, real errors, connections that really
// break.
//
// It refuses what the vendors refuse, above all histories in which a tool
// call has no result. It knows the wire formats and the script, and nothing of
// agents: who is calling is read off the request (see callerOf).
package modelserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/scripted"
)

// Options adjust a Server.
type Options struct {
	// Key is the API key to ask for; with none, any or no key will do.
	Key string
	// Models are listed at /v1/models; by default the one the script names.
	Models []string
}

// Server is the http.Handler. The only state it keeps is how often a turn has
// been tried, which a request does not tell.
type Server struct {
	model *scripted.Model
	opts  Options
	mux   *http.ServeMux
	ids   atomic.Int64

	mu    sync.Mutex
	tries map[turnKey]int
}

var _ http.Handler = (*Server)(nil)

// New makes a server that plays model.
func New(model *scripted.Model, opts Options) *Server {
	if len(opts.Models) == 0 {
		name := model.ModelName()
		if name == "" {
			name = "scripted"
		}
		opts.Models = []string{name}
	}
	s := &Server{model: model, opts: opts, mux: http.NewServeMux(), tries: map[turnKey]int{}}
	s.mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, anthropic{}) })
	s.mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, openai{}) })
	s.mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, responses{}) })
	s.mux.HandleFunc("POST /v1beta/models/{call}", s.serveGemini)
	s.mux.HandleFunc("GET /v1/models", s.serveModels)
	s.mux.HandleFunc("GET /v1beta/models", s.serveModels)
	s.mux.HandleFunc("/", s.serveNothing)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// dialect is one vendor's wire format.
type dialect interface {
	// authorized reports whether h carries key.
	authorized(h http.Header, key string) bool
	// decode reads a request and refuses what the vendor refuses.
	decode(h http.Header, body []byte) (*call, *llm.Error)
	// encode gives the body of a whole reply.
	encode(c *call, r *llm.Reply, id string) any
	// stream begins a reply in pieces.
	stream(out *events, c *call, r *llm.Reply, id string) stream
	// failure gives the body of an error.
	failure(e *llm.Error, requestID string) any
	// requestIDHeader names the header that carries the request's id.
	requestIDHeader() string
	// models gives the body of the list of models.
	models(names []string) any
}

// stream writes a reply in pieces. start comes first, then deltas, then
// either finish or fail.
type stream interface {
	start()
	delta(d llm.Delta)
	finish()
	fail(e *llm.Error)
}

// call is a decoded request.
type call struct {
	llm.Request
	streamed     bool
	includeUsage bool // OpenAI's stream_options.include_usage
	thoughts     bool // the reply is to tell what the model thought; with OpenAI and Google that must be asked for
	encrypted    bool // OpenAI's include of reasoning.encrypted_content
}

// maxBody is the size of request that Anthropic still takes.
const maxBody = 32 << 20

// exchange is one request on its way to an answer.
type exchange struct {
	w   http.ResponseWriter
	r   *http.Request
	d   dialect
	id  string // of the request; the reply's id is made from it
	srv *Server
}

func (s *Server) begin(w http.ResponseWriter, r *http.Request, d dialect) *exchange {
	id := fmt.Sprintf("%06d", s.ids.Add(1))
	w.Header().Set(d.requestIDHeader(), "req_"+id)
	return &exchange{w: w, r: r, d: d, id: id, srv: s}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, d dialect) {
	x := s.begin(w, r, d)
	if !x.authorized() {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			x.fail(&llm.Error{Kind: llm.ErrOverflow, Status: http.StatusRequestEntityTooLarge, Message: "Request exceeds the maximum size"})
		}
		return // otherwise the client has gone
	}
	c, refused := d.decode(r.Header, body)
	if refused != nil {
		x.fail(refused)
		return
	}
	c.Caller = callerOf(&c.Request)
	key := keyOf(c.Caller)
	c.Caller.Try = s.countTry(key)
	take, err := s.model.Take(&c.Request)
	if err != nil {
		x.end(nil, err)
		return
	}
	if c.streamed {
		err = x.streamReply(c, take)
	} else {
		err = x.wholeReply(c, take)
	}
	if err == nil {
		s.forgetTries(key)
	}
}

func (x *exchange) authorized() bool {
	if x.srv.opts.Key == "" || x.d.authorized(x.r.Header, x.srv.opts.Key) {
		return true
	}
	x.fail(&llm.Error{Kind: llm.ErrAuth, Status: http.StatusUnauthorized, Message: "invalid API key"})
	return false
}

// streamReply plays take as server-sent events. Nothing is written before the
// first piece, so that a fault that strikes at once is an HTTP error.
func (x *exchange) streamReply(c *call, take *scripted.Take) error {
	out := &events{w: x.w, flush: http.NewResponseController(x.w)}
	st := x.d.stream(out, c, &take.Reply, x.id)
	started := false
	start := func() {
		if !started {
			started = true
			x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			x.w.Header().Set("Cache-Control", "no-cache")
			st.start()
		}
	}
	_, err := take.Play(x.r.Context(), func(d llm.Delta) {
		start()
		st.delta(d)
	})
	if err == nil {
		start()
		st.finish()
		return nil
	}
	if !started {
		st = nil
	}
	x.end(st, err)
	return err
}

// wholeReply plays take and writes it as one body. A reply that is cut breaks
// off in the middle of the body.
func (x *exchange) wholeReply(c *call, take *scripted.Take) error {
	_, err := take.Play(x.r.Context(), nil)
	if err == nil {
		writeJSON(x.w, http.StatusOK, x.d.encode(c, &take.Reply, x.id))
		return nil
	}
	if llm.KindOf(err) == llm.ErrNetwork && x.r.Context().Err() == nil {
		body := marshal(x.d.encode(c, &take.Reply, x.id))
		x.w.Header().Set("Content-Type", "application/json")
		x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = x.w.Write(body[:len(body)/2])
		_ = http.NewResponseController(x.w).Flush()
	}
	x.end(nil, err)
	return err
}

// end answers an error: inside st if it has begun, else as an HTTP error. An
// error that has no answer, as of a lost network, breaks the connection.
func (x *exchange) end(st stream, err error) {
	if x.r.Context().Err() != nil && errors.Is(err, x.r.Context().Err()) {
		return // the client has gone
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		e = &llm.Error{Kind: llm.ErrServer, Status: http.StatusInternalServerError, Message: err.Error()}
	}
	if e.Status == 0 && e.Kind == llm.ErrBadRequest { // the script has nothing to say
		e.Status = http.StatusBadRequest
	}
	switch {
	case e.Status == 0:
		panic(http.ErrAbortHandler) // the documented way to close the connection
	case st != nil:
		st.fail(e)
	default:
		x.fail(e)
	}
}

// fail answers with the vendor's error.
func (x *exchange) fail(e *llm.Error) {
	if e.RetryAfter > 0 {
		seconds := (e.RetryAfter + time.Second - 1) / time.Second
		x.w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
		x.w.Header().Set("Retry-After-Ms", strconv.FormatInt(e.RetryAfter.Milliseconds(), 10))
	}
	writeJSON(x.w, e.Status, x.d.failure(e, "req_"+x.id))
}

// serveGemini serves the methods of a model, which its address names.
func (s *Server) serveGemini(w http.ResponseWriter, r *http.Request) {
	d, known := geminiAt(r)
	if !known {
		s.serveNothing(w, r)
		return
	}
	s.serve(w, r, d)
}

func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) {
	x := s.begin(w, r, dialectOf(r))
	if x.authorized() {
		writeJSON(w, http.StatusOK, x.d.models(s.opts.Models))
	}
}

func (s *Server) serveNothing(w http.ResponseWriter, r *http.Request) {
	s.begin(w, r, dialectOf(r)).fail(&llm.Error{
		Kind: llm.ErrNotFound, Status: http.StatusNotFound,
		Message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path),
	})
}

// dialectOf guesses the vendor a client speaks to where no method is named:
// every client of Anthropic's sends a version, and Google's version is a part
// of the address.
func dialectOf(r *http.Request) dialect {
	if strings.HasPrefix(r.URL.Path, "/v1beta/") {
		return gemini{key: r.URL.Query().Get("key")}
	}
	if r.Header.Get("anthropic-version") != "" {
		return anthropic{}
	}
	return openai{}
}

// turnKey identifies a turn of a conversation as well as the wire allows.
type turnKey struct {
	role, name, task string
	turn             int
}

func keyOf(c llm.Caller) turnKey { return turnKey{c.Role, c.Name, c.Task, c.Turn} }

// countTry returns the number of this try of the turn.
func (s *Server) countTry(k turnKey) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[k]++
	return s.tries[k]
}

// forgetTries begins to count anew: a turn that was answered is over, and the
// same conversation may be held again.
func (s *Server) forgetTries(k turnKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tries, k)
}
