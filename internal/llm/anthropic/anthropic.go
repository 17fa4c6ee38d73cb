// Package anthropic speaks Anthropic's Messages API, and that of the vendors
// and proxies that offer the same.
//
// It turns a request into bytes and an answer into a reply; what to do about
// either, retries above all, is not its business. Its types stop here.
package anthropic

import (
	"context"
	"net/http"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

const (
	defaultBase    = "https://api.anthropic.com"
	defaultVersion = "2023-06-01"
	defaultOutput  = 8192
)

// Options say where the API is and how to speak to it. All are optional, but
// most servers want a key.
type Options struct {
	// Name is that of the provider. Thinking parts carry it, and only those of
	// the same provider and model are sent back. By default "anthropic".
	Name string
	// BaseURL is where /v1/messages is, with or without the /v1.
	BaseURL string
	// Key is sent as x-api-key, AuthToken as a bearer token.
	Key, AuthToken string
	// Version and Beta are the headers of these names.
	Version string
	Beta    []string
	// Header holds further headers; they win over all others.
	Header http.Header

	// HTTP makes the requests; by default a client of this provider's own.
	HTTP *http.Client
	// Idle is how long the vendor may be silent; by default wire.DefaultFirst
	// and DefaultThen, or DefaultWhole for replies that are not streamed.
	Idle wire.Idle
	// Whole asks for replies in one piece instead of a stream.
	Whole bool

	// MaxOutput is the limit of tokens of a request that names none: the API
	// wants one. By default 8192.
	MaxOutput int64
	// NoCache leaves the cache marks out, CacheTTL sets how long the vendor
	// keeps what they mark: 5m or 1h.
	NoCache  bool
	CacheTTL string
}

type provider struct {
	opts   Options
	url    string
	header http.Header
	format wire.Format
	mark   string // what a cache mark looks like inside a block
}

var _ llm.Provider = (*provider)(nil)

// New makes a provider.
func New(opts Options) llm.Provider {
	if opts.Name == "" {
		opts.Name = "anthropic"
	}
	if opts.BaseURL == "" {
		opts.BaseURL = defaultBase
	}
	if opts.Version == "" {
		opts.Version = defaultVersion
	}
	if opts.MaxOutput <= 0 {
		opts.MaxOutput = defaultOutput
	}
	if opts.HTTP == nil {
		opts.HTTP = wire.NewClient()
	}
	if opts.Whole {
		opts.Idle = opts.Idle.ForWhole()
	}
	p := &provider{opts: opts, header: headerOf(&opts)}
	p.url = strings.TrimSuffix(strings.TrimRight(opts.BaseURL, "/"), "/v1") + "/v1/messages"
	if !opts.NoCache {
		p.mark = cacheMark(opts.CacheTTL)
	}
	p.format = wire.Format{Name: "anthropic\x00" + opts.Name + p.mark, Head: p.appendHead, Group: p.appendGroup}
	return p
}

func headerOf(opts *Options) http.Header {
	h := http.Header{}
	h.Set("User-Agent", "cadre")
	h.Set("Anthropic-Version", opts.Version)
	if len(opts.Beta) > 0 {
		h.Set("Anthropic-Beta", strings.Join(opts.Beta, ","))
	}
	if opts.Key != "" {
		h.Set("X-Api-Key", opts.Key)
	}
	if opts.AuthToken != "" {
		h.Set("Authorization", "Bearer "+opts.AuthToken)
	}
	for name, values := range opts.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return h
}

// Call implements llm.Provider.
func (p *provider) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	body, err := p.encode(req)
	if err != nil {
		return nil, err
	}
	resp, err := wire.Post(ctx, p.opts.HTTP, p.url, p.header, body, p.opts.Idle)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	b := &builder{provider: p.opts.Name, model: req.Model, onDelta: resp.Listen(onDelta)}
	// A proxy may answer in one piece though a stream was asked for.
	if p.opts.Whole || strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		err = b.readWhole(resp)
	} else {
		err = b.readStream(resp)
	}
	if err != nil {
		return nil, wire.Spent(err, b.usage)
	}
	return b.reply(resp.RequestID), nil
}
