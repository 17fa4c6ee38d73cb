// Tests that a key stays out of everything that is printed, recorded or stored,
// even if the server that got it sends it back.

package main

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keeper runs commands and makes sure that none says the key.
type keeper struct{ *folder }

func (k *keeper) run(code int, args ...string) result {
	k.t.Helper()
	r := k.folder.run(code, args...)
	for stream, text := range map[string]string{"standard output": r.out, "standard error": r.errs} {
		if at := strings.Index(text, testKey); at >= 0 {
			k.t.Errorf("cadre %s: the key is in %s: …%s…", strings.Join(args, " "), stream, text[max(0, at-200):at+len(testKey)])
		}
	}
	return r
}

// search looks for the key in all files of the data and the working folder, and
// wants some to be there.
func (k *keeper) search(wants ...string) {
	k.t.Helper()
	for _, dir := range []string{k.data, k.work} {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if at := strings.Index(string(b), testKey); at >= 0 {
				k.t.Errorf("the key is in %s: …%q…", path, b[max(0, at-200):at+len(testKey)])
			}
			for i, name := range wants {
				if filepath.Base(path) == name && len(b) > 0 {
					wants = append(wants[:i:i], wants[i+1:]...)
					break
				}
			}
			return err
		}); err != nil {
			k.t.Fatal(err)
		}
	}
	if len(wants) > 0 {
		k.t.Errorf("not found, or empty: %v", wants)
	}
}

// echo makes the headers tell the key that was sent.
func echo(w http.ResponseWriter, r *http.Request, t *testing.T) {
	if !strings.Contains(fmt.Sprint(r.Header, r.URL), testKey) {
		t.Errorf("%s %s came without the key", r.Method, r.URL.Path)
	}
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Goog-Request-Id", "Cf-Ray"} {
		w.Header().Set(name, "req_"+testKey)
	}
}

