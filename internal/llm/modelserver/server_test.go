// Tests of what all formats share: who calls, tries, faults on the wire, the
// list of models, keys, listening. Everything goes over loopback.

package modelserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm/scripted"
)

// play serves a script and returns its address.
func play(t *testing.T, script string, opts Options) string {
	t.Helper()
	m, err := scripted.Parse("test.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(New(m, opts))
	t.Cleanup(srv.Close)
	return srv.URL
}

type vendor struct {
	path   string
	whole  string // the path of requests that do not ask for a stream, if it is another
	header http.Header
	// ask is a request with a system prompt and one user message.
	ask func(system, user string, stream bool) string
}

var anthropicVendor = vendor{
	path:   "/v1/messages",
	header: http.Header{"Anthropic-Version": {"2023-06-01"}, "X-Api-Key": {"k"}},
	ask: func(system, user string, stream bool) string {
		return string(marshal(map[string]any{
			"model": "m", "max_tokens": 100, "system": system, "stream": stream,
			"messages": []any{map[string]any{"role": "user", "content": user}},
		}))
	},
}

var openaiVendor = vendor{
	path:   "/v1/chat/completions",
	header: http.Header{"Authorization": {"Bearer k"}},
	ask: func(system, user string, stream bool) string {
		return string(marshal(map[string]any{
			"model": "m", "stream": stream,
			"messages": []any{
				map[string]any{"role": "system", "content": system},
				map[string]any{"role": "user", "content": user},
			},
		}))
	},
}

var responsesVendor = vendor{
	path:   "/v1/responses",
	header: http.Header{"Authorization": {"Bearer k"}},
	ask: func(system, user string, stream bool) string {
		return string(marshal(map[string]any{"model": "m", "stream": stream, "store": false, "instructions": system, "input": user}))
	},
}

var geminiVendor = vendor{
	path:   "/v1beta/models/m:streamGenerateContent?alt=sse",
	whole:  "/v1beta/models/m:generateContent",
	header: http.Header{"X-Goog-Api-Key": {"k"}},
	ask: func(system, user string, stream bool) string {
		return string(marshal(map[string]any{
			"stream":             stream, // for at; the vendor has no such member
			"system_instruction": map[string]any{"parts": []any{map[string]any{"text": system}}},
			"contents":           []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": user}}}},
		}))
	},
}

// at is where a request goes.
func (v vendor) at(body string) string {
	if v.whole != "" && strings.Contains(body, `"stream":false`) {
		return v.whole
	}
	return v.path
}

var vendors = map[string]vendor{
	"anthropic": anthropicVendor, "openai": openaiVendor, "responses": responsesVendor, "gemini": geminiVendor,
}

// answered is the head of an answer; what is left of its body can be read.
type answered struct {
	status int
	header http.Header
	body   io.Reader
}

// do makes a request. The connection is closed at the end of the test.
func do(t *testing.T, req *http.Request) (answered, error) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answered{}, err
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return answered{resp.StatusCode, resp.Header, resp.Body}, nil
}

