// One provider, tried.

package catalogue

import "context"

// Check asks a provider for its models, which costs nothing and shows whether
// its key is good. False: there is no such provider.
func (c *Catalogue) Check(ctx context.Context, name string) (Finding, bool) {
	p := c.provider(name)
	if p == nil {
		return Finding{}, false
	}
	return c.checkProvider(ctx, p, true), true
}
