// One server: its life from session to session, and how it is.

package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/tool"
)

// State says how a server is.
type State string

// The states of a server.
const (
	Starting State = "starting"
	Running  State = "running"
	Failed   State = "failed" // it is tried again at Next
	Disabled State = "disabled"
	Stopped  State = "stopped"
)

// ServerStatus is how a server is. Nothing in it is secret.
type ServerStatus struct {
	Name      string
	Prefix    string // what the names of its tools begin with
	Transport Transport
	Trusted   bool
	State     State
	Error     string    // why it failed
	Since     time.Time // when it came into this state
	Next      time.Time // when it is tried again
	Tools     int
	Cached    bool     // the tools are from an earlier session
	Warnings  []string // tools that were left out, and why
	Version   string   // name and version, as it says
	Stderr    string   // the end of what it wrote to standard error
}

// server is one configured server.
type server struct {
	client *Client
	name   string // as configured
	id     string // within names of tools
	config ServerConfig
	log    *slog.Logger
	redact *strings.Replacer
	relist chan struct{} // its list has changed
	turn   chan struct{} // holds the call that is under way, if there may be one only

	mu       sync.Mutex
	state    State
	news     chan struct{} // closed when the state changes
	since    time.Time
	next     time.Time
	err      error
	stderr   *tail
	line     *line // nil: not connected
	tools    []tool.Tool
	listed   offer
	cached   bool
	warnings []string
	version  string
	calls    []*call // under way, in the order of their start
	started  int     // calls so far
	asks     bool    // it has asked a question outside of a call
}

// line is one session.
type line struct {
	session *sdk.ClientSession
	ctx     context.Context // ends with the session
	gone    chan struct{}   // closed when it has ended, after reason was set
	reason  error
}

func newServer(c *Client, name, id string, config ServerConfig) *server {
	s := &server{
		client: c, name: name, id: id, config: config,
		log: c.options.Log.With("mcp_server", name), redact: redactor(config),
		relist: make(chan struct{}, 1), turn: make(chan struct{}, 1),
		state: Starting, since: c.options.Now(), news: make(chan struct{}), stderr: &tail{},
	}
	if config.Disabled {
		s.state = Disabled
		return s
	}
	if offer, ok := s.readCache(); ok {
		s.offerTools(offer, true)
	}
	return s
}

// run keeps the server connected until ctx ends.
func (s *server) run(ctx context.Context) {
	defer s.become(Stopped, nil, time.Time{})
	retry := s.client.timing.firstRetry
	var told string
	for {
		began := time.Now()
		err := s.live(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= s.client.timing.healthy {
			retry = s.client.timing.firstRetry
		}
		s.become(Failed, err, s.client.options.Now().Add(retry))
		level := slog.LevelDebug // the same again and again is no news
		if err.Error() != told {
			level, told = slog.LevelWarn, err.Error()
		}
		s.log.Log(ctx, level, "the MCP server is not running", "error", err, "next_try_in", retry)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
		retry = min(2*retry, s.client.timing.lastRetry)
		s.become(Starting, err, time.Time{})
	}
}

// become changes the state.
func (s *server) become(state State, err error, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.err, s.next, s.since = state, err, next, s.client.options.Now()
	close(s.news)
	s.news = make(chan struct{})
}

// settled waits until the server is no longer starting, or ctx ends.
func (s *server) settled(ctx context.Context) {
	for {
		s.mu.Lock()
		state, news := s.state, s.news
		s.mu.Unlock()
		if state != Starting {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-news:
		}
	}
}

// live is one session from its beginning to its end; the error says why it
// ended, or could not begin.
func (s *server) live(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	transport, hangUp, err := s.dial()
	if err != nil {
		return s.clean(err)
	}
	session, err := s.connect(ctx, end, transport)
	if err != nil {
		return s.ending(err, hangUp())
	}
	l := &line{session: session, ctx: ctx, gone: make(chan struct{})}
	err = guarded(func() error { return s.serve(ctx, l) })

	s.mu.Lock()
	s.line = nil
	s.mu.Unlock()
	// Who wants it now waits until it is settled how it ended.
	s.become(Starting, s.clean(err), time.Time{})
	end(errGone) // calls under way end, else the session would wait for them
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if err := session.Close(); err != nil {
			s.log.Debug("closing the session with the MCP server", "error", s.clean(err))
		}
	}()
	if s.config.Transport != Stdio {
		<-closed
	}
	how := hangUp()
	<-closed
	l.reason = s.ending(err, how)
	close(l.gone)
	return l.reason
}

// dial makes the transport. hangUp ends what is behind it; it tells the exit
// status of a process that had ended by itself.
func (s *server) dial() (_ sdk.Transport, hangUp func() string, err error) {
	if s.config.Transport != Stdio {
		t, err := s.webTransport()
		return t, func() string { return "" }, err
	}
	stderr := &tail{line: func(text string, last bool) {
		s.log.Debug("the MCP server says", "text", s.redact.Replace(text))
		if last {
			s.log.Debug("the MCP server says more than is logged")
		}
	}}
	s.mu.Lock()
	s.stderr = stderr
	s.mu.Unlock()
	p, err := s.startProcess(stderr)
	if err != nil {
		return nil, nil, err
	}
	return p.transport(), func() string { return p.stop(s.client.timing.grace) }, nil
}

