// The read_image tool: an image file of the working folder, as an image.

package files

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed read_image.md
var readImageDescription string

const readImageSchema = `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`

type readImageInput struct {
	Path string `json:"path"`
}

// ReadImage returns the tool. Read shows images too; this one refuses
// everything else, for roles that may look at pictures only.
func ReadImage() tool.Tool {
	return tool.Tool{
		Name:        "read_image",
		Description: strings.TrimSpace(readImageDescription),
		Schema:      json.RawMessage(readImageSchema),
		Class:       tool.Reads,
		Plan:        planReadImage,
		Run:         runReadImage,
	}
}

func planReadImage(_ context.Context, env tool.Env, input json.RawMessage) (tool.Action, error) {
	return planReading(env, input, func(f *folder, in readImageInput) (string, string, error) {
		name, err := f.name(in.Path)
		return name, "Read the image " + shown(name), err
	})
}

func runReadImage(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
	in, err := decode[readImageInput](input)
	if err != nil {
		return tool.Result{}, err
	}
	env.Ledger = nil // a text that is not shown was not seen
	res, err := runRead(ctx, env, input)
	if err != nil {
		return tool.Result{}, err
	}
	for _, p := range res.Parts {
		if _, ok := p.(message.ImagePart); ok {
			return res, nil
		}
	}
	return tool.Result{}, fmt.Errorf("%s is a text file or empty, not an image: use Read", in.Path)
}
