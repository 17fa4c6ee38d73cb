// Heads of request bodies, which agents of one role share.

package wire

import (
	"bytes"
	"slices"
	"sync"

	"github.com/cadre-dev/cadre/internal/llm"
)

// head is the head of a request, and what it was made of. It is never changed.
type head struct {
	model  string
	system string
	tools  []llm.Tool
	text   []byte
}

func (h *head) of(req *llm.Request) bool {
	return h != nil && h.model == req.Model && h.system == req.System && slices.EqualFunc(h.tools, req.Tools, sameTool)
}

func sameTool(a, b llm.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}

// maxHeads is how many heads a format remembers: a tree has agents of a few
// roles at work, each with a prompt and tools of its own.
const maxHeads = 16

// heads are those that a format has written last: a thousand agents of one
// role hold one, and it is encoded once.
type heads struct {
	mu     sync.Mutex
	recent []*head // the newest last
}

func (hs *heads) get(f *Format, req *llm.Request) (*head, error) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, h := range slices.Backward(hs.recent) {
		if h.of(req) {
			return h, nil
		}
	}
	text, err := f.Head(nil, req)
	if err != nil {
		return nil, err
	}
	if len(hs.recent) == maxHeads {
		hs.recent = slices.Delete(hs.recent, 0, 1)
	}
	h := &head{req.Model, req.System, slices.Clone(req.Tools), slices.Clip(text)}
	hs.recent = append(hs.recent, h)
	return h, nil
}
