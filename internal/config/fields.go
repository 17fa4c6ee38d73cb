// What each key of a file means.

package config

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// top reads a whole file.
func (r *reader) top(v value) {
	c := r.config
	known := map[string]field{
		"model":         {set: r.textInto(&c.Model)},
		"tiers":         {set: r.tiers},
		"fallback_wait": {set: r.fallbackWait},
		"limits":        {set: r.limits},
		"providers":     {set: r.providers},
		"trust":         {set: r.trust},
	}
	r.agentFields(known)
	r.fields(v, known)
}

// textInto stores a text where it belongs.
func (r *reader) textInto(to *string) func(value) {
	return func(v value) {
		if s, ok := r.text(v); ok {
			*to = s
			r.noted(v)
		}
	}
}

func (r *reader) tiers(v value) {
	t := &r.config.Tiers
	r.fields(v, map[string]field{
		"fast":    {set: r.textInto(&t.Fast)},
		"default": {set: r.textInto(&t.Default)},
		"smart":   {set: r.textInto(&t.Smart)},
	})
}

func (r *reader) fallbackWait(v value) {
	if d, ok := r.duration(v); ok {
		r.config.FallbackWait = d
		r.noted(v)
	}
}

// trust is the user's to give: a project cannot trust itself.
func (r *reader) trust(v value) {
	if !r.isUser {
		r.warnAt(v.line, "trust is passed over: a project cannot trust itself. Write it in %s", r.userFile)
		return
	}
	r.config.Trust = r.texts(v)
	r.noted(v)
}

// limits reads provider, or provider/model, each with a number or with start
// and max.
func (r *reader) limits(v value) {
	for _, e := range r.entries(v) {
		key := strings.ToLower(e.key)
		l := r.config.Limits[key]
		if !r.isMapping(e) {
			if n, ok := r.count(e); ok {
				l.Max = int(n)
			}
		} else {
			into := func(to *int) field {
				return field{set: func(v value) {
					if n, ok := r.count(v); ok {
						*to = int(n)
					}
				}}
			}
			r.fields(e, map[string]field{"start": into(&l.Start), "max": into(&l.Max)})
		}
		r.config.Limits[key] = l
		r.noted(e)
	}
}

func (r *reader) providers(v value) {
	for _, e := range r.entries(v) {
		name := strings.ToLower(e.key)
		if !isName(name) {
			r.fail(e.line, "a provider's name consists of letters, digits, and . - _ between them; choose another name for this one")
			continue
		}
		r.provider(e, r.entry(name))
		r.noted(e)
	}
}

// entry returns the provider of that name, a new one if need be. It is valid
// until the next call.
func (r *reader) entry(name string) *Provider {
	c := r.config
	i := slices.IndexFunc(c.Providers, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		i = len(c.Providers)
		c.Providers = append(c.Providers, Provider{Name: name})
	}
	return &c.Providers[i]
}

func isName(name string) bool {
	for i := range len(name) {
		b := name[i]
		letter := b >= 'a' && b <= 'z' || b >= '0' && b <= '9'
		if !letter && (i == 0 || i == len(name)-1 || !strings.ContainsRune(".-_", rune(b))) {
			return false
		}
	}
	return name != ""
}

func (r *reader) provider(v value, p *Provider) {
	key, env := 0, 0
	known := map[string]field{
		"kind":     {set: func(v value) { r.kind(v, p) }, guarded: true},
		"base_url": {set: func(v value) { r.baseURL(v, p) }, guarded: true},
		"key": {guarded: true, set: func(v value) {
			key = v.line
			r.key(v, p)
		}},
		"key_env": {guarded: true, set: func(v value) {
			env = v.line
			r.keyEnv(v, p)
		}},
		"headers": {set: func(v value) { r.pairs(v, &p.Headers, http.CanonicalHeaderKey) }, guarded: true},
		"query":   {set: func(v value) { r.pairs(v, &p.Query, func(s string) string { return s }) }, guarded: true},
		"disabled": {set: func(v value) {
			if b, ok := r.flag(v); ok {
				p.Disabled = *b
			}
		}},
		"idle": {set: func(v value) { r.idle(v, &p.Idle) }},
		"stream": {set: func(v value) {
			if b, ok := r.flag(v); ok {
				p.Stream = b
				r.noted(v)
			}
		}},
		"models": {set: func(v value) { r.models(v, p) }},
	}
	r.thinking(known, &p.Thinking)
	r.fields(v, known)
	if key > 0 && env > 0 {
		r.fail(max(key, env), "%s has both key and key_env: keep one of them", v.path)
	}
}

