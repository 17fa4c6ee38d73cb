// Writing Cadre's own format.

package rolefile

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/cadre-dev/cadre/internal/role"
)

// Encode writes a role as a file of Cadre's format: what Parse reads from it is
// the same role.
func Encode(r role.Role) ([]byte, error) {
	var front yaml.MapSlice
	add := func(key string, stated bool, value any) {
		if stated {
			front = append(front, yaml.MapItem{Key: key, Value: value})
		}
	}
	add("name", true, r.Name)
	add("display_name", r.DisplayName != "", r.DisplayName)
	add("description", true, r.Description)
	add("icon", r.Icon != "", r.Icon)
	add("when", len(r.When) > 0, r.When)
	add("model", r.Model != "", modelValue(r))
	if r.Temperature != nil {
		add("temperature", true, *r.Temperature)
	}
	add("effort", r.Effort != "", r.Effort)
	tools, denied := r.Stated()
	if !r.AllTools {
		add("tools", true, slices.Concat([]string{}, namedTools(tools)))
	}
	add("denied_tools", len(denied) > 0, denied)
	add("permission", r.AllTools && len(onlyUses(r)) > 0, onlyUses(r))
	switch {
	case r.AnyDelegate:
		add("delegates", true, "*")
	case len(r.Delegates) > 0:
		add("delegates", true, r.Delegates)
	}
	add("max_turns", r.MaxTurns > 0, r.MaxTurns)
	add("max_duration", r.MaxDuration > 0, short(r.MaxDuration.String()))
	add("max_tokens", r.MaxTokens > 0, r.MaxTokens)
	add("max_cost", r.MaxCost > 0, json.Number(strconv.FormatFloat(float64(r.MaxCost)/1e6, 'f', -1, 64)))
	add("max_parallel", r.MaxParallel > 0, r.MaxParallel)
	add("context", r.Context != "", string(r.Context))
	add("summary", r.Summary != "", r.Summary)
	add("acceptance", r.Acceptance != "", r.Acceptance)
	add("background", r.Background, true)
	add("isolation", r.Isolation != "", r.Isolation)
	add("mode", r.Mode != "", string(r.Mode))
	for _, s := range []struct {
		key    string
		schema json.RawMessage
	}{{"input_schema", r.InputSchema}, {"output_schema", r.OutputSchema}} {
		add(s.key, s.schema != nil, string(s.schema))
	}
	if t := r.AsTool; t != nil {
		face := yaml.MapSlice{{Key: "name", Value: t.Name}, {Key: "input", Value: string(t.Input)}}
		if t.Tools != nil {
			face = append(face, yaml.MapItem{Key: "tools", Value: namedTools(t.Tools)})
		}
		if t.MaxTurns > 0 {
			face = append(face, yaml.MapItem{Key: "max_turns", Value: t.MaxTurns})
		}
		if t.Prompt != "" {
			face = append(face, yaml.MapItem{Key: "prompt", Value: t.Prompt})
		}
		add("as_tool", true, face)
	}
	b, err := yaml.Marshal(front)
	if err != nil {
		return nil, fmt.Errorf("writing the role %s: %w", r.Name, err)
	}
	return []byte("---\n" + string(b) + "---\n\n" + strings.TrimSpace(r.Prompt) + "\n"), nil
}

// onlyUses says of a role that has all tools which it has for some uses alone,
// in the form that opencode has for it.
func onlyUses(r role.Role) yaml.MapSlice {
	var out yaml.MapSlice
	for _, rule := range r.ToolRules {
		tool, way, _ := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
		if strings.HasPrefix(rule, role.Not) {
			continue
		}
		i := slices.IndexFunc(out, func(x yaml.MapItem) bool { return x.Key == tool })
		if i < 0 {
			i, out = len(out), append(out, yaml.MapItem{Key: tool, Value: yaml.MapSlice{{Key: "*", Value: "deny"}}})
		}
		ways, _ := out[i].Value.(yaml.MapSlice)
		out[i].Value = append(ways, yaml.MapItem{Key: way, Value: "ask"})
	}
	return out
}

// modelValue is a name, or a list of them.
func modelValue(r role.Role) any {
	if names := r.Models(); len(names) > 1 {
		return names
	}
	return r.Model
}

// namedTools leaves out the tools that an agent has whatever its role says.
func namedTools(tools []string) []string {
	return slices.DeleteFunc(slices.Clone(tools), func(t string) bool {
		return slices.Contains(role.EveryAgents(), t) || slices.Contains(role.Delegation(), t)
	})
}

// short is a duration without the zeros at its end: 5m0s is 5m.
func short(d string) string {
	if strings.HasSuffix(d, "m0s") {
		d = strings.TrimSuffix(d, "0s")
	}
	if strings.HasSuffix(d, "h0m") {
		d = strings.TrimSuffix(d, "0m")
	}
	return d
}

//go:embed template.md
var template string

// Template is a file for a new role, with its keys explained.
func Template(name string) []byte {
	b, err := yaml.Marshal(name)
	if err != nil {
		b = []byte(strconv.Quote(name))
	}
	return []byte(strings.ReplaceAll(template, "{{NAME}}", strings.TrimSpace(string(b))))
}
