// Package note holds the tools by which an agent writes something down for
// itself: think and todo. They touch nothing: the record of the call is the
// note. The newest todo call of an agent is its plan; Plan reads it.
package note

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed think.md
var thinkDescription string

//go:embed todo.md
var todoDescription string

const (
	thinkSchema = `{"type":"object","properties":{"thought":{"type":"string","minLength":1}},"required":["thought"],"additionalProperties":false}`

	// The shape is the one that models know from elsewhere; what they may add
	// to an item by habit (id, priority) is passed over.
	todoSchema = `{"type":"object","properties":{"todos":{"type":"array","maxItems":50,"items":{"type":"object","properties":{"content":{"type":"string","minLength":1,"maxLength":500},"status":{"enum":["pending","in_progress","completed"]},"activeForm":{"deprecated":true,"type":"string","maxLength":500}},"required":["content","status"]}}},"required":["todos"],"additionalProperties":false}`
)

// Status is how far an item of a plan is.
type Status string

// The states of an item.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// Item is one step of an agent's plan.
type Item struct {
	Content    string `json:"content"`
	Status     Status `json:"status"`
	ActiveForm string `json:"activeForm,omitempty"` // the step as it is called while under way; may be empty
}

// Tools returns the tools of this package.
func Tools() []tool.Tool {
	return []tool.Tool{
		{
			Name:        "think",
			Description: strings.TrimSpace(thinkDescription),
			Schema:      json.RawMessage(thinkSchema),
			Class:       tool.Reads,
			Run: func(context.Context, tool.Env, json.RawMessage) (tool.Result, error) {
				return tool.Text("Noted."), nil
			},
		},
		{
			Name:        "todo",
			Description: strings.TrimSpace(todoDescription),
			Schema:      json.RawMessage(todoSchema),
			Class:       tool.Reads,
			Run:         runTodo,
		},
	}
}

// Plan reads the input of a todo call, for who shows it.
func Plan(input json.RawMessage) ([]Item, error) {
	var in struct {
		Todos []Item `json:"todos"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	for i, item := range in.Todos {
		in.Todos[i].Content = strings.Join(strings.Fields(item.Content), " ")
		if in.Todos[i].Content == "" {
			return nil, fmt.Errorf("item %d of the plan is blank: say what is to be done", i+1)
		}
	}
	return in.Todos, nil
}

func runTodo(_ context.Context, _ tool.Env, input json.RawMessage) (tool.Result, error) {
	items, err := Plan(input)
	if err != nil {
		return tool.Result{}, err
	}
	if len(items) == 0 {
		return tool.Text("The plan is empty now."), nil
	}
	var b strings.Builder
	count := map[Status]int{}
	for _, item := range items {
		mark, err := item.Status.mark()
		if err != nil {
			return tool.Result{}, err
		}
		count[item.Status]++
		b.WriteString(mark + " " + item.Content + "\n")
	}
	head := fmt.Sprintf("Plan, %d of %d done:\n", count[Completed], len(items))
	if n := count[InProgress]; n > 1 {
		fmt.Fprintf(&b, "[%d items are in progress: work on one at a time]\n", n)
	}
	return tool.Text(head + b.String()), nil
}

func (s Status) mark() (string, error) {
	switch s {
	case Pending:
		return "[ ]", nil
	case InProgress:
		return "[>]", nil
	case Completed:
		return "[x]", nil
	}
	return "", errors.New("an item has an unknown status: use pending, in_progress or completed")
}
