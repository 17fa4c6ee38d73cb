// Reading single values: texts, numbers, durations, prices.

package config

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/cadre-dev/cadre/internal/spelling"
)

// text reads a text, or a number as it is written, and fills in references to
// the environment. It returns false if there is none, or if it is no text;
// that has been told then.
func (r *reader) text(v value) (string, bool) {
	var s string
	switch n := r.plain(v.node).(type) {
	case *ast.StringNode:
		s = n.Value
	case *ast.LiteralNode:
		s = strings.TrimSpace(n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		s = n.GetToken().Value
	case *ast.NullNode:
		return "", false
	default:
		r.fail(v.line, "%s must be a single value, not a list or a mapping", v.path)
		return "", false
	}
	if !strings.Contains(s, "${") {
		return s, s != ""
	}
	if !r.trusted {
		r.warnAt(v.line, "%s is passed over: a project that is not trusted may not read the environment. If you trust it, add its folder to the list under trust in %s", v.path, r.userFile)
		return "", false
	}
	out, missing := expand(s, r.env)
	if len(missing) > 0 {
		r.warnAt(v.line, "%s is passed over: the environment variable %s is not set. Set it, or write ${%s:-otherwise}", v.path, strings.Join(missing, ", "), missing[0])
		return "", false
	}
	return out, out != ""
}

// secret reads a text that must not be shown.
func (r *reader) secret(v value) (Secret, bool) {
	s, ok := r.text(v)
	if ok && strings.ContainsAny(s, "\r\n") {
		r.fail(v.line, "%s has more than one line: write it on one", v.path)
		return Secret{}, false
	}
	return NewSecret(s), ok
}

// count reads a positive whole number; 200k and 1M are understood.
func (r *reader) count(v value) (int64, bool) {
	s, ok := r.text(v)
	if !ok {
		return 0, false
	}
	digits, unit := strings.ReplaceAll(s, "_", ""), int64(1)
	switch digits[len(digits)-1:] {
	case "k", "K":
		digits, unit = digits[:len(digits)-1], 1_000
	case "m", "M":
		digits, unit = digits[:len(digits)-1], 1_000_000
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		r.fail(v.line, "%s must be a number above 0, such as 64 or 200k", v.path)
		return 0, false
	}
	return n * unit, true
}

// maxDollars bounds a price; above it somebody forgot that prices are for a
// million tokens.
const maxDollars = 100_000

// dollars reads a price in dollars per million tokens.
func (r *reader) dollars(v value) (*int64, bool) {
	s, ok := r.text(v)
	if !ok {
		return nil, false
	}
	f, err := strconv.ParseFloat(strings.TrimPrefix(s, "$"), 64)
	if err != nil || !(f >= 0 && f <= maxDollars) {
		r.fail(v.line, "%s must be a price in dollars per million tokens, such as 3 or 0.25", v.path)
		return nil, false
	}
	n := int64(math.Round(f * 1e6))
	return &n, true
}

// flag reads true or false.
func (r *reader) flag(v value) (*bool, bool) {
	s, ok := r.text(v)
	if !ok {
		return nil, false
	}
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return new(true), true
	case "false", "no", "off":
		return new(false), true
	}
	r.fail(v.line, "%s must be true or false", v.path)
	return nil, false
}

// duration reads a duration above 0.
func (r *reader) duration(v value) (time.Duration, bool) {
	s, ok := r.text(v)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		r.fail(v.line, "%s must be a duration with its unit, such as 20s or 2m", v.path)
		return 0, false
	}
	return d, true
}

// texts reads a list of texts; a single one will do.
func (r *reader) texts(v value) []string {
	seq, ok := r.plain(v.node).(*ast.SequenceNode)
	if !ok {
		if s, ok := r.text(v); ok {
			return []string{s}
		}
		return nil
	}
	var out []string
	for _, n := range seq.Values {
		if null, ok := n.(*ast.NullNode); ok && null.GetToken().Value == "~" {
			out = append(out, "~") // YAML takes it for nothing, people for their home folder
			continue
		}
		if s, ok := r.text(value{node: n, path: v.path, key: v.key, line: lineOf(n)}); ok {
			out = append(out, s)
		}
	}
	return out
}

// list names the keys that can be used.
func list(known map[string]field) string {
	return strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

// nearest returns the known key that key was probably meant to be, empty if
// none is near.
func nearest(key string, known map[string]field) string {
	plain := func(s string) string {
		return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
	}
	best, at := "", 3
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if d := spelling.Distance(plain(key), plain(k)); d < at && d < len(plain(k)) {
			best, at = k, d
		}
	}
	return best
}
