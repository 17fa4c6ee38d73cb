// The read_image tool: an image file of the working folder, as an image.

package files

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

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
	f, err := openFolder(env)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.close()
	name, info, err := f.locate(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if info.IsDir() {
		return tool.Result{}, fmt.Errorf("%s is a folder: name an image file in it", shown(name))
	}
	file, info, err := f.open(name)
	if err != nil {
		return tool.Result{}, f.explain(name, err)
	}
	defer func() { _ = file.Close() }()

	text := newLines(0)
	text.reset(ctx, file)
	head, err := text.head()
	switch {
	case err != nil:
		return tool.Result{}, fmt.Errorf("reading %s: %w", shown(name), err)
	case len(head) == 0:
		return tool.Result{}, fmt.Errorf("%s is empty (0 bytes), not an image", shown(name))
	case !isBinary(head):
		return tool.Result{}, fmt.Errorf("%s is a text file, not an image: use Read", shown(name))
	}
	kind, ok := imageType(head)
	if !ok {
		return tool.Result{}, fmt.Errorf("%s is no image that can be shown (%s, %s): convert it to PNG, JPEG, GIF or WebP first",
			shown(name), mediaType(head), bytesText(info.Size()))
	}
	return readImage(text.r, name, kind, info.Size())
}
