// Reasoning inside the text: open models write it between tags, and servers
// that do not know the model pass the tags on.

package openaichat

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// tagState says where in the text the builder is.
type tagState int

const (
	tagsOff    tagState = iota // all is text
	tagsLook                   // the text has not begun
	tagsInside                 // between the tags
	tagsAfter                  // behind them, before the text begins
)

// addContent takes a piece of the text in. What might be the beginning of a
// tag is held back in b.held. Line breaks around the tags belong to them.
func (b *builder) addContent(text string) {
	text, b.held = b.held+text, ""
	if b.tags == tagsLook {
		start := strings.TrimLeft(text, " \t\r\n")
		switch {
		case strings.HasPrefix(start, thinkOpen):
			b.tags = tagsInside
			text = start[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, start):
			b.held = text
			return
		default:
			b.tags = tagsOff
		}
	}
	if b.tags == tagsInside {
		if b.thinking == nil {
			text = strings.TrimLeft(text, "\r\n")
		}
		thought, rest, closed := strings.Cut(text, thinkClose)
		if !closed {
			n := len(text) - partial(text, thinkClose)
			b.held = text[n:]
			b.addThought(text[:n])
			return
		}
		b.addThought(thought)
		b.tags, text = tagsAfter, rest
	}
	if b.tags == tagsAfter {
		if text = strings.TrimLeft(text, "\r\n"); text == "" {
			return
		}
		b.tags = tagsOff
	}
	b.addText(text)
}

// addThought adds reasoning that is not to go back: a server that does not
// know it as such would take it for text.
func (b *builder) addThought(text string) { b.addThinking(text, "") }

// endContent gives out what was held back when the text has ended.
func (b *builder) endContent() {
	held := b.held
	b.held = ""
	if b.tags == tagsInside {
		b.addThought(held)
		return
	}
	b.addText(held)
}

// partial returns how many bytes at the end of s are a beginning of tag.
func partial(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
