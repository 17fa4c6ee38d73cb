// JSON: a section AgentRoles, opencode's configuration, Claude Code's map of
// agents, or a single role.

package rolefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// maxJSONDepth bounds the recursion over a file.
const maxJSONDepth = 100

// json reads a file with any number of roles.
func (p *parser) json(src []byte) {
	src = withoutComments(src)
	d := &jsonReader{dec: json.NewDecoder(bytes.NewReader(src)), src: src, lines: map[string]int{}}
	d.dec.UseNumber()
	doc, err := d.value("", 0)
	if err == nil {
		if _, more := d.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the end")
		}
	}
	if err != nil {
		p.fail(d.line(), "it is no valid JSON: %v", err)
		return
	}
	root, ok := doc.(yaml.MapSlice)
	if !ok {
		p.fail(1, "it has to be an object with roles")
		return
	}
	get := func(key string) (any, bool) {
		i := slices.IndexFunc(root, func(x yaml.MapItem) bool { return x.Key == key })
		if i < 0 {
			return nil, false
		}
		return root[i].Value, true
	}
	roles := slices.IndexFunc(root, func(x yaml.MapItem) bool { return strings.EqualFold(fmt.Sprint(x.Key), "AgentRoles") })
	switch agents, isConfig := get("agent"); {
	case roles >= 0:
		p.agentRoles(root[roles].Value, fmt.Sprintf("/%v", root[roles].Key), d.lines)
	case isConfig:
		p.roleMap(agents, "/agent", d.lines)
	case p.o.Format == OpenCode:
		if modes, ok := get("mode"); ok {
			p.roleMap(modes, "/mode", d.lines)
		}
	case describes(root):
		r := p.begin(stem(p.file.Path), 1, "the file's name")
		r.read(d.entries(root, ""))
		r.finish()
	default:
		if agents, ok := get("agents"); ok {
			p.roleMap(agents, "/agents", d.lines)
		} else if slices.ContainsFunc(root, func(x yaml.MapItem) bool { return describes(x.Value) }) {
			p.roleMap(root, "", d.lines)
		}
	}
	p.file.Skipped = len(p.file.Roles)+len(p.file.Errors)+len(p.file.Warnings)+len(p.file.Disabled)+p.file.MaxDepth == 0
}

// describes tells whether a value looks like a role.
func describes(v any) bool {
	m, ok := v.(yaml.MapSlice)
	return ok && slices.ContainsFunc(m, func(x yaml.MapItem) bool {
		_, isText := x.Value.(string)
		return isText && slices.Contains([]string{"prompt", "description", "system_prompt", "system_prompt_file", "instructions"}, snake(fmt.Sprint(x.Key)))
	}) && !slices.ContainsFunc(m, func(x yaml.MapItem) bool { // a schema, or the description of a package
		return slices.Contains([]any{"properties", "required", "scripts", "devDependencies"}, x.Key)
	})
}

// agentRoles reads a section AgentRoles: limits for all, and a list of roles.
func (p *parser) agentRoles(v any, at string, lines map[string]int) {
	section, ok := pairs(v, lines[at])
	if !ok {
		p.fail(lines[at], "AgentRoles has to be an object")
		return
	}
	var common []entry
	for _, e := range section {
		e.line = lines[at+"/"+e.key]
		switch snake(e.key) {
		case "max_depth":
			if n, ok := number(e.value); ok && n >= 1 && n <= 100 && n == math.Trunc(n) {
				p.file.MaxDepth = int(n)
			} else {
				p.warn(e.line, "MaxDepth has to be a whole number from 1 to 100: it is ignored")
			}
		case "default_max_iterations":
			common = append(common, entry{key: "MaxIterations", line: e.line, value: e.value})
		case "default_max_duration_ms":
			common = append(common, entry{key: "MaxDurationMs", line: e.line, value: e.value})
		case "roles":
		default:
			p.warn(e.line, "unknown key %s: it is ignored", e.key)
		}
	}
	i := slices.IndexFunc(section, func(e entry) bool { return snake(e.key) == "roles" })
	if i < 0 {
		if p.file.MaxDepth == 0 {
			p.fail(lines[at], "AgentRoles has no Roles")
		}
		return
	}
	roles, ok := section[i].value.([]any)
	if !ok {
		p.fail(section[i].line, "Roles has to be a list")
		return
	}
	for n, v := range roles {
		at := fmt.Sprintf("%s/%s/%d", at, section[i].key, n)
		m, ok := v.(yaml.MapSlice)
		if !ok {
			p.fail(lines[at], "role %d is no object", n+1)
			continue
		}
		r := p.begin("", lines[at], "RoleId")
		d := &jsonReader{lines: lines}
		own := d.entries(m, at)
		r.read(append(slices.DeleteFunc(slices.Clone(common), func(c entry) bool {
			return slices.ContainsFunc(own, func(e entry) bool { return strings.EqualFold(e.key, c.key) })
		}), own...))
		r.finish()
	}
}

