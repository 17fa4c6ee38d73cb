// Values that are more than a word: schemas, prompts in other files, the face
// of a role as a tool.

package rolefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/cadre-dev/cadre/internal/role"
)

// sealed keeps schemas self-contained: one that a stranger wrote must not make
// us read a file or a URL.
type sealed struct{}

// Load implements jsonschema.URLLoader.
func (sealed) Load(url string) (any, error) {
	return nil, fmt.Errorf("a reference to %s leads out of the schema", url)
}

// schema reads a JSON Schema: a map, or text that is JSON.
func schema(v any) (json.RawMessage, error) {
	var raw json.RawMessage
	switch v := v.(type) {
	case string:
		raw = json.RawMessage(strings.TrimSpace(v))
	case yaml.MapSlice:
		b, err := asJSON(v)
		if err != nil {
			return nil, err
		}
		raw = b
	default:
		return nil, errors.New("it has to be a map")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil, errors.New("it has to be a map")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(sealed{})
	if err := c.AddResource("role:schema", doc); err != nil {
		return nil, err
	}
	if _, err := c.Compile("role:schema"); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return raw, nil
}

// setPrompt takes a prompt from a key. {file:path} stands for a file.
func setPrompt(r *reader, e entry) {
	s, ok := e.value.(string)
	if !ok {
		r.wrong(e, "text")
		return
	}
	s = strings.TrimSpace(s)
	if name, ok := strings.CutPrefix(s, "{file:"); ok && strings.HasSuffix(name, "}") {
		r.promptFrom(strings.TrimSuffix(name, "}"), e)
		return
	}
	if s == "" {
		return
	}
	if r.role.Prompt != "" {
		r.warn(e.line, "the prompt is said twice, in %s and below the front matter: both are used", e.key)
		s += "\n\n" + r.role.Prompt
	}
	r.role.Prompt = s
	r.from("prompt", e.line)
}

func setPromptFile(r *reader, e entry) {
	name, ok := text(e.value)
	if !ok || name == "" {
		r.wrong(e, "the path of a file")
		return
	}
	r.promptFrom(name, e)
}

// promptFrom takes the prompt from another file. Without it the role is not
// what was meant, so that a missing one is an error.
func (r *reader) promptFrom(name string, e entry) {
	if r.p.o.Open == nil {
		r.fail(e.line, "the prompt is in the file %s, which cannot be read from here", name)
		return
	}
	data, err := r.p.o.Open(name)
	if err == nil {
		data, err = clean(data)
	}
	if err != nil {
		r.fail(e.line, "the file %s with the prompt cannot be read: %v", name, err)
		return
	}
	r.role.Prompt = strings.TrimSpace(string(data))
	r.note("prompt", e.line, name)
}

// setAsTool offers the role as a tool: true, the name of the tool, or a map
// with name, input, tools, max_turns and prompt.
func setAsTool(r *reader, e entry) {
	face := &role.AsTool{}
	if is, ok := boolean(e.value); ok {
		if is {
			r.face(face, e)
		}
		return
	}
	if name, ok := e.value.(string); ok {
		face.Name = strings.TrimSpace(name)
		r.face(face, e)
		return
	}
	parts, ok := pairs(e.value, e.line)
	if !ok {
		r.wrong(e, "true, the name of the tool, or a map")
		return
	}
	for _, part := range parts {
		var ok bool
		switch snake(part.key) {
		case "name":
			face.Name, ok = text(part.value)
		case "prompt":
			face.Prompt, ok = text(part.value)
		case "max_turns":
			n, is := number(part.value)
			face.MaxTurns, ok = int(n), is && n >= 1 && n <= 1000
		case "tools":
			var names []string
			if names, ok = list(part.value); ok {
				face.Tools = []string{}
				for _, name := range names {
					if called.MatchString(unquote(name)) && !strings.HasSuffix(name, "(*)") {
						r.warn(e.line, "%s is left out of the tools of %s: a use alone is for the tools of the role, which then hold here, too", name, e.key)
						continue
					}
					face.Tools = append(face.Tools, r.tool(name, e.line).tools...)
				}
			}
		case "input", "input_schema":
			s, err := schema(part.value)
			if err != nil {
				r.fail(e.line, "input of %s is no JSON Schema: %v", e.key, err)
				return
			}
			face.Input, ok = s, true
		}
		if !ok {
			r.wrong(entry{key: e.key + "." + part.key, line: part.line, value: part.value}, "one of name, input, tools, max_turns, prompt with a fitting value")
		}
	}
	r.face(face, e)
}

func (r *reader) face(face *role.AsTool, e entry) {
	r.role.AsTool = face
	r.from("as_tool", e.line)
}

// plainInput is what a tool of a role takes if the role does not say.
const plainInput = `{"type":"object","required":["task"],"additionalProperties":false,"properties":{"task":{"type":"string","minLength":1}}}`

// settleFace gives a role as a tool the name and input it did not state.
func (r *reader) settleFace() {
	t := r.role.AsTool
	if t == nil {
		return
	}
	if t.Name == "" {
		t.Name = r.role.Name
	}
	t.Name = strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, t.Name), "_")
	if t.Name == "" {
		r.warn(r.role.Origins["as_tool"].Line, "as_tool needs a name of letters, digits, _ and -: the role is not offered as a tool")
		r.role.AsTool = nil
		return
	}
	switch {
	case t.Input != nil:
	case r.role.InputSchema != nil:
		t.Input = r.role.InputSchema
	default:
		t.Input = json.RawMessage(plainInput)
	}
}
