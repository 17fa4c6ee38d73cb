// Rules: their fields, their two written forms, and what is wrong with one
// that cannot be used.

package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Rule says what happens to uses of tools. It matches if all of its fields do;
// an empty one matches anything. Rules are made by ParseRule, ParseFields or
// from JSON, which check them.
type Rule struct {
	Effect  Effect `json:"effect"`
	Tool    string `json:"tool,omitempty"`    // a name, or a pattern with *
	Path    string `json:"path,omitempty"`    // a glob, relative to the working folder
	Command string `json:"command,omitempty"` // words with *; after a = the exact line
	Host    string `json:"host,omitempty"`    // example.com, *.example.com or *
	Role    string `json:"role,omitempty"`
	Depth   string `json:"depth,omitempty"`  // 2, >=2, >2, <=2, <2
	Source  string `json:"source,omitempty"` // where it was written, for people
}

const (
	maxPattern = 1000 // bytes
	maxBraces  = 8    // alternatives in a path, which multiply
)

// ParseRule reads the short form: Bash, Bash(go test *), Edit(src/**),
// web_fetch(*.example.com), mcp__github__*, or * for all tools. Names of tools
// are compared without regard to case and underscores, and those of the peers
// are known.
func ParseRule(effect Effect, text string) (Rule, error) {
	text = strings.TrimSpace(text)
	name, rest, hasArgument := strings.Cut(text, "(")
	rule := Rule{Effect: effect, Tool: strings.TrimSpace(name)}
	if rule.Tool == "" {
		return Rule{}, fmt.Errorf("rule %q: it names no tool: write Bash(go test *), Edit(src/**), or * for all tools", text)
	}
	if hasArgument {
		argument, closed := strings.CutSuffix(rest, ")")
		if !closed {
			return Rule{}, fmt.Errorf("rule %q: the bracket ( is not closed at the end", text)
		}
		if err := rule.narrowTo(strings.TrimSpace(argument)); err != nil {
			return Rule{}, fmt.Errorf("rule %q: %w", text, err)
		}
	}
	if err := rule.Check(); err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", text, err)
	}
	return rule, nil
}

// narrowTo reads what stands in brackets, which means a different thing for
// each tool. A lone * says nothing.
func (r *Rule) narrowTo(argument string) error {
	if argument == "" {
		return errors.New("the brackets are empty: leave them out to mean the whole tool")
	}
	if argument == "*" || argument == ":*" {
		return nil
	}
	if host, ok := strings.CutPrefix(argument, "domain:"); ok {
		r.Host = strings.TrimSpace(host)
		return nil
	}
	switch canonical(r.Tool) {
	case "bash":
		r.Command = argument
	case "read", "edit", "glob", "grep", "ls", "readimage":
		r.Path = argument
	case "webfetch", "websearch":
		r.Host = argument
	default:
		return fmt.Errorf("what stands in brackets is known for Bash, Read, Edit, Write, Glob, Grep, LS and web_fetch only; for %s write the fields tool, path, command or host", r.Tool)
	}
	return nil
}

