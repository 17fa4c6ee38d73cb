// The adapter between engine and feed, which do not know each other.

package app

import (
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/feed"
)

// feedAdapter makes an engine.Feed of a feed.Feed.
type feedAdapter struct{ *feed.Feed }

var _ engine.Feed = feedAdapter{}

// Publish implements engine.Feed.
func (a feedAdapter) Publish(d engine.Delta) { a.Feed.Publish(feed.Delta(d)) }
