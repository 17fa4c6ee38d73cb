// Package gemini speaks Google's generateContent API, of the Gemini API and of
// Vertex AI alike.
//
// It turns a request into bytes and an answer into a reply; what to do about
// either, retries above all, is not its business. Its types stop here.
package gemini

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

const (
	defaultBase    = "https://generativelanguage.googleapis.com"
	defaultVersion = "/v1beta"
)

// Options say where the API is and how to speak to it. All are optional, but
// the vendor wants a key.
type Options struct {
	// Name is that of the provider. Parts with a signature carry it, and only
	// those of the same provider and model are sent back with it. By default
	// "gemini".
	Name string
	// BaseURL is where /models/… is. One without a path is that of the Gemini
	// API, and gets its version; for Vertex AI it ends in /publishers/google.
	BaseURL string
	// Key is sent as x-goog-api-key, AuthToken as a bearer token.
	Key, AuthToken string
	// Header holds further headers; they win over all others.
	Header http.Header

	// HTTP makes the requests; by default a client of this provider's own.
	HTTP *http.Client
	// Idle is how long the vendor may be silent; by default wire.DefaultFirst
	// and DefaultThen, or DefaultWhole for replies that are not streamed.
	Idle wire.Idle
	// Whole asks for replies in one piece instead of a stream.
	Whole bool
}

type provider struct {
	opts   Options
	base   string
	header http.Header
	format wire.Format
}

var _ llm.Provider = (*provider)(nil)

// New makes a provider.
func New(opts Options) llm.Provider {
	if opts.Name == "" {
		opts.Name = "gemini"
	}
	if opts.BaseURL == "" {
		opts.BaseURL = defaultBase
	}
	if opts.HTTP == nil {
		opts.HTTP = wire.NewClient()
	}
	if opts.Whole {
		opts.Idle = opts.Idle.ForWhole()
	}
	p := &provider{opts: opts, base: strings.TrimRight(opts.BaseURL, "/"), header: headerOf(&opts)}
	if u, err := url.Parse(p.base); err == nil && u.Path == "" {
		p.base += defaultVersion
	}
	p.format = wire.Format{Name: "gemini\x00" + opts.Name, Head: appendHead, Group: p.appendGroup}
	return p
}

func headerOf(opts *Options) http.Header {
	h := http.Header{}
	h.Set("User-Agent", "cadre")
	if opts.Key != "" {
		h.Set("X-Goog-Api-Key", opts.Key) // never in the address, which is logged
	}
	if opts.AuthToken != "" {
		h.Set("Authorization", "Bearer "+opts.AuthToken)
	}
	for name, values := range opts.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return h
}

// url is where a model is called.
func (p *provider) url(model string) string {
	call := ":streamGenerateContent?alt=sse"
	if p.opts.Whole {
		call = ":generateContent"
	}
	return p.base + "/models/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + call
}

// Call implements llm.Provider.
func (p *provider) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	body, err := p.encode(req)
	if err != nil {
		return nil, err
	}
	resp, err := wire.Post(ctx, p.opts.HTTP, p.url(req.Model), p.header, body, p.opts.Idle)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	b := &builder{provider: p.opts.Name, model: req.Model, onDelta: resp.Listen(onDelta)}
	// A proxy may answer in one piece though a stream was asked for.
	if p.opts.Whole || strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		err = b.readWhole(resp)
	} else {
		err = b.readStream(ctx, resp)
	}
	if err != nil {
		return nil, wire.Spent(err, b.usage)
	}
	r, err := b.reply(resp.RequestID)
	if err != nil {
		return nil, wire.Spent(err, b.usage)
	}
	return r, nil
}
