// Request bodies, of which every message is encoded once.

package wire

import (
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Format is how a wire format writes the lasting parts of a request. The bytes
// it writes may depend on nothing but its arguments and what Name tells: they
// are kept in the request's Memo and used again.
type Format struct {
	// Name tells apart formats and variants of them that write differently,
	// and providers, since parts of one are left out for others.
	Name string
	// Head appends the system prompt and the tools, in whatever form the
	// format has. Of req it may use System, Tools and Model only.
	Head func(dst []byte, req *llm.Request) ([]byte, error)
	// Group appends the elements that stand for group in the format's array of
	// messages, separated by commas: none, one or several. A group is one
	// message of the assistant, or all the messages of other roles between two
	// of the assistant; it is encoded as a whole because formats merge these.
	// mark is a place within the appended bytes that Encode's caller may want
	// to insert something at later (a position in dst), 0 for none.
	Group func(dst []byte, model string, group []message.Message) (out []byte, mark int, err error)

	heads heads
}

// Encoded is what a request is assembled from. Its bytes belong to the memo:
// they must be copied, and never changed.
type Encoded struct {
	Head    []byte
	History []byte  // the elements of the array of messages, separated by commas
	Groups  []Group // what History consists of
}

// Group is a group of messages in Encoded.History. Those that have no elements
// are empty ranges.
type Group struct {
	Messages int // how many messages there are up to its end
	End      int // where it ends in History
	Mark     int // where its mark is, 0 for none
}

// Encode gives build what the body of req is made of and returns the body it
// makes. Messages that were encoded for an earlier request with the same memo
// are not encoded again. build must not use the memo.
func (f *Format) Encode(req *llm.Request, build func(Encoded) []byte) (body []byte, err error) {
	req.Memo.Use(f.Name+"\x00"+req.Model, func(before any) any {
		k, ok := before.(*kept)
		if !ok {
			k = &kept{}
		}
		if err = k.update(f, req); err != nil {
			err = &llm.Error{Kind: llm.ErrBadRequest, Message: "encoding the request: " + err.Error(), Err: err}
			return nil
		}
		body = build(Encoded{k.head.text, k.history, k.groups})
		return k
	})
	return body, err
}

// kept is what a memo holds.
type kept struct {
	head    *head
	history []byte
	groups  []Group
	prints  []imprint // of the messages in history
}

func (k *kept) update(f *Format, req *llm.Request) (err error) {
	if !k.head.of(req) {
		if k.head, err = f.heads.get(f, req); err != nil {
			return err
		}
	}
	k.truncate(req.Messages)
	for n := len(k.prints); n < len(req.Messages); {
		end := groupEnd(req.Messages, n)
		if err := k.add(f, req.Model, req.Messages[n:end]); err != nil {
			return err
		}
		n = end
	}
	return nil
}

// truncate drops all groups that msgs does not begin with, and the last one if
// it goes on in msgs.
func (k *kept) truncate(msgs []message.Message) {
	same := 0
	for same < len(k.prints) && same < len(msgs) && k.prints[same].of(&msgs[same]) {
		same++
	}
	n := len(k.groups)
	for n > 0 {
		end := k.groups[n-1].Messages
		start := 0
		if n > 1 {
			start = k.groups[n-2].Messages
		}
		if end <= same && groupEnd(msgs, start) == end {
			break
		}
		n--
	}
	k.groups = k.groups[:n]
	if n == 0 {
		k.prints, k.history = k.prints[:0], k.history[:0]
		return
	}
	last := k.groups[n-1]
	k.prints, k.history = k.prints[:last.Messages], k.history[:last.End]
}

// groupEnd returns where the group that begins at start ends.
func groupEnd(msgs []message.Message, start int) int {
	end := start + 1
	if msgs[start].Role == message.Assistant {
		return end
	}
	for end < len(msgs) && msgs[end].Role != message.Assistant {
		end++
	}
	return end
}

func (k *kept) add(f *Format, model string, group []message.Message) error {
	dst := k.history
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	out, mark, err := f.Group(dst, model, group)
	if err != nil {
		return err
	}
	if len(out) == len(dst) {
		out, mark = out[:len(k.history)], 0
	}
	k.history = out
	for i := range group {
		k.prints = append(k.prints, imprintOf(&group[i]))
	}
	k.groups = append(k.groups, Group{len(k.prints), len(out), mark})
	return nil
}

// imprint recognises a message. The parts of a message are never changed: one
// that has the same parts in the same place is the same, which spares a long
// history a look at each of its texts in every turn.
type imprint struct {
	parts []message.Part
	hash  uint64
}

func imprintOf(m *message.Message) imprint { return imprint{parts: m.Parts, hash: fingerprint(m)} }

func (p imprint) of(m *message.Message) bool {
	if n := len(m.Parts); n > 0 && n == len(p.parts) && &m.Parts[0] == &p.parts[0] {
		return true
	}
	return p.hash == fingerprint(m)
}

// fingerprint tells one message from another well enough to notice that a memo
// belongs to another history: one that was compacted or pruned. Histories are
// append-only, so this guards against mistakes and need not be a hash of every
// byte; it looks at all lengths and at the ends of all texts, in some 10 ns.
func fingerprint(m *message.Message) uint64 {
	h := mix(uint64(len(m.Parts)), string(m.Role))
	for _, p := range m.Parts {
		h = printPart(h, p)
	}
	return h
}

func printPart(h uint64, p message.Part) uint64 {
	switch p := p.(type) {
	case message.TextPart:
		h = mix(h+1, p.Text)
	case message.ThinkingPart:
		h = mix(mix(mix(h+2, p.Text), p.Signature), p.Encrypted)
	case message.ImagePart:
		h = mix(h+3, p.Data)
	case message.ToolCall:
		h = mix(mix(mix(h+4, p.ID), p.Name), p.Input)
	case message.ToolResult:
		h = mix(h+5, p.CallID)
		if p.IsError {
			h++
		}
		for _, inner := range p.Parts {
			h = printPart(h, inner)
		}
	}
	return h
}

// mix adds the length, the first and the last bytes of s to h.
func mix[S ~string | ~[]byte](h uint64, s S) uint64 {
	const prime = 0x9E3779B97F4A7C15
	h = (h ^ uint64(len(s))) * prime
	var ends uint64
	for i := range min(len(s), 4) {
		ends = ends<<16 | uint64(s[i])<<8 | uint64(s[len(s)-1-i])
	}
	h = (h ^ ends) * prime
	return h ^ h>>32
}
