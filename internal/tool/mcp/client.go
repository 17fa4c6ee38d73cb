// Package mcp makes the tools of MCP servers into tools of ours. It keeps one
// session with each configured server, over stdio, streamable HTTP or the older
// SSE, and shares it between all agents: what a server is told must not depend
// on which of them asks.
//
// A server is listed when it is connected. What it listed is kept in a cache,
// so that the tools of a server that is slow or broken exist all the same and
// answer with what is wrong. A server that ends is started again, later and
// later, for as long as the client lives. A list that changes is read anew and
// counts for registries that are built after that: Changed tells when. A tool
// that is gone answers with the server's own error.
//
// A server is believed to be harmless only where a person said so: without
// trust its tools are of the class executes (stdio) or network (HTTP), which
// ask, whatever it says about them.
//
// Elicitation goes to the user of the call that it belongs to. Servers of the
// protocol of 2026-07-28 ask within the call. Older ones ask beside it without
// saying for which: so a server that has once asked like this gets one call at
// a time from then on, and the first time, if calls of several chats are under
// way, the question is cancelled rather than shown to the wrong person.
//
// Sampling is not offered. Roots are those of Options.Roots.
package mcp

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
)

// Options say how a Client is made; the zero value of each field has a default.
type Options struct {
	Servers map[string]ServerConfig

	Dir      string          // the project folder, absolute: where servers start, and what a sandbox lets them write
	Sandbox  sandbox.Sandbox // for stdio servers; nil: they run as they are, in a process group of their own
	Hide     []string        // files and folders that a sandbox hides from them
	TempRoot string          // where their private temp folders are made; empty: the system's
	Limits   sandbox.Limits
	Env      []string // what stdio servers get beside what is configured; nil: PATH, HOME and the like of ours

	Roots []string // folders that servers are told to be about, absolute
	Cache string   // a folder for lists of tools and for downloads of sandboxed servers; empty: none
	HTTP  *http.Client
	Log   *slog.Logger
	Now   func() time.Time
}

// Client holds the sessions with all servers.
type Client struct {
	options Options
	timing  timing
	servers []*server // in the order of their names
	web     *http.Client
	changed chan struct{}

	stop    context.CancelFunc
	running context.Context
	work    sync.WaitGroup
}

// timing is how long things may take.
type timing struct {
	start      time.Duration // for which Start waits for a server
	connect    time.Duration // until a server has to be connected: it may be downloaded first
	discover   time.Duration // until a server that does not answer the newest greeting gets the older one
	list       time.Duration
	call       time.Duration // without news, unless configured
	grace      time.Duration // for a process to end by itself
	firstRetry time.Duration
	lastRetry  time.Duration
	healthy    time.Duration // after which the next retry is a first one again
	relist     time.Duration // between two readings of a list that changes
}

// New makes a client; Start connects it.
func New(o Options) *Client {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Client{
		options: o, web: &http.Client{}, changed: make(chan struct{}, 1),
		timing: timing{
			start: 10 * time.Second, connect: 2 * time.Minute, discover: 10 * time.Second, list: 30 * time.Second,
			call: time.Minute, grace: time.Second,
			firstRetry: time.Second, lastRetry: time.Minute, healthy: time.Minute, relist: 250 * time.Millisecond,
		},
	}
	if o.HTTP != nil {
		*c.web = *o.HTTP
	}
	if c.web.Transport == nil { // its own, so that its connections can be closed
		c.web.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	c.running, c.stop = context.WithCancel(context.Background())
	ids := serverIDs(o.Servers)
	for _, name := range slices.Sorted(maps.Keys(o.Servers)) {
		c.servers = append(c.servers, newServer(c, name, ids[name], o.Servers[name]))
	}
	return c
}

// Start connects all servers at the same time and returns when each is
// connected or has failed, after ten seconds at most, or when ctx ends. Those
// that are slower go on in the background.
func (c *Client) Start(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, c.timing.start)
	defer cancel()
	for _, s := range c.servers {
		if !s.config.Disabled {
			c.work.Go(func() { s.run(c.running) })
		}
	}
	for _, s := range c.servers {
		s.settled(ctx)
	}
}

// Close ends all sessions and stops what was started. Calls under way fail.
func (c *Client) Close() error {
	c.stop()
	c.work.Wait()
	if c.options.HTTP == nil {
		c.web.CloseIdleConnections()
	}
	return nil
}

var _ io.Closer = (*Client)(nil)

// Tools returns the tools known now: as the servers listed them, or as they did
// last time if they are not connected. Their names are unique.
func (c *Client) Tools() []tool.Tool {
	var tools []tool.Tool
	for _, s := range c.servers {
		tools = append(tools, s.currentTools()...)
	}
	return tools
}

// Changed receives when Tools may return something new. News that come
// together are received once.
func (c *Client) Changed() <-chan struct{} { return c.changed }

func (c *Client) tellChanged() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Status tells how each server is, in the order of their names.
func (c *Client) Status() []ServerStatus {
	out := make([]ServerStatus, len(c.servers))
	for i, s := range c.servers {
		out[i] = s.status()
	}
	return out
}