// send makes a request in the vendor's format.
func send(ctx context.Context, t *testing.T, url string, v vendor, body string) answered {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+v.at(body), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = v.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	resp, err := do(t, req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// post makes a request and reads its answer to the end.
func post(t *testing.T, url string, v vendor, body string) (answered, string) {
	t.Helper()
	resp := send(t.Context(), t, url, v, body)
	b, err := io.ReadAll(resp.body)
	if err != nil {
		t.Fatalf("reading the answer: %v after %q", err, b)
	}
	return resp, string(b)
}

func TestCallerFromTheWire(t *testing.T) {
	t.Parallel()
	url := play(t, `
agents:
- turns: [{text: "role={{role}} name={{name}} agent={{agent}} depth={{depth}} task={{task}} turn={{turn}} try={{try}}"}]
`, Options{})
	tests := []struct{ system, want string }{
		{"", "role=main name=main agent=main depth=0"},
		{"You code.\nRole: coder\nBe brief.", "role=coder name=coder agent=coder depth=1"},
		{"Name: coder-2\nRole: coder\nDepth: 3\nAgent: a-17", "role=coder name=coder-2 agent=a-17 depth=3"},
		{"The words Role: coder inside a line", "role=main name=main agent=main depth=0"},
	}
	for name, v := range vendors {
		for _, tt := range tests {
			_, body := post(t, url, v, v.ask(tt.system, "do it", false))
			if want := tt.want + " task=do it turn=1 try=1"; !strings.Contains(body, want) {
				t.Errorf("%s, system %q: got %s, want %s", name, tt.system, body, want)
			}
		}
	}
}

// TestTries: a fault passes after its times, a turn that was answered counts
// from the start, and other tasks have a count of their own.
func TestTries(t *testing.T) {
	t.Parallel()
	for name, v := range vendors {
		url := play(t, "agents:\n- turns: [{text: fine, fault: {status: 503, times: 2}}]\n", Options{})
		for i, step := range []struct {
			task   string
			status int
		}{
			{"a", 503},
			{"a", 503},
			{"b", 503},
			{"a", 200},
			{"a", 503},
			{"b", 503},
			{"b", 200},
		} {
			resp, body := post(t, url, v, v.ask("", step.task, true))
			if resp.status != step.status {
				t.Errorf("%s, request %d (%s): status %d, want %d: %s", name, i, step.task, resp.status, step.status, body)
			}
		}
	}
}

// TestHTTPFaults gives the whole error body of each vendor for each fault.
func TestHTTPFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault             string
		status            int
		anthropic, openai string
	}{
		{
			"{status: 400, message: bad}", 400, `"invalid_request_error","message":"bad"`,
			`"message":"bad","type":"invalid_request_error","param":null,"code":null`,
		},
		{
			"{status: 401, message: key}", 401, `"authentication_error","message":"key"`,
			`"message":"key","type":"invalid_request_error","param":null,"code":"invalid_api_key"`,
		},
		{
			"{status: 403, message: no}", 403, `"permission_error","message":"no"`,
			`"message":"no","type":"invalid_request_error","param":null,"code":"unsupported_country_region_territory"`,
		},
		{
			"{status: 404, message: no model}", 404, `"not_found_error","message":"no model"`,
			`"message":"no model","type":"invalid_request_error","param":null,"code":"model_not_found"`,
		},
		{
			"{status: 413, message: big}", 413, `"request_too_large","message":"big"`,
			`"message":"big","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"`,
		},
		{
			"{status: 429, message: slow}", 429, `"rate_limit_error","message":"slow"`,
			`"message":"slow","type":"requests","param":null,"code":"rate_limit_exceeded"`,
		},
		{
			"{status: 429, kind: quota, message: pay}", 429, `"billing_error","message":"pay"`,
			`"message":"pay","type":"insufficient_quota","param":null,"code":"insufficient_quota"`,
		},
		{
			"{status: 500, message: oops}", 500, `"api_error","message":"oops"`,
			`"message":"oops","type":"server_error","param":null,"code":null`,
		},
		{
			"{status: 504, message: late}", 504, `"timeout_error","message":"late"`,
			`"message":"late","type":"server_error","param":null,"code":null`,
		},
		{
			"{status: 529, message: busy}", 529, `"overloaded_error","message":"busy"`,
			`"message":"busy","type":"server_error","param":null,"code":null`,
		},
		{
			"{kind: content_filter, message: hm}", 400, `"invalid_request_error","message":"hm"`,
			`"message":"hm","type":"invalid_request_error","param":null,"code":"content_policy_violation"`,
		},
		{
			"{overflow: true}", 400, `"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"`,
			`"message":"prompt is too long: 200001 tokens > 200000 maximum","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			url := play(t, "agents:\n- turns: [{text: abc, fault: "+tt.fault+"}]\n", Options{})
			for _, stream := range []bool{true, false} {
				resp, body := post(t, url, anthropicVendor, anthropicVendor.ask("", "x", stream))
				id := resp.header.Get("request-id")
				want := `{"type":"error","error":{"type":` + tt.anthropic + `},"request_id":"` + id + `"}`
				if resp.status != tt.status || body != want || !strings.HasPrefix(id, "req_") {
					t.Errorf("anthropic: status %d, body %s\nwant %d, %s", resp.status, body, tt.status, want)
				}
				resp, body = post(t, url, openaiVendor, openaiVendor.ask("", "x", stream))
				want = `{"error":{` + tt.openai + `}}`
				if resp.status != tt.status || body != want || resp.header.Get("x-request-id") == "" {
					t.Errorf("openai: status %d, body %s\nwant %d, %s", resp.status, body, tt.status, want)
				}
				if got := resp.header.Get("Content-Type"); got != "application/json" {
					t.Errorf("an error has the type %q", got)
				}
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tests := []struct{ fault, seconds, millis string }{
		{"{status: 429, retry_after: 2s}", "2", "2000"},
		{"{status: 429, retry_after: 300ms}", "1", "300"},
		{"{status: 429}", "", ""},
	}
	for _, tt := range tests {
		url := play(t, "agents:\n- turns: [{fault: "+tt.fault+"}]\n", Options{})
		for name, v := range vendors {
			resp, _ := post(t, url, v, v.ask("", "x", true))
			s, ms := resp.header.Get("Retry-After"), resp.header.Get("Retry-After-Ms")
			if s != tt.seconds || ms != tt.millis {
				t.Errorf("%s, %s: Retry-After %q and %q ms, want %q and %q", name, tt.fault, s, ms, tt.seconds, tt.millis)
			}
		}
	}
}

// TestFaultInTheStream: a fault after some chunks is an event of the stream.
func TestFaultInTheStream(t *testing.T) {
	t.Parallel()
	url := play(t, "agents:\n- turns: [{text: abcd, chunk: 2, fault: {status: 529, after: 1, message: Overloaded}}]\n", Options{})
	for name, want := range map[string]string{
		"anthropic": "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req_",
		"openai":    "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n",
	} {
		v := vendors[name]
		resp, body := post(t, url, v, v.ask("", "x", true))
		if resp.status != http.StatusOK || !strings.Contains(body, `"ab"`) || strings.Contains(body, `"cd"`) {
			t.Errorf("%s: status %d, stream %s", name, resp.status, body)
		}
		if i := strings.Index(body, want); i < 0 || strings.Count(body[i:], "\n\n") != 1 {
			t.Errorf("%s: the stream does not end with the error:\n%s", name, body)
		}
		if strings.Contains(body, "message_stop") || strings.Contains(body, "[DONE]") {
			t.Errorf("%s: the stream ends as if all were well:\n%s", name, body)
		}
	}
}

// TestCut: the connection breaks in the middle, streaming or not.
func TestCut(t *testing.T) {
	t.Parallel()
	url := play(t, "agents:\n- turns: [{text: abcdefgh, chunk: 2, fault: {cut: true}}]\n", Options{})
	for name, v := range vendors {
		for _, stream := range []bool{true, false} {
			resp := send(t.Context(), t, url, v, v.ask("", "x", stream))
			b, err := io.ReadAll(resp.body)
			if resp.status != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, stream %v: status %d, reading ends with %v, want an unexpected EOF", name, stream, resp.status, err)
			}
			if stream && (!strings.Contains(string(b), `"cd"`) || strings.Contains(string(b), `"ef"`)) {
				t.Errorf("%s: the stream was cut elsewhere than in its middle: %s", name, b)
			}
			if !stream && len(b) == 0 {
				t.Errorf("%s: nothing of the body arrived", name)
			}
		}
	}
}

// TestNetworkFault: with nothing sent before, there is no answer at all.
func TestNetworkFault(t *testing.T) {
	t.Parallel()
	url := play(t, "agents:\n- turns: [{fault: {kind: network}}]\n", Options{})
	for name, v := range vendors {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+v.path, strings.NewReader(v.ask("", "x", true)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = v.header.Clone()
		if resp, err := do(t, req); err == nil {
			t.Errorf("%s: status %d, want a broken connection", name, resp.status)
		}
	}
}

// TestStall: chunks arrive, then nothing, until the client goes away; then the
// handler ends too. The server's closing waits for that.
func TestStall(t *testing.T) {
	t.Parallel()
	for name, v := range vendors {
		m, err := scripted.Parse("t", []byte("agents:\n- turns: [{text: abcdefgh, chunk: 2, fault: {stall: true}}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		inner := New(m, Options{})
		ended := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			inner.ServeHTTP(w, r)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		resp := send(ctx, t, srv.URL, v, v.ask("", "x", true))
		lines := bufio.NewScanner(resp.body)
		for lines.Scan() && !strings.Contains(lines.Text(), `"cd"`) {
			if strings.Contains(lines.Text(), `"ef"`) {
				t.Errorf("%s: the stream went on: %s", name, lines.Text())
			}
		}
		select {
		case <-ended:
			t.Errorf("%s: the stream ended instead of stalling", name)
		default:
		}
		cancel()
		<-ended
		srv.Close()
	}
}

// TestIdle: a stall with a limit ends with a broken connection.
func TestIdle(t *testing.T) {
	t.Parallel()
	url := play(t, "agents:\n- turns: [{text: abcdefgh, chunk: 2, fault: {stall: true, idle: 1ms}}]\n", Options{})
	for name, v := range vendors {
		resp := send(t.Context(), t, url, v, v.ask("", "x", true))
		if _, err := io.ReadAll(resp.body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: reading ends with %v, want an unexpected EOF", name, err)
		}
	}
}

func TestScriptWithoutAnswer(t *testing.T) {
	t.Parallel()
	url := play(t, "agents:\n- {match: {role: nobody}, turns: [{text: a}]}\n", Options{})
	for name, v := range vendors {
		resp, body := post(t, url, v, v.ask("", "x", true))
		if resp.status != http.StatusBadRequest || !strings.Contains(body, "has no block for agent main") {
			t.Errorf("%s: status %d, %s", name, resp.status, body)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	script := "model: reader-1\nagents: [{turns: [{text: a}]}]\n"
	tests := []struct {
		opts   Options
		header http.Header
		want   string
	}{
		{
			Options{},
			openaiVendor.header,
			`{"object":"list","data":[{"id":"reader-1","object":"model","created":1700000000,"owned_by":"scripted"}]}`,
		},
		{
			Options{Models: []string{"a", "b"}},
			anthropicVendor.header,
			`{"data":[{"type":"model","id":"a","display_name":"a","created_at":"2023-11-14T22:13:20Z"},` +
				`{"type":"model","id":"b","display_name":"b","created_at":"2023-11-14T22:13:20Z"}],"has_more":false,"first_id":"a","last_id":"b"}`,
		},
	}
	for _, tt := range tests {
		if resp, body := get(t, play(t, script, tt.opts)+"/v1/models", tt.header); resp.status != 200 || body != tt.want {
			t.Errorf("status %d, got  %s\nwant %s", resp.status, body, tt.want)
		}
	}
}

func get(t *testing.T, url string, header http.Header) (answered, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	resp, err := do(t, req)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func TestKey(t *testing.T) {
	t.Parallel()
	script := "agents: [{turns: [{text: a}]}]\n"
	for name, v := range vendors {
		if resp, body := post(t, play(t, script, Options{Key: "k"}), v, v.ask("", "x", false)); resp.status != 200 {
			t.Errorf("%s: the right key is refused: %s", name, body)
		}
		other := play(t, script, Options{Key: "other"})
		if resp, body := post(t, other, v, v.ask("", "x", false)); resp.status != 401 || strings.Contains(body, "other") {
			t.Errorf("%s: a wrong key gives status %d: %s", name, resp.status, body)
		}
		if resp, _ := get(t, other+"/v1/models", v.header); resp.status != 401 {
			t.Errorf("%s: models are listed for a wrong key", name)
		}
	}
}

func TestUnknownPath(t *testing.T) {
	t.Parallel()
	url := play(t, "agents: [{turns: [{text: a}]}]\n", Options{})
	for name, v := range vendors {
		resp, body := get(t, url+"/v2/x", v.header)
		if resp.status != 404 || !strings.Contains(body, `Invalid URL (GET /v2/x)`) {
			t.Errorf("%s: status %d, %s", name, resp.status, body)
		}
	}
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	url := play(t, "agents: [{turns: [{text: a}]}]\n", Options{})
	body := anthropicVendor.ask("", strings.Repeat("x", maxBody), false)
	resp, got := post(t, url, anthropicVendor, body)
	if resp.status != 413 || !strings.Contains(got, "request_too_large") {
		t.Errorf("status %d, %s", resp.status, got)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	m, err := scripted.Parse("t", []byte("agents: [{turns: [{text: hello}]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	addr, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- New(m, Options{}).Listen(ctx, "127.0.0.1:0", func(a string) { addr <- a }) }()
	a := <-addr
	if _, body := post(t, "http://"+a, openaiVendor, openaiVendor.ask("", "x", false)); !strings.Contains(body, "hello") {
		t.Errorf("got %s", body)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("listening ended with %v", err)
	}
	if err := New(m, Options{}).Listen(t.Context(), "nowhere:x", nil); err == nil {
		t.Error("listening at no address succeeds")
	}
}