// connect greets the server. The session hangs on ctx, which is why it has no
// deadline of its own: end ends it if the greeting takes too long.
func (s *server) connect(ctx context.Context, end context.CancelCauseFunc, transport sdk.Transport) (*sdk.ClientSession, error) {
	limit := s.client.timing.connect
	timer := time.AfterFunc(limit, func() { end(fmt.Errorf("it has not answered within %s", limit)) })
	defer timer.Stop()
	var session *sdk.ClientSession
	err := guarded(func() (err error) {
		session, err = s.newSDKClient().Connect(ctx, transport, nil)
		return err
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return session, err
}

// guarded makes a panic an error: what a server sends must not end us.
func guarded(do func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it sent something that cannot be read: %v", v)
		}
	}()
	return do()
}

func (s *server) newSDKClient() *sdk.Client {
	// Roots are deprecated, but the servers of today ask for them.
	capabilities := &sdk.ClientCapabilities{
		Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}},
	}
	roots := s.client.options.Roots
	if len(roots) > 0 {
		capabilities.RootsV2 = &sdk.RootCapabilities{} //nolint:staticcheck // see above
	}
	changed := func() {
		select {
		case s.relist <- struct{}{}:
		default:
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "cadre", Version: "1"}, &sdk.ClientOptions{
		Capabilities:                capabilities,
		ElicitationHandler:          s.elicit,
		ProgressNotificationHandler: s.progress,
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { changed() },
	})
	// A server from before this greeting may not answer it at all.
	client.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "server/discover" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, s.client.timing.discover)
				defer cancel()
			}
			return next(ctx, method, req)
		}
	})
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
			err = guarded(func() (err error) {
				result, err = next(ctx, method, req)
				return err
			})
			return result, err
		}
	})
	for _, folder := range roots {
		uri := url.URL{Scheme: "file", Path: filepath.ToSlash(folder)}
		client.AddRoots(&sdk.Root{URI: uri.String(), Name: filepath.Base(folder)}) //nolint:staticcheck // see above
	}
	return client
}

// serve lists the server and lets it be used until its session ends.
func (s *server) serve(ctx context.Context, l *line) error {
	if err := s.list(ctx, l.session); err != nil {
		return fmt.Errorf("listing its tools: %w", err)
	}
	s.mu.Lock()
	s.line = l
	if info := l.session.InitializeResult().ServerInfo; info != nil {
		s.version = strings.TrimSpace(info.Name + " " + info.Version)
	}
	s.mu.Unlock()
	s.become(Running, nil, time.Time{})
	s.log.Debug("the MCP server is running")

	broken := make(chan error, 1)
	go func() { broken <- l.session.Wait() }()
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-broken:
			if err == nil {
				err = errGone
			}
			return err
		case <-s.relist:
			if due == nil {
				due = time.After(s.client.timing.relist)
			}
		case <-due:
			due = nil
			if err := s.list(ctx, l.session); err != nil {
				s.log.Warn("listing the tools of the MCP server anew; those known before stay", "error", s.clean(err))
			}
		}
	}
}

// errGone says that a session has ended without a better reason.
var errGone = errors.New("the connection was closed")

// hasEnded tells whether an error says no more than that the other side is
// gone.
func hasEnded(err error) bool {
	for _, e := range []error{errGone, sdk.ErrConnectionClosed, io.EOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ending words why a session ended: how its process did, if that is why, and
// its last words.
func (s *server) ending(err error, how string) error {
	text := s.clean(err).Error()
	if how != "" && hasEnded(err) {
		text = how
	}
	if s.config.Transport == Stdio {
		s.mu.Lock()
		last := s.stderr.lastLine()
		s.mu.Unlock()
		if last != "" {
			text += ", last line of its standard error: " + clip(s.redact.Replace(last), maxLine)
		}
	}
	return errors.New(text)
}

// maxLine bounds what is quoted of a server in an error, in characters.
const maxLine = 500

// clean hides secrets in an error and bounds it.
func (s *server) clean(err error) error {
	text := strings.ReplaceAll(s.redact.Replace(err.Error()), "rejected by transport: ", "")
	if s.config.URL != "" {
		text = strings.ReplaceAll(text, s.redact.Replace(s.config.URL), s.config.host())
	}
	return errors.New(clip(text, maxLine))
}

func clip(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit]) + "…"
}

func (s *server) status() ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := ServerStatus{
		Name: s.name, Prefix: prefix + s.id + separator, Transport: s.config.Transport, Trusted: s.config.Trust,
		State: s.state, Since: s.since, Next: s.next, Tools: len(s.tools), Cached: s.cached,
		Warnings: s.warnings, Version: s.version, Stderr: s.redact.Replace(s.stderr.String()),
	}
	if s.err != nil {
		st.Error = s.err.Error()
	}
	return st
}

func (s *server) currentTools() []tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}
