// What is right and what is wrong with the configuration, for `cadre doctor`.

package catalogue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
)

// Finding is one thing that was looked at. None contains a key.
type Finding struct {
	Subject string `json:"subject"`
	OK      bool   `json:"ok"`
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"` // what to do
}

// Doctor looks at the configuration, the models it leads to, the providers and
// the local servers. If it is to look deep, it makes a call that costs nothing
// to each provider that can be used: a list of its models.
func (c *Catalogue) Doctor(ctx context.Context, deep bool) []Finding {
	var locals []Local
	var wg sync.WaitGroup
	wg.Go(func() { locals = c.Discover(ctx) })
	providers := c.checkProviders(ctx, deep)
	wg.Wait()
	out := append(c.checkConfig(), c.checkTiers()...)
	out = append(out, providers...)
	return append(out, c.checkLocals(locals)...)
}

func (c *Catalogue) checkConfig() []Finding {
	const subject = "configuration"
	var out []Finding
	if e, ok := errors.AsType[*config.Error](c.configErr); ok {
		for _, p := range e.Problems {
			out = append(out, Finding{Subject: subject, Text: p.String()})
		}
	} else if c.configErr != nil {
		out = append(out, Finding{Subject: subject, Text: c.configErr.Error()})
	}
	for _, w := range c.Warnings() {
		out = append(out, Finding{Subject: subject, Text: w})
	}
	switch {
	case len(out) > 0:
	case len(c.config.Files) == 0:
		out = append(out, Finding{Subject: subject, OK: true, Text: "there is no configuration file; none is needed"})
	default:
		out = append(out, Finding{Subject: subject, OK: true, Text: strings.Join(c.config.Files, ", ")})
	}
	return out
}

// Warnings returns what is configured and has no effect, each with its file and
// line: what was noticed when the files were read, and what only shows now that
// the providers are known.
func (c *Catalogue) Warnings() []string {
	var out []string
	for _, p := range c.config.Warnings {
		out = append(out, p.String())
	}
	for _, key := range slices.Sorted(maps.Keys(c.config.Limits)) {
		name, _, _ := strings.Cut(key, "/")
		p := c.provider(name)
		switch {
		case p == nil:
			out = append(out, fmt.Sprintf("%s: limits names %q, which is no provider; there are %s", c.config.Where("limits."+key), name, strings.Join(c.providerNames(), ", ")))
		case p.name != name:
			out = append(out, fmt.Sprintf("%s: limits names %q; here it is called %s", c.config.Where("limits."+key), name, p.name))
		}
	}
	for _, x := range c.config.Providers {
		p := c.provider(x.Name)
		if len(x.Query) > 0 && (p.kind == config.KindAnthropic || p.kind == config.KindGemini) {
			out = append(out, fmt.Sprintf("%s: a query is not sent to a provider of kind %s; use headers", c.config.Where("providers."+x.Name+".query"), p.kind))
		}
	}
	return out
}

func (c *Catalogue) checkTiers() []Finding {
	var out []Finding
	for _, ch := range c.Tiers() {
		f := Finding{Subject: "model"}
		if ch.Name != "" {
			f.Subject = "tier " + ch.Name
		}
		m, err := c.resolveChoice(ch)
		if err != nil {
			f.Text = err.Error()
			out = append(out, f)
			continue
		}
		f.OK, f.Text = true, fmt.Sprintf("%s (%s)", m.Ref(), ch.Reason)
		switch {
		case m.Provider == offlineName && !ch.said:
			f.Hint = "set " + c.keyNames() + " to work with a language model"
		default:
			f.Hint = m.Caution()
		}
		out = append(out, f)
	}
	return out
}

