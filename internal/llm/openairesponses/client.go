// Package openairesponses speaks OpenAI's Responses format, without state on
// the vendor's side: nothing is stored there, and reasoning comes and goes
// encrypted.
//
// It knows the format only: HTTP, errors and the keeping of encoded histories
// are package wire's.
package openairesponses

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options says whom to call, and how.
type Options struct {
	// Name is that of the vendor. Reasoning that goes back to its maker only is
	// marked with it; two clients with the same name must be the same vendor.
	Name string
	// BaseURL is what /responses is appended to, by default OpenAI's.
	BaseURL string
	// Key is the API key; with none, no header is sent for it.
	Key string
	// KeyHeader names the header for the key if it is not the usual one, as
	// with Azure: api-key.
	KeyHeader string
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
	// NoCacheKey leaves prompt_cache_key out.
	NoCacheKey bool
	// Plain says whether a model does not reason: such a model refuses a
	// request that asks for encrypted reasoning. nil goes by OpenAI's names.
	Plain func(model string) bool
	// Extra is a JSON object whose members are added to each request, such as
	// {"reasoning":{"effort":"high","summary":"auto"}}.
	Extra json.RawMessage
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
	if opts.Plain == nil {
		opts.Plain = plain
	}
	c := &client{opts: opts, url: strings.TrimRight(opts.BaseURL, "/") + "/responses", header: http.Header{}}
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
	case opts.KeyHeader != "":
		c.header.Set(opts.KeyHeader, opts.Key)
	default:
		c.header.Set("Authorization", "Bearer "+opts.Key)
	}
	for name, values := range opts.Header {
		c.header[http.CanonicalHeaderKey(name)] = values
	}
	enc := encoder{provider: opts.Name}
	c.format = wire.Format{Name: "openairesponses " + opts.Name, Head: enc.head, Group: enc.group}
	return c
}

// plain knows OpenAI's models that do not reason by their names.
func plain(model string) bool {
	for _, prefix := range []string{"gpt-3", "gpt-4", "chatgpt-4", "ft:gpt-3", "ft:gpt-4"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return strings.HasPrefix(model, "gpt-5") && strings.Contains(model, "-chat")
}

// Call implements llm.Provider.
func (c *client) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	body, err := c.encode(req)
	if err != nil {
		return nil, err
	}
	resp, err := wire.Post(ctx, c.opts.HTTP, c.url, c.header, body, c.opts.Idle)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	b := &builder{provider: c.opts.Name, model: req.Model, onDelta: resp.Listen(onDelta), requestID: resp.RequestID}
	// Some servers answer in one piece whatever they were asked for.
	if c.opts.Whole || strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		text, err := resp.All()
		if err != nil {
			return nil, err
		}
		r, err := finish(resp, b, b.readResponse(text, ""))
		return r, wire.Spent(err, b.usage)
	}
	r, err := stream(resp, b)
	if err != nil {
		return nil, wire.Spent(err, b.usage)
	}
	return r, nil
}

func stream(resp *wire.Response, b *builder) (*llm.Reply, error) {
	for {
		ev, err := resp.Next()
		if errors.Is(err, io.EOF) {
			return nil, resp.Cut()
		}
		if err != nil {
			return nil, err
		}
		if string(ev.Data) == "[DONE]" { // not of OpenAI's, and too early here
			return nil, resp.Cut()
		}
		if err := b.read(ev); err != nil || b.stop != "" {
			return finish(resp, b, err)
		}
		if b.boundary {
			resp.Between()
		}
	}
}

// finish gives the reply, or the error that reading it ended with.
func finish(resp *wire.Response, b *builder, err error) (*llm.Reply, error) {
	switch {
	case errors.Is(err, errReported):
		return nil, resp.Fail(b.failure)
	case errors.Is(err, errBrokenOff):
		return nil, &llm.Error{Kind: llm.ErrServer, Message: err.Error(), RequestID: b.requestID, Err: err}
	case err != nil:
		return nil, resp.Broken(err)
	}
	return b.reply(), nil
}
