// The Write tool: a whole file.

package files

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed write.md
var writeDescription string

const writeSchema = `{"type":"object","properties":{"file_path":{"type":"string"},"content":{"type":"string"}},"required":["file_path","content"],"additionalProperties":false}`

func (w *writer) writeTool() tool.Tool {
	return w.tool("Write", writeDescription, writeSchema, func(d *draft, input json.RawMessage) (string, error) {
		in, err := decode[struct {
			Path    string `json:"file_path"`
			Content string `json:"content"`
		}](input)
		if err != nil {
			return "", err
		}
		file, err := d.overwrite(in.Path, in.Content)
		if err != nil {
			return "", err
		}
		did := "Wrote"
		if file.before == nil {
			did = "Created"
		}
		said := fmt.Sprintf("%s %s (%s).", did, shown(file.asked), bytesText(int64(len(file.after))))
		if file.before != nil && string(file.after) != in.Content && parseText(file.after).ends() == "\r\n" {
			said += " Its lines end in CR LF, as before."
		}
		return said, nil
	})
}
