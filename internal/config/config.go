// Package config reads what a person has configured: providers of models with
// their keys, the models behind the tiers, limits of the scheduler.
//
// The files are YAML. Role files already are, so that the binary holds one
// parser and a person learns one format; comments are allowed, every error has
// a line, and JSON can be pasted in as it is. There are two: config.yaml in the
// user's folder, and .cadre/config.yaml of a project, which overrides it key by
// key. A project may come from anybody, so that what decides where keys and
// prompts are sent, or what counts against a budget, is taken from it only if
// the user's file trusts the project.
//
// All that can be said, nothing of which must be:
//
//	model: anthropic/claude-sonnet-5   # for a chat that names none
//	tiers:                             # what fast, default and smart stand for
//	  fast: groq/qwen/qwen3-32b
//	  smart: opus@high                 # behind @ how much it is to think
//	fallback_wait: 20s                 # before a call turns to its next model
//	limits:                            # calls under way at once
//	  anthropic: 64
//	  anthropic/claude-opus-4-8: {start: 4, max: 8}
//	providers:
//	  anthropic:
//	    key_env: WORK_ANTHROPIC_KEY    # or key: ${NAME}, or key: with the key itself
//	    effort: medium                 # none, minimal, low, medium, high, xhigh, max
//	    show_thinking: true            # ask for what models thought, or a summary of it
//	  openai:
//	    disabled: true                 # there is a key, but not for this
//	  azure:
//	    base_url: https://mine.openai.azure.com
//	    query: {api-version: preview}
//	    models: [my-deployment]
//	  gateway:                         # any name for any compatible server
//	    kind: openai                   # anthropic, openai, openai-responses, gemini
//	    base_url: https://llm.example.com/v1
//	    headers: {X-Team: "${TEAM:-core}"}
//	    idle: {first: 10m, then: 60s}  # how long it may be silent before and within an answer; or one time for both
//	    stream: false                  # answers come in one piece: some gateways cannot stream
//	    models:
//	      big:
//	        name: The big one
//	        window: 200k
//	        max_output: 32k
//	        price:                     # dollars per million tokens
//	          input: 1.25
//	          output: 10
//	          cache_read: 0.125
//	          cache_write: 1.25
//	          long: {above: 200k, input: 2.5, output: 15} # for requests of more input; none: there is no such price
//	        effort: low                # likewise for one model
//	        thinking_tokens: 8k        # instead of an effort, in tokens
//	        images: true
//	        reasoning: true
//	        tools: true
//	permissions:
//	  mode: ask                        # read-only, ask, edits, trusted
//	  allow: [Bash(go test *), Edit(docs/**), web_fetch(*.example.com)]
//	  ask: [Bash(git push *)]
//	  deny: [Read(secrets/**)]
//	  timeout: 1h                      # an approval that nobody answers by then counts as denied
//	questions:
//	  confidence: 0.7                  # from which the orchestrator may answer for you
//	  same_limit: 2                    # how often it may answer the same question
//	  timeout: 24h                     # then the agent goes on without an answer
//	budget: {tokens: 2M, cost: 5, ask: 30m} # for each message; ask: how long you have to extend it
//	agents: {max: 2000, parallel: 64, depth: 2} # in one chat
//	web:
//	  allow: [localhost:3000]          # private addresses that may be fetched
//	  search: {provider: brave, key_env: BRAVE_API_KEY} # or tavily, or searxng with base_url
//	sandbox: {hide: [~/letters]}       # what commands must not read, beside the usual keys
//	mcpServers: {}                     # in the usual JSON shape; or in mcp.json beside this file
//	trust: [~/work]                    # in the user's file only: projects that may set all of this
//
// It is a leaf: it knows neither models nor their catalogue, only what is
// written about them. No text made here contains a key.
package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
)

// Kind is the wire format that a provider speaks.
type Kind string

// The kinds of provider.
const (
	KindAnthropic       Kind = "anthropic"
	KindOpenAI          Kind = "openai" // Chat Completions
	KindOpenAIResponses Kind = "openai-responses"
	KindGemini          Kind = "gemini"
)

// Config is everything configured. The zero value is a configuration in which
// nothing is said.
type Config struct {
	Model        string // the model of a chat that names none
	Tiers        Tiers
	FallbackWait time.Duration    // how long a call waits for its model if it has another to turn to; 0: not said
	Limits       map[string]Limit // by provider, or by provider/model; see Limit
	Providers    []Provider       // in the order of the files
	Trust        []string         // folders whose project files are trusted
	Agents       Agents

	Files    []string  // those that were read, in the order of reading
	Warnings []Problem // what was passed over

	where map[string]string
}

// Tiers are the models behind the names fast, default and smart. Empty: not
// said.
type Tiers struct {
	Fast, Default, Smart string
}

