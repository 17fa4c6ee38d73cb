// Digests: what a file says about itself, as far as form shows it: its leading
// comment or paragraph, headings, declarations.

package offline

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// digest is a short account of a file.
type digest struct {
	file  string
	total int
	lead  string   // leading comment or first paragraph
	heads []marked // headings, or declarations
	more  int      // heads left out
	code  bool
}

// marked is a line worth naming.
type marked struct {
	line int
	text string
}

// declarations by language. Each pattern finds a line that declares something
// others can name.
var declarations = map[string]*regexp.Regexp{
	"Go":         regexp.MustCompile(`^(?:func|type|const|var) [^(=]*\w`),
	"Python":     regexp.MustCompile(`^(?:class|def|async def) \w`),
	"JavaScript": regexp.MustCompile(`^(?:export )?(?:default )?(?:async )?(?:function|class|const|let) \w`),
	"TypeScript": regexp.MustCompile(`^(?:export )?(?:default )?(?:abstract )?(?:async )?(?:function|class|interface|type|enum|const) \w`),
	"Rust":       regexp.MustCompile(`^(?:pub(?:\([^)]*\))? )?(?:async )?(?:fn|struct|enum|trait|impl|mod|type) ?`),
	"Java":       regexp.MustCompile(`^\s{0,4}(?:public|protected|private|abstract|final|static).*[({]\s*$`),
	"Ruby":       regexp.MustCompile(`^\s*(?:class|module|def) \w`),
	"Shell":      regexp.MustCompile(`^(?:function )?\w+ ?\(\)`),
	"SQL":        regexp.MustCompile(`(?i)^create (?:table|index|view|function|trigger)`),
	"YAML":       regexp.MustCompile(`^[\w"-]+:`),
	"TOML":       regexp.MustCompile(`^\[`),
	"Markdown":   regexp.MustCompile(`^#{1,4} \S`),
}

// goMethod is the receiver form, which the plain pattern stops before.
var goMethod = regexp.MustCompile(`^func \([^)]*\) \w+`)

// maxHeads bounds the headings and declarations named.
const maxHeads = 20

func digestOf(file string, e excerpt) digest {
	lang := languageOf(file)
	d := digest{file: file, total: e.total, code: lang != "Markdown" && lang != "text" && lang != ""}
	d.lead = lead(lang, e)
	re := declarations[lang]
	fenced := false
	for i, line := range e.lines {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		declares := re != nil && re.MatchString(line) || lang == "Go" && goMethod.MatchString(line)
		if fenced || !declares {
			continue
		}
		if len(d.heads) == maxHeads {
			d.more++
			continue
		}
		head, _, _ := strings.Cut(line, " {")
		d.heads = append(d.heads, marked{e.first + i, strings.TrimRight(strings.TrimSpace(head), " {:=(")})
	}
	return d
}

// maxLead bounds the leading text shown.
const maxLead = 400

// lead is the first comment of code or the first paragraph of prose.
func lead(lang string, e excerpt) string {
	if e.first != 1 {
		return ""
	}
	var out []string
	for i, line := range e.lines {
		text, isComment := commentText(line)
		if lang == "Markdown" || lang == "text" || lang == "" {
			text, isComment = strings.TrimSpace(line), true
			if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "[!") || strings.HasPrefix(text, "<") || text == "---" {
				text = ""
			}
		}
		switch {
		case i == 0 && strings.HasPrefix(line, "#!"), strings.HasPrefix(text, "go:build"), strings.HasPrefix(text, "+build"):
			continue
		case isComment && text != "":
			out = append(out, text)
			continue
		case len(out) == 0 && strings.TrimSpace(line) == "", len(out) == 0 && isComment:
			continue
		}
		break
	}
	text := strings.Join(out, " ")
	if len(text) > maxLead {
		cut := strings.LastIndexByte(text[:maxLead], ' ')
		text = text[:max(cut, 1)] + " …"
	}
	return text
}

var commentMark = regexp.MustCompile(`^\s*(?://[/!]?|#|/\*+|\*/|\*|--|"""|;;?)\s?(.*?)(?:\*/|""")?\s*$`)

// commentText returns what a line of comment says.
func commentText(line string) (string, bool) {
	m := commentMark.FindStringSubmatch(line)
	if m == nil {
		return "", false
	}
	return strings.TrimSpace(m[1]), true
}

// title names the file with its size and kind.
func (d digest) title() string {
	kind := languageOf(d.file)
	if kind == "" {
		return fmt.Sprintf("**%s**: %s", d.file, plural(d.total, "line"))
	}
	return fmt.Sprintf("**%s**: %s of %s", d.file, plural(d.total, "line"), kind)
}

// text is the whole digest.
func (d digest) text() string {
	var b strings.Builder
	b.WriteString(d.title() + ".")
	if d.lead != "" {
		what := "It begins"
		if d.code {
			what = "Its first comment says"
		}
		fmt.Fprintf(&b, "\n\n%s:\n\n> %s", what, d.lead)
	}
	if len(d.heads) > 0 {
		what := "Sections"
		if d.code {
			what = "It declares"
		}
		fmt.Fprintf(&b, "\n\n%s:\n", what)
		for _, h := range d.heads {
			text := h.text
			if d.code {
				text = "`" + text + "`"
			} else {
				level := len(text) - len(strings.TrimLeft(text, "#"))
				text = strings.Repeat("  ", max(level-1, 0)) + strings.TrimSpace(strings.TrimLeft(text, "# "))
			}
			fmt.Fprintf(&b, "\n- line %d: %s", h.line, text)
		}
		if d.more > 0 {
			fmt.Fprintf(&b, "\n- and %d more", d.more)
		}
	}
	return b.String()
}

// line is the digest in one line, for lists of files.
func (d digest) line() string {
	out := d.title()
	if d.lead != "" {
		first, _, cut := strings.Cut(d.lead, ". ")
		if cut {
			first += "."
		}
		return out + ". " + first
	}
	var names []string
	for _, h := range d.heads {
		if len(names) == 3 {
			names = append(names, "…")
			break
		}
		names = append(names, "`"+h.text+"`")
	}
	if len(names) > 0 {
		out += ": " + strings.Join(names, ", ")
	}
	return out
}

// keyFiles picks the files of a folder that say most about it.
func keyFiles(l listing, limit int) []string {
	score := func(name string) int {
		lower := strings.ToLower(name)
		switch {
		case strings.HasPrefix(lower, "readme"):
			return 5
		case lower == "doc.go", strings.HasPrefix(lower, "architecture"):
			return 4
		case lower == "go.mod", lower == "package.json", lower == "cargo.toml", lower == "pyproject.toml":
			return 3
		case strings.HasPrefix(lower, "main."), strings.HasPrefix(lower, "index."):
			return 3
		case isTest(name) || path.Ext(name) == ".sum" || strings.HasPrefix(name, "."):
			return 0
		case languageOf(name) != "":
			return 1
		}
		return 0
	}
	var out []string
	for want := 5; want > 0; want-- {
		for _, f := range l.files {
			if score(f) == want && len(out) < limit {
				out = append(out, f)
			}
		}
	}
	return out
}
