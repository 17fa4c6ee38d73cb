// A provider as it is to be used: what is built in, overlaid by the environment
// and by the configuration.

package catalogue

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/config"
)

// provider never changes once it is settled.
type provider struct {
	name     string
	vendor   vendor // what is built in about the server behind it; zero if nothing is
	kind     config.Kind
	base     string // its address
	key      config.Secret
	bearer   bool   // the key is a token, for Anthropic's format
	keyFrom  string // for people: a variable, or a place in a file
	header   []config.Pair
	query    []config.Pair
	declared []config.Model
	thinking config.Thinking
	idle     config.Idle
	whole    bool // replies come in one piece
	said     bool // somebody configured it, if only by a variable
	disabled bool
	missing  string // what to do before it can be used; empty if nothing
	classic  bool   // Azure's older addresses, which contain the model
}

// ready tells whether the provider can be used.
func (p *provider) ready() bool { return p.missing == "" }

// elsewhere tells that another server stands in for the vendor's own.
func (p *provider) elsewhere() bool {
	return p.vendor.base != "" && !p.vendor.local && !p.vendor.at(p.base)
}

// secrets are all the texts that must not be shown.
func (p *provider) secrets() []string {
	var out []string
	add := func(s config.Secret) {
		text := s.Reveal()
		_, token, _ := strings.Cut(text, " ") // Bearer …
		for _, x := range []string{token, text} {
			// Shorter values are no secrets, and would tear holes into any text.
			if len(x) >= 6 {
				out = append(out, x)
			}
		}
	}
	add(p.key)
	for _, x := range slices.Concat(p.header, p.query) {
		if x.Name != apiVersion {
			add(x.Value)
		}
	}
	return out
}

// keys are those secrets that are surely keys: a reply may well contain the
// name of a team that goes along in a header, or the word that a server without
// keys is given for one.
func (p *provider) keys() []string {
	const shortest = 12
	return slices.DeleteFunc(p.secrets(), func(s string) bool {
		return len(s) < shortest || strings.ContainsAny(s, " \t") || s != p.key.Reveal() && !strings.ContainsAny(s, "0123456789")
	})
}

// settle works out all providers: the built-in ones in their order, then those
// that only the configuration names, in its order. The list is asked for a
// provider that is named there and not built in.
func settle(c *config.Config, env func(string) string, list func() *library) []*provider {
	said := map[string]config.Provider{}
	var others []config.Provider
	for _, x := range c.Providers {
		name := providerName(x.Name)
		if v := vendorOf(name); v.name != "" {
			said[name] = x
		} else {
			others = append(others, x)
		}
	}
	s := settler{config: c, env: env, list: list}
	out := make([]*provider, 0, len(vendors)+len(others))
	for _, v := range vendors {
		x, ok := said[v.name]
		out = append(out, s.builtIn(v, x, ok))
	}
	for _, x := range others {
		out = append(out, s.custom(x))
	}
	return out
}

func vendorOf(name string) vendor {
	for _, v := range vendors {
		if v.name == name {
			return v
		}
	}
	return vendor{}
}

type settler struct {
	config *config.Config
	env    func(string) string
	list   func() *library
}

// first returns the first of the variables that is set, and its value.
func (s settler) first(names []string) (name, value string) {
	for _, n := range names {
		if v := strings.TrimSpace(s.env(n)); v != "" {
			return n, v
		}
	}
	return "", ""
}

// overlay makes a provider of what the configuration says alone.
func (s settler) overlay(name string, v vendor, x config.Provider) *provider {
	return &provider{
		name: name, vendor: v, kind: x.Kind, base: x.BaseURL,
		header: x.Headers, query: x.Query, declared: x.Models, thinking: x.Thinking, disabled: x.Disabled,
		idle: x.Idle, whole: x.Stream != nil && !*x.Stream,
	}
}

func (s settler) builtIn(v vendor, x config.Provider, said bool) *provider {
	p := s.overlay(v.name, v, x)
	p.said = said
	s.takeKey(p, x)
	from := ""
	if p.base == "" {
		from = s.takeBase(p)
	}
	switch {
	case p.kind != "":
	case v.name == "openai" && !v.at(p.base):
		// Gateways that take OpenAI's place rarely know its newer format.
		p.kind = config.KindOpenAI
	default:
		p.kind = v.kind
	}
	if v.name == "azure" {
		s.azure(p)
	}
	switch {
	case x.Disabled:
		p.missing = fmt.Sprintf("%s is disabled: remove disabled from providers.%s in the configuration", v.name, v.name)
	case p.missing != "":
	case p.base == "":
		p.missing = fmt.Sprintf("set %s to its address and %s to its key", v.bases[0], v.keys[0])
	case v.local || p.key.Set() || len(p.header) > 0:
	case x.BaseURL != "" && hostOf(p.base) != hostOf(v.base), from != "" && isLoopback(p.base):
		// A gateway of one's own may want no key.
	default:
		p.missing = "set " + v.keys[0]
	}
	return p
}

