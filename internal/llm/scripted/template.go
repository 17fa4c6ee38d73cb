// Templates: texts with {{names}} that stand for what is known when a turn is
// played. They are parsed when the script is loaded, so that a misspelt name
// is an error with a line number and not a surprise in the middle of a run.

package scripted

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// template is a text in pieces; its zero value is the empty text.
type template struct {
	pieces []piece
	node   ast.Node // where it stands, for errors
}

// piece is literal text, or a name to be looked up.
type piece struct {
	text   string
	name   string // empty for literal text
	n      int    // of task.N and result.N
	number bool   // {{number NAME}}
}

// plainNames are the names that stand alone; the others take a number.
var plainNames = []string{
	"i", "item", "agent", "name", "role", "depth", "task", "turn", "try", "user", "last_result",
}

var placeholder = regexp.MustCompile(`\{\{\s*(number\s+)?([^{}\s]*)\s*\}\}`)

// parseTemplate splits s at its placeholders.
func parseTemplate(s string, node ast.Node) (template, error) {
	t := template{node: node}
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(s, -1) {
		if m[0] > at {
			t.pieces = append(t.pieces, piece{text: s[at:m[0]]})
		}
		p, err := parseName(s[m[4]:m[5]], node)
		if err != nil {
			return template{}, err
		}
		p.number = m[2] >= 0
		if p.number && (m[0] != 0 || m[1] != len(s)) {
			return template{}, complain(node, "%s must be the whole value", s[m[0]:m[1]])
		}
		t.pieces = append(t.pieces, p)
		at = m[1]
	}
	if at < len(s) {
		t.pieces = append(t.pieces, piece{text: s[at:]})
	}
	return t, nil
}

func parseName(name string, node ast.Node) (piece, error) {
	for _, known := range plainNames {
		if name == known {
			return piece{name: name}, nil
		}
	}
	if base, digits, ok := strings.Cut(name, "."); ok && (base == "task" || base == "result") {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || (base == "result" && n == 0) {
			return piece{}, complain(node, "{{%s}}: %q is not a number that can stand there", name, digits)
		}
		return piece{name: base + ".", n: n}, nil
	}
	return piece{}, complain(node, "unknown template {{%s}}; there are %s, task.N, result.N",
		name, strings.Join(plainNames, ", "))
}

// uses reports whether name occurs in t.
func (t template) uses(name string) bool {
	for _, p := range t.pieces {
		if p.name == name {
			return true
		}
	}
	return false
}

// maxGroup is the greatest N of {{task.N}} in t, -1 if there is none.
func (t template) maxGroup() int {
	n := -1
	for _, p := range t.pieces {
		if p.name == "task." {
			n = max(n, p.n)
		}
	}
	return n
}

// numeric reports whether t is a single {{number NAME}}.
func (t template) numeric() bool { return len(t.pieces) == 1 && t.pieces[0].number }

// expand fills t in.
func (t template) expand(s *scope) string {
	if len(t.pieces) == 1 {
		return s.value(t.pieces[0])
	}
	var b strings.Builder
	for _, p := range t.pieces {
		b.WriteString(s.value(p))
	}
	return b.String()
}

// scope is what templates can refer to while a turn is played.
type scope struct {
	caller  callerFacts
	turn    int
	user    string
	results []string
	groups  []string // of task_re
	i       int
	item    string
}

// callerFacts are the fields of llm.Caller that templates show.
type callerFacts struct {
	agent, name, role, task string
	depth, try              int
}

func (s *scope) value(p piece) string {
	switch p.name {
	case "":
		return p.text
	case "i":
		return strconv.Itoa(s.i)
	case "item":
		return s.item
	case "agent":
		return s.caller.agent
	case "name":
		return s.caller.name
	case "role":
		return s.caller.role
	case "depth":
		return strconv.Itoa(s.caller.depth)
	case "task":
		return s.caller.task
	case "turn":
		return strconv.Itoa(s.turn)
	case "try":
		return strconv.Itoa(s.caller.try)
	case "user":
		return s.user
	case "last_result":
		return strings.Join(s.results, "\n\n")
	case "task.":
		if p.n < len(s.groups) {
			return s.groups[p.n]
		}
	case "result.":
		if p.n <= len(s.results) {
			return s.results[p.n-1]
		}
	}
	return ""
}

// number gives the value of a {{number NAME}} as JSON.
func (s *scope) number(p piece) (string, error) {
	v := s.value(p)
	if _, err := strconv.ParseInt(v, 10, 64); err != nil {
		return "", fmt.Errorf("{{number %s}}: %q is not a whole number", p.name, v)
	}
	return v, nil
}
