// An inbox item as a person is shown it: who asks, what exactly, why, and what
// happens if nobody answers.

package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

// cardLines bounds how much of an action is shown; the whole is one command
// away.
const cardLines = 40

// kinds are the words for the kinds of item.
var kinds = map[string]string{
	"approval": "needs an approval", "question": "asks", "elicitation": "was asked by a tool server", "budget": "has spent its budget", "worktree": "has left work to decide about",
}

// ItemHead is the first line of an item: who, and what kind of thing.
func ItemHead(i store.Item) string {
	word := kinds[i.Kind]
	if word == "" {
		word = i.Kind
	}
	return fmt.Sprintf("%s %s", Clean(i.Path), word)
}

// ItemAction is what is asked, in lines: the exact action of an approval, the
// questions with their choices.
func ItemAction(i store.Item) string {
	switch i.Kind {
	case "question", "elicitation":
		return questionLines(i.Action)
	case "budget":
		return "Spent so far: " + Clean(i.Action) + ". Allow as much again?"
	}
	return Visible(i.Action)
}

// ItemLine is what is asked in one line, for lists: of an approval the tool and
// what it is about, as an action may begin like any other.
func ItemLine(i store.Item) string {
	var in struct {
		Tool   string `json:"tool"`
		Action struct {
			Paths   []string `json:"paths"`
			Command string   `json:"command"`
		} `json:"action"`
		Stat  string   `json:"stat"`
		Files []string `json:"files"`
	}
	if json.Unmarshal(i.Detail, &in) == nil {
		switch {
		case i.Kind == "approval" && in.Action.Command != "":
			return fmt.Sprintf("%s: %s", Clean(in.Tool), FirstLine(Visible(in.Action.Command)))
		case i.Kind == "approval" && len(in.Action.Paths) > 0:
			return fmt.Sprintf("%s %s", Clean(in.Tool), oneLine(Visible(strings.Join(in.Action.Paths, ", "))))
		case i.Kind == "worktree" && len(in.Files) > 0:
			return fmt.Sprintf("%s: %s", Clean(in.Stat), oneLine(Visible(strings.Join(in.Files, ", "))))
		}
	}
	return FirstLine(ItemAction(i))
}

// Question is a question of an item, as far as it can be shown.
type Question struct {
	Question string `json:"question"`
	Multiple bool   `json:"multiple"`
	URL      string `json:"url"`
	Schema   struct {
		Properties map[string]Field `json:"properties"`
		Required   []string         `json:"required"`
	} `json:"schema"`
	Options []Option `json:"options"`
}

// Field is a value that a tool server asks for.
type Field struct {
	Type        string `json:"type"`
	Description string `json:"description"`
	Enum        []any  `json:"enum"`
}

// Option is a choice of a question.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// UnmarshalJSON reads a choice that is a text, or an object.
func (o *Option) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &o.Label) == nil {
		return nil
	}
	type plain Option
	return json.Unmarshal(b, (*plain)(o))
}

// Questions reads the questions of an item.
func Questions(action string) []Question {
	var in struct {
		Question
		Questions []Question `json:"questions"`
	}
	if json.Unmarshal([]byte(action), &in) != nil {
		return []Question{{Question: action}}
	}
	out := in.Questions
	if in.Question.Question != "" {
		out = append([]Question{in.Question}, out...)
	}
	return out
}

func questionLines(action string) string {
	var lines []string
	all := Questions(action)
	for n, q := range all {
		text := Clean(q.Question)
		if len(all) > 1 {
			text = fmt.Sprintf("(%d) %s", n+1, text)
		}
		lines = append(lines, text)
		if q.URL != "" {
			lines = append(lines, "  open: "+Clean(q.URL))
		}
		for k, o := range q.Options {
			line := fmt.Sprintf("  %d. %s", k+1, Clean(o.Label))
			if o.Description != "" {
				line += ": " + Clean(o.Description)
			}
			lines = append(lines, line)
		}
		lines = append(lines, fieldLines(q)...)
	}
	return strings.Join(lines, "\n")
}

// fieldLines lists the values that a tool server asks for.
func fieldLines(q Question) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(q.Schema.Properties)) {
		f := q.Schema.Properties[name]
		line := fmt.Sprintf("  %s (%s", Clean(name), Clean(f.Type))
		if slices.Contains(q.Schema.Required, name) {
			line += ", required"
		}
		line += ")"
		if len(f.Enum) > 0 {
			line += fmt.Sprintf(": one of %s", Clean(fmt.Sprint(f.Enum)))
		}
		if f.Description != "" {
			line += ": " + Clean(f.Description)
		}
		lines = append(lines, line)
	}
	return lines
}

// asks is what made an approval be asked for, and where the work is done.
func asks(i store.Item) string {
	var in struct {
		Why string `json:"why"`
		Dir string `json:"dir"`
	}
	if i.Kind != "approval" || json.Unmarshal(i.Detail, &in) != nil || in.Why == "" {
		return ""
	}
	return fmt.Sprintf("asked because of: %s; in %s", FirstLine(Clean(in.Why)), Clean(in.Dir))
}

// Card shows an item whole, within a number of lines of its action (0: the
// default).
func Card(i store.Item, most int, now time.Time) string {
	if most == 0 {
		most = cardLines
	}
	var b strings.Builder
	fmt.Fprintf(&b, "● %s  [%s]\n", ItemHead(i), i.ID)
	if i.Reason != "" {
		fmt.Fprintf(&b, "  why: %s\n", FirstLine(Clean(i.Reason)))
	}
	lines := strings.Split(strings.TrimRight(ItemAction(i), "\n"), "\n")
	for n, line := range lines {
		if n == most {
			fmt.Fprintf(&b, "  … %d more lines: cadre inbox show %s\n", len(lines)-n, i.ID)
			break
		}
		fmt.Fprintf(&b, "  │ %s\n", line)
	}
	for _, line := range []string{asks(i), ItemDeadline(i, now)} {
		if line != "" {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

// ItemDeadline says what happens if nobody answers, and when.
func ItemDeadline(i store.Item, now time.Time) string {
	switch {
	case i.Status == "closed":
		return ""
	case i.Deadline == 0 && i.Kind == "worktree":
		return "without an answer: " + i.Default
	case i.Deadline == 0:
		return "it waits until it is answered, or its agent is stopped"
	}
	left := time.UnixMilli(i.Deadline).Sub(now).Round(time.Second)
	return fmt.Sprintf("without an answer in %s: %s", left, i.Default)
}
