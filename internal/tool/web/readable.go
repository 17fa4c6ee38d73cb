// Readable text out of what a server sends: decoding it, the main part of an
// HTML page as Markdown, and a plain text where that fails.

package web

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// Bounds of the HTML that is worked on as a tree. The libraries do not ask a
// context, and take the square of some of these: a few kilobytes of nested
// lists or of a ragged table would keep them busy for minutes and fill the
// memory. Real pages stay far below.
const (
	maxSource = 3 << 20 // bytes
	maxNodes  = 50_000
	maxDepth  = 200
	maxNested = 12        // lists, quotes and tables within each other
	maxCells  = 20_000    // of all tables, filled up to rectangles
	maxTables = 4_000_000 // bytes of all tables, each cell as wide as the widest
)

// articleChars is how long the main part of a page must be to be taken for it,
// unless the whole page is not much longer.
const articleChars = 600

// kind is what can be done with a content.
type kind int

const (
	binaryKind kind = iota
	textKind
	htmlKind
)

// textTypes are the types of text that do not say so.
var textTypes = []string{
	"application/ecmascript", "application/graphql", "application/javascript", "application/json",
	"application/ld+json", "application/mbox", "application/rtf", "application/sql", "application/toml",
	"application/x-javascript", "application/x-ndjson", "application/x-perl", "application/x-python",
	"application/x-sh", "application/x-shellscript", "application/x-yaml", "application/xml", "application/yaml",
}

// classify reads a Content-Type; if that says nothing, the content decides.
func classify(contentType string, body []byte) (kind, string) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || media == "application/octet-stream" || media == "binary/octet-stream" {
		media, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	switch {
	case media == "text/html", media == "application/xhtml+xml":
		return htmlKind, media
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"),
		strings.HasSuffix(media, "+yaml"), slices.Contains(textTypes, media):
		return textKind, media
	}
	return binaryKind, media
}

// decode turns body into UTF-8. What does not say how it is encoded is taken
// as UTF-8 if it can be. ok is false if it is not text after all.
func decode(body []byte, contentType string) (text string, ok bool) {
	encoding, _, certain := charset.DetermineEncoding(body, contentType)
	if certain || !utf8.Valid(trimPartialRune(body)) {
		if decoded, err := encoding.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	if bytes.IndexByte(body, 0) >= 0 {
		return "", false
	}
	text = strings.TrimPrefix(string(trimPartialRune(body)), "\ufeff")
	return strings.ToValidUTF8(text, "\ufffd"), true
}

// trimPartialRune removes a character that was cut in two at the end.
func trimPartialRune(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// readable gives the title and the text of an HTML page: its main part as
// Markdown, or the whole page if there is no such part, or its bare words if
// it is too large or too broken to be worked on.
func readable(source string, page *url.URL) (title, text string) {
	doc, ok := parse(source)
	if !ok {
		return words(source)
	}
	title = titleOf(doc)
	parser := readability.NewParser()
	article, err := parser.ParseDocument(doc, page)
	if err != nil || article.Node == nil {
		return title, markdown(doc, page)
	}
	if t := oneLine(article.Title()); t != "" {
		title = t
	}
	main := markdown(article.Node, page)
	if utf8.RuneCountInString(main) < articleChars {
		if whole := markdown(doc, page); len(whole) > 2*len(main) {
			return title, whole
		}
	}
	return title, main
}

// parse makes a tree of a page, if it is one that can be worked on.
func parse(source string) (*html.Node, bool) {
	if len(source) > maxSource || strings.Count(source, "<") > maxNodes {
		return nil, false
	}
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil { // nested too deep for the library
		return nil, false
	}
	var size treeSize
	return doc, size.add(doc, 0, 0)
}

// treeSize counts what makes a tree expensive.
type treeSize struct{ nodes, cells, tables int }

// add counts n and what is below it, and says whether that is within bounds.
func (s *treeSize) add(n *html.Node, depth, nested int) bool {
	switch element(n) {
	case "ul", "ol", "dl", "menu", "blockquote":
		nested++
	case "table":
		nested++
		cells, widest := rectangle(n)
		s.cells += cells
		s.tables += cells * widest
	}
	// A table may claim to have a billion columns.
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "colspan" || a.Key == "rowspan" })
	if s.nodes++; s.nodes > maxNodes || s.cells > maxCells || s.tables > maxTables || depth > maxDepth || nested > maxNested {
		return false
	}
	for c := range n.ChildNodes() {
		if !s.add(c, depth+1, nested) {
			return false
		}
	}
	return true
}

// element names n, if it is an element.
func element(n *html.Node) string {
	if n.Type == html.ElementNode {
		return n.Data
	}
	return ""
}

// rectangle counts the cells of a table whose rows are all as long as the
// longest, and the bytes of its widest cell or more.
func rectangle(t *html.Node) (cells, widest int) {
	rows, row, longest, width := 0, 0, 0, 0
	for n := range t.Descendants() {
		switch element(n) {
		case "tr":
			rows++
			row, width = 0, 0
		case "td", "th":
			row++
			longest = max(longest, row)
			width = 0
		case "": // text
			width += len(n.Data)
			widest = max(widest, width)
		}
	}
	return rows * longest, widest
}

func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if element(n) == "title" && n.FirstChild != nil {
			return oneLine(n.FirstChild.Data)
		}
	}
	return ""
}

// markdown gives a page, or a part of it, as Markdown; nothing if it cannot.
func markdown(n *html.Node, page *url.URL) string {
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(),
	))
	out, err := conv.ConvertNode(n, converter.WithDomain(page.Scheme+"://"+page.Host))
	if err != nil {
		return ""
	}
	// Columns that are filled up with blanks only cost tokens.
	text := tablePadding.ReplaceAllStringFunc(string(out), func(line string) string {
		return blanks.ReplaceAllString(dashes.ReplaceAllString(line, "---"), " ")
	})
	return strings.TrimSpace(text)
}

var (
	tablePadding = regexp.MustCompile(`(?m)^\|.*\|$`)
	blanks       = regexp.MustCompile(` {2,}`)
	dashes       = regexp.MustCompile(`-{4,}`)
)

// words gives what a page says without knowing its structure.
func words(source string) (title, text string) {
	var b strings.Builder
	hidden := "" // the element whose text is not shown
	z := html.NewTokenizer(strings.NewReader(source))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return title, strings.TrimSpace(b.String())
		case html.StartTagToken:
			name, _ := z.TagName()
			switch string(name) {
			case "script", "style", "template", "title":
				hidden = string(name)
			case "p", "div", "li", "tr", "br", "h1", "h2", "h3", "h4", "pre":
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			hidden = ""
		case html.TextToken:
			said := oneLine(string(z.Text()))
			switch {
			case hidden == "title" && title == "":
				title = html.UnescapeString(said)
			case hidden == "" && said != "":
				b.WriteString(html.UnescapeString(said) + " ")
			}
		case html.SelfClosingTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
}

// oneLine makes one line of s, without what a terminal or a model could take
// for something else than text.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
