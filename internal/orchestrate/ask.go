// Questions to the user: the tool ask_user, and how a question reads.

package orchestrate

import (
	"encoding/json"
	"strings"
)

// question is one question of ask_user.
type question struct {
	Question string   `json:"question"`
	Options  []option `json:"options"`
}

// option is a choice: a text, or an object with a label, as some models write
// it.
type option string

// UnmarshalJSON reads either form.
func (o *option) UnmarshalJSON(b []byte) error {
	var in struct {
		Label string `json:"label"`
	}
	if json.Unmarshal(b, &in) == nil && in.Label != "" {
		*o = option(in.Label)
		return nil
	}
	return json.Unmarshal(b, (*string)(o))
}

// questionText words the input of ask_user.
func questionText(input string) string {
	var in struct {
		question
		Questions []question `json:"questions"`
	}
	if json.Unmarshal([]byte(input), &in) != nil {
		return input
	}
	all := in.Questions
	if in.Question != "" {
		all = append([]question{in.question}, all...)
	}
	var texts []string
	for _, q := range all {
		text := q.Question
		var labels []string
		for _, o := range q.Options {
			labels = append(labels, string(o))
		}
		if len(labels) > 0 {
			text += " (" + strings.Join(labels, " / ") + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n")
}