// keyNames lists the variables that make a provider usable.
func (c *Catalogue) keyNames() string {
	var names []string
	for _, v := range vendors {
		if !v.local && v.base != "" {
			names = append(names, v.keys[0])
		}
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// checkProviders looks at all providers that can be used or that somebody
// configured.
func (c *Catalogue) checkProviders(ctx context.Context, deep bool) []Finding {
	var looked []*provider
	for _, p := range c.providers() {
		if !p.vendor.local && (p.ready() || p.said) {
			looked = append(looked, p)
		}
	}
	out := make([]Finding, len(looked))
	var wg sync.WaitGroup
	for i, p := range looked {
		wg.Go(func() { out[i] = c.checkProvider(ctx, p, deep) })
	}
	wg.Wait()
	return out
}

func (c *Catalogue) checkProvider(ctx context.Context, p *provider, deep bool) Finding {
	f := Finding{Subject: "provider " + p.name}
	if !p.ready() {
		f.Text, f.Hint = "it cannot be used", p.missing
		if p.disabled {
			f.OK, f.Text = true, "it is disabled"
		}
		return f
	}
	f.Text = "no key is configured for it"
	if p.key.Set() {
		f.Text = "its key is in " + p.keyFrom
	}
	if p.elsewhere() || p.vendor.base == "" {
		f.Text += ", its address is " + config.SafeURL(p.base)
	}
	if !deep {
		f.OK = true
		return f
	}
	n, err := c.reach(ctx, p)
	if err != nil {
		f.Text += fmt.Sprintf("; a call failed: %v", err)
		f.Hint = remedy(p, err)
		return f
	}
	f.OK = true
	f.Text += "; it answers"
	if n > 0 {
		f.Text += " and has " + models(n)
	}
	return f
}

// reach makes a call that costs nothing, and returns how many models there are
// if that was told.
func (c *Catalogue) reach(ctx context.Context, p *provider) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.checkTime)
	defer cancel()
	if p.vendor.name == "openrouter" { // its list can be read without a key
		if _, err := c.get(ctx, p, strings.TrimRight(p.base, "/")+"/key"); err != nil {
			return 0, err
		}
	}
	list, err := c.ask(ctx, p)
	if e, ok := errors.AsType[*llm.Error](err); ok && (e.Status == 404 || e.Status == 405) && (p.elsewhere() || p.vendor.base == "") {
		return 0, nil // a gateway that has no list, but is there
	}
	return len(list), err
}

// remedy says what to do about a failed call.
func remedy(p *provider, err error) string {
	switch llm.KindOf(err) {
	case llm.ErrAuth, llm.ErrPermission:
		if p.keyFrom == "" {
			return "it wants a key: " + keyHint(p)
		}
		return "the key is not accepted: correct " + p.keyFrom
	case llm.ErrQuota:
		return "the account has no credit or is over its quota"
	case llm.ErrRateLimit, llm.ErrOverloaded:
		return "the key is accepted; try again later"
	case llm.ErrNetwork, llm.ErrTimeout:
		return "check the network, the proxy (HTTPS_PROXY) and the address " + config.SafeURL(p.base)
	case llm.ErrNotFound:
		return "check the address " + config.SafeURL(p.base)
	case llm.ErrServer, llm.ErrBadRequest, llm.ErrFilter, llm.ErrOverflow:
	}
	return "check the address " + config.SafeURL(p.base) + ", or try again later"
}

func models(n int) string {
	if n == 1 {
		return "1 model"
	}
	return fmt.Sprintf("%d models", n)
}

func keyHint(p *provider) string {
	if len(p.vendor.keys) > 0 {
		return "set " + p.vendor.keys[0]
	}
	return "write its key_env under providers." + p.name
}

// checkLocals tells which local servers answer. One that does not is a fault
// only if somebody configured it.
func (c *Catalogue) checkLocals(locals []Local) []Finding {
	var out []Finding
	var silent []string
	for _, l := range locals {
		p := c.provider(l.Provider)
		f := Finding{Subject: "local server " + l.Provider}
		switch {
		case l.Err == nil && len(l.Models) > 0:
			f.OK, f.Text = true, fmt.Sprintf("%s has %s, such as %s", l.BaseURL, models(len(l.Models)), l.Models[0].Ref())
			if l.Models[0].guessed {
				f.Hint = "a model that is not loaded gets the server's own window, often 4096 tokens, which is too little here: start it with OLLAMA_CONTEXT_LENGTH=32768 or more"
			}
		case l.Err == nil:
			f.OK, f.Text = true, l.BaseURL+" answers, but has no model"
			f.Hint = "load one into it"
		case p.said:
			f.Text = fmt.Sprintf("%s does not answer: %v", l.BaseURL, l.Err)
			f.Hint = "start it, or correct its address"
		default:
			silent = append(silent, l.Provider)
			continue
		}
		out = append(out, f)
	}
	if len(silent) > 0 {
		out = append(out, Finding{Subject: "local servers", OK: true, Text: "not running: " + strings.Join(silent, ", ")})
	}
	return out
}
