// Markdown with front matter: taking the two apart, reading the YAML, and going
// on by lines where it is none.

package rolefile

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	yamlparser "github.com/goccy/go-yaml/parser"
)

// Bounds of what is given to the YAML parser, which recurses and whose time
// grows with the square of the lines: front matter beyond them is read by lines.
const (
	maxFront      = 32 << 10
	maxFrontLines = 1000
	maxNesting    = 64
)

// companions are files that lie beside roles and are none.
var companions = []string{"readme", "agents", "claude", "gemini", "contributing", "changelog", "license", "index", "instructions"}

// markdown reads a file with one role.
func (p *parser) markdown(src string) {
	front, body, first, found := p.split(src)
	if !found {
		if slices.Contains(companions, strings.ToLower(stem(p.file.Path))) {
			p.file.Skipped = true
			return
		}
		if strings.TrimSpace(body) == "" {
			p.fail(0, "it is empty: a role needs front matter with a description, and a prompt below it")
			return
		}
		p.file.Bare = true
		p.warn(1, "it has no front matter (a block between two lines ---): its name is taken from the file, its description from the text")
	}
	entries, ok := p.front(front, first)
	if !ok {
		return
	}
	r := p.begin(stem(p.file.Path), 1, "the file's name")
	if p.o.Format == OpenCode {
		r.role.Name = below(p.file.Path)
	}
	if body = strings.TrimSpace(body); body != "" {
		r.role.Prompt = body
		r.from("prompt", first+strings.Count(front, "\n")+1)
	}
	r.read(entries)
	r.finish()
}

// below is the name of an opencode agent in a folder below the agents': it
// keeps the folder's name.
func below(name string) string {
	name = filepath.ToSlash(name)
	for _, folder := range []string{"/agents/", "/agent/"} {
		if i := strings.LastIndex(name, folder); i >= 0 {
			rest := name[i+len(folder):]
			return path.Join(path.Dir(rest), stem(rest))
		}
	}
	return stem(name)
}

// frontLine is a line that can belong to front matter without an end.
var frontLine = regexp.MustCompile(`^([A-Za-z_][\w-]*\s*:|\s+\S|\s*-\s|\s*#|\s*\]|\s*$)`)

// split takes front matter and body apart; first is the line where the front
// matter begins.
func (p *parser) split(src string) (front, body string, first int, found bool) {
	lines := strings.Split(src, "\n")
	at := 0
	for at < len(lines) && strings.TrimSpace(lines[at]) == "" {
		at++
	}
	if at+1 < len(lines) && strings.HasPrefix(lines[at], "```") && isRule(lines[at+1]) { // pasted with its fence
		for end := len(lines) - 1; end > at; end-- {
			if strings.HasPrefix(lines[end], "```") {
				lines = lines[:end]
				break
			}
		}
		at++
	}
	if at < len(lines) && opens(lines[at:]) {
		p.warn(at+1, "the front matter has no beginning: a line --- is missing before it")
		at--
	} else if at >= len(lines) || !isRule(lines[at]) {
		return "", src, 0, false
	}
	first = at + 2
	for end := at + 1; end < len(lines); end++ {
		if isRule(lines[end]) || strings.TrimRight(lines[end], " \t") == "..." {
			return strings.Join(lines[at+1:end], "\n"), strings.Join(lines[end+1:], "\n"), first, true
		}
	}
	end := at + 1
	for end < len(lines) && frontLine.MatchString(lines[end]) && strings.TrimSpace(lines[end]) != "" {
		end++
	}
	p.warn(first-1, "the front matter has no end: a line --- is missing after it, and the prompt is taken to begin in line %d", end+1)
	return strings.Join(lines[at+1:end], "\n"), strings.Join(lines[end:], "\n"), first, true
}

// opens tells that a text begins with front matter whose first line was
// forgotten: two keys that every role has, one below the other.
func opens(lines []string) bool {
	var found []string
	for _, line := range lines[:min(len(lines), 2)] {
		if m := keyLine.FindStringSubmatch(line); m != nil {
			found = append(found, snake(m[1]))
		}
	}
	return len(found) == 2 && (found[0] == "name" || found[0] == "description") && isKey(found[1])
}

func isRule(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// errList tells that front matter is a list, as Gemini's is of remote agents.
var errList = errors.New("it is a list, not keys and values")

// front reads front matter that begins in line first. It is not ok where it
// describes no role.
func (p *parser) front(src string, first int) (entries []entry, ok bool) {
	entries, err := decode(src)
	if err == nil {
		for i := range entries {
			entries[i].line += first - 1
		}
		return entries, true
	}
	if errors.Is(err, errList) {
		if listsRemote.MatchString(src) {
			p.fail(first, "it lists remote agents, which are not supported: a role is an agent that works here")
		} else {
			p.fail(first, "it is a list: a file describes one role, by keys and values")
		}
		return nil, false
	}
	line, why := first, err.Error()
	if e, ok := errors.AsType[yaml.Error](err); ok {
		why = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line + first - 1
		}
	}
	hint := "quotes around the value mend it"
	if strings.Contains(src, "\t") {
		hint = "indent by spaces, not tabs, and put quotes around values with a colon"
	}
	p.warn(line, "the front matter is no valid YAML (%s); it was read line by line: %s", why, hint)
	return p.byLines(src, first), true
}