// roleMap reads roles by their names.
func (p *parser) roleMap(v any, at string, lines map[string]int) {
	roles, ok := v.(yaml.MapSlice)
	if !ok {
		p.fail(lines[at], "it has to be an object of roles by their names")
		return
	}
	for _, item := range roles {
		name := fmt.Sprint(item.Key)
		m, ok := item.Value.(yaml.MapSlice)
		if !ok {
			p.fail(lines[at+"/"+name], "the role %s is no object", name)
			continue
		}
		r := p.begin(name, lines[at+"/"+name], "the key")
		d := &jsonReader{lines: lines}
		r.read(d.entries(m, at+"/"+name))
		r.finish()
	}
}

// jsonReader reads JSON with the order of its keys, and remembers lines.
type jsonReader struct {
	dec   *json.Decoder
	src   []byte
	lines map[string]int // of keys and items, by path

	seen, breaks int // how far the lines were counted, and how many there were
}

// line is where the reader is.
func (d *jsonReader) line() int {
	if at := min(int(d.dec.InputOffset()), len(d.src)); at > d.seen {
		d.breaks += bytes.Count(d.src[d.seen:at], []byte("\n"))
		d.seen = at
	}
	return 1 + d.breaks
}

func (d *jsonReader) entries(m yaml.MapSlice, at string) []entry {
	out, _ := pairs(m, 0)
	for i := range out {
		out[i].line = d.lines[at+"/"+out[i].key]
	}
	return out
}

func (d *jsonReader) value(at string, depth int) (any, error) {
	if depth > maxJSONDepth {
		return nil, errors.New("it is nested too deeply")
	}
	token, err := d.dec.Token()
	if err != nil {
		return nil, err
	}
	if _, known := d.lines[at]; !known {
		d.lines[at] = d.line()
	}
	switch token := token.(type) {
	case json.Number:
		if n, err := token.Int64(); err == nil {
			return n, nil
		}
		return token.Float64()
	case json.Delim:
		if token == '[' {
			return d.list(at, depth)
		}
		return d.object(at, depth)
	}
	return token, nil
}

func (d *jsonReader) list(at string, depth int) (any, error) {
	out := []any{}
	for d.dec.More() {
		v, err := d.value(fmt.Sprintf("%s/%d", at, len(out)), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := d.dec.Token()
	return out, err
}

func (d *jsonReader) object(at string, depth int) (any, error) {
	out := yaml.MapSlice{}
	for d.dec.More() {
		key, err := d.dec.Token()
		if err != nil {
			return nil, err
		}
		path := fmt.Sprintf("%s/%v", at, key)
		d.lines[path] = d.line()
		v, err := d.value(path, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, yaml.MapItem{Key: fmt.Sprint(key), Value: v})
	}
	_, err := d.dec.Token()
	return out, err
}

// withoutComments blanks comments and the commas before a closing bracket, as
// files for people have them. Lines stay where they are.
func withoutComments(src []byte) []byte {
	out := bytes.Clone(src)
	comma := -1 // the last comma that nothing has followed
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
			comma = -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := []byte("\n")
			if out[i+1] == '*' {
				end = []byte("*/")
			}
			stop := len(out)
			if at := bytes.Index(out[i+2:], end); at >= 0 {
				stop = i + 2 + at + len(end)
			}
			for ; i < stop; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			i--
		case c == ',':
			comma = i
		case (c == ']' || c == '}') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\n':
			comma = -1
		}
	}
	return out
}