// Limit bounds the calls that are under way at the same time: Start at first,
// Max ever. 0: not said.
type Limit struct {
	Start, Max int
}

// Provider is what is said about one provider. A field that is empty leaves
// what is known about the provider without the file.
type Provider struct {
	Name     string // lower case
	Kind     Kind
	BaseURL  string
	Key      Secret
	KeyEnv   string // the variable that holds the key
	Headers  []Pair // added to each request
	Query    []Pair // added to each address
	Disabled bool   // do not use it, even though there is a key
	Idle     Idle
	Stream   *bool // false: replies are asked for in one piece
	Thinking Thinking
	Models   []Model
}

// Idle is how long a provider may be silent: before it says anything, and then.
// 0: not said.
type Idle struct {
	First, Then time.Duration
}

// Pair is a name and a value, which may be secret.
type Pair struct {
	Name  string
	Value Secret
}

// Model is what is said about one model of a provider. A field that is empty
// leaves what is known about the model without the file.
type Model struct {
	ID        string // as the provider knows it
	Name      string // for people
	Window    int64  // tokens
	MaxOutput int64  // tokens
	Price     Price
	Thinking  Thinking
	Images    *bool
	Reasoning *bool
	Tools     *bool
}

// Thinking is what is said about how much models are to think: an effort or a
// number of tokens, and whether they are to tell. Empty: not said.
type Thinking struct {
	Effort string // one of Efforts
	Tokens int64
	Show   *bool
}

// Efforts are the words for how much a model is to think.
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Price is what is said about a price, in millionths of a dollar per million
// tokens.
type Price struct {
	Input, Output, CacheRead, CacheWrite *int64
	Long                                 *LongPrice
}

// LongPrice is what is said about the price of requests with more input than
// Above tokens; 0: there is no such price.
type LongPrice struct {
	Above                                int64
	Input, Output, CacheRead, CacheWrite *int64
}

// Said tells whether the price is mentioned at all.
func (p Price) Said() bool { return p != Price{} }

// Provider returns what is said about a provider, by its name in lower case.
func (c *Config) Provider(name string) (Provider, bool) {
	if c == nil {
		return Provider{}, false
	}
	for _, p := range c.Providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}

// Limit returns the limit for a model: what is said about the model, and for
// the rest what is said about its provider.
func (c *Config) Limit(provider, model string) Limit {
	if c == nil {
		return Limit{}
	}
	provider = strings.ToLower(provider)
	l, of := c.Limits[provider+"/"+strings.ToLower(model)], c.Limits[provider]
	if l.Max == 0 {
		l.Max = of.Max
	}
	if l.Start == 0 {
		l.Start = of.Start
	}
	if l.Max > 0 {
		l.Start = min(l.Start, l.Max)
	}
	return l
}

// Where tells the file and line of a setting, as in "tiers.fast" or
// "providers.azure.base_url"; empty if it is not said.
func (c *Config) Where(path string) string {
	if c == nil {
		return ""
	}
	return c.where[path]
}

// Problem is something wrong in a file. Its text contains no key.
type Problem struct {
	File string
	Line int // 0: the file as a whole
	Text string
}

// String gives the problem in the form that editors can jump to.
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Error says that files are broken: all that is wrong in them, in order.
type Error struct {
	Problems []Problem
}

// Error implements error.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return "reading the configuration: " + strings.Join(lines, "\n")
}

// String describes the configuration without its keys.
func (c *Config) String() string {
	if c == nil {
		return "no configuration"
	}
	names := make([]string, len(c.Providers))
	for i, p := range c.Providers {
		names[i] = p.String()
	}
	return fmt.Sprintf("config{files: %s; model: %s; tiers: %s, %s, %s; providers: %s}",
		strings.Join(c.Files, ", "), c.Model, c.Tiers.Fast, c.Tiers.Default, c.Tiers.Smart, strings.Join(names, ", "))
}

// LogValue implements slog.LogValuer.
func (c *Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// String describes the provider without its keys.
func (p Provider) String() string {
	key := "no key"
	switch {
	case p.KeyEnv != "":
		key = "key in $" + p.KeyEnv
	case p.Key.Set():
		key = "key " + p.Key.String()
	}
	return fmt.Sprintf("%s(%s %s, %s, %d headers, %d models)", p.Name, p.Kind, SafeURL(p.BaseURL), key, len(p.Headers), len(p.Models))
}

// GoString keeps %#v from showing more than String.
func (p Provider) GoString() string { return p.String() }

// LogValue implements slog.LogValuer.
func (p Provider) LogValue() slog.Value { return slog.StringValue(p.String()) }

// SafeURL is an address without what may be secret in it: user, password and
// query.
func SafeURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(an address that cannot be read)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