// idle reads one time for both, or each by its name.
func (r *reader) idle(v value, to *Idle) {
	into := func(all ...*time.Duration) field {
		return field{set: func(v value) {
			if d, ok := r.duration(v); ok {
				for _, t := range all {
					*t = d
				}
			}
		}}
	}
	if r.isMapping(v) {
		r.fields(v, map[string]field{"first": into(&to.First), "then": into(&to.Then)})
	} else {
		into(&to.First, &to.Then).set(v)
	}
	r.noted(v)
}

func (r *reader) kind(v value, p *Provider) {
	s, ok := r.text(v)
	if !ok {
		return
	}
	switch k := Kind(strings.ToLower(s)); k {
	case KindAnthropic, KindOpenAI, KindOpenAIResponses, KindGemini:
		p.Kind = k
		r.noted(v)
	default:
		r.fail(v.line, "%s must be anthropic, openai (for all servers compatible with its Chat Completions), openai-responses or gemini", v.path)
	}
}

func (r *reader) baseURL(v value, p *Provider) {
	s, ok := r.text(v)
	if !ok {
		return
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.fail(v.line, "%s must be an address such as https://example.com/v1", v.path)
		return
	}
	if u.User != nil {
		r.fail(v.line, "%s has a user or password: write them as Authorization under headers instead", v.path)
		return
	}
	if u.RawQuery != "" {
		r.fail(v.line, "%s has a query: write its parts under query instead", v.path)
		return
	}
	p.BaseURL = strings.TrimRight(s, "/")
	r.noted(v)
}

// key and keyEnv replace each other, so that a project's file need not undo
// what the user's says.
func (r *reader) key(v value, p *Provider) {
	s, ok := r.secret(v)
	if !ok {
		return
	}
	p.Key, p.KeyEnv = s, ""
	r.noted(v)
	if n := r.plain(v.node); n != nil && !strings.Contains(n.GetToken().Value, "${") {
		r.plainKey = v.line
	}
}

func (r *reader) keyEnv(v value, p *Provider) {
	s, ok := r.text(v)
	if !ok {
		return
	}
	name := strings.TrimPrefix(s, "$")
	if !isVariable(name) {
		r.fail(v.line, "%s must be the name of an environment variable; a key itself belongs under key", v.path)
		return
	}
	p.KeyEnv, p.Key = name, Secret{}
	r.noted(v)
}

// pairs reads names and values; a later file's value replaces an earlier one's.
func (r *reader) pairs(v value, to *[]Pair, canonical func(string) string) {
	r.noted(v)
	for _, e := range r.entries(v) {
		s, ok := r.secret(e)
		if !ok {
			continue
		}
		name := canonical(e.key)
		if strings.ContainsAny(name, " \t\r\n:") {
			r.fail(e.line, "%s: the name of a header or of a part of a query has no spaces and no colon", v.path)
			continue
		}
		*to = slices.DeleteFunc(*to, func(p Pair) bool { return p.Name == name })
		*to = append(*to, Pair{Name: name, Value: s})
	}
}

// models reads models by id, or a plain list of ids.
func (r *reader) models(v value, p *Provider) {
	if !r.isMapping(v) {
		for _, id := range r.texts(v) {
			p.model(id)
		}
		return
	}
	for _, e := range r.entries(v) {
		r.model(e, p.model(e.key))
		r.noted(e)
	}
}

