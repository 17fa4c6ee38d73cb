// Each kind of content, and the bounds of an answer.

package mcp

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/message"
)

func picture(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestContent(t *testing.T) {
	t.Parallel()
	small := picture(t, 3)
	for name, test := range map[string]struct {
		content sdk.Content
		want    string // of the text
		image   bool
	}{
		"text":         {&sdk.TextContent{Text: "hello"}, "hello", false},
		"image":        {&sdk.ImageContent{Data: small, MIMEType: "image/jpeg"}, "", true}, // what it is counts, not what is said
		"wide image":   {&sdk.ImageContent{Data: picture(t, maxImageSide+1), MIMEType: "image/png"}, "too large was left out: image/png, 8001×1 pixels", false},
		"broken image": {&sdk.ImageContent{Data: small[:20], MIMEType: "image/png"}, "a broken image was left out", false},
		"other image":  {&sdk.ImageContent{Data: []byte("<svg/>"), MIMEType: "image/svg+xml"}, "cannot be shown: image/svg+xml, 6 bytes", false},
		"audio":        {&sdk.AudioContent{Data: []byte("la"), MIMEType: "audio/wav"}, "audio that cannot be shown: audio/wav, 2 bytes", false},
		"resource":     {&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a://b", Text: "inside"}}, "Resource a://b:\ninside", false},
		"blob":         {&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a://b", Blob: []byte("xyz"), MIMEType: "application/zip"}}, "resource a://b cannot be shown: application/zip, 3 bytes", false},
		"image blob":   {&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a://b", Blob: small, MIMEType: "image/png"}}, "Resource a://b:", true},
		"no resource":  {&sdk.EmbeddedResource{}, "[no output]", false},
		"link":         {&sdk.ResourceLink{URI: "a://b", Name: "B", MIMEType: "text/css", Description: "styles"}, "Link to the resource a://b (B), text/css: styles", false},
		"unknown":      {nil, "content of an unknown kind", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := callResult(&sdk.CallToolResult{Content: []sdk.Content{test.content}})
			has(t, message.Text(result.Parts), test.want)
			last, isImage := result.Parts[len(result.Parts)-1].(message.ImagePart)
			if isImage != test.image || isImage && last.MediaType != "image/png" {
				t.Errorf("parts: %+v", result.Parts)
			}
		})
	}
}

func TestStructuredContentIsShownOnlyWithoutText(t *testing.T) {
	t.Parallel()
	structured := map[string]any{"n": 1}
	got := message.Text(callResult(&sdk.CallToolResult{StructuredContent: structured, Content: []sdk.Content{&sdk.TextContent{Text: "one"}}}).Parts)
	if got != "one" {
		t.Errorf("shown is %q", got)
	}
	if got := message.Text(callResult(&sdk.CallToolResult{StructuredContent: structured}).Parts); got != "{\n  \"n\": 1\n}" {
		t.Errorf("shown is %q", got)
	}
}

func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	half := strings.Repeat("é", maxResult/4+1) // 2 bytes over the half
	result := callResult(&sdk.CallToolResult{Content: []sdk.Content{
		&sdk.TextContent{Text: "x" + half}, &sdk.TextContent{Text: half}, &sdk.TextContent{Text: half},
	}})
	size := 0
	for _, p := range result.Parts[:len(result.Parts)-1] {
		size += len(p.(message.TextPart).Text)
	}
	if size != maxResult-1 { // no character is cut in two
		t.Errorf("%d bytes are shown", size)
	}
	has(t, result.Parts[len(result.Parts)-1].(message.TextPart).Text, "5000008 bytes were left out")
}
