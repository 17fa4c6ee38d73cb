// The size of what a sub-agent's model is sent before any work: every byte of
// it is paid for in each of its requests.

package scenario_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm/modelserver"
	"github.com/cadre-dev/cadre/internal/llm/scripted"
)

// mostSent is how much a role may be sent beside its task and the project's
// instructions: one that only reads 4,000 bytes, one that works 12,000.
var mostSent = map[string]int{
	"CodeSearch": 4_000, "CodeReview": 4_000, "Planner": 4_000, "reviewer": 4_000, "researcher": 4_000,
	"planner": 12_000, "general": 12_000, "coder": 12_000, "tester": 12_000, "debugger": 12_000,
}

// everyone is a chat in which the orchestrator gives each role a task.
const everyone = `
agents:
  - match: {role: main}
    turns:
      - calls:
          - {tool: CodeSearch, input: {query: "task for CodeSearch!"}}
          - {tool: CodeReview, input: {target: "task for CodeReview!"}}
          - {tool: Planner, input: {task: "task for Planner!"}}
          - {tool: delegate_to_agent, input: {role: reviewer, task: "task for reviewer!"}}
          - {tool: delegate_to_agent, input: {role: researcher, task: "task for researcher!"}}
          - {tool: delegate_to_agent, input: {role: planner, task: "task for planner!"}}
          - {tool: delegate_to_agent, input: {role: general, task: "task for general!"}}
          - {tool: delegate_to_agent, input: {role: coder, task: "task for coder!"}}
          - {tool: delegate_to_agent, input: {role: tester, task: "task for tester!"}}
          - {tool: delegate_to_agent, input: {role: debugger, task: "task for debugger!"}}
      - text: done
  - match: {}
    turns: [{text: ok}]
`

// TestFirstRequest holds how much is sent, as each of the wire formats has it.
func TestFirstRequest(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"anthropic", "openai", "openai-responses", "gemini"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			sizes := firstRequests(t, kind)
			t.Logf("bytes: %v", sizes)
			for role, most := range mostSent {
				if n := sizes[role]; n == 0 || n > most {
					t.Errorf("%s is sent %d bytes, at most %d may be", role, n, most)
				}
			}
		})
	}
}

// firstRequests are the sizes of the first requests of sub-agents by their
// roles, without their tasks.
func firstRequests(t *testing.T, kind string) map[string]int {
	t.Helper()
	task := regexp.MustCompile("task for ([A-Za-z]+)!")
	sizes := map[string]int{}
	var mu sync.Mutex
	config := gateway(t, kind, "{}", everyone, func(body []byte) {
		if found := task.FindAllSubmatch(body, -1); len(found) == 1 { // the orchestrator sends all of them
			mu.Lock()
			defer mu.Unlock()
			sizes[string(found[0][1])] = len(body) - len(found[0][0])
		}
	})
	w := begin(t, setup{Model: "gateway/m", Config: config})
	w.say("go")
	w.end()
	const usual = 40 // bytes of a path; that of a test's folder may be any length
	for role := range sizes {
		sizes[role] += usual - len(w.dir)
	}
	return sizes
}

// gateway plays a script as the model gateway/m behind a wire format, and
// returns the configuration for it. It outlives the processes that call it.
// What is known of the model can be said; see is shown each request.
func gateway(t *testing.T, kind, known, script string, see func([]byte)) string {
	t.Helper()
	model, err := scripted.Parse("script.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	replies := modelserver.New(model, modelserver.Options{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // its process was killed
		}
		see(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		replies.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	base := server.URL
	if slices.Contains([]string{"openai", "openai-responses"}, kind) {
		base += "/v1"
	}
	return fmt.Sprintf("model: gateway/m\ntiers: {fast: gateway/m, default: gateway/m, smart: gateway/m}\n"+
		"providers:\n  gateway: {kind: %s, base_url: '%s', key: k, models: {m: %s}}\n", kind, base, known)
}
