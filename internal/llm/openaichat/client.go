// Package openaichat speaks OpenAI's Chat Completions format, with OpenAI and
// with the many servers that took it over. Where they differ is told by Quirks;
// what can be understood without being told is.
//
// It knows the format and its dialects only: HTTP, errors and the keeping of
// encoded histories are package wire's.
package openaichat

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// tail bounds the wait for the end of a stream once the reply is complete:
// what may still come is its usage.
const tail = 10 * time.Second

// Options says whom to call, and how.
type Options struct {
	// Name is that of the vendor. Reasoning that goes back to its maker only is
	// marked with it; two clients with the same name must be the same vendor.
	Name string
	// BaseURL is what /chat/completions is appended to, by default OpenAI's.
	BaseURL string
	// Key is the API key; with none, no header is sent for it.
	Key string
	// HTTP makes the requests; nil means a client of its own.
	HTTP *http.Client
	// Idle is how long the vendor may be silent; by default wire.DefaultFirst
	// and DefaultThen, or DefaultWhole for replies that are not streamed.
	Idle wire.Idle
	// Header holds further headers, which win over all others; Query what is
	// added to the address, such as Azure's api-version.
	Header http.Header
	Query  url.Values
	// Whole asks for replies in one piece instead of a stream.
	Whole bool
	// Extra is a JSON object whose members are added to each request, such as
	// {"reasoning_effort":"high"}.
	Extra json.RawMessage
	// Quirks are the vendor's; see QuirksOf.
	Quirks Quirks
}

// client is the provider.
type client struct {
	opts   Options
	url    string
	header http.Header
	format wire.Format
}

var _ llm.Provider = (*client)(nil)

// New makes a provider.
func New(opts Options) llm.Provider {
	if opts.Name == "" {
		opts.Name = "openai"
	}
	if opts.BaseURL == "" {
		opts.BaseURL = DefaultBaseURL
	}
	if opts.HTTP == nil {
		opts.HTTP = wire.NewClient()
	}
	if opts.Whole {
		opts.Idle = opts.Idle.ForWhole()
	}
	c := &client{opts: opts, url: strings.TrimRight(opts.BaseURL, "/") + "/chat/completions", header: http.Header{}}
	if len(opts.Query) > 0 {
		c.url += "?" + opts.Query.Encode()
	}
	accept := "text/event-stream"
	if opts.Whole {
		accept = "application/json"
	}
	c.header.Set("Accept", accept)
	c.header.Set("User-Agent", "cadre")
	switch {
	case opts.Key == "":
	case opts.Quirks.KeyHeader != "":
		c.header.Set(opts.Quirks.KeyHeader, opts.Key)
	default:
		c.header.Set("Authorization", "Bearer "+opts.Key)
	}
	for name, values := range opts.Header {
		c.header[http.CanonicalHeaderKey(name)] = values
	}
	enc := encoder{provider: opts.Name, quirks: opts.Quirks}
	c.format = wire.Format{Name: enc.name(), Head: enc.head, Group: enc.group}
	return c
}

// Call implements llm.Provider.
func (c *client) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	body, err := c.encode(req)
	if err != nil {
		return nil, err
	}
	resp, err := wire.Post(ctx, c.opts.HTTP, c.url, c.headerFor(req), body, c.opts.Idle)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	b := &builder{provider: c.opts.Name, model: req.Model, onDelta: resp.Listen(onDelta), requestID: resp.RequestID}
	if c.opts.Quirks.ThinkTags {
		b.tags = tagsLook
	}
	// Some servers answer in one piece whatever they were asked for.
	if c.opts.Whole || strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return whole(resp, b)
	}
	r, err := stream(ctx, resp, b)
	if err != nil {
		return nil, wire.Spent(err, b.usage)
	}
	return r, nil
}

func (c *client) headerFor(req *llm.Request) http.Header {
	name := c.opts.Quirks.CacheHeader
	if name == "" || req.Caller.Chat == "" {
		return c.header
	}
	h := c.header.Clone()
	h.Set(name, wire.CacheKey(req.Caller.Chat))
	return h
}

func whole(resp *wire.Response, b *builder) (*llm.Reply, error) {
	text, err := resp.All()
	if err != nil {
		return nil, err
	}
	b.settled = true
	if err := b.take(resp, text); err != nil {
		return nil, wire.Spent(err, b.usage)
	}
	r, err := b.reply(resp, true)
	if err != nil {
		return nil, wire.Spent(err, b.usage)
	}
	return r, nil
}

func stream(ctx context.Context, resp *wire.Response, b *builder) (*llm.Reply, error) {
	for {
		ev, err := resp.Next()
		switch {
		case errors.Is(err, io.EOF):
			return b.reply(resp, false)
		case err != nil && b.finish != "" && ctx.Err() == nil:
			return b.reply(resp, false) // all but the usage had come
		case err != nil:
			return nil, err
		}
		if string(ev.Data) == "[DONE]" {
			return b.reply(resp, true)
		}
		if err := b.take(resp, ev.Data); err != nil {
			return nil, err
		}
		if b.finish != "" {
			resp.SetIdle(tail)
		}
	}
}
