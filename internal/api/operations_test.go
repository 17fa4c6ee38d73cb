// Health and metrics: they say what is so.

package api_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/api"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
)

// stuck is a store that cannot write.
type stuck struct{ api.Store }

func (stuck) Writable(context.Context) error { return errors.New("the disk is full of secrets") }

func TestReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct {
		starting bool
		change   func(*api.Config)
		status   int
		code     string
	}{
		{false, nil, http.StatusOK, ""},
		{true, nil, http.StatusServiceUnavailable, "starting"},
		{false, func(c *api.Config) { c.Store = stuck{c.Store} }, http.StatusServiceUnavailable, "unwritable"},
	} {
		w.close()
		w.change = tt.change
		w.open()
		w.starting.Store(tt.starting)
		a := w.call("", http.MethodGet, "/readyz", nil)
		if a.status != tt.status || a.code() != tt.code || strings.Contains(string(a.body), "secrets") {
			t.Errorf("got %d %s, want %d %s", a.status, a.body, tt.status, tt.code)
		}
		if a := w.call("", http.MethodGet, "/healthz", nil); a.status != http.StatusOK {
			t.Errorf("the process is there, but: %d", a.status)
		}
	}
}

// TestMetrics: the numbers are those of the record.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var snap wire.Snapshot
	w.want(http.StatusCreated, http.MethodPost, chats, wire.NewChat{Model: "scripted:" + w.script, Text: "go"}).into(t, &snap)
	chat := snap.Chat.ID
	w.until(chats+"/"+chat+"/inbox", func(a answer) bool { return strings.Contains(string(a.body), "which one") })
	f := w.follow(t, w.token, chats+"/"+chat+"/changes")
	defer f.close()
	var calls, tools, results int
	var used store.ModelCall
	for _, id := range []string{chat, chat + ".1"} {
		models, err := w.app.Store.ModelCalls(t.Context(), id)
		w.ok(err)
		calls += len(models)
		for _, m := range models {
			used.Usage = used.Usage.Add(m.Usage)
		}
		uses, err := w.app.Store.ToolCalls(t.Context(), id)
		w.ok(err)
		for _, c := range uses {
			tools++
			if c.EndedAt > 0 {
				results++
			}
		}
	}
	text := string(w.want(http.StatusOK, http.MethodGet, "/metrics", nil).body)
	sum := func(prefix string) (total float64) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, prefix) {
				v, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " "):]), 64)
				w.ok(err)
				total += v
			}
		}
		return total
	}
	for prefix, want := range map[string]int{
		"cadre_model_calls_total{": calls, "cadre_tool_calls_total{": tools, "cadre_tool_results_total{": results,
		`cadre_model_tokens_total{kind="output"`: int(used.Output), `cadre_model_tokens_total{kind="input"`: int(used.Input),
		`cadre_agents{state="awaiting_answer"}`: 1, `cadre_agents{state="awaiting_children"}`: 1, "cadre_feed_subscribers": 1, "cadre_engine_paused": 0,
	} {
		if got := sum(prefix); got != float64(want) {
			t.Errorf("%s is %v, want %d", prefix, got, want)
		}
	}
	for _, prefix := range []string{"cadre_commit_duration_seconds_count", "cadre_http_request_duration_seconds_count", "go_goroutines", "process_resident_memory_bytes"} {
		if sum(prefix) <= 0 {
			t.Errorf("%s is missing", prefix)
		}
	}
}
