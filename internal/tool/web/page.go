// A page that was fetched, and how it is shown in pieces.

package web

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/tool"
)

// page is the text of an answer.
type page struct {
	url   string
	title string
	media string
	text  string
	notes []string
}

// pageOf makes text of an answer; it fails if there is none in it.
func pageOf(resp *http.Response, body []byte, raw bool) (page, error) {
	contentType := resp.Header.Get("Content-Type")
	k, media := classify(contentType, body)
	p := page{url: resp.Request.URL.String(), media: media}
	if k == binaryKind {
		return p, notText(media, resp.ContentLength, len(body))
	}
	text, ok := decode(body, contentType)
	if !ok {
		return p, notText(media+" that is not text", resp.ContentLength, len(body))
	}
	p.text = text
	if k == htmlKind && !raw {
		p.title, p.text = readable(text, resp.Request.URL)
		if p.text == "" && strings.TrimSpace(text) != "" {
			p.notes = append(p.notes, "[the page has no text by itself: perhaps a script makes it; raw shows the source]")
		}
	}
	return p, nil
}

func notText(media string, declared int64, read int) error {
	size := max(declared, int64(read))
	if strings.HasPrefix(media, "image/") {
		return fmt.Errorf("it is an image (%s, %s), and web_fetch gives text only; read_image shows images that are files of the working folder", media, sizeText(size))
	}
	return fmt.Errorf("it is binary (%s, %s), and web_fetch gives text only", media, sizeText(size))
}

// show gives limit characters of the page from offset on, after what is known
// about it.
func (p page) show(offset, limit int) (tool.Result, error) {
	total := utf8.RuneCountInString(p.text)
	if offset > 0 && offset >= total {
		return tool.Result{}, fmt.Errorf("offset %d is past the end: the page has %d characters", offset, total)
	}
	var b strings.Builder
	b.WriteString(untrusted)
	fmt.Fprintf(&b, "URL: %s\n", p.url)
	if p.title != "" {
		fmt.Fprintf(&b, "Title: %s\n", shorten(p.title, 300))
	}
	fmt.Fprintf(&b, "Type: %s\n", p.media)
	shown := p.text
	if end := min(total, offset+limit); offset > 0 || end < total {
		shown = string([]rune(p.text)[offset:end])
		fmt.Fprintf(&b, "[characters %d-%d of %d", offset, end, total)
		if end < total {
			fmt.Fprintf(&b, "; read on with offset %d", end)
		}
		b.WriteString("]\n")
	}
	for _, n := range p.notes {
		b.WriteString(n + "\n")
	}
	b.WriteString("\n" + shown)
	if total == 0 && len(p.notes) == 0 {
		b.WriteString("(empty)")
	}
	return tool.Text(b.String()), nil
}
