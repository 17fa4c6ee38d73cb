// From YAML to nodes to settings: the walk over a file. What each key means is
// in fields.go.

package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// reader reads one file into a Config. It goes on after a problem, so that a
// person sees all of them at once.
type reader struct {
	config   *Config
	file     string
	env      func(string) string
	trusted  bool   // may decide where keys go
	isUser   bool   // the user's own file
	userFile string // for hints, if this is a project's

	anchors  map[string]ast.Node
	problems []Problem
	plainKey int // the line of a key that is written out, 0 if there is none
}

// value is a value of a file, with the path of keys that leads to it.
type value struct {
	node ast.Node
	path string // as in providers.azure.base_url
	key  string // the last of them
	line int
}

func (r *reader) fail(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) warnAt(line int, format string, args ...any) {
	r.config.Warnings = append(r.config.Warnings, Problem{File: r.file, Line: line, Text: fmt.Sprintf(format, args...)})
}

// parse reads the text of the file.
func (r *reader) parse(src []byte) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		// Not the error's own text: that shows the line, and a key may be on it.
		line, text := 0, "it is not valid YAML"
		if e, ok := errors.AsType[yaml.Error](err); ok {
			text += ": " + e.GetMessage()
			if t := e.GetToken(); t != nil && t.Position != nil {
				line = t.Position.Line
			}
		}
		hint := "quotes, brackets and indentation by spaces must match"
		if lines := bytes.Split(src, []byte("\n")); line > 0 && line <= len(lines) && bytes.Contains(lines[line-1], []byte("${")) {
			hint = "within { } put quotes around ${…}"
		}
		r.fail(line, "%s; correct this line or the one before it: %s", text, hint)
		return
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			r.fail(lineOf(doc.Body), "there is a second document: remove the line ---, a file is one document")
			return
		}
		body = doc.Body
	}
	if body == nil {
		return
	}
	r.anchors = map[string]ast.Node{}
	ast.Walk(collector(r.anchors), body)
	ast.Walk(checker{r}, body)
	if len(r.problems) > 0 {
		return
	}
	r.top(value{node: body, line: lineOf(body)})
}

// collector gathers anchors by name.
type collector map[string]ast.Node

// Visit implements ast.Visitor.
func (c collector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		c[a.Name.GetToken().Value] = a.Value
	}
	return c
}

// checker complains of aliases that stand for nothing.
type checker struct{ r *reader }

// Visit implements ast.Visitor.
func (c checker) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AliasNode); ok {
		name := a.Value.GetToken().Value
		if c.r.plain(a) == nil {
			c.r.fail(lineOf(a), "nothing is named &%s: quote the value if it only begins with *", name)
		}
		return nil
	}
	return c
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// maxAliases bounds a chain of aliases, which could lead to itself.
const maxAliases = 16

// plain follows anchors and aliases to what they stand for; nil if they stand
// for nothing.
func (r *reader) plain(n ast.Node) ast.Node {
	for range maxAliases {
		switch x := n.(type) {
		case *ast.AnchorNode:
			n = x.Value
		case *ast.AliasNode:
			n = r.anchors[x.Value.GetToken().Value]
		case *ast.TagNode:
			n = x.Value
		default:
			return n
		}
	}
	return nil
}

// entries returns the entries of a mapping. Those of merge keys come first, so
// that the mapping's own win. A value that is null has no entries.
func (r *reader) entries(v value) []value {
	return r.entriesAt(v, 0)
}

func (r *reader) entriesAt(v value, depth int) []value {
	var list []*ast.MappingValueNode
	switch n := r.plain(v.node).(type) {
	case *ast.MappingNode:
		list = n.Values
	case *ast.MappingValueNode:
		list = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil
	default:
		what := v.path
		if what == "" {
			what = "a configuration"
		}
		r.fail(v.line, "%s must be a mapping: lines of the form name: value, indented below it", what)
		return nil
	}
	var merged, own []value
	for _, e := range list {
		key := e.Key.GetToken().Value
		if e.Key.IsMergeKey() {
			if depth < maxAliases {
				merged = append(merged, r.entriesAt(value{node: e.Value, path: v.path, line: lineOf(e.Key)}, depth+1)...)
			}
			continue
		}
		path := key
		if v.path != "" {
			path = v.path + "." + key
		}
		own = append(own, value{node: e.Value, path: path, key: key, line: lineOf(e.Key)})
	}
	return append(merged, own...)
}

// field says what to do with a key. A guarded one is taken from trusted files
// only.
type field struct {
	set     func(value)
	guarded bool
}

// fields reads a mapping whose keys are known. An unknown one is a warning.
func (r *reader) fields(v value, known map[string]field) {
	for _, e := range r.entries(v) {
		f, ok := known[e.key]
		switch {
		case !ok:
			r.unknown(e, known)
		case f.guarded && !r.trusted:
			r.warnAt(e.line, "%s is passed over, because this project is not trusted: it would decide where your keys and prompts go or what is counted as cost. "+
				"If you trust the project, add its folder to the list under trust in %s", e.path, r.userFile)
		default:
			f.set(e)
		}
	}
}

// shownKey bounds what is repeated of an unknown key: a longer one may be a
// secret that slipped into the wrong place.
const shownKey = 24

func (r *reader) unknown(e value, known map[string]field) {
	place := "at the top"
	if parent, ok := strings.CutSuffix(e.path, "."+e.key); ok {
		place = "in " + parent
	}
	if len(e.key) > shownKey {
		r.warnAt(e.line, "there is a key %s that means nothing here; it is passed over. Here can be %s", place, list(known))
		return
	}
	if near := nearest(e.key, known); near != "" {
		r.warnAt(e.line, "%q means nothing %s and is passed over; did you mean %s?", e.key, place, near)
		return
	}
	r.warnAt(e.line, "%q means nothing %s and is passed over; here can be %s", e.key, place, list(known))
}

// noted records where a setting was made.
func (r *reader) noted(v value) {
	r.config.where[strings.ToLower(v.path)] = fmt.Sprintf("%s:%d", r.file, v.line)
}