// answering is a server that echoes the key and then does as it is told.
func answering(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		echo(w, r, t)
		answer(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// refusing answers every request with 401 and the key that it got.
func refusing(t *testing.T) string {
	return answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("WWW-Authenticate", "Bearer "+testKey)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"authentication_error","code":401,"message":"the key %s is not valid"},"request_id":"req_%[1]s"}`, testKey)
	})
}

func TestRefusedKeyIsNotShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider, model, config string
		env                     []string
	}{
		{provider: "anthropic", model: "claude-sonnet-4-5", env: []string{"ANTHROPIC_API_KEY={key}", "ANTHROPIC_BASE_URL={url}"}},
		{provider: "anthropic", model: "claude-opus-4-8", env: []string{"ANTHROPIC_AUTH_TOKEN={key}", "ANTHROPIC_BASE_URL={url}"}},
		{provider: "openai", model: "gpt-4o", env: []string{"OPENAI_API_KEY={key}", "OPENAI_BASE_URL={url}/v1"}},
		{provider: "google", model: "gemini-2.5-pro", env: []string{"GEMINI_API_KEY={key}", "GOOGLE_GEMINI_BASE_URL={url}"}},
		{provider: "responses", model: "m", config: "kind: openai-responses, base_url: '{url}/v1', key_env: HOUSE_KEY"},
		{provider: "header", model: "m", config: "base_url: '{url}/v1', headers: {X-Gateway: '${HOUSE_KEY}'}"},
		{provider: "query", model: "m", config: "base_url: '{url}/v1', query: {code: '${HOUSE_KEY}'}"},
	} {
		t.Run(c.provider+" "+c.model, func(t *testing.T) {
			t.Parallel()
			fill := strings.NewReplacer("{url}", refusing(t), "{key}", testKey)
			k := &keeper{newFolder(t)}
			k.env = []string{"CADRE_LOG=debug"}
			for _, e := range c.env {
				k.env = append(k.env, fill.Replace(e))
			}
			if c.config != "" {
				file := k.write("config.yaml", "providers:\n  "+c.provider+": {"+fill.Replace(c.config)+"}\n")
				k.env = append(k.env, "CADRE_CONFIG="+file, "HOUSE_KEY="+testKey)
			}
			model := c.provider + "/" + c.model
			record := filepath.Join(k.work, "calls.jsonl")
			d := done(t, k.run(exitFailed, "run", "--json", "--record", record, "--model", model, "hello").out)
			if d.Outcome != "failed" || d.ErrorKind != "model_error" || !strings.Contains(d.Error, "is not valid") {
				t.Errorf("done: %+v", d)
			}
			k.run(exitFailed, "run", "--model", model, "hello").wants(t, "is not valid", "401")
			k.run(exitFailed, "run", "--chat", d.Chat, "--json", "again")
			k.run(0, "show")
			k.run(0, "show", d.Chat).wants(t, "is not valid")
			k.run(0, "show", d.Chat, "--json")
			k.run(exitFailed, "models", "--provider", c.provider, "--live").wants(t, "is not valid")
			k.run(exitFailed, "doctor", "--deep").wants(t, "provider "+c.provider)
			k.run(exitFailed, "doctor", "--deep", "--json")
			k.run(0, "doctor")
			k.run(0, "verify", "--all")
			k.search("cadre.db", "cadre.log", "calls.jsonl")
		})
	}
}

// TestEchoedKeyIsNotShown: it may come back with a good answer, too, or with
// one that breaks off.
func TestEchoedKeyIsNotShown(t *testing.T) {
	t.Parallel()
	const begin = `data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"fine"}}]}` + "\n\n"
	const end = `data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}` + "\n\ndata: [DONE]\n\n"
	const message = "the key " + testKey + " has expired"
	openai := func(_ *folder, url string) []string { return openaiAt(url) }
	for _, c := range []struct {
		name, model string
		at          func(f *folder, url string) []string
		body        string
		code        int
	}{
		{"answers", "openai/gpt-4o", openai, begin + end, 0},
		{"chat fails within", "openai/gpt-4o", openai, begin + `data: {"error":{"type":"invalid_request_error","code":"invalid_api_key","message":"` + message + `"}}` + "\n\n", exitFailed},
		{
			"anthropic fails within", "anthropic/claude-sonnet-4-5", func(_ *folder, url string) []string { return anthropicAt(url) },
			`event: error` + "\n" + `data: {"type":"error","error":{"type":"authentication_error","message":"` + message + `"},"request_id":"req_` + testKey + `"}` + "\n\n", exitFailed,
		},
		{
			"responses fail within", "openai/gpt-5", (*folder).responsesAt,
			`data: {"type":"response.failed","response":{"id":"resp_` + testKey + `","status":"failed","error":{"code":"invalid_api_key","message":"` + message + `"}}}` + "\n\n", exitFailed,
		},
		{
			"gemini fails within", "google/gemini-2.5-pro", func(_ *folder, url string) []string { return googleAt(url) },
			`data: {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"` + message + `","details":[{"reason":"API_KEY_INVALID"}]}}` + "\n\n", exitFailed,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := &keeper{newFolder(t)}
			k.env = append(c.at(k.folder, answering(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, c.body)
			})), "CADRE_LOG=debug")
			record := filepath.Join(k.work, "calls.jsonl")
			d := done(t, k.run(c.code, "run", "--json", "--record", record, "--model", c.model, "hello").out)
			if c.code == 0 && d.Result != "fine" || c.code != 0 && !strings.Contains(d.Error, "has expired") {
				t.Errorf("done: %+v", d)
			}
			k.run(c.code, "run", "--model", c.model, "hello")
			k.run(0, "show", d.Chat)
			k.run(0, "show", d.Chat, "--json")
			k.run(0, "show", d.Chat, "--transcript", "--json")
			k.search("cadre.db", "cadre.log", "calls.jsonl")
		})
	}
}
