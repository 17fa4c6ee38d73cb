// Entries: what all formats come down to. A value is nil, a string, a bool, a
// number, a list of values or a map whose order is kept.

package rolefile

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
)

// entry is a key of a file with its value.
type entry struct {
	key   string
	line  int
	value any
}

// snake is a key as the table of keys has it: maxTurns, max-turns and
// MaxTurns are max_turns.
func snake(key string) string {
	var b strings.Builder
	lower := false // the last letter was a small one or a digit
	for _, r := range strings.TrimSpace(key) {
		switch {
		case r == '-' || r == ' ' || r == '.':
			r = '_'
		case unicode.IsUpper(r) && lower:
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// text is a value as text; numbers and bools as they are written.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v), true
	case bool:
		return strconv.FormatBool(v), true
	case int64, uint64, int, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// number is a value as a number, also if it is written as text.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return n, err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	return 0, false
}

// boolean is a value as a bool, also in the words of older YAML.
func boolean(v any) (is, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true", "yes", "on":
			return true, true
		case "false", "no", "off":
			return false, true
		}
	}
	return false, false
}

// pairs are the entries of a map. They stand where the map stands.
func pairs(v any, line int) ([]entry, bool) {
	m, ok := v.(yaml.MapSlice)
	if !ok {
		return nil, false
	}
	out := make([]entry, 0, len(m))
	for _, item := range m {
		out = append(out, entry{key: fmt.Sprint(item.Key), line: line, value: item.Value})
	}
	return out, true
}

// list is a value as a list of texts: a list, or text with commas or bars
// between the items, which do not count within parentheses.
func list(v any) ([]string, bool) {
	var out []string
	switch v := v.(type) {
	case nil:
		return nil, true
	case []any:
		for _, item := range v {
			s, ok := text(item)
			if !ok {
				return out, false
			}
			out = append(out, s)
		}
		return out, true
	case string:
		depth := 0
		for _, item := range strings.FieldsFunc(unbracket(v), func(r rune) bool {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			}
			return depth <= 0 && (r == ',' || r == '|' || r == '\n')
		}) {
			if item = unquote(strings.TrimLeft(strings.TrimSpace(item), "-\t ")); item != "" {
				out = append(out, item)
			}
		}
		return out, true
	}
	s, ok := text(v)
	return []string{s}, ok
}

// unbracket takes the brackets off a list that YAML could not read.
func unbracket(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return s[1 : len(s)-1]
	}
	return s
}

// unquote takes matching quotes off a text that YAML could not read, unless it
// is a list of quoted items.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] && !strings.Contains(s[1:len(s)-1], s[:1]+",") {
		return s[1 : len(s)-1]
	}
	return s
}

// asJSON is a value as JSON, with the order of its keys kept.
func asJSON(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case yaml.MapSlice:
		parts := make([]string, 0, len(v))
		for _, item := range v {
			value, err := asJSON(item.Value)
			if err != nil {
				return nil, err
			}
			key, err := json.Marshal(fmt.Sprint(item.Key))
			if err != nil {
				return nil, err
			}
			parts = append(parts, string(key)+":"+string(value))
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}"), nil
	case []any:
		parts := make([]string, 0, len(v))
		for _, item := range v {
			value, err := asJSON(item)
			if err != nil {
				return nil, err
			}
			parts = append(parts, string(value))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]"), nil
	}
	return json.Marshal(v)
}
