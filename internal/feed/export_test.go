// This file shows the composer to tests that run it beside an engine.

package feed

import "github.com/cadre-dev/cadre/internal/store"

// Composer is what the tailer makes changes with.
type Composer struct{ composer }

func NewComposer() *Composer { return &Composer{newComposer()} }

func (c *Composer) Compose(e *store.Entry) (store.Change, bool) { return c.compose(e) }

func (c *Composer) Learn(changes []store.Change) { c.learn(changes) }
