// From a provider to a client: one switch over the wire formats.

package catalogue

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/anthropic"
	"github.com/cadre-dev/cadre/internal/llm/gemini"
	"github.com/cadre-dev/cadre/internal/llm/openaichat"
	"github.com/cadre-dev/cadre/internal/llm/openairesponses"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// Endpoint is what a client needs to know.
type Endpoint struct {
	Provider  string // its name; parts that go back to their maker only carry it
	Vendor    string // whose dialect is spoken there; empty if that is not known
	Kind      config.Kind
	BaseURL   string
	Key       config.Secret
	Bearer    bool // the key is sent as a bearer token where that is not usual
	Header    []config.Pair
	Query     []config.Pair
	NoImages  bool // the model understands no images
	Reasons   bool // the model reasons; counts only if Known
	Known     bool // whether it does is known
	Completes bool // the model refuses max_tokens and wants max_completion_tokens
	HTTP      *http.Client
	Idle      wire.Idle
	Whole     bool // replies are asked for in one piece
}

// Dial makes a client. It reaches nothing.
type Dial func(Endpoint) (llm.Provider, error)

// String describes the endpoint without its secrets.
func (e Endpoint) String() string {
	return fmt.Sprintf("%s (%s at %s)", e.Provider, e.Kind, config.SafeURL(e.BaseURL))
}

// GoString keeps %#v from showing more than String.
func (e Endpoint) GoString() string { return e.String() }

// LogValue implements slog.LogValuer.
func (e Endpoint) LogValue() slog.Value { return slog.StringValue(e.String()) }

func headerOf(pairs []config.Pair) http.Header {
	h := http.Header{}
	for _, p := range pairs {
		h.Set(p.Name, p.Value.Reveal())
	}
	return h
}

func queryOf(pairs []config.Pair) url.Values {
	q := url.Values{}
	for _, p := range pairs {
		q.Set(p.Name, p.Value.Reveal())
	}
	return q
}

// dial makes the clients of the wire formats.
func dial(e Endpoint) (llm.Provider, error) {
	header, query := headerOf(e.Header), queryOf(e.Query)
	switch e.Kind {
	case config.KindAnthropic:
		o := anthropic.Options{Name: e.Provider, BaseURL: e.BaseURL, Key: e.Key.Reveal(), Header: header, HTTP: e.HTTP, Idle: e.Idle, Whole: e.Whole}
		if e.Bearer {
			o.Key, o.AuthToken = "", o.Key
		}
		return anthropic.New(o), nil
	case config.KindGemini:
		return gemini.New(gemini.Options{Name: e.Provider, BaseURL: e.BaseURL, Key: e.Key.Reveal(), Header: header, HTTP: e.HTTP, Idle: e.Idle, Whole: e.Whole}), nil
	case config.KindOpenAIResponses:
		o := openairesponses.Options{
			Name: e.Provider, BaseURL: e.BaseURL, Key: e.Key.Reveal(), KeyHeader: openaichat.QuirksOf(e.Vendor).KeyHeader,
			Header: header, Query: query, HTTP: e.HTTP, Idle: e.Idle, Whole: e.Whole,
		}
		if e.Known {
			o.Plain = func(string) bool { return !e.Reasons }
		}
		return openairesponses.New(o), nil
	case config.KindOpenAI:
		quirks := openaichat.QuirksOf(e.Vendor)
		if quirks == openaichat.QuirksOf("") { // a gateway, which passes it on as it is
			quirks.MaxCompletionTokens = e.Completes
		}
		quirks.NoImages = quirks.NoImages || e.NoImages
		return openaichat.New(openaichat.Options{
			Name: e.Provider, BaseURL: e.BaseURL, Key: e.Key.Reveal(),
			Header: header, Query: query, HTTP: e.HTTP, Idle: e.Idle, Whole: e.Whole, Quirks: quirks,
		}), nil
	}
	return nil, fmt.Errorf("provider %s is of kind %q, for which there is no client: use anthropic, openai, openai-responses or gemini", e.Provider, e.Kind)
}
