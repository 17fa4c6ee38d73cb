package tracing_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	wire "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tracing"
)

// works is an orchestrator that hands out a task; the sub-agent reads, fails
// to read, asks the user and reports.
const works = `
name: works
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: researcher, task: "hush, find out"}}]
      - text: "hush, the end"
      - text: "hush, and again"
    after: last
  - match: {role: researcher}
    turns:
      - calls: [{tool: LS, input: {path: .}}, {tool: Read, input: {path: hush-missing.txt}}]
      - calls: [{tool: ask_user, input: {question: "hush, which one?"}}]
      - calls: [{tool: submit_result, input: {summary: "hush, found"}}]
  - match: {role: consult}
    turns: [{calls: [{tool: ask_user, input: {}}]}]
    after: last
`

// wholeTree is what comes of it.
const wholeTree = `invoke_agent main
  chat scripted
  chat scripted
  chat scripted
  execute_tool delegate_to_agent
    invoke_agent researcher
      chat scripted
      chat scripted
      chat scripted
      execute_tool LS
      execute_tool Read !tool_error
      execute_tool ask_user
      execute_tool submit_result
`

// answer waits for the question and answers it.
func (w *world) answer() {
	w.Helper()
	var items []store.Item
	w.until("a question", func() bool {
		var err error
		items, err = w.app.Store.Inbox(w.Context(), store.InboxQuery{Chat: w.chat})
		w.ok(err)
		return len(items) > 0 && items[0].Status == "open"
	})
	_, err := w.app.Inbox.Answer(w.Context(), items[0].ID, orchestrate.Answer{By: "anna", Text: "hush, that one"})
	w.ok(err)
}

func (w *world) work() {
	w.Helper()
	ends, forget := w.app.Engine.Outcomes(w.chat)
	defer forget()
	w.send("hush, find out")
	w.answer()
	<-ends
}

// wantTraces: one trace for each of the two user messages.
func wantTraces(t *testing.T, c *collector) {
	t.Helper()
	traces := map[string][]received{}
	for _, s := range c.all() {
		traces[s.trace()] = append(traces[s.trace()], s)
	}
	var drawn []string
	for _, spans := range traces {
		drawn = append(drawn, tree(spans))
	}
	slices.Sort(drawn)
	if want := []string{"invoke_agent main\n  chat scripted\n", wholeTree}; !slices.Equal(drawn, want) {
		t.Errorf("the traces are\n%s", strings.Join(drawn, "---\n"))
	}
}

func TestTree(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret")
	w := newWorld(t, works)
	w.work()
	w.say("hush, again")
	w.close()
	wantTraces(t, c)
	for _, s := range c.all() {
		if s.values["gen_ai.conversation.id"] != w.chat || s.service != "cadre" {
			t.Errorf("%s is of chat %q and service %q", s.Name, s.values["gen_ai.conversation.id"], s.service)
		}
		if s.StartTimeUnixNano == 0 || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s lasts from %d to %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
	}
	if bytes.Contains(c.bytes, []byte("hush")) {
		t.Error("spans carry what was said, though nobody asked for it")
	}
	if got := c.header.Get("X-Key"); got != "secret" {
		t.Errorf("the header of the environment was sent as %q", got)
	}
}

// TestBatches: what was sent in one batch is not sent in the next.
func TestBatches(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	w := newWorld(t, works)
	w.work()
	w.until("the first batch", func() bool { return len(c.all()) >= strings.Count(wholeTree, "\n") })
	w.say("hush, again")
	w.close()
	wantTraces(t, c)
}

func TestAttributes(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces")
	t.Setenv("OTEL_SERVICE_NAME", "mine")
	w := newWorld(t, works)
	w.work()
	w.close()
	for _, tt := range []struct {
		name string
		kind wire.Span_SpanKind
		want map[string]string
	}{
		{"invoke_agent researcher", wire.Span_SPAN_KIND_INTERNAL, map[string]string{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "researcher", "gen_ai.agent.id": w.chat + ".1",
			"gen_ai.provider.name": "scripted", "cadre.agent.path": "main/researcher", "cadre.outcome": "completed",
		}},
		{"execute_tool LS", wire.Span_SPAN_KIND_INTERNAL, map[string]string{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "LS", "gen_ai.tool.type": "function", "gen_ai.agent.id": w.chat + ".1",
			"cadre.tool_call.id": w.chat + ".1-c1.0",
		}},
	} {
		s := named(t, c.all(), tt.name)
		if s.Kind != tt.kind || s.service != "mine" {
			t.Errorf("%s is of kind %s and service %s", tt.name, s.Kind, s.service)
		}
		for key, want := range tt.want {
			if s.values[key] != want {
				t.Errorf("%s: %s is %q, want %q", tt.name, key, s.values[key], want)
			}
		}
	}
	for _, s := range c.all() {
		if s.Name != "chat scripted" {
			continue
		}
		for _, key := range []string{"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.request.model", "gen_ai.response.model", "gen_ai.provider.name", "cadre.model_call.id"} {
			if s.values[key] == "" || strings.Contains(s.values[key], "/") && strings.HasSuffix(key, ".model") {
				t.Errorf("a model call has no %s", key)
			}
		}
		if s.Kind != wire.Span_SPAN_KIND_CLIENT {
			t.Errorf("a model call is of kind %s", s.Kind)
		}
	}
}

