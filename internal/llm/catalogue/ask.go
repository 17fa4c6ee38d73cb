// Asking a server which models it has.

package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/openaichat"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// maxAnswer bounds a list of models.
const maxAnswer = 16 << 20

// Fetch asks a provider for the models it has now, and adds what is known of
// them here. The error contains no key.
func (c *Catalogue) Fetch(ctx context.Context, provider string) ([]Model, error) {
	if _, err := c.Provider(provider); err != nil {
		return nil, err
	}
	p := c.provider(provider)
	if !p.ready() {
		return nil, fmt.Errorf("%s cannot be used yet: %s", p.name, p.missing)
	}
	ctx, cancel := context.WithTimeout(ctx, c.checkTime)
	defer cancel()
	fresh, err := c.ask(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("asking %s for its models: %w", p.name, err)
	}
	if p.vendor.local {
		fresh = c.inspect(ctx, p, fresh)
		c.remember(p, fresh)
	}
	known := c.models(p)
	for i, m := range fresh {
		at := slices.IndexFunc(known, func(k Model) bool { return strings.EqualFold(k.ID, m.ID) })
		if at >= 0 {
			fresh[i] = complete(known[at], m)
		}
	}
	return fresh, nil
}

func (c *Catalogue) providerNames() []string {
	all := c.providers()
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.name
	}
	return out
}

// complete fills what is not known of a model with what its server told.
func complete(known, told Model) Model {
	known.ID = told.ID
	if known.Name == "" {
		known.Name = told.Name
	}
	if known.Window == 0 {
		known.Window = told.Window
	}
	if known.MaxOutput == 0 {
		known.MaxOutput = told.MaxOutput
	}
	return known
}

// listAddress is where a provider lists its models.
func listAddress(p *provider) string {
	base := strings.TrimRight(p.base, "/")
	query := queryOf(p.query)
	path := "/models"
	switch {
	case p.vendor.local && p.vendor.probe != "":
		base = strings.TrimSuffix(base, "/v1")
		path = p.vendor.probe
	case p.kind == config.KindAnthropic:
		base = strings.TrimSuffix(base, "/v1")
		path = "/v1/models"
		query.Set("limit", "1000")
	case p.kind == config.KindGemini:
		if u, err := url.Parse(base); err == nil && u.Path == "" { // as the client does
			path = "/v1beta/models"
		}
		query.Set("pageSize", "1000")
	}
	if len(query) == 0 {
		return base + path
	}
	return base + path + "?" + query.Encode()
}

// keyed returns the headers of a request to p.
func keyed(p *provider) http.Header {
	h := http.Header{"Accept": {"application/json"}, "User-Agent": {"cadre"}}
	if p.kind == config.KindAnthropic {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	if key := p.key.Reveal(); key != "" {
		name := openaichat.QuirksOf(p.vendor.name).KeyHeader
		switch {
		case p.kind == config.KindAnthropic && !p.bearer:
			h.Set("X-Api-Key", key)
		case p.kind == config.KindGemini:
			h.Set("X-Goog-Api-Key", key)
		case name != "":
			h.Set(name, key)
		default:
			h.Set("Authorization", "Bearer "+key)
		}
	}
	for name, values := range headerOf(p.header) {
		h[name] = values
	}
	return h
}

// ask reads a provider's list of models.
func (c *Catalogue) ask(ctx context.Context, p *provider) ([]Model, error) {
	body, err := c.get(ctx, p, listAddress(p))
	if err != nil {
		return nil, err
	}
	return readList(p, body)
}

// get reads what p has at an address.
func (c *Catalogue) get(ctx context.Context, p *provider, address string) ([]byte, error) {
	return c.send(ctx, p, http.MethodGet, address, nil)
}

// send makes a request to p. Errors are *llm.Error, or the context's.
func (c *Catalogue) send(ctx context.Context, p *provider, method, address string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: wire.Scrub("the address cannot be used: "+plainly(err).Error(), p.secrets()...)}
	}
	req.Header = keyed(p)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	// A redirection could lead the key elsewhere.
	client := *c.http()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no answer in time: %w", ctx.Err())
		}
		return nil, &llm.Error{Kind: llm.ErrNetwork, Message: wire.Scrub(plainly(err).Error(), p.secrets()...)}
	}
	defer resp.Body.Close() //nolint:errcheck // what was read counts
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrNetwork, Message: wire.Scrub(plainly(err).Error(), p.secrets()...)}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, wire.Classify(resp.StatusCode, resp.Header, answer, p.secrets()...)
	}
	return answer, nil
}

// plainly drops the address from an error: there may be more in it than should
// be shown.
func plainly(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// entry is a model in any vendor's list.
type entry struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Model       string `json:"model"` // Ollama
	DisplayName string `json:"display_name"`
	Title       string `json:"displayName"` // Gemini

	ContextLength    int64    `json:"context_length"`     // OpenRouter, Together, Fireworks
	ContextWindow    int64    `json:"context_window"`     // Groq
	MaxModelLen      int64    `json:"max_model_len"`      // vLLM
	MaxContextLength int64    `json:"max_context_length"` // Mistral
	MaxInputTokens   int64    `json:"max_input_tokens"`   // Anthropic
	InputTokenLimit  int64    `json:"inputTokenLimit"`    // Gemini
	OutputTokenLimit int64    `json:"outputTokenLimit"`
	Methods          []string `json:"supportedGenerationMethods"`
	Meta             struct { // llama.cpp
		Context int64 `json:"n_ctx"`
		Trained int64 `json:"n_ctx_train"`
	} `json:"meta"`
}

// readList reads a list of models, whichever shape it has.
func readList(p *provider, body []byte) ([]Model, error) {
	var list struct {
		Data   *[]entry `json:"data"`
		Models *[]entry `json:"models"`
	}
	var entries []entry
	if err := json.Unmarshal(body, &list); err == nil && (list.Data != nil || list.Models != nil) {
		// llama.cpp has both, for clients of Ollama too.
		if list.Data != nil {
			entries = *list.Data
		} else {
			entries = *list.Models
		}
	} else if json.Unmarshal(body, &entries) != nil { // Together's is bare
		return nil, &llm.Error{Kind: llm.ErrServer, Message: "what answers there is no list of models"}
	}
	var out []Model
	for _, e := range entries {
		if m, ok := e.model(p); ok {
			out = append(out, m)
		}
	}
	return out, nil
}

// model returns false for what is no model to talk to.
func (e entry) model(p *provider) (Model, bool) {
	id := e.ID
	for _, other := range []string{e.Model, e.Name} {
		if id == "" {
			id = other
		}
	}
	id = strings.TrimPrefix(id, "models/")
	if id == "" || len(e.Methods) > 0 && !slices.Contains(e.Methods, "generateContent") {
		return Model{}, false
	}
	m := unlisted(p, id)
	for _, name := range []string{e.DisplayName, e.Title, e.Name} {
		if m.Name == "" && name != id && name != "models/"+id {
			m.Name = name
		}
	}
	for _, n := range []int64{e.Meta.Context, e.MaxModelLen, e.ContextLength, e.ContextWindow, e.MaxContextLength, e.MaxInputTokens, e.InputTokenLimit, e.Meta.Trained} {
		if m.Window == 0 {
			m.Window = n
		}
	}
	m.MaxOutput = e.OutputTokenLimit
	return m, true
}
