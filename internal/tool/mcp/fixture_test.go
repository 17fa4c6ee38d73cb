// What the tests of this package share: servers to talk to, which this test
// binary is itself when it is started with serveAs, and a client of them.

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
)

// serveAs makes this binary a server of the kind it names.
const serveAs = "CADRE_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if code, ran := sandbox.Main(os.Args); ran {
		os.Exit(code)
	}
	switch kind := os.Getenv(serveAs); kind {
	case "":
		goleak.VerifyTestMain(m)
	case "new", "old", "noisy":
		if kind == "noisy" {
			fmt.Fprint(os.Stdout, "Downloading…\n[INFO] ready\n{\"level\":\"info\"}\n\n{broken\n")
		}
		if err := testServer(kind).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "broken":
		fmt.Fprintf(os.Stderr, "starting\ncannot log in with %s\n", os.Getenv("TOKEN"))
		os.Exit(7)
	case "mute":
		_, _ = bufio.NewReader(os.Stdin).ReadString(0)
	case "raw":
		rawServer()
	}
}

// stdio configures a server of that kind.
func stdio(kind string) ServerConfig {
	return ServerConfig{Transport: Stdio, Command: os.Args[0], Env: map[string]config.Secret{serveAs: config.NewSecret(kind)}}
}

// testServer offers what the tests need; "old" speaks the protocol from before
// 2026-07-28.
func testServer(kind string) *sdk.Server {
	options := &sdk.ServerOptions{}
	if kind == "old" {
		options.SupportedProtocolVersions = []string{"2025-11-25"}
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "0.1"}, options)
	add := func(name, schema string, readOnly bool, do func(ctx context.Context, req *sdk.CallToolRequest, in map[string]any) (*sdk.CallToolResult, error)) {
		server.AddTool(&sdk.Tool{
			Name: name, Description: "does " + name, InputSchema: json.RawMessage(schema),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: readOnly},
		}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in map[string]any
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return do(ctx, req, in)
		})
	}
	const anything = `{"type":"object"}`
	add("echo", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, true, func(_ context.Context, _ *sdk.CallToolRequest, in map[string]any) (*sdk.CallToolResult, error) {
		return said(fmt.Sprint(in["text"])), nil
	})
	add("env", anything, false, func(_ context.Context, _ *sdk.CallToolRequest, in map[string]any) (*sdk.CallToolResult, error) {
		dir, _ := os.Getwd()
		return said(os.Getenv(fmt.Sprint(in["name"])) + " in " + dir), nil
	})
	add("fail", anything, false, func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		r := said("no such thing")
		r.IsError = true
		return r, nil
	})
	add("refuse", anything, false, func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("not today")
	})
	add("structured", anything, false, func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{StructuredContent: map[string]any{"answer": 42}}, nil
	})
	add("crash", anything, false, func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
		return nil, nil
	})
	// hang touches a file when it begins, and another when it is cancelled.
	add("hang", anything, false, func(ctx context.Context, _ *sdk.CallToolRequest, in map[string]any) (*sdk.CallToolResult, error) {
		file := fmt.Sprint(in["file"])
		_ = os.WriteFile(file+".begun", nil, 0o600)
		<-ctx.Done()
		_ = os.WriteFile(file+".cancelled", nil, 0o600)
		return nil, ctx.Err()
	})
	add("huge", anything, false, func(_ context.Context, _ *sdk.CallToolRequest, in map[string]any) (*sdk.CallToolResult, error) {
		return said(strings.Repeat("é", int(in["bytes"].(float64))/2)), nil
	})
	add("flood", anything, false, func(ctx context.Context, req *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		line := strings.Repeat("x", 1000) + "\n"
		for i := range 3000 {
			fmt.Fprint(os.Stderr, line)
			_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Message: "going on"})
		}
		return said("done"), nil
	})
	// steps takes a second, with news ten times.
	add("steps", anything, false, func(ctx context.Context, req *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for i := range 10 {
			<-tick.C
			_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i)})
		}
		return said("all done"), ctx.Err()
	})
	add("grow", anything, false, func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		server.AddTool(&sdk.Tool{Name: "grown", InputSchema: json.RawMessage(anything)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return said("new here"), nil
		})
		return said("grown"), nil
	})
	add("write", anything, false, func(_ context.Context, _ *sdk.CallToolRequest, in map[string]any) (*sdk.CallToolResult, error) {
		return said("written"), os.WriteFile(fmt.Sprint(in["file"]), []byte("x"), 0o600)
	})
	add("child", anything, false, func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		cmd := exec.CommandContext(context.Background(), "sleep", "1000")
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return said(fmt.Sprint(cmd.Process.Pid)), nil
	})
	add("ask", anything, false, askTool)
	add("visit", anything, false, visitTool())
	addResources(server)
	return server
}

