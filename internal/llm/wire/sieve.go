// Keeping keys out of replies.

package wire

import (
	"maps"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Sieve takes secrets out of one reply, whether it comes in pieces or whole. A
// server that got a key may send it back, and then it must not be shown, stored
// or given to a model.
type Sieve struct {
	words []string
	pass  func(llm.Delta)
	held  map[int]llm.Delta // by part: what may be the beginning of a secret
}

// NewSieve returns a sieve for secrets in all their spellings. Deltas go on to
// pass, which may be nil.
func NewSieve(secrets []string, pass func(llm.Delta)) *Sieve {
	s := &Sieve{pass: pass, held: map[int]llm.Delta{}}
	for _, secret := range secrets {
		s.words = append(s.words, spellings(secret)...)
	}
	return s
}

// Delta takes a piece in. What may be the beginning of a secret is held back
// until more is known.
func (s *Sieve) Delta(d llm.Delta) {
	text := s.clean(s.held[d.Part].Text + d.Text)
	cut := len(text) - s.tail(text)
	held := d
	held.Name, held.Text = "", text[cut:]
	s.held[d.Part] = held
	if d.Text = text[:cut]; (d.Text != "" || d.Name != "") && s.pass != nil {
		s.pass(d)
	}
}

// Reply cleans a whole reply in place, and passes on what was held back. A
// signature of what was changed is dropped: it would be refused.
func (s *Sieve) Reply(r *llm.Reply) {
	for _, part := range slices.Sorted(maps.Keys(s.held)) {
		if d := s.held[part]; d.Text != "" && s.pass != nil {
			s.pass(d)
		}
	}
	for i, p := range r.Parts {
		switch p := p.(type) {
		case message.TextPart:
			p.Text = s.clean(p.Text)
			r.Parts[i] = p
		case message.ThinkingPart:
			if text := s.clean(p.Text); text != p.Text || s.clean(p.Signature) != p.Signature {
				p.Text, p.Signature = text, ""
			}
			r.Parts[i] = p
		case message.ToolCall:
			if input := s.clean(string(p.Input)); input != string(p.Input) || s.clean(p.Signature) != p.Signature {
				p.Input, p.Signature = []byte(input), ""
			}
			r.Parts[i] = p
		case message.ImagePart, message.ToolResult:
		}
	}
	r.Model = s.clean(r.Model)
}

func (s *Sieve) clean(text string) string {
	for _, w := range s.words {
		text = strings.ReplaceAll(text, w, redacted)
	}
	return text
}

// tail is the length of the longest end of text that a secret begins with.
func (s *Sieve) tail(text string) int {
	longest := 0
	for _, w := range s.words {
		for n := min(len(w)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, w[:n]) {
				longest = n
			}
		}
	}
	return longest
}
