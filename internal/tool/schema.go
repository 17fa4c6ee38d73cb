// Schemas of tool inputs: compiling them, and telling a model in words what
// its input violates.

package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const (
	maxProblems     = 20  // violations listed; the rest are counted
	maxProblemRunes = 300 // of one line, as it may quote the input
)

// InputError says in what an input violates the schema of its tool.
type InputError struct {
	Tool     string
	Problems []string // each one: where, then what is wrong
}

func (e *InputError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "invalid input for %s:", e.Tool)
	for i, p := range e.Problems {
		if i == maxProblems {
			fmt.Fprintf(&b, "\n- and %d more", len(e.Problems)-i)
			break
		}
		b.WriteString("\n- " + p)
	}
	return b.String()
}

// sealedLoader keeps schemas self-contained: one that comes from an MCP server
// must not make us read a file or a URL. The metaschemas are built in and do
// not pass through here.
type sealedLoader struct{}

func (sealedLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a reference to %s leads out of the schema", url)
}

// Form is the form of some JSON object that a model fills in.
type Form struct {
	name   string
	schema *jsonschema.Schema
}

// NewForm compiles a JSON Schema of an object; name is what errors call it.
func NewForm(name string, schema json.RawMessage) (*Form, error) {
	s, err := compile(schema)
	if err != nil {
		return nil, fmt.Errorf("the form of %s: %w", name, err)
	}
	return &Form{name, s}, nil
}

// Validate returns nil or an *InputError.
func (f *Form) Validate(input json.RawMessage) error { return validate(f.name, f.schema, input) }

func compile(raw json.RawMessage) (*jsonschema.Schema, error) {
	if isEmpty(raw) {
		return nil, errors.New("it has no schema")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	// Providers refuse a tool whose schema does not say so at its top.
	if object, ok := doc.(map[string]any); !ok || object["type"] != "object" {
		return nil, errors.New(`the schema must have "type": "object" at its top`)
	}
	const url = "schema.json"
	c := jsonschema.NewCompiler()
	c.UseLoader(sealedLoader{})
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	schema, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema: %w", err)
	}
	return schema, nil
}

func isEmpty(raw json.RawMessage) bool { return len(bytes.TrimSpace(raw)) == 0 }

func validate(name string, schema *jsonschema.Schema, input json.RawMessage) error {
	if isEmpty(input) {
		input = json.RawMessage("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(input))
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("it ends too early")
		}
		return &InputError{Tool: name, Problems: []string{fmt.Sprintf("the input is not valid JSON: %v", err)}}
	}
	if _, ok := value.(map[string]any); !ok {
		return &InputError{Tool: name, Problems: []string{fmt.Sprintf("the input must be a JSON object, but is %s", article(jsonType(value)))}}
	}
	err = schema.Validate(value)
	if err == nil {
		return nil
	}
	var violation *jsonschema.ValidationError
	if !errors.As(err, &violation) {
		return fmt.Errorf("validating the input of %s: %w", name, err)
	}
	w := wording{schema: schema, printer: message.NewPrinter(language.English)}
	return &InputError{Tool: name, Problems: w.problems(violation)}
}

func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// wording turns violations into sentences.
type wording struct {
	schema  *jsonschema.Schema
	printer *message.Printer
}

// problems flattens e into lines. They are sorted, as the validator goes
// through maps in random order.
func (w wording) problems(e *jsonschema.ValidationError) []string {
	var lines []string
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		if len(e.Causes) == 0 {
			lines = append(lines, w.line(e))
		}
		for _, cause := range e.Causes {
			lines = append(lines, w.problems(cause)...)
		}
	case *kind.AnyOf:
		lines = append(lines, w.alternatives(e)...)
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return []string{where(e) + ": fits several of the allowed forms, but must fit exactly one"}
		}
		lines = append(lines, w.alternatives(e)...)
	default:
		lines = append(lines, w.line(e))
		for _, cause := range e.Causes {
			lines = append(lines, w.problems(cause)...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// alternatives says in one line why none of several forms fits.
func (w wording) alternatives(e *jsonschema.ValidationError) []string {
	var reasons []string
	for _, cause := range e.Causes {
		reasons = append(reasons, strings.Join(w.problems(cause), " and "))
	}
	return []string{clip(where(e) + ": fits none of the allowed forms: either " + strings.Join(reasons, ", or "))}
}

func (w wording) line(e *jsonschema.ValidationError) string {
	return clip(where(e) + ": " + w.what(e))
}

func (w wording) what(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return "missing " + quoted(k.Missing)
	case *kind.AdditionalProperties:
		s := "unknown " + quoted(k.Properties)
		if len(e.InstanceLocation) == 0 && len(w.schema.Properties) > 0 {
			s += "; known are " + quoted(slices.Sorted(maps.Keys(w.schema.Properties)))
		}
		return s
	case *kind.Type:
		return fmt.Sprintf("must be %s, but is %s", article(strings.Join(k.Want, " or ")), article(k.Got))
	case *kind.MinLength:
		return fmt.Sprintf("has %d characters, needs at least %d", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("has %d characters, at most %d are allowed", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("has %d items, needs at least %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("has %d items, at most %d are allowed", k.Got, k.Want)
	case *kind.Minimum:
		return fmt.Sprintf("must be at least %s", k.Want.RatString())
	case *kind.Maximum:
		return fmt.Sprintf("must be at most %s", k.Want.RatString())
	}
	return e.ErrorKind.LocalizedString(w.printer)
}

// where names the place in the input as a JSON pointer.
func where(e *jsonschema.ValidationError) string {
	if len(e.InstanceLocation) == 0 {
		return "input"
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	for _, token := range e.InstanceLocation {
		b.WriteString("/" + escape.Replace(token))
	}
	return b.String()
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func article(noun string) string {
	switch {
	case noun == "null":
		return noun
	case strings.HasPrefix(noun, "a"), strings.HasPrefix(noun, "i"), strings.HasPrefix(noun, "o"):
		return "an " + noun
	}
	return "a " + noun
}

func clip(s string) string {
	runes := []rune(s)
	if len(runes) <= maxProblemRunes {
		return s
	}
	return string(runes[:maxProblemRunes]) + "…"
}
