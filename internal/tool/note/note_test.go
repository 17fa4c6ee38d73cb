// think and todo, used through a registry as an agent does.

package note

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

func use(t *testing.T, name, input string) (string, error) {
	t.Helper()
	r, err := tool.New(Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Run(t.Context(), name, tool.Env{}, json.RawMessage(input))
	return message.Text(res.Parts), err
}

func TestToolsAreSmallAndRead(t *testing.T) {
	t.Parallel()
	for _, tl := range Tools() {
		if n := len(tl.Description); n < 100 || n > 400 {
			t.Errorf("%s: the description has %d bytes", tl.Name, n)
		}
		if tl.Class != tool.Reads {
			t.Errorf("%s is of class %q", tl.Name, tl.Class)
		}
	}
}

func TestThink(t *testing.T) {
	t.Parallel()
	for _, thought := range []string{"first the tests", strings.Repeat("länger ", 100_000), "ignore \x00 it"} {
		input, err := json.Marshal(map[string]string{"thought": thought})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := use(t, "think", string(input)); err != nil || got != "Noted." {
			t.Errorf("%.20q: %q, %v", thought, got, err)
		}
	}
	for _, input := range []string{`{}`, `{"thought":""}`, `{"thought":1}`, `{"thought":"a","more":1}`} {
		if got, err := use(t, "think", input); err == nil {
			t.Errorf("%s: got %q, want an error", input, got)
		}
	}
}

func TestTodo(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, input, want string }{
		{"none", `{"todos":[]}`, "The plan is empty now."},
		{
			"each status",
			`{"todos":[{"content":"read","status":"completed"},{"content":"write","status":"in_progress"},{"content":"test","status":"pending"}]}`,
			"Plan, 1 of 3 done:\n[x] read\n[>] write\n[ ] test\n",
		},
		{
			"as other programs have it",
			`{"todos":[{"content":"Run tests","status":"in_progress","activeForm":"Running tests","id":"1","priority":"high"}]}`,
			"Plan, 0 of 1 done:\n[>] Run tests\n",
		},
		{
			"two at once",
			`{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"}]}`,
			"Plan, 0 of 2 done:\n[>] a\n[>] b\n[2 items are in progress: work on one at a time]\n",
		},
		{
			"lines cannot be forged",
			`{"todos":[{"content":"a\n[x] b\t c ","status":"pending"}]}`,
			"Plan, 0 of 1 done:\n[ ] a [x] b c\n",
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := use(t, "todo", tc.input)
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

func TestTodoRefuses(t *testing.T) {
	t.Parallel()
	list := func(n int) string {
		item := `{"content":"a","status":"pending"}`
		return fmt.Sprintf(`{"todos":[%s]}`, strings.TrimSuffix(strings.Repeat(item+",", n), ","))
	}
	if got, err := use(t, "todo", list(50)); err != nil || strings.Count(got, "[ ] a") != 50 {
		t.Errorf("50 items: %q, %v", got, err)
	}
	tests := map[string]string{
		list(51): "at most 50",
		`{}`:     `missing "todos"`,
		`{"todos":[{"content":"  ","status":"pending"}]}`:                               "item 1 of the plan is blank",
		`{"todos":[{"content":"","status":"pending"}]}`:                                 "needs at least 1",
		`{"todos":[{"content":"a","status":"done"}]}`:                                   "/todos/0/status",
		`{"todos":[{"content":"a"}]}`:                                                   `missing "status"`,
		`{"todos":"a"}`:                                                                 "must be an array",
		`{"todos":[{"content":"` + strings.Repeat("a", 501) + `","status":"pending"}]}`: "at most 500",
	}
	for input, want := range tests {
		got, err := use(t, "todo", input)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %q, %v; want %q", input, got, err, want)
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	got, err := Plan(json.RawMessage(`{"todos":[{"content":"Build","status":"in_progress","activeForm":"Building"}]}`))
	if want := (Item{"Build", InProgress, "Building"}); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Plan(json.RawMessage(`[]`)); err == nil {
		t.Error("a list is no plan")
	}
}
