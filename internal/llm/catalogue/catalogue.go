// Package catalogue knows which providers and models there are, what they cost,
// and how a name that a person writes becomes a client that makes calls.
//
// What it knows comes from four places, each over the one before: a list of
// models and prices built into the binary, the vendors' usual environment
// variables, the configuration file, and local servers, which are asked only
// when somebody asks for them, or when there is nothing else. Making a Catalogue is cheap and reaches nothing:
// the list is decoded, clients are made and servers are asked at first need.
//
// A name is resolved here:
//
//	"" ─▶ $CADRE_MODEL, the configured model, else the tier default
//	fast, default, smart ─▶ the configured model, else one of the first
//	                        provider that can be used (tiers.go), else one of
//	                        a server that runs on this machine, else offline
//	provider/model       ─▶ that provider's; unknown ids are passed on, since a
//	                        vendor's newest model is in no list
//	anything else        ─▶ the providers that can be used, by id, by variant of
//	                        it, by family (match.go); then local servers
//
// It must not know agents. Nothing it returns, prints or logs contains a key.
package catalogue

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/offline"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// Options say what a Catalogue is made of. All are optional.
type Options struct {
	// Config is what is configured, ConfigErr why it is not complete. The
	// error is told by Doctor only: who works with a broken configuration has
	// decided so.
	Config    *config.Config
	ConfigErr error
	// Env is the environment; nil means the process's own.
	Env func(string) string
	// HTTP is shared by all clients; nil means one with wire's transport.
	HTTP *http.Client
	// Dial makes clients; nil means those of the wire formats.
	Dial Dial
	// Idle is how long a vendor may be silent; 0 means wire's default.
	Idle wire.Idle
	// ProbeTime is how long a local server has to answer (300 ms), StartTime
	// how long if it is asked only because nothing is configured (150 ms),
	// CheckTime how long a vendor has when Doctor or Fetch asks it (10 s).
	ProbeTime, StartTime, CheckTime time.Duration
}

// Catalogue finds models. It is safe for concurrent use.
type Catalogue struct {
	config    *config.Config
	configErr error
	env       func(string) string
	dial      Dial
	idle      wire.Idle
	probeTime time.Duration
	startTime time.Duration
	checkTime time.Duration
	http      func() *http.Client
	library   func() *library
	offline   llm.Provider
	providers func() []*provider // in the order of preference
	atHand    func() Model       // see lookAround, which it calls once

	mu      sync.RWMutex
	found   map[string]found        // by name as asked for
	scripts map[string]llm.Provider // by file
	clients map[clientKey]llm.Provider
	local   map[string][]Model // what local servers have, by provider
	asked   map[string]bool    // local servers that were asked because of one of their models
}

// found is a name that was resolved.
type found struct {
	provider llm.Provider
	model    Model
}

// New makes a Catalogue.
func New(o Options) *Catalogue {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	if o.Config == nil {
		o.Config = &config.Config{}
	}
	if o.Dial == nil {
		o.Dial = dial
	}
	if o.ProbeTime <= 0 {
		o.ProbeTime = 300 * time.Millisecond
	}
	if o.StartTime <= 0 {
		o.StartTime = 150 * time.Millisecond
	}
	if o.CheckTime <= 0 {
		o.CheckTime = 10 * time.Second
	}
	c := &Catalogue{
		config: o.Config, configErr: o.ConfigErr, env: o.Env, dial: o.Dial,
		idle: o.Idle, probeTime: o.ProbeTime, startTime: o.StartTime, checkTime: o.CheckTime,
		http: sync.OnceValue(wire.NewClient), library: embedded, offline: offline.New(),
		found: map[string]found{}, scripts: map[string]llm.Provider{},
		clients: map[clientKey]llm.Provider{}, local: map[string][]Model{}, asked: map[string]bool{},
	}
	if o.HTTP != nil {
		c.http = func() *http.Client { return o.HTTP }
	}
	c.providers = sync.OnceValue(func() []*provider {
		return settle(o.Config, o.Env, func() *library { return c.library() })
	})
	c.atHand = sync.OnceValue(c.lookAround)
	return c
}

// Find returns the client of a model and what is known of it. The error says
// what to do, see NameError. A name that was found is found again at the cost
// of a look into a map, so that it can be asked for at every call.
func (c *Catalogue) Find(name string) (llm.Provider, Model, error) {
	c.mu.RLock()
	f, ok := c.found[name]
	c.mu.RUnlock()
	if ok {
		return f.provider, f.model, nil
	}
	m, err := c.Resolve(name)
	if err == nil && c.acquaint(m) {
		m, err = c.Resolve(name)
	}
	if err != nil {
		return nil, Model{}, err
	}
	p, err := c.client(m)
	if err != nil {
		return nil, Model{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.found[name]; ok {
		return f.provider, f.model, nil
	}
	c.found[name] = found{p, m}
	return p, m, nil
}

// List returns the models of a provider, whether it can be used or not, or with
// no name those of all providers that can be used, the offline model last. What
// local servers have is among them once Discover has been called; of a server
// that must be asked for its list, Fetch returns more.
func (c *Catalogue) List(provider string) []Model {
	if provider != "" {
		if p := c.provider(provider); p != nil {
			return c.models(p)
		}
		if provider == offlineName {
			return []Model{offlineModel()}
		}
		return nil
	}
	var all []Model
	for _, p := range c.providers() {
		if p.ready() {
			all = append(all, c.models(p)...)
		}
	}
	return append(all, offlineModel())
}

// Provider is what can be told of a provider.
type Provider struct {
	Name    string      `json:"name"`
	Kind    config.Kind `json:"kind"`
	BaseURL string      `json:"base_url,omitempty"` // empty: the vendor's own
	Local   bool        `json:"local,omitempty"`
	Ready   bool        `json:"ready"`
	KeyFrom string      `json:"key_from,omitempty"` // the variable or the line of a file
	Missing string      `json:"missing,omitempty"`  // what to do to use it
}

// Providers returns all providers, in the order in which they are preferred.
func (c *Catalogue) Providers() []Provider {
	all := c.providers()
	out := make([]Provider, len(all))
	for i, p := range all {
		out[i] = p.public()
	}
	return out
}

// Provider returns a provider by its name or another name of it. The error says
// which there are.
func (c *Catalogue) Provider(name string) (Provider, error) {
	p := c.provider(name)
	if p == nil {
		return Provider{}, fmt.Errorf("there is no provider %q; there are %s", name, strings.Join(c.providerNames(), ", "))
	}
	return p.public(), nil
}

func (p *provider) public() Provider {
	return Provider{
		Name: p.name, Kind: p.kind, BaseURL: config.SafeURL(p.base), Local: p.vendor.local,
		Ready: p.ready(), KeyFrom: p.keyFrom, Missing: p.missing,
	}
}

// provider finds a provider by name or by one of its other names.
func (c *Catalogue) provider(name string) *provider {
	name = providerName(name)
	for _, p := range c.providers() {
		if p.name == name {
			return p
		}
	}
	return nil
}

// String tells no more than the names of the providers that can be used.
func (c *Catalogue) String() string {
	s := "catalogue("
	for _, p := range c.providers() {
		if p.ready() && !p.vendor.local {
			s += p.name + " "
		}
	}
	return s + offlineName + ")"
}

// GoString keeps %#v from showing more than String.
func (c *Catalogue) GoString() string { return c.String() }

// LogValue implements slog.LogValuer.
func (c *Catalogue) LogValue() slog.Value { return slog.StringValue(c.String()) }
