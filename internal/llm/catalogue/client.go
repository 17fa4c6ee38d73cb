// Clients: made at first use, one for a provider wherever that will do.

package catalogue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/scripted"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// clientKey is what clients differ by.
type clientKey struct {
	provider string
	model    string // if it is a part of the address
	noImages bool
	reasons  bool
	known    bool
	complete bool // the output limit is called max_completion_tokens
}

// client returns the client for a model.
func (c *Catalogue) client(m Model) (llm.Provider, error) {
	switch m.Provider {
	case offlineName:
		return c.offline, nil
	case scriptedName:
		return c.script(m.ID)
	}
	p := c.provider(m.Provider)
	if p == nil {
		return nil, fmt.Errorf("there is no provider %q", m.Provider)
	}
	next, err := c.shared(p, m)
	if err != nil {
		return nil, err
	}
	return &client{next: next, ref: m.Ref(), model: m, chat: p.kind == config.KindOpenAI, secrets: p.secrets, keys: p.keys}, nil
}

// shared returns the client that all models of p use that can.
func (c *Catalogue) shared(p *provider, m Model) (llm.Provider, error) {
	key := clientKey{provider: p.name}
	switch p.kind {
	case config.KindOpenAI:
		key.noImages = m.Listed && !m.Images
		key.complete = completes(m.ID)
	case config.KindOpenAIResponses:
		key.known, key.reasons = m.Listed, m.Listed && m.Reasoning
	case config.KindAnthropic, config.KindGemini:
	}
	vendor := p.vendor.name
	if p.elsewhere() && vendor == "openai" && p.kind == config.KindOpenAI {
		vendor = "" // almost anything answers there; behind other names is the vendor they tell
	}
	e := Endpoint{
		Provider: p.name, Vendor: vendor, Kind: p.kind, BaseURL: p.base, Key: p.key, Bearer: p.bearer,
		Header: p.header, Query: p.query, NoImages: key.noImages, Reasons: key.reasons, Known: key.known,
		Completes: key.complete,
		HTTP:      c.http(), Idle: c.idle, Whole: p.whole,
	}
	if p.idle.First > 0 {
		e.Idle.First = p.idle.First
	}
	if p.idle.Then > 0 {
		e.Idle.Then = p.idle.Then
	}
	if p.classic {
		key.model = m.ID
		e.BaseURL += "/deployments/" + url.PathEscape(m.ID)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.clients[key]; ok {
		return made, nil
	}
	made, err := c.dial(e)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", p.name, err)
	}
	c.clients[key] = made
	return made, nil
}

// completes tells the models of OpenAI that refuse max_tokens, wherever they are
// reached: its o models and GPT from 5 on. The open ones know both names.
func completes(id string) bool {
	words := split(lastPart(id))
	if len(words) == 0 {
		return false
	}
	if words[0] == "o1" || words[0] == "o3" || words[0] == "o4" {
		return true
	}
	return len(words) > 1 && words[0] == "gpt" && isVersion(words[1]) && words[1] >= "5"
}

// script loads a script, once.
func (c *Catalogue) script(name string) (llm.Provider, error) {
	file := name[len(scriptedPrefix):]
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.scripts[file]; ok {
		return p, nil
	}
	if file == "" {
		return nil, &NameError{Name: name, Problem: "it lacks the file of the script", Hint: "write it behind the colon, as in scripted:demo.yaml"}
	}
	p, err := scripted.Load(file)
	if err != nil {
		return nil, fmt.Errorf("reading the script of model %s: %w", name, err)
	}
	c.scripts[file] = p
	return p, nil
}

// client makes the calls of one model. It stands in front of the wire client,
// whose options hold the key in plain text, so that printing a provider shows
// no more than its name.
type client struct {
	next    llm.Provider
	ref     string
	model   Model
	chat    bool            // it speaks Chat Completions
	secrets func() []string // what must not be in an error
	keys    func() []string // what must not be in a reply
}

var _ llm.Provider = (*client)(nil)

// Call implements llm.Provider.
func (c *client) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	settled := *req
	c.Settle(&settled)
	if c.refusesTemperature(settled.Effort) {
		settled.Temperature = nil
	}
	sieve := wire.NewSieve(c.keys(), onDelta)
	reply, err := c.next.Call(ctx, &settled, sieve.Delta)
	if err != nil {
		return nil, c.scrub(err)
	}
	sieve.Reply(reply)
	reply.RequestID = c.scrubID(reply.RequestID)
	return reply, nil
}

// scrubID takes secrets out of the id of a request, which is whatever a server
// says it is.
func (c *client) scrubID(id string) string {
	const most = 200
	if len(id) > most {
		id = id[:most]
	}
	return wire.Scrub(id, c.secrets()...)
}

// scrub takes secrets out of an error: the wire clients know keys in the usual
// headers, but not what else was configured.
func (c *client) scrub(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.RequestID != "" {
		clean := *e
		clean.RequestID = c.scrubID(e.RequestID)
		err = &clean
	}
	text := err.Error()
	safe := wire.Scrub(text, c.secrets()...)
	if safe == text {
		return err
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return errors.New(safe)
	}
	clean := *e
	clean.Message, clean.Err = wire.Scrub(e.Message, c.secrets()...), nil
	return &clean
}

// String is the name of the model.
func (c *client) String() string { return c.ref }

// GoString keeps %#v from showing more than String.
func (c *client) GoString() string { return c.ref }

// LogValue implements slog.LogValuer.
func (c *client) LogValue() slog.Value { return slog.StringValue(c.ref) }
