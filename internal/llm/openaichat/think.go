// Reasoning inside the text: open models write it between tags, and servers
// that do not know the model pass the tags on.

package openaichat

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// addContent takes a piece of the text in. As long as the builder looks for
// tags, what might be the beginning of one is held back in b.held.
func (b *builder) addContent(text string) {
	if !b.tags {
		b.addText(text)
		return
	}
	text = b.held + text
	b.held = ""
	if !b.inTags {
		start := strings.TrimLeft(text, " \t\r\n")
		switch {
		case strings.HasPrefix(start, thinkOpen):
			b.inTags = true
			text = strings.TrimLeft(start[len(thinkOpen):], "\r\n")
		case strings.HasPrefix(thinkOpen, start):
			b.held = text
			return
		default:
			b.tags = false
			b.addText(text)
			return
		}
	}
	thought, rest, closed := strings.Cut(text, thinkClose)
	if !closed {
		keep := partial(text, thinkClose)
		b.held = text[len(text)-keep:]
		b.addThought(text[:len(text)-keep])
		return
	}
	b.addThought(thought)
	b.tags, b.inTags = false, false
	b.addText(strings.TrimLeft(rest, "\r\n"))
}

// addThought adds reasoning that is not to go back: a server that does not
// know it as such would take it for text.
func (b *builder) addThought(text string) { b.addThinking(text, "") }

// endContent gives out what was held back when the text has ended.
func (b *builder) endContent() {
	held := b.held
	b.held = ""
	if b.inTags {
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
