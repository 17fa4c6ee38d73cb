// Changes are encoded once for all who follow the same thing.

package api

import (
	"bytes"
	"path"
	"strings"
	"sync"

	"github.com/segmentio/encoding/json"

	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
)

// generation is how many encodings are kept, twice.
const generation = 1024

// scratches are buffers to encode in, and to send from.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch bounds those that are kept for the next use.
const maxScratch = 4 * sendBytes

// shared holds the newest encodings. The feed hands the same change to all
// subscribers, so that its address tells it; those that are being read anew for
// one who was away are encoded for that one.
type shared struct {
	mu       sync.Mutex
	new, old map[sharedKey][]byte
}

type sharedKey struct {
	change *store.Change
	delta  *feed.Delta
	wanted string
}

func newShared() *shared { return &shared{new: map[sharedKey][]byte{}, old: map[sharedKey][]byte{}} }

// encode returns the fields of an item as JSON, without the brace that opens
// the object; nil if it is not wanted.
func (s *shared) encode(item feed.Item, v section) []byte {
	key := sharedKey{item.Change, item.Delta, v.key}
	s.mu.Lock()
	b, ok := s.new[key]
	if !ok {
		b, ok = s.old[key]
	}
	s.mu.Unlock()
	if ok {
		return b
	}
	b = v.encode(item)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.new) >= generation {
		s.old, s.new = s.new, make(map[sharedKey][]byte, generation)
	}
	s.new[key] = b
	return b
}

func (v section) encode(item feed.Item) []byte {
	var fits any
	if item.Change != nil {
		c, ok := v.change(item.Change)
		if !ok {
			return nil
		}
		fits = c
	} else {
		if !v.delta(item.Delta) {
			return nil
		}
		fits = item.Delta
	}
	// The same bytes as of encoding/json, in a third of the time. JSON within
	// the rows was checked when it came in, but not freed of its line breaks.
	scratch := scratches.Get().(*[]byte) //nolint:forcetypeassert // there is nothing else in it
	b, err := json.Append((*scratch)[:0], fits, json.EscapeHTML|json.TrustRawMessage)
	if err != nil {
		return nil // rows are made of strings, numbers and JSON
	}
	out := bytes.Clone(b[1:])
	if cap(b) <= maxScratch {
		*scratch = b
		scratches.Put(scratch)
	}
	return out
}

// change returns the part of a change that is wanted. That a chat was
// deleted is always shown.
func (v section) change(c *store.Change) (*store.Change, bool) {
	if v.agent == "" && len(v.collections) == 0 {
		return c, true
	}
	part := *c
	part.Docs = nil
	for _, d := range c.Docs {
		if d.Deleted || v.document(c, d) {
			part.Docs = append(part.Docs, d)
		}
	}
	return &part, len(part.Docs) > 0 || len(v.collections) == 0 && v.below(c.Agent)
}

func (v section) document(c *store.Change, d store.Document) bool {
	return (v.below(c.Agent) || v.below(d.ID)) && v.collected(d.Collection)
}

func (v section) below(id string) bool {
	return v.agent == "" || id == v.agent || strings.HasPrefix(id, v.agent+".")
}

func (v section) collected(name string) bool {
	for _, p := range v.collections {
		if ok, err := path.Match(p, name); err == nil && ok {
			return true
		}
	}
	return len(v.collections) == 0
}

func (v section) delta(d *feed.Delta) bool {
	return v.below(d.Agent) && v.collected(store.Collection(d.Chat, d.Agent, "messages"))
}