func said(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// askTool asks for a name: within the call if the client knows how to answer
// there, else beside it.
func askTool(_ context.Context, req *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
	if answer, ok := req.Params.InputResponses["name"].(*sdk.ElicitResult); ok {
		return said(fmt.Sprintf("%s %v", answer.Action, answer.Content["name"])), nil
	}
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{
		Mode: "form", Message: "Who are you?",
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}`),
	}}}, nil
}

// visitTool refuses its first call until an address was opened.
func visitTool() func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
	var once sync.Once
	return func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		var err error
		once.Do(func() {
			err = sdk.URLElicitationRequiredError([]*sdk.ElicitParams{{Mode: "url", Message: "Log in", URL: "https://example.com/login", ElicitationID: "1"}})
		})
		return said("welcome"), err
	}
}

func addResources(server *sdk.Server) {
	server.AddResource(&sdk.Resource{URI: "test://motto", Name: "motto", MIMEType: "text/plain", Description: "what we live by"},
		func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Text: "less is more"}}}, nil
		})
	server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://page/{n}", Name: "page"},
		func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, Blob: []byte{1, 2, 3}, MIMEType: "application/octet-stream"}}}, nil
		})
	server.AddPrompt(&sdk.Prompt{Name: "greet", Description: "a greeting", Arguments: []*sdk.PromptArgument{{Name: "whom", Required: true}, {Name: "tone"}}},
		func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Greet " + req.Params.Arguments["whom"]}}}}, nil
		})
}

// rawServer speaks the protocol by hand and badly: tools that cannot be used,
// nulls in lists, and a request without parameters during each call.
func rawServer() {
	long := strings.Repeat("very_", 30)
	tools := []string{
		`{"name":"a.b","inputSchema":{"type":"object"}}`,
		`{"name":"a/b","inputSchema":{"type":"object"}}`,
		`{"name":"a_b","inputSchema":{"type":"object"}}`,
		`{"name":"a_b","inputSchema":{"type":"object"},"description":"again"}`,
		`{"name":"` + long + `1","inputSchema":{"type":"object"}}`,
		`{"name":"` + long + `2","inputSchema":{"type":"object"}}`,
		`{"name":"untyped","inputSchema":{"properties":{"x":{"type":"string"}}}}`,
		`{"name":"none"}`,
		`{"name":"text","inputSchema":{"type":"string"}}`,
		`{"name":"list","inputSchema":[1]}`,
		`{"name":"outside","inputSchema":{"type":"object","$ref":"https://example.com/schema.json"}}`,
		`{"name":"resources","inputSchema":{"type":"object"}}`,
		`null`,
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		result := ""
		switch req.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"raw","version":"1"}}`
		case "tools/list":
			result = `{"tools":[` + strings.Join(tools, ",") + `]}`
		case "tools/call":
			if req.Params.Name == "none" { // asks, and does not care what becomes of it
				fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","id":"r","method":"elicitation/create","params":{"message":"Well?","requestedSchema":{"type":"object","properties":{}}}}`)
				continue
			}
			fmt.Fprintln(os.Stdout, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create"}`)
			result = `{"content":[{"type":"text","text":"survived"}]}`
		case "resources/list":
			result = `{"resources":[null,{"uri":"x://y","name":"y"}],"nextCursor":"page2"}`
		case "server/discover":
			continue // a server that does not answer what it does not know
		default:
			fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`+"\n", req.ID)
			continue
		}
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, result)
	}
}

// logText is what a client logged.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newTestClient makes a client that is impatient, and closes it in the end.
func newTestClient(t *testing.T, o Options, adjust ...func(*timing)) (*Client, *logText) {
	t.Helper()
	log := &logText{}
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	c := New(o)
	c.timing.firstRetry, c.timing.discover, c.timing.relist = 20*time.Millisecond, 2*time.Second, time.Millisecond
	for _, f := range adjust {
		f(&c.timing)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, log
}

// started is a client of one server, called s, that is running.
func started(t *testing.T, config ServerConfig, adjust ...func(*timing)) *Client {
	t.Helper()
	c, log := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": config}}, adjust...)
	c.Start(t.Context())
	if st := c.Status()[0]; st.State != Running {
		t.Fatalf("the server is %s: %s\n%s", st.State, st.Error, log)
	}
	return c
}

// use runs a tool as an agent would, through a registry.
func use(ctx context.Context, c *Client, env tool.Env, name string, input any) (tool.Result, error) {
	r, err := tool.New(c.Tools()...)
	if err != nil {
		return tool.Result{}, err
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return tool.Result{}, err
	}
	return r.Run(ctx, name, env, raw)
}

// answer is the text that a tool of the server s answers.
func answer(t *testing.T, c *Client, env tool.Env, name string, input any) string {
	t.Helper()
	result, err := use(t.Context(), c, env, "mcp__s__"+name, input)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return message.Text(result.Parts)
}

type in map[string]any

// eventually waits for a condition that something else brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		case <-tick.C:
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q must not be in:\n%s", part, text)
		}
	}
}

func tempFile(t *testing.T) string { return filepath.Join(t.TempDir(), "file") }
