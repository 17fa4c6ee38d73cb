// What the tests of this package share.

package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that ends with the test.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// object writes a JSON object of pairs of key and value.
func object(pairs ...any) json.RawMessage {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// use runs a tool as an agent would, through a registry.
func use(t *testing.T, tl tool.Tool, input json.RawMessage) (string, error) {
	t.Helper()
	r, err := tool.New(tl)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Run(t.Context(), tl.Name, tool.Env{}, input)
	text := message.Text(res.Parts)
	if err == nil && res.IsError {
		return "", errorText(text)
	}
	return text, err
}

// errorText is a failure that the model is told as a result.
type errorText string

func (e errorText) Error() string { return string(e) }

func contains(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("%.2000q does not contain %q", got, want)
		}
	}
}

func lacks(t *testing.T, got string, unwanted ...string) {
	t.Helper()
	for _, u := range unwanted {
		if strings.Contains(got, u) {
			t.Errorf("%.2000q contains %q", got, u)
		}
	}
}

func TestToolsAreSmall(t *testing.T) {
	t.Parallel()
	fetch, err := Fetch(Options{})
	if err != nil {
		t.Fatal(err)
	}
	search, ok, err := Search(SearchOptions{Provider: "tavily", Key: "k"})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, tl := range []tool.Tool{fetch, search} {
		if n := len(tl.Description); n < 100 || n > 400 {
			t.Errorf("%s: the description has %d bytes", tl.Name, n)
		}
		if tl.Class != tool.Network || !tl.Repeatable {
			t.Errorf("%s is of class %q, repeatable: %v", tl.Name, tl.Class, tl.Repeatable)
		}
		if err := tool.Check(tl); err != nil {
			t.Error(err)
		}
	}
}
