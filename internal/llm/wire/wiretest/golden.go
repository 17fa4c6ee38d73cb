// Comparing with the vendors' own SDKs.

package wiretest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Golden is what a vendor's SDK reads from a fixture. The module oracle writes
// it, to testdata/FIXTURE.golden.json.
type Golden struct {
	Model    string        `json:"model"`
	Text     string        `json:"text"`
	Thinking string        `json:"thinking"`
	Calls    []GoldenCall  `json:"calls"`
	Stop     llm.Stop      `json:"stop"`
	Usage    message.Usage `json:"usage"`
}

// GoldenCall is a call of a tool. The id is empty where the vendor gives none.
type GoldenCall struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Input any    `json:"input"`
}

// Oracle reads every fixture for which there is a golden file, with a provider
// that calls v and asks for replies in one piece or for streams, and compares.
func Oracle(t *testing.T, provider func(v *Vendor, whole bool) llm.Provider) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.golden.json")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no golden files", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".golden.json")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want Golden
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			v := Serve(t, Say(ContentType(name), Fixture(t, name)))
			r, err := Call(t, provider(v, filepath.Ext(name) == ".json"), Ask("x"))
			if err != nil {
				t.Fatal(err)
			}
			if got := goldenOf(t, r, want); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func goldenOf(t *testing.T, r *llm.Reply, want Golden) Golden {
	t.Helper()
	g := Golden{Model: r.Model, Calls: []GoldenCall{}, Stop: r.Stop, Usage: r.Usage}
	for _, p := range r.Parts {
		switch p := p.(type) {
		case message.TextPart:
			g.Text += p.Text
		case message.ThinkingPart:
			g.Thinking += p.Text
		case message.ToolCall:
			c := GoldenCall{ID: p.ID, Name: p.Name}
			if err := json.Unmarshal(p.Input, &c.Input); err != nil {
				t.Fatal(err)
			}
			if n := len(g.Calls); n < len(want.Calls) && want.Calls[n].ID == "" {
				c.ID = ""
			}
			g.Calls = append(g.Calls, c)
		case message.ImagePart, message.ToolResult:
		}
	}
	return g
}