// listsRemote finds what every remote agent of a list has.
var listsRemote = regexp.MustCompile(`(?mi)^[\s-]*["']?(kind["']?\s*:\s*["']?remote\b|agent_card_(url|json)\b)`)

// decode reads YAML strictly. Anchors are refused: they are not needed here,
// and a few lines of them can stand for gigabytes.
func decode(src string) (entries []entry, err error) {
	if len(src) > maxFront || strings.Count(src, "\n") > maxFrontLines || nesting(src) > maxNesting {
		return nil, errors.New("it is too long or nested too deeply")
	}
	defer func() {
		if v := recover(); v != nil { // the library panics on some broken input
			entries, err = nil, fmt.Errorf("it cannot be parsed: %v", v)
		}
	}()
	file, err := yamlparser.ParseBytes([]byte(src), 0, yamlparser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.NullType {
			continue
		}
		if refers(doc.Body) {
			return nil, errors.New("anchors and aliases (& and *) are not read")
		}
		var values []*ast.MappingValueNode
		switch body := doc.Body.(type) {
		case *ast.MappingNode:
			values = body.Values
		case *ast.MappingValueNode:
			values = []*ast.MappingValueNode{body}
		case *ast.SequenceNode:
			return nil, errList
		default:
			return nil, errors.New("it is no list of keys and values")
		}
		for _, v := range values {
			e := entry{line: 1}
			if t := v.Key.GetToken(); t != nil && t.Position != nil {
				e.key, e.line = t.Value, t.Position.Line
			}
			if err := yaml.NodeToValue(v.Value, &e.value, yaml.UseOrderedMap(), yaml.AllowDuplicateMapKey()); err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// nesting is how deep brackets and indentation can go in a text.
func nesting(src string) int {
	depth, deepest, indent := 0, 0, 0
	for line := range strings.Lines(src) {
		indent = max(indent, (len(line)-len(strings.TrimLeft(line, " -?")))/2)
		for _, r := range line {
			switch r {
			case '[', '{':
				depth++
				deepest = max(deepest, depth)
			case ']', '}':
				depth--
			}
		}
	}
	if indent > maxNesting*4 {
		return indent
	}
	return deepest
}

type aliases struct{ found bool }

// Visit implements ast.Visitor.
func (a *aliases) Visit(n ast.Node) ast.Visitor {
	switch n.Type() {
	case ast.AliasType, ast.AnchorType, ast.MergeKeyType:
		a.found = true
	}
	return a
}

func refers(n ast.Node) bool {
	var a aliases
	ast.Walk(&a, n)
	return a.found
}

var keyLine = regexp.MustCompile(`^([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]+|$)`)

// byLines reads front matter that is no YAML: an entry begins with a key at
// the start of a line, and whatever follows belongs to it. Each entry by
// itself is still read as YAML if it can be, so that one bad value spoils no
// other.
func (p *parser) byLines(src string, first int) []entry {
	lines := strings.Split(src, "\n")
	var chunks []entry
	for i, line := range lines {
		m := keyLine.FindStringSubmatch(line)
		prose := len(chunks) > 0 && slices.Contains([]string{"description", "when", "summary", "prompt"}, snake(chunks[len(chunks)-1].key))
		switch {
		case m != nil && (len(chunks) == 0 || begins(m[1], prose)):
			chunks = append(chunks, entry{key: m[1], line: first + i})
		case m != nil && !isDialogue(m[1]):
			p.warn(first+i, "%q is no known key: the line is taken as part of %s", m[1], chunks[len(chunks)-1].key)
		}
	}
	end := len(lines)
	for i, c := range slices.Backward(chunks) {
		begin := c.line - first
		raw := strings.Join(lines[begin:end], "\n")
		end = begin
		if one, err := decode(raw); err == nil && len(one) == 1 {
			chunks[i].value = one[0].value
			continue
		}
		raw = raw[len(keyLine.FindString(raw)):]
		chunks[i].value = unquote(strings.TrimLeft(strings.TrimSpace(raw), "|>"))
	}
	return chunks
}

// begins tells whether a word before a colon begins an entry. Within prose only
// a known key does, and not one that begins a line of a conversation.
func begins(word string, prose bool) bool {
	if prose && isDialogue(word) && word != strings.ToLower(word) {
		return false
	}
	return isKey(word) || !prose
}

// isDialogue tells that a word begins a line of the conversations that people
// put into descriptions.
func isDialogue(word string) bool {
	return slices.Contains([]string{"user", "assistant", "context", "commentary", "example", "examples", "human", "system", "note", "input", "output"}, strings.ToLower(word))
}
