// Tests of the registry: what it refuses, how it words violations, and that a
// tool that panics harms nobody.

package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

const orderSchema = `{
	"type": "object",
	"properties": {
		"name":  {"type": "string", "minLength": 2},
		"size":  {"enum": ["s", "m", "l"]},
		"count": {"type": "integer", "minimum": 1, "maximum": 9},
		"tags":  {"type": "array", "maxItems": 2, "items": {"type": "string"}},
		"where": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["street"]}]}
	},
	"required": ["name", "size"],
	"additionalProperties": false
}`

func echo(name string) tool.Tool {
	return tool.Tool{
		Name:   name,
		Schema: json.RawMessage(orderSchema),
		Class:  tool.Reads,
		Run: func(_ context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
			return tool.Text(env.Agent + " " + string(input)), nil
		},
	}
}

func with(t tool.Tool, change func(*tool.Tool)) tool.Tool {
	change(&t)
	return t
}

func mustNew(t *testing.T, tools ...tool.Tool) *tool.Registry {
	t.Helper()
	r, err := tool.New(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	schema := func(s string) tool.Tool {
		return with(echo("Order"), func(t *tool.Tool) { t.Schema = json.RawMessage(s) })
	}
	for name, c := range map[string]struct {
		tools []tool.Tool
		want  []string
	}{
		"no name":         {[]tool.Tool{echo("")}, []string{"a tool has no name"}},
		"odd name":        {[]tool.Tool{echo("a b")}, []string{`"a b"`, "letters, digits"}},
		"long name":       {[]tool.Tool{echo(strings.Repeat("n", 65))}, []string{"1 to 64"}},
		"twice":           {[]tool.Tool{echo("A"), echo("B"), echo("A")}, []string{`tool "A": registered twice`}},
		"no run":          {[]tool.Tool{with(echo("A"), func(t *tool.Tool) { t.Run = nil })}, []string{"has no Run"}},
		"no class":        {[]tool.Tool{with(echo("A"), func(t *tool.Tool) { t.Class = "" })}, []string{`unknown class ""`}},
		"no schema":       {[]tool.Tool{schema(" ")}, []string{`tool "Order"`, "no schema"}},
		"schema no JSON":  {[]tool.Tool{schema(`{`)}, []string{"reading the schema"}},
		"schema no obj":   {[]tool.Tool{schema(`true`)}, []string{`"type": "object"`}},
		"schema of text":  {[]tool.Tool{schema(`{"type":"string"}`)}, []string{`"type": "object"`}},
		"schema invalid":  {[]tool.Tool{schema(`{"type":"object","required":"name"}`)}, []string{"compiling the schema"}},
		"schema regexp":   {[]tool.Tool{schema(`{"type":"object","properties":{"a":{"pattern":"("}}}`)}, []string{"compiling the schema"}},
		"schema dangling": {[]tool.Tool{schema(`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`)}, []string{"compiling the schema"}},
		"schema file":     {[]tool.Tool{schema(`{"type":"object","properties":{"a":{"$ref":"file:///etc/hostname"}}}`)}, []string{"leads out of the schema"}},
		"schema URL":      {[]tool.Tool{schema(`{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`)}, []string{"leads out of the schema"}},
		"several at once": {[]tool.Tool{echo("a b"), schema(`{`), with(echo("C"), func(t *tool.Tool) { t.Run, t.Class = nil, "x" })}, []string{`"a b"`, `"Order"`, "has no Run", `class "x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := tool.New(c.tools...)
			if err == nil || r != nil {
				t.Fatalf("got %v, %v; want an error", r, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
	if err := tool.Check(echo("Order")); err != nil {
		t.Errorf("Check of a good tool: %v", err)
	}
	if err := tool.Check(schema(`[]`)); err == nil {
		t.Error("Check took a bad schema")
	}
}

func TestNamesAndGet(t *testing.T) {
	t.Parallel()
	r := mustNew(t, echo("b"), echo("C"), echo("a"))
	want := []string{"C", "a", "b"}
	if got := r.Names(); !slices.Equal(got, want) {
		t.Fatalf("Names() = %q, want %q", got, want)
	}
	r.Names()[0] = "changed"
	if got := r.Names(); !slices.Equal(got, want) {
		t.Errorf("a caller changed the registry: %q", got)
	}
	if got, ok := r.Get("a"); !ok || got.Name != "a" {
		t.Errorf("Get(a) = %v, %v", got.Name, ok)
	}
	if _, ok := r.Get("A"); ok {
		t.Error("Get(A) found something")
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	r := mustNew(t, echo("Order"))
	for name, c := range map[string]struct {
		input string
		want  []string // all problems; none: valid
	}{
		"valid":     {`{"name":"ab","size":"m","count":3,"tags":["x"],"where":"here"}`, nil},
		"whole 3.0": {`{"name":"ab","size":"m","count":3.0}`, nil},
		"empty":     {``, []string{`input: missing "name", "size"`}},
		"blank":     {" \n", []string{`input: missing "name", "size"`}},
		"null":      {`null`, []string{"the input must be a JSON object, but is null"}},
		"array":     {`[1]`, []string{"the input must be a JSON object, but is an array"}},
		"text":      {`"x"`, []string{"the input must be a JSON object, but is a string"}},
		"number":    {`7`, []string{"the input must be a JSON object, but is a number"}},
		"cut off":   {`{"name":"ab"`, []string{"the input is not valid JSON: it ends too early"}},
		"garbage":   {`{"name":"ab"} x`, []string{"the input is not valid JSON: invalid character after top-level value"}},
		"everything": {`{"name":"a","count":"3","tags":["x",2,"z"],"colour":"red","where":5}`, []string{
			`/count: must be an integer, but is a string`,
			`/name: has 1 characters, needs at least 2`,
			`/tags/1: must be a string, but is a number`,
			`/tags: has 3 items, at most 2 are allowed`,
			`/where: fits none of the allowed forms: either /where: must be a string, but is a number, or /where: must be an object, but is a number`,
			`input: missing "size"`,
			`input: unknown "colour"; known are "count", "name", "size", "tags", "where"`,
		}},
		"bounds": {`{"name":"ab","size":"xl","count":0}`, []string{
			`/count: must be at least 1`,
			`/size: value must be one of 's', 'm', 'l'`,
		}},
		"maximum": {`{"name":"ab","size":"s","count":10}`, []string{`/count: must be at most 9`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 { // the validator goes through maps
				err := r.Validate("Order", json.RawMessage(c.input))
				if len(c.want) == 0 {
					if err != nil {
						t.Fatalf("refused: %v", err)
					}
					continue
				}
				var bad *tool.InputError
				if !errors.As(err, &bad) {
					t.Fatalf("got %v, want an InputError", err)
				}
				if bad.Tool != "Order" || !slices.Equal(bad.Problems, c.want) {
					t.Fatalf("problems of %s:\n%s\nwant:\n%s", bad.Tool, strings.Join(bad.Problems, "\n"), strings.Join(c.want, "\n"))
				}
				if want := "invalid input for Order:\n- " + strings.Join(c.want, "\n- "); err.Error() != want {
					t.Fatalf("text %q, want %q", err, want)
				}
			}
		})
	}
}

// An error goes into the history of an agent: a hostile input must not make
// it long.
func TestValidateIsBounded(t *testing.T) {
	t.Parallel()
	r := mustNew(t, with(echo("Order"), func(t *tool.Tool) {
		t.Schema = json.RawMessage(`{"type":"object","additionalProperties":{"type":"string","pattern":"^x$"}}`)
	}))
	input := map[string]any{}
	for i := range 500 {
		input[fmt.Sprint(i)] = strings.Repeat("y", 5000)
	}
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Validate("Order", raw).Error()
	if len(text) > 10_000 || !strings.HasSuffix(text, "- and 480 more") {
		t.Errorf("%d bytes, ending in %q", len(text), text[len(text)-40:])
	}
}

func TestValidateConcurrently(t *testing.T) {
	t.Parallel()
	r := mustNew(t, echo("Order"))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := r.Validate("Order", json.RawMessage(`{"name":"ab","size":"m"}`)); err != nil {
					t.Error(err)
				}
				if err := r.Validate("Order", json.RawMessage(`{"name":1,"where":{}}`)); err == nil {
					t.Error("took bad input")
				}
			}
		})
	}
	wg.Wait()
}

func TestRun(t *testing.T) {
	t.Parallel()
	free := with(echo("Free"), func(t *tool.Tool) { t.Schema = json.RawMessage(`{"type":"object"}`) })
	failing := with(free, func(t *tool.Tool) {
		t.Name = "Failing"
		t.Run = func(context.Context, tool.Env, json.RawMessage) (tool.Result, error) {
			return tool.Result{}, errors.New("no paper")
		}
	})
	r := mustNew(t, echo("Order"), free, failing)
	env := tool.Env{Agent: "a1"}

	res, err := r.Run(t.Context(), "Order", env, json.RawMessage(`{"name":"ab","size":"m"}`))
	if got := message.Text(res.Parts); err != nil || got != `a1 {"name":"ab","size":"m"}` {
		t.Errorf("Run = %q, %v", got, err)
	}
	res, err = r.Run(t.Context(), "Free", env, nil)
	if got := message.Text(res.Parts); err != nil || got != `a1 {}` {
		t.Errorf("Run without input = %q, %v", got, err)
	}
	var bad *tool.InputError
	if _, err = r.Run(t.Context(), "Order", env, json.RawMessage(`{}`)); !errors.As(err, &bad) {
		t.Errorf("bad input: %v", err)
	}
	if _, err = r.Run(t.Context(), "Nobody", env, nil); !errors.Is(err, tool.ErrUnknown) || !strings.Contains(err.Error(), `"Nobody"`) {
		t.Errorf("unknown tool: %v", err)
	}
	if _, err = r.Run(t.Context(), "Failing", env, nil); err == nil || err.Error() != "no paper" {
		t.Errorf("failing tool: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = r.Run(ctx, "Free", env, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func explode(depth int, value any) {
	if depth == 0 {
		panic(value)
	}
	explode(depth-1, value)
}

func TestRunSurvivesPanic(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"text":  "secret detail",
		"error": errors.New("secret detail"),
		"nil":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := mustNew(t, with(echo("Bomb"), func(t *tool.Tool) {
				t.Schema = json.RawMessage(`{"type":"object"}`)
				t.Run = func(context.Context, tool.Env, json.RawMessage) (tool.Result, error) {
					explode(3, value)
					return tool.Text("unreachable"), nil
				}
			}))
			res, err := r.Run(t.Context(), "Bomb", tool.Env{}, nil)
			var crash *tool.PanicError
			if !errors.As(err, &crash) {
				t.Fatalf("got %v, want a PanicError", err)
			}
			if len(res.Parts) != 0 || crash.Tool != "Bomb" {
				t.Errorf("result %v of %q", res, crash.Tool)
			}
			if !bytes.Contains(crash.Stack, []byte("tool_test.explode")) {
				t.Errorf("the stack does not show who panicked:\n%s", crash.Stack)
			}
			if text := err.Error(); len(text) > 120 || strings.Contains(text, "secret") || !strings.HasPrefix(text, "Bomb crashed") {
				t.Errorf("text for the model: %q", text)
			}
			var log bytes.Buffer
			slog.New(slog.NewTextHandler(&log, nil)).Error("tool", "err", err)
			if !strings.Contains(log.String(), "tool_test.explode") || value != nil && !strings.Contains(log.String(), "secret detail") {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	r := mustNew(t, echo("a"), echo("b"))
	was := r.Version()
	if err := r.Replace(echo("b"), echo("c")); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Names(), " "); got != "b c" || r.Version() == was {
		t.Errorf("it has %s, version %d after %d", got, r.Version(), was)
	}
	was = r.Version()
	if err := r.Replace(echo("d"), echo("d")); err == nil || strings.Join(r.Names(), " ") != "b c" || r.Version() != was {
		t.Errorf("a bad replacement: %v, and it has %v", err, r.Names())
	}
	if _, err := r.Run(t.Context(), "a", tool.Env{}, nil); !errors.Is(err, tool.ErrUnknown) {
		t.Errorf("a tool that is gone: %v", err)
	}
}
