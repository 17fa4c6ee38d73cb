// Codex: a role a file in TOML, and the roles that its configuration names.

package rolefile

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
)

// toml reads a file of Codex: a role, or a configuration with [agents.name].
func (p *parser) toml(src string) {
	var doc map[string]any
	if err := toml.Unmarshal([]byte(src), &doc); err != nil {
		line := 0
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = e.Position()
		}
		p.fail(line, "it is no valid TOML: %v", err)
		return
	}
	if filepath.Base(p.file.Path) == "config.toml" {
		p.codexConfig(doc, src)
		return
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(doc)), func(key string) bool { return isKey(key) }) {
		p.file.Skipped = true // such as the description of a package
		return
	}
	r := p.begin(stem(p.file.Path), 1, "the file's name")
	if _, ok := doc["name"]; !ok {
		r.warn(1, "it has no name: that of the file stands in")
	}
	r.read(ordered(doc, src))
	r.finish()
}

// codexConfig reads the roles of a configuration; everything else in it is
// Codex's own.
func (p *parser) codexConfig(doc map[string]any, src string) {
	agents, _ := doc["agents"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		table, ok := agents[name].(map[string]any)
		if !ok {
			continue // a setting such as max_threads
		}
		line := 1 + strings.Count(src[:max(strings.Index(src, "[agents."+name+"]"), 0)], "\n")
		r := p.begin(name, line, "the name of the table")
		entries := ordered(table, "")
		for i := range entries {
			entries[i].line = line
		}
		if file, ok := table["config_file"].(string); ok {
			inner, err := p.codexFile(file)
			if err != nil {
				p.fail(line, "config_file %s cannot be read: %v", file, err)
				continue
			}
			entries = append(inner, entries...)
		}
		entries = slices.DeleteFunc(entries, func(e entry) bool { return e.key == "config_file" || e.key == "name" })
		r.read(lastOf(entries))
		r.finish()
	}
	p.file.Skipped = len(p.file.Roles) == 0 && len(p.file.Errors) == 0
}

// codexFile reads a file of settings that a role names.
func (p *parser) codexFile(name string) ([]entry, error) {
	if p.o.Open == nil {
		return nil, errors.New("it cannot be read from here")
	}
	data, err := p.o.Open(name)
	if err == nil {
		data, err = clean(data)
	}
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	return ordered(doc, ""), nil
}

// lastOf keeps the last entry of each key: what the configuration says of a
// role goes before what the role's own file says.
func lastOf(entries []entry) []entry {
	var out []entry
	for i, e := range entries {
		if !slices.ContainsFunc(entries[i+1:], func(x entry) bool { return x.key == e.key }) {
			out = append(out, e)
		}
	}
	return out
}

// tomlKey is the start of a line that gives a key a value, or opens a table.
var tomlKey = regexp.MustCompile(`^[ \t]*(?:["']?([\w-]+)["']?[ \t]*[.=]|\[+["']?([\w-]+)["'\].])`)

// ordered turns a table into entries in the order of their lines.
func ordered(table map[string]any, src string) []entry {
	at := map[string]int{}
	line := 0
	for text := range strings.Lines(src) {
		line++
		if m := tomlKey.FindStringSubmatch(text); m != nil {
			if key := m[1] + m[2]; at[key] == 0 {
				at[key] = line
			}
		}
	}
	var out []entry
	for _, key := range slices.Sorted(maps.Keys(table)) {
		out = append(out, entry{key: key, line: at[key], value: fromTOML(table[key])})
	}
	slices.SortStableFunc(out, func(a, b entry) int { return cmp.Compare(a.line, b.line) })
	return out
}

// fromTOML turns tables into maps that keep an order.
func fromTOML(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := yaml.MapSlice{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, yaml.MapItem{Key: key, Value: fromTOML(v[key])})
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = fromTOML(x)
		}
		return out
	}
	return v
}