// ParseRules reads a list of short forms that stand at source. It reports all
// that are wrong, and returns the others.
func ParseRules(effect Effect, source string, texts []string) ([]Rule, error) {
	var rules []Rule
	var errs []error
	for _, text := range texts {
		rule, err := ParseRule(effect, text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rule.Source = source
		rules = append(rules, rule)
	}
	return rules, errors.Join(errs...)
}

// ParseFields reads the long form: either effect and tool, or one of allow,
// ask and deny with a short form, and any of path, command, host, role, depth.
func ParseFields(source string, fields map[string]string) (Rule, error) {
	var rule Rule
	for _, effect := range []Effect{Allow, Ask, Deny} {
		text, ok := fields[string(effect)]
		if !ok {
			continue
		}
		if rule.Effect != "" {
			return Rule{}, fmt.Errorf("a rule says both %s and %s: make two of it", rule.Effect, effect)
		}
		var err error
		if rule, err = ParseRule(effect, text); err != nil {
			return Rule{}, err
		}
	}
	set := map[string]*string{
		"tool": &rule.Tool, "path": &rule.Path, "command": &rule.Command,
		"host": &rule.Host, "role": &rule.Role, "depth": &rule.Depth,
	}
	if rule.Effect == "" {
		set["effect"] = (*string)(&rule.Effect)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		field, ok := set[key]
		value := strings.TrimSpace(fields[key])
		switch {
		case ok && value == "":
			return Rule{}, fmt.Errorf("the field %s of a rule is empty: leave it out", key)
		case ok && *field != "" && *field != value:
			return Rule{}, fmt.Errorf("a rule says both %s and %s for its %s", *field, value, key)
		case ok:
			*field = value
		case key != string(rule.Effect):
			return Rule{}, fmt.Errorf("a rule has no field %q: it has allow, ask or deny, or effect and tool, and path, command, host, role, depth", key)
		}
	}
	rule.Source = source
	if err := rule.Check(); err != nil {
		return Rule{}, fmt.Errorf("rule %s: %w", rule, err)
	}
	return rule, nil
}

// Check says what is wrong with a rule.
func (r Rule) Check() error {
	switch r.Effect {
	case Allow, Ask, Deny:
	case "":
		return errors.New("it does not say allow, ask or deny")
	default:
		return fmt.Errorf("the effect is %q: it must be allow, ask or deny", r.Effect)
	}
	if strings.ContainsAny(r.Tool, " \t\n()") {
		return fmt.Errorf("%q is not the name of a tool", r.Tool)
	}
	if r.Depth != "" {
		if _, _, err := parseDepth(r.Depth); err != nil {
			return err
		}
	}
	return errors.Join(checkPath(r.Path), checkCommand(r.Command), checkHost(r.Host))
}

func checkPath(pattern string) error {
	switch {
	case pattern == "":
		return nil
	case len(pattern) > maxPattern:
		return fmt.Errorf("the path pattern is longer than %d bytes", maxPattern)
	case strings.HasPrefix(pattern, "/"), strings.HasPrefix(pattern, "~"):
		return fmt.Errorf("the path %q is not inside the working folder, which tools never leave: write it relative to that, such as src/** or ./main.go", pattern)
	case slices.Contains(strings.Split(pattern, "/"), ".."):
		return fmt.Errorf("the path %q contains ..: tools never leave the working folder", pattern)
	case strings.Count(pattern, "{") > maxBraces, strings.Count(pattern, ",") > 100:
		return fmt.Errorf("the path %q has too many alternatives in { }", pattern)
	case !doublestar.ValidatePattern(pattern):
		return fmt.Errorf("the path %q is not a valid pattern: are all [ ] and { } closed?", pattern)
	}
	return nil
}

func checkCommand(pattern string) error {
	if line, ok := strings.CutPrefix(pattern, exactly); ok && line == "" {
		return errors.New("the command pattern is a = without a line behind it")
	} else if pattern == "" || ok {
		return nil
	}
	if len(pattern) > maxPattern {
		return fmt.Errorf("the command pattern is longer than %d bytes", maxPattern)
	}
	if i := strings.IndexAny(pattern, ";|&<>$`\n\"'\\"); i >= 0 {
		return fmt.Errorf("the command pattern contains %q: a pattern is for one simple command, each part of a longer line is matched by itself, and words are written without quotes", pattern[i:i+1])
	}
	if len(parsePattern(pattern).words) == 0 {
		return errors.New("the command pattern matches anything: leave it out to mean the whole tool")
	}
	return nil
}

func checkHost(pattern string) error {
	if pattern == "" || pattern == "*" {
		return nil
	}
	name := strings.TrimPrefix(pattern, "*.")
	switch {
	case strings.Contains(name, "*"):
		return fmt.Errorf("the host %q has a * inside: it may stand for all hosts, or for all below one as in *.example.com", pattern)
	case strings.ContainsAny(name, "/@ "):
		return fmt.Errorf("the host %q is more than a host: write example.com, without https:// and path", pattern)
	case strings.Count(name, ":") == 1:
		return fmt.Errorf("the host %q has a port: write the host alone", pattern)
	case name == "":
		return errors.New("the host is empty")
	}
	return nil
}

// parseDepth reads 2, >=2, >2, <=2 and <2 as the lowest and highest depth.
func parseDepth(text string) (low, high int, err error) {
	const deepest = 1 << 30
	digits := strings.TrimLeft(text, "<>=")
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil || n < 0 || n > deepest {
		return 0, 0, fmt.Errorf("the depth %q is not a number, or one after >=, >, <= or <", text)
	}
	switch text[:len(text)-len(digits)] {
	case "", "=":
		return n, n, nil
	case ">=":
		return n, deepest, nil
	case ">":
		return n + 1, deepest, nil
	case "<=":
		return 0, n, nil
	case "<":
		return 0, n - 1, nil
	}
	return 0, 0, fmt.Errorf("the depth %q begins with something other than >=, >, <= or <", text)
}

// String is the short form, with what it cannot say behind it.
func (r Rule) String() string {
	var b strings.Builder
	b.WriteString(r.Tool)
	if r.Tool == "" {
		b.WriteString("*")
	}
	first := true
	for _, field := range []struct{ name, value string }{
		{"command", r.Command}, {"path", r.Path}, {"host", r.Host}, {"role", r.Role}, {"depth", r.Depth},
	} {
		short := first && field.name != "role" && field.name != "depth"
		switch {
		case field.value == "":
		case short:
			b.WriteString("(" + field.value + ")")
			first = false
		default:
			b.WriteString(" " + field.name + " " + field.value)
		}
	}
	return b.String()
}

// origin is the rule in words, for the record.
func (r Rule) origin() string {
	text := "rule " + string(r.Effect) + " " + r.String()
	switch r.Source {
	case "":
		return text
	case builtIn:
		return "built-in " + text
	}
	return text + " from " + r.Source
}

// UnmarshalJSON refuses a rule that Check refuses.
func (r *Rule) UnmarshalJSON(data []byte) error {
	type plain Rule
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("reading a permission rule: %w", err)
	}
	if p != (plain{}) { // the zero rule of a decision that no rule made
		if err := Rule(p).Check(); err != nil {
			return fmt.Errorf("reading the permission rule %s: %w", Rule(p), err)
		}
	}
	*r = Rule(p)
	return nil
}
