// cadre serve and cadre health as those who run it see it: its health, and its log.

package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/access"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(1, "health").wants(t, "no server runs", "cadre serve")
	p := f.server()
	f.run(0, "health").wants(t, "ready")
	p.signal(syscall.SIGKILL) // what it wrote down stays
	p.wait()
	f.run(1, "health").wants(t, "cadre: ")
}

// TestLogOfAServer: every line is JSON, every line about an agent says which,
// and none has a key or what was said.
func TestLogOfAServer(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	const key = "sk-ant-0123456789abcdefghijklmnop"
	f.env = []string{"CADRE_LOG=debug", "ANTHROPIC_API_KEY=" + key}
	p := f.server("--log-format", "json")
	token, err := access.ReadLocalToken(f.data)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fails.yaml", "crash.yaml"} {
		body, err := json.Marshal(map[string]string{"model": script(t, name), "text": "go, hush"})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.address+"/v1/users/me/orch-chats", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s %v", name, res.Status, err)
		}
	}
	deadline := time.Now().Add(patience)
	for strings.Count(p.stderr(), `"run ended"`) < 2 {
		if time.Now().After(deadline) {
			t.Fatalf("the runs never ended:\n%s", p.stderr())
		}
		<-time.After(10 * time.Millisecond)
	}
	p.signal(os.Interrupt)
	r := p.wait()
	if r.code != 0 {
		t.Errorf("exit code %d", r.code)
	}
	seen := map[string]bool{}
	for text := range strings.Lines(r.errs) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Errorf("not JSON: %s", text)
			continue
		}
		msg, _ := line["msg"].(string)
		seen[msg] = true
		if agent, ok := line["agent"].(string); ok && agent != "" && msg != "request" && (line["chat"] == nil || line["path"] == nil) {
			t.Errorf("a line about an agent does not say which: %s", text)
		}
	}
	for _, msg := range []string{"serving", "agent started", "agent ended", "a model call failed", "run ended", "request", "shutting down"} {
		if !seen[msg] {
			t.Errorf("no line says %q", msg)
		}
	}
	for _, secret := range []string{key, token, "hush"} {
		if strings.Contains(r.errs, secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}
