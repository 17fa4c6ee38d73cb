// The Edit and MultiEdit tools: search and replace in one file.

package files

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed edit.md
var editDescription string

//go:embed multiedit.md
var multiEditDescription string

const (
	editSchema      = `{"type":"object","properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["file_path","old_string","new_string"],"additionalProperties":false}`
	multiEditSchema = `{"type":"object","properties":{"file_path":{"type":"string"},"edits":{"type":"array","minItems":1,"maxItems":200,"items":{"type":"object","properties":{"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["old_string","new_string"],"additionalProperties":false}}},"required":["file_path","edits"],"additionalProperties":false}`
)

func (w *writer) editTool() tool.Tool {
	return w.tool("Edit", editDescription, editSchema, func(d *draft, input json.RawMessage) (string, error) {
		in, err := decode[struct {
			Path string `json:"file_path"`
			replacement
		}](input)
		if err != nil {
			return "", err
		}
		where, err := d.replace(in.Path, in.replacement)
		return fmt.Sprintf("Edited %s, %s.", shown(in.Path), where), err
	})
}

func (w *writer) multiEditTool() tool.Tool {
	return w.tool("MultiEdit", multiEditDescription, multiEditSchema, func(d *draft, input json.RawMessage) (string, error) {
		in, err := decode[struct {
			Path  string        `json:"file_path"`
			Edits []replacement `json:"edits"`
		}](input)
		if err != nil {
			return "", err
		}
		said := []string{"Edited " + shown(in.Path) + ":"}
		for i, edit := range in.Edits {
			where, err := d.replace(in.Path, edit)
			if err != nil {
				return "", fmt.Errorf("edit %d of %d, and so none was made: %w", i+1, len(in.Edits), err)
			}
			said = append(said, fmt.Sprintf("%d. %s", i+1, where))
		}
		return strings.Join(said, "\n"), nil
	})
}

// replace edits the draft of one file.
func (d *draft) replace(p string, r replacement) (where string, err error) {
	file, err := d.editable(p)
	if err != nil {
		return "", err
	}
	text, where, err := replaceText(file, r)
	if err != nil {
		return "", err
	}
	return where, d.edit(file, text)
}