// custom settles a provider that is not built in. If it is a known vendor under
// another name, its address tells.
func (s settler) custom(x config.Provider) *provider {
	p := s.overlay(x.Name, vendor{name: x.Name, listed: x.Name}, x)
	p.said = true
	if p.base == "" {
		if l, ok := s.list().byID[x.Name]; ok && l.base != "" {
			p.base = l.base
			if p.kind == "" {
				p.kind = l.kind
			}
		}
	}
	if v := vendorAt(p.base); v.name != "" {
		v.keys, v.bearers = nil, nil // they belong to the provider of that name
		p.vendor = v
		if p.kind == "" {
			p.kind = v.kind
		}
	}
	if p.kind == "" {
		p.kind = config.KindOpenAI
	}
	s.takeKey(p, x)
	if p.vendor.name == "azure" {
		s.azure(p)
	}
	switch {
	case x.Disabled:
		p.missing = fmt.Sprintf("%s is disabled: remove disabled from providers.%s in the configuration", x.Name, x.Name)
	case p.missing != "":
	case p.base == "":
		p.missing = fmt.Sprintf("write its base_url under providers.%s in the configuration", x.Name)
	case p.vendor.name != x.Name && !p.key.Set() && len(p.header) == 0:
		p.missing = fmt.Sprintf("write its key_env under providers.%s in the configuration, or set %s_API_KEY", x.Name, variable(x.Name))
	}
	return p
}

// takeKey finds the key: in the configuration, else in the vendor's variables.
func (s settler) takeKey(p *provider, x config.Provider) {
	path := "providers." + x.Name
	switch {
	case x.Key.Set():
		p.key, p.keyFrom = x.Key, s.config.Where(path+".key")
	case x.KeyEnv != "":
		p.key, p.keyFrom = config.NewSecret(strings.TrimSpace(s.env(x.KeyEnv))), x.KeyEnv
		if !p.key.Set() {
			p.missing = fmt.Sprintf("set %s, which key_env names at %s", x.KeyEnv, s.config.Where(path+".key_env"))
		}
	default:
		name, value := s.first(p.vendor.bearers)
		p.bearer = value != ""
		if value == "" {
			keys := p.vendor.keys
			if keys == nil {
				keys = []string{variable(p.name) + "_API_KEY"}
			}
			name, value = s.first(keys)
		}
		p.key, p.keyFrom = config.NewSecret(value), name
		p.said = p.said || value != ""
	}
}

// variable is a provider's name as part of a variable's.
func variable(name string) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToUpper(name))
}

// takeBase finds the address in the vendor's variables, else takes its own. It
// returns the variable.
func (s settler) takeBase(p *provider) string {
	from, value := s.first(p.vendor.bases)
	if value == "" {
		p.base = p.vendor.base
		return ""
	}
	p.said = true
	if p.name == "ollama" {
		value = ollamaAddress(value)
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
		p.missing = fmt.Sprintf("correct %s: it must be an address such as https://example.com/v1, without user, password and query", from)
		p.base = p.vendor.base
		return from
	}
	p.base = strings.TrimRight(value, "/")
	if p.name == "groq" && strings.Trim(u.Path, "/") == "" { // its own clients are told the host only
		p.base += "/openai/v1"
	}
	return from
}

// apiVersion is the part of a query that Azure wants.
const apiVersion = "api-version"

// azureHosts are the endings of addresses that Azure gives its customers.
var azureHosts = []string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"}

// azure completes the address of a resource. Without an api-version it speaks
// the current interface, whose addresses are the same as OpenAI's; with a dated
// one the older, in which the model is a part of the address.
func (s settler) azure(p *provider) {
	if p.base == "" {
		return
	}
	version := ""
	for _, q := range p.query {
		if q.Name == apiVersion {
			version = q.Value.Reveal()
		}
	}
	if version == "" {
		if _, version = s.first([]string{"AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION", "AZURE_API_VERSION"}); version != "" {
			p.query = append(p.query, config.Pair{Name: apiVersion, Value: config.NewSecret(version)})
		}
	}
	p.classic = version != "" && version[0] >= '0' && version[0] <= '9'
	root, _, _ := strings.Cut(p.base, "/openai")
	if p.classic {
		p.base = root + "/openai"
	} else if !strings.Contains(p.base, "/v1") {
		p.base = root + "/openai/v1"
	}
}

// ollamaAddress reads OLLAMA_HOST as Ollama does, which takes a host, a port or
// both, and means by 0.0.0.0 where to listen.
func ollamaAddress(host string) string {
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, port, err := net.SplitHostPort(rest)
	if err != nil {
		name, port = strings.Trim(rest, "[]"), "11434"
		if ok {
			port = map[string]string{"http": "80", "https": "443"}[scheme]
		}
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), "v1")
	return strings.TrimRight(scheme+"://"+net.JoinHostPort(name, port)+"/"+path, "/") + "/v1"
}

// vendorAt finds a vendor by an address.
func vendorAt(base string) vendor {
	host := hostOf(base)
	if host == "" {
		return vendor{}
	}
	for _, v := range vendors {
		if !v.local && hostOf(v.base) == host {
			return v
		}
	}
	for _, end := range azureHosts {
		if strings.HasSuffix(host, end) {
			return vendorOf("azure")
		}
	}
	return vendor{}
}

// at tells whether an address is the vendor's own, that of a region among them,
// such as eu.api.openai.com.
func (v vendor) at(address string) bool {
	host, own := hostOf(address), hostOf(v.base)
	return own != "" && (host == own || strings.HasSuffix(host, "."+own))
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

func isLoopback(address string) bool {
	host := hostOf(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
