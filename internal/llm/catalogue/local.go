// Model servers on this machine, found by asking where they usually listen.

package catalogue

import (
	"context"
	"sync"

	"github.com/cadre-dev/cadre/internal/config"
)

// Local is a local server that was asked for its models.
type Local struct {
	Provider string
	BaseURL  string
	Models   []Model
	Err      error // why there are none; nil if it answered
}

// Discover asks all local servers at once for their models, each for a moment
// only. What they have can be found by its name from then on.
func (c *Catalogue) Discover(ctx context.Context) []Local {
	locals := c.locals()
	out := make([]Local, len(locals))
	var wg sync.WaitGroup
	for i, p := range locals {
		wg.Go(func() { out[i] = c.probeOne(ctx, p) })
	}
	wg.Wait()
	return out
}

// probeOne asks one local server.
func (c *Catalogue) probeOne(ctx context.Context, p *provider) Local {
	ctx, cancel := context.WithTimeout(ctx, c.probeTime)
	defer cancel()
	models, err := c.ask(ctx, p)
	if err == nil {
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
