// Model servers on this machine, found by asking where they usually listen.

package catalogue

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
)

// Local is a local server that was asked for its models.
type Local struct {
	Provider string
	BaseURL  string
	Models   []Model
	Err      error // why there are none; nil if it answered
}

// localSwitch is the variable that keeps servers from being looked for that
// nobody has configured.
const localSwitch = "CADRE_LOCAL"

// Discover asks all local servers at once for their models, each for a moment
// only. What they have can be found by its name from then on.
func (c *Catalogue) Discover(ctx context.Context) []Local {
	return c.probe(ctx, c.locals(), c.probeTime)
}

func (c *Catalogue) probe(ctx context.Context, locals []*provider, patience time.Duration) []Local {
	out := make([]Local, len(locals))
	var wg sync.WaitGroup
	for i, p := range locals {
		wg.Go(func() { out[i] = c.probeOne(ctx, p, patience) })
	}
	wg.Wait()
	return out
}

// probeOne asks one local server. That it is there is told within a moment; one
// that is has longer to tell of its models.
func (c *Catalogue) probeOne(ctx context.Context, p *provider, patience time.Duration) Local {
	list, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	models, err := c.ask(list, p)
	if err == nil {
		more, cancel := context.WithTimeout(ctx, max(patience, inspectTime))
		defer cancel()
		models = c.inspect(more, p, models)
		c.remember(p, models)
	}
	return Local{Provider: p.name, BaseURL: config.SafeURL(p.base), Models: models, Err: err}
}

// remember keeps what a local server has.
func (c *Catalogue) remember(p *provider, models []Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.local[p.name] = models
}

// locals returns the local servers that may be asked.
func (c *Catalogue) locals() []*provider {
	off := strings.EqualFold(c.env(localSwitch), "off")
	var out []*provider
	for _, p := range c.providers() {
		if p.vendor.local && p.ready() && (p.said || !off) {
			out = append(out, p)
		}
	}
	return out
}

// lookAround returns the model that is used if nothing is configured, one of a
// server that runs on this machine; an empty one if there is none. Servers that
// somebody has configured come first, and of their models those that can use
// tools and are loaded.
func (c *Catalogue) lookAround() Model {
	around := slices.DeleteFunc(c.locals(), func(p *provider) bool { return !p.said && !isLoopback(p.base) })
	slices.SortStableFunc(around, func(a, b *provider) int {
		return cmp.Compare(btoi(b.said), btoi(a.said))
	})
	for _, l := range c.probe(context.Background(), around, c.startTime) {
		fit := slices.DeleteFunc(slices.Clone(l.Models), func(m Model) bool { return isRemote(m.ID) || embeds(m.ID) })
		slices.SortStableFunc(fit, func(a, b Model) int {
			return cmp.Or(cmp.Compare(btoi(b.Tools), btoi(a.Tools)), cmp.Compare(btoi(b.loaded), btoi(a.loaded)))
		})
		if len(fit) > 0 {
			return fit[0]
		}
	}
	return Model{}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// embeds tells models that make vectors of texts, by their names.
func embeds(id string) bool { return strings.Contains(strings.ToLower(id), "embed") }

// acquaint asks a local server, once, about a model of which nothing is known:
// without its window, a history that outgrows it would be cut there unnoticed.
// It tells whether there is news.
func (c *Catalogue) acquaint(m Model) bool {
	p := c.provider(m.Provider)
	if p == nil || !p.vendor.local || m.Window > 0 {
		return false
	}
	c.mu.Lock()
	_, known := c.local[p.name]
	asked := c.asked[p.name]
	c.asked[p.name] = true
	c.mu.Unlock()
	return !known && !asked && c.probeOne(context.Background(), p, c.probeTime).Err == nil
}