// isMapping tells a mapping, or nothing at all, from a single value or a list.
func (r *reader) isMapping(v value) bool {
	switch r.plain(v.node).(type) {
	case *ast.MappingNode, *ast.MappingValueNode, *ast.NullNode:
		return true
	}
	return false
}

// model returns the model of that id, a new one if need be. It is valid until
// the next call.
func (p *Provider) model(id string) *Model {
	i := slices.IndexFunc(p.Models, func(m Model) bool { return strings.EqualFold(m.ID, id) })
	if i < 0 {
		i = len(p.Models)
		p.Models = append(p.Models, Model{ID: id})
	}
	return &p.Models[i]
}

func (r *reader) model(v value, m *Model) {
	tokens := func(to *int64) field {
		return field{set: func(v value) {
			if n, ok := r.count(v); ok {
				*to = n
			}
		}}
	}
	ability := func(to **bool) field {
		return field{set: func(v value) {
			if b, ok := r.flag(v); ok {
				*to = b
			}
		}}
	}
	known := map[string]field{
		"name":       {set: r.textInto(&m.Name)},
		"window":     tokens(&m.Window),
		"max_output": tokens(&m.MaxOutput),
		"price":      {set: func(v value) { r.price(v, &m.Price) }, guarded: true},
		"images":     ability(&m.Images),
		"reasoning":  ability(&m.Reasoning),
		"tools":      ability(&m.Tools),
	}
	r.thinking(known, &m.Thinking)
	r.fields(v, known)
}

// thinking adds the keys that say how much models are to think. An effort and
// a number of tokens replace each other.
func (r *reader) thinking(known map[string]field, t *Thinking) {
	known["effort"] = field{set: func(v value) {
		s, ok := r.text(v)
		if !ok {
			return
		}
		if s = strings.ToLower(s); !slices.Contains(Efforts, s) {
			r.fail(v.line, "%s must be one of %s", v.path, strings.Join(Efforts, ", "))
			return
		}
		t.Effort, t.Tokens = s, 0
		r.noted(v)
	}}
	known["thinking_tokens"] = field{set: func(v value) {
		if n, ok := r.count(v); ok {
			t.Effort, t.Tokens = "", n
			r.noted(v)
		}
	}}
	known["show_thinking"] = field{set: func(v value) {
		if b, ok := r.flag(v); ok {
			t.Show = b
			r.noted(v)
		}
	}}
}

func (r *reader) price(v value, p *Price) {
	known := r.rates(&p.Input, &p.Output, &p.CacheRead, &p.CacheWrite)
	known["long"] = field{set: func(v value) { r.longPrice(v, p) }}
	r.fields(v, known)
	r.noted(v)
}

// rates are the keys of a price.
func (r *reader) rates(input, output, cacheRead, cacheWrite **int64) map[string]field {
	into := func(to **int64) field {
		return field{set: func(v value) {
			if n, ok := r.dollars(v); ok {
				*to = n
			}
		}}
	}
	return map[string]field{
		"input": into(input), "output": into(output), "cache_read": into(cacheRead), "cache_write": into(cacheWrite),
	}
}

// longPrice reads what requests with much input cost, or that they cost what
// others do.
func (r *reader) longPrice(v value, p *Price) {
	if !r.isMapping(v) {
		if s, ok := r.text(v); ok && strings.EqualFold(s, "none") {
			p.Long = &LongPrice{}
		} else if ok {
			r.fail(v.line, "%s must be none, or have the keys above, input and output", v.path)
		}
		return
	}
	l := &LongPrice{}
	known := r.rates(&l.Input, &l.Output, &l.CacheRead, &l.CacheWrite)
	known["above"] = field{set: func(v value) {
		if n, ok := r.count(v); ok {
			l.Above = n
		}
	}}
	r.fields(v, known)
	if l.Above == 0 || l.Input == nil || l.Output == nil {
		r.fail(v.line, "%s must say above how many tokens of input it counts, and the price of input and output there", v.path)
		return
	}
	p.Long = l
}