// TestContent: what was said is told to those who ask for it.
func TestContent(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	w := newWorld(t, works)
	w.work()
	w.close()
	for name, want := range map[string]map[string]string{
		"execute_tool Read":       {"gen_ai.tool.call.arguments": "hush-missing.txt", "gen_ai.tool.call.result": "hush-missing.txt"},
		"invoke_agent main":       {"gen_ai.input.messages": "hush, find out"},
		"invoke_agent researcher": {"gen_ai.input.messages": "hush, find out", "gen_ai.output.messages": "hush, found"},
	} {
		s := named(t, c.all(), name)
		for key, text := range want {
			if !strings.Contains(s.values[key], text) {
				t.Errorf("%s: %s is %q", name, key, s.values[key])
			}
		}
	}
	said := false
	for _, s := range c.all() {
		said = said || strings.Contains(s.values["gen_ai.output.messages"], `"content":"hush, the end"`)
	}
	if !said {
		t.Error("no model call tells what was said")
	}
}

// TestTwoProcesses: a tree that one process began and another ended is one
// trace, and each of its spans came once.
func TestTwoProcesses(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	w := newWorld(t, works)
	w.send("hush, find out")
	w.until("a question", func() bool {
		items, err := w.app.Store.Inbox(t.Context(), store.InboxQuery{Chat: w.chat})
		w.ok(err)
		return len(items) > 0 && items[0].Status == "open"
	})
	w.close()
	if len(c.all()) == 0 {
		t.Fatal("the first process sent nothing")
	}
	w.open()
	w.ok(w.app.Engine.Recover(t.Context(), ""))
	ends, forget := w.app.Engine.Outcomes(w.chat)
	defer forget()
	w.answer()
	<-ends
	w.close()
	if got := tree(c.all()); got != wholeTree {
		t.Errorf("the trace is\n%s", got)
	}
}

// TestCollectorAway: what could not be sent is sent later, by another process
// if need be, and once.
func TestCollectorAway(t *testing.T) {
	c := newCollector(t)
	c.refuse = true
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	w := newWorld(t, works)
	w.work()
	w.say("hush, again")
	w.close()
	c.mu.Lock()
	if c.tries == 0 || len(c.spans) > 0 {
		t.Fatalf("%d tries, %d spans", c.tries, len(c.spans))
	}
	c.refuse = false
	c.mu.Unlock()
	w.open()
	w.until("all spans", func() bool { return len(c.all()) >= strings.Count(wholeTree, "\n") })
	w.close()
	wantTraces(t, c)
}

// TestCursor: a collector is not told of the past, nor led astray by a number
// of another database.
func TestCursor(t *testing.T) {
	for name, number := range map[string]string{"none": "", "rubbish": "\x00\x00", "of another database": "999999\n"} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t)
			t.Setenv("OTEL_TRACES_EXPORTER", "none")
			w := newWorld(t, works)
			w.work()
			w.close()
			if number != "" {
				w.ok(os.WriteFile(filepath.Join(w.dir, "data", tracing.CursorName), []byte(number), 0o600))
			}
			t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
			w.open()
			w.say("again")
			w.close()
			if got := tree(c.all()); got != "invoke_agent main\n  chat scripted\n" {
				t.Errorf("the trace is\n%s", got)
			}
		})
	}
}

func TestSampler(t *testing.T) {
	for _, tt := range []struct {
		sampler, arg string
		spans        int
	}{
		{"always_off", "", 0},
		{"always_on", "", strings.Count(wholeTree, "\n")},
		{"parentbased_traceidratio", "0", 0},
		{"parentbased_traceidratio", "1", strings.Count(wholeTree, "\n")},
		{"traceidratio", "0", 0},
	} {
		t.Run(tt.sampler+tt.arg, func(t *testing.T) {
			c := newCollector(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
			t.Setenv("OTEL_TRACES_SAMPLER", tt.sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", tt.arg)
			w := newWorld(t, works)
			w.work()
			w.close()
			if got := len(c.all()); got != tt.spans {
				t.Errorf("%d spans, want %d", got, tt.spans)
			}
		})
	}
}

func TestWanted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		env    map[string]string
		wanted bool
		failed string
	}{
		{"nothing", nil, false, ""},
		{"an endpoint", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, true, ""},
		{"an endpoint of traces", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, true, ""},
		{"the default endpoint", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{"switched off", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{"all switched off", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, false, ""},
		{"another exporter", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "zipkin"},
		{"another protocol", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "grpc"},
		{"the protocol of traces counts", map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
		}, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wanted, err := tracing.Wanted(func(name string) string { return tt.env[name] })
			if wanted != tt.wanted || (err != nil) != (tt.failed != "") || err != nil && !strings.Contains(err.Error(), tt.failed) {
				t.Errorf("got %v, %v", wanted, err)
			}
		})
	}
}
