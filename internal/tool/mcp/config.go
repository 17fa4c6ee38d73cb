// The configuration of servers: the JSON that MCP clients share, in the
// dialects of the well-known ones.

package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/spelling"
)

// Transport is how a server is spoken to.
type Transport string

// The transports. SSE is the one from before streamable HTTP.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"
)

// ServerConfig is what is configured about one server. Arguments and address
// can hold secrets too, so that it prints as its transport and its program or
// host alone.
type ServerConfig struct {
	Transport Transport
	Disabled  bool

	Command string // for stdio, with Args, Env and Dir
	Args    []string
	Env     map[string]config.Secret
	Dir     string // where it starts; relative to Options.Dir, which is also the default

	URL     string // for http and sse, with Headers
	Headers map[string]config.Secret

	// Trust says that the server's word is believed when it calls a tool
	// read-only: such a tool then runs unasked, in parallel, and again after a
	// crash.
	Trust   bool
	Timeout time.Duration // of a call without news from the server; 0: a minute
	Include []string      // the tools to offer, by the names the server gives them; none: all
	Exclude []string      // the tools not to offer

	Sandbox SandboxConfig

	secrets []string // values that came from the environment, never to be shown
}

// SandboxConfig loosens the sandbox of a stdio server. By default it may write
// its folder and has no network.
type SandboxConfig struct {
	Off     bool     // run it as it is
	Network bool     // let it use the network
	Write   []string // further folders that it may write
}

// String names the server without anything that could be secret.
func (c ServerConfig) String() string {
	if c.Transport == Stdio {
		return "stdio " + filepath.Base(c.Command)
	}
	return string(c.Transport) + " " + c.host()
}

// GoString implements fmt.GoStringer.
func (c ServerConfig) GoString() string { return c.String() }

// MarshalText keeps secrets out of JSON.
func (c ServerConfig) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// LogValue implements slog.LogValuer.
func (c ServerConfig) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c ServerConfig) host() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// Warning is something in a configuration that was passed over.
type Warning struct {
	Origin string // the file
	Server string // empty: it concerns the whole file
	Text   string
}

func (w Warning) String() string {
	if w.Server == "" {
		return w.Origin + ": " + w.Text
	}
	return fmt.Sprintf("%s: MCP server %q: %s", w.Origin, w.Server, w.Text)
}

