// Whatever a server sends, reading it comes to an end and leaves parts that
// are sound.

package openaichat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				f.Add(data, data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		b := &builder{provider: testProvider, model: testModel, tags: tagsLook, onDelta: func(llm.Delta) {}}
		for _, chunk := range []string{first, second, first} {
			if b.read([]byte(chunk)) != nil {
				return
			}
		}
		b.finish = "stop"
		r, err := b.reply(nil, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Parts {
			if c, ok := p.(message.ToolCall); ok && (c.ID == "" || !json.Valid(c.Input)) {
				t.Errorf("a call with the id %q and the input %s", c.ID, c.Input)
			}
		}
		enc := encoder{provider: testProvider, quirks: Quirks{Reasoning: true}}
		body, _, err := enc.group(nil, testModel, []message.Message{reply(r.Parts...)})
		if err != nil || !json.Valid(body) {
			t.Errorf("%s, %v", body, err)
		}
	})
}
