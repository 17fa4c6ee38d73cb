// What servers answer, as text and images.

package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // for image.DecodeConfig
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	maxResult    = 10_000_000 // bytes of one answer
	maxImage     = 5_000_000  // bytes, as providers take them
	maxImageSide = 8000       // pixels
)

func callResult(answer *sdk.CallToolResult) tool.Result {
	var c collector
	for _, content := range answer.Content {
		c.content(content)
	}
	if !c.hasText && answer.StructuredContent != nil {
		if data, err := json.MarshalIndent(answer.StructuredContent, "", "  "); err == nil {
			c.text(string(data))
		}
	}
	result := c.result()
	result.IsError = answer.IsError
	return result
}

// collector gathers the parts of an answer up to maxResult.
type collector struct {
	parts   []message.Part
	size    int
	cut     int // bytes left out
	hasText bool
}

func (c *collector) text(s string) {
	if s == "" {
		return
	}
	c.hasText = true
	if room := maxResult - c.size; len(s) > room {
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		c.cut += len(s) - room
		s = s[:room]
	}
	c.size += len(s)
	if s != "" {
		c.parts = append(c.parts, message.TextPart{Text: s})
	}
}

// note says that there is something which cannot be shown.
func (c *collector) note(format string, args ...any) {
	c.parts = append(c.parts, message.TextPart{Text: "[" + fmt.Sprintf(format, args...) + "]"})
}

func (c *collector) content(content sdk.Content) {
	switch v := content.(type) {
	case *sdk.TextContent:
		c.text(v.Text)
	case *sdk.ImageContent:
		c.image(v.Data, v.MIMEType)
	case *sdk.AudioContent:
		c.note("audio that cannot be shown: %s, %d bytes", clip(v.MIMEType, maxLine), len(v.Data))
	case *sdk.EmbeddedResource:
		if v.Resource != nil {
			c.resource(v.Resource)
		}
	case *sdk.ResourceLink:
		c.text("Link to the resource " + resourceText(v.URI, v.Name, v.MIMEType, v.Description))
	default:
		c.note("content of an unknown kind was left out")
	}
}

// image adds an image that every provider takes; one that is broken or too
// large would fail each later request with it.
func (c *collector) image(data []byte, declared string) {
	kind := http.DetectContentType(data)
	switch kind {
	case "image/png", "image/jpeg", "image/gif":
	default:
		c.note("an image that cannot be shown: %s, %d bytes; PNG, JPEG and GIF can", clip(declared, maxLine), len(data))
		return
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		c.note("a broken image was left out: %s, %d bytes", kind, len(data))
	case len(data) > maxImage || max(size.Width, size.Height) > maxImageSide:
		c.note("an image that is too large was left out: %s, %d×%d pixels, %d bytes", kind, size.Width, size.Height, len(data))
	case c.size+len(data) > maxResult:
		c.cut += len(data)
	default:
		c.size += len(data)
		c.parts = append(c.parts, message.ImagePart{MediaType: kind, Data: data})
	}
}

func (c *collector) resource(r *sdk.ResourceContents) {
	switch {
	case r.Blob == nil:
		c.text("Resource " + r.URI + ":\n" + r.Text)
	case strings.HasPrefix(r.MIMEType, "image/"):
		c.text("Resource " + r.URI + ":")
		c.image(r.Blob, r.MIMEType)
	default:
		c.note("resource %s cannot be shown: %s, %d bytes", clip(r.URI, maxLine), clip(r.MIMEType, maxLine), len(r.Blob))
	}
}

func (c *collector) result() tool.Result {
	if c.cut > 0 {
		c.note("the answer was longer than %d MB; %d bytes were left out", maxResult/1_000_000, c.cut)
	}
	if len(c.parts) == 0 {
		c.note("no output")
	}
	return tool.Result{Parts: c.parts}
}