// ParseServers reads the servers in data, which is an object with mcpServers
// (Claude, Cursor, Gemini, Cline and most others), servers (VS Code) or mcp
// (opencode). Other keys beside it are not looked at: it may be part of a
// larger file. origin names the file in warnings and errors.
//
// ${NAME}, ${env:NAME} and ${NAME:-otherwise} stand for what env says, in
// command, arguments, environment, folder, address and headers; a value of
// environment or headers may also be $NAME as a whole.
//
// A server that cannot be used is left out with a warning and hides no other.
// A configuration that came with a project should not decide whom to trust:
// whoever calls this clears Trust and Sandbox where that is so.
func ParseServers(data []byte, origin string, env func(string) string) (map[string]ServerConfig, []Warning, error) {
	var file struct {
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
		Servers    map[string]json.RawMessage `json:"servers"`
		MCP        map[string]json.RawMessage `json:"mcp"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nil, fmt.Errorf("reading the MCP servers of %s%s: %w", origin, lineOf(data, err), err)
	}
	servers := map[string]ServerConfig{}
	var warnings []Warning
	for _, group := range []map[string]json.RawMessage{file.MCPServers, file.Servers, file.MCP} {
		for _, name := range slices.Sorted(maps.Keys(group)) {
			p := parser{origin: origin, server: name, env: env}
			if _, ok := servers[name]; ok {
				p.warn("is configured twice; the first counts")
			} else if c, err := p.parse(group[name]); err != nil {
				p.warn("left out: %v", err)
			} else {
				servers[name] = c
			}
			warnings = append(warnings, p.warnings...)
		}
	}
	return servers, warnings, nil
}

// lineOf says where in data a syntax error is.
func lineOf(data []byte, err error) string {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return ""
	}
	upTo := data[:min(int(syntax.Offset), len(data))]
	return fmt.Sprintf(", line %d", 1+bytes.Count(upTo, []byte("\n")))
}

// parser reads one server.
type parser struct {
	origin   string
	server   string
	env      func(string) string
	secrets  []string
	warnings []Warning
}

func (p *parser) warn(format string, args ...any) {
	p.warnings = append(p.warnings, Warning{p.origin, p.server, fmt.Sprintf(format, args...)})
}

// entry is a server as it is written, in all dialects at once.
type entry struct {
	Type        string            `json:"type"`
	Transport   string            `json:"transport"`
	Command     words             `json:"command"` // opencode has program and arguments in one list
	Args        []string          `json:"args"`
	Env         map[string]scalar `json:"env"`
	Environment map[string]scalar `json:"environment"` // opencode
	Cwd         string            `json:"cwd"`
	URL         string            `json:"url"`
	HTTPURL     string            `json:"httpUrl"`   // Gemini: url is SSE there
	ServerURL   string            `json:"serverUrl"` // Windsurf
	Headers     map[string]scalar `json:"headers"`
	Disabled    bool              `json:"disabled"`
	Enabled     *bool             `json:"enabled"` // opencode
	Timeout     patience          `json:"timeout"`
	Trust       bool              `json:"trust"`
	Include     []string          `json:"includeTools"` // Gemini
	Exclude     []string          `json:"excludeTools"`
	Sandbox     sandboxEntry      `json:"sandbox"`
	Description string            `json:"description"`
	AlwaysAllow json.RawMessage   `json:"alwaysAllow"` // Roo
	AutoApprove json.RawMessage   `json:"autoApprove"` // Cline
}

// keys are those of an entry.
func keys() []string {
	var out []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[entry]()) {
		out = append(out, f.Tag.Get("json"))
	}
	return out
}

func (p *parser) parse(raw json.RawMessage) (ServerConfig, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil || given == nil {
		return ServerConfig{}, errors.New("it must be an object")
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(keys(), key) {
			p.warn("unknown key %q%s; it is passed over", key, meant(key))
		}
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return ServerConfig{}, err
	}
	if e.AlwaysAllow != nil || e.AutoApprove != nil {
		p.warn("what may run unasked is for the policy to say; alwaysAllow and autoApprove are passed over")
	}
	c := ServerConfig{
		Disabled: e.Disabled || e.Enabled != nil && !*e.Enabled,
		Trust:    e.Trust, Timeout: time.Duration(e.Timeout), Include: e.Include, Exclude: e.Exclude,
		Sandbox: SandboxConfig{Off: e.Sandbox.off, Network: e.Sandbox.Network != nil && *e.Sandbox.Network, Write: e.Sandbox.Write},
	}
	kind := strings.ToLower(e.Type + e.Transport)
	var err error
	switch {
	case len(e.Command) > 0 && e.URL+e.HTTPURL+e.ServerURL != "":
		return c, errors.New("it has both a command and an address; give one of them")
	case len(e.Command) > 0:
		err = p.local(&c, e, kind)
	default:
		err = p.remote(&c, e, kind)
	}
	c.secrets = p.secrets
	return c, err
}

func (p *parser) local(c *ServerConfig, e entry, kind string) error {
	if kind != "" && kind != "stdio" && kind != "local" {
		return fmt.Errorf("a server with a command is of type stdio, not %q", kind)
	}
	c.Transport = Stdio
	argv := append(slices.Clone([]string(e.Command)), e.Args...)
	for i, arg := range argv {
		argv[i] = p.expand(arg)
	}
	if argv[0] == "" {
		return errors.New("its command is empty")
	}
	c.Command, c.Args, c.Dir = argv[0], argv[1:], p.expand(e.Cwd)
	c.Env = p.values(e.Env)
	maps.Copy(c.Env, p.values(e.Environment))
	if e.Headers != nil {
		p.warn("headers mean nothing for a server with a command; they are passed over")
	}
	return nil
}

func (p *parser) remote(c *ServerConfig, e entry, kind string) error {
	address := e.URL
	switch kind {
	case "http", "streamable-http", "streamablehttp", "streamable_http", "remote", "":
		c.Transport = HTTP
	case "sse":
		c.Transport = SSE
	default:
		return fmt.Errorf("unknown type %q; known are stdio, http and sse", kind)
	}
	if address == "" {
		address = e.HTTPURL + e.ServerURL
	}
	if address == "" {
		return errors.New("it has neither a command nor a url")
	}
	c.URL = p.expand(address)
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("its url must begin with http:// or https:// and a host") // without the address: it may hold a secret
	}
	c.Headers = p.values(e.Headers)
	if len(e.Args) > 0 || e.Env != nil || e.Environment != nil || e.Cwd != "" {
		p.warn("args, env and cwd mean nothing for a server with a url; they are passed over")
	}
	return nil
}

// values expands the values of environment or headers.
func (p *parser) values(in map[string]scalar) map[string]config.Secret {
	out := make(map[string]config.Secret, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		value := string(in[name])
		if bare, ok := strings.CutPrefix(value, "$"); ok && isVariable(bare) {
			value = "${" + bare + "}"
		}
		out[name] = config.NewSecret(p.expand(value))
	}
	return out
}

// expand replaces references to variables. $${ stands for a plain ${.
func (p *parser) expand(text string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			return b.String() + text
		}
		end := strings.IndexByte(text[at:], '}')
		switch {
		case at > 0 && text[at-1] == '$':
			b.WriteString(text[:at-1] + "${")
			text = text[at+2:]
		case end < 0:
			return b.String() + text
		default:
			b.WriteString(text[:at] + p.lookUp(text[at:at+end+1]))
			text = text[at+end+1:]
		}
	}
}

// lookUp returns what one reference, in its braces, stands for.
func (p *parser) lookUp(reference string) string {
	inside := strings.TrimSuffix(strings.TrimPrefix(reference, "${"), "}")
	name, otherwise, hasOther := strings.Cut(strings.TrimPrefix(inside, "env:"), ":-")
	if !isVariable(name) {
		p.warn("%s is not a variable of the environment; it stays as it is", reference)
		return reference
	}
	value := p.env(name)
	switch {
	case value != "":
		p.secrets = append(p.secrets, value)
	case hasOther:
		return otherwise
	default:
		p.warn("the environment variable %s is not set", name)
	}
	return value
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// meant guesses which key was meant.
func meant(key string) string {
	best, distance := "", 3
	for _, k := range keys() {
		if d := spelling.Distance(strings.ToLower(key), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}
