// The reference servers from npm, over each transport they have.

package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

// requireNPM makes tests fail instead of being skipped where there is no npm.
const requireNPM = "CADRE_REQUIRE_NPM"

// install installs the reference servers once, beside their lock file.
var install = sync.OnceValues(func() (folder string, err error) {
	folder, err = filepath.Abs(filepath.Join("testdata", "reference"))
	if err != nil {
		return "", err
	}
	modules := filepath.Join(folder, "node_modules")
	lock, err := os.Stat(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		return "", err
	}
	if have, err := os.Stat(filepath.Join(modules, ".package-lock.json")); err == nil && !have.ModTime().Before(lock.ModTime()) {
		return modules, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: "npm ci: " + string(out), Err: err}
	}
	return modules, nil
})

// reference returns the script of a reference server.
func reference(t *testing.T, name string) string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv(requireNPM) == "1" {
		missing = t.Fatalf
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing("%s is needed for the reference servers: %v", program, err)
		}
	}
	modules, err := install()
	if err != nil {
		missing("installing the reference servers: %v", err)
	}
	return filepath.Join(modules, "@modelcontextprotocol", name, "dist", "index.js")
}

// everythingOver starts server-everything on a port of its own.
func everythingOver(t *testing.T, mode, path string) string {
	t.Helper()
	script := reference(t, "server-everything")
	var listen net.ListenConfig
	free, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, "node", script, mode)
	cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listening, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		told := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if !told && strings.Contains(lines.Text(), strconv.Itoa(port)) {
				told = true
				close(listening)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = cmd.Wait()
	})
	select {
	case <-listening:
	case <-ended:
		t.Fatal("server-everything ended")
	case <-time.After(time.Minute):
		t.Fatal("server-everything does not listen")
	}
	return "http://127.0.0.1:" + strconv.Itoa(port) + path
}

func TestReferenceEverything(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(t *testing.T) ServerConfig{
		"stdio": func(t *testing.T) ServerConfig {
			return ServerConfig{Transport: Stdio, Command: "node", Args: []string{reference(t, "server-everything"), "stdio"}}
		},
		"streamable HTTP": func(t *testing.T) ServerConfig {
			return ServerConfig{Transport: HTTP, URL: everythingOver(t, "streamableHttp", "/mcp")}
		},
		"SSE": func(t *testing.T) ServerConfig {
			return ServerConfig{Transport: SSE, URL: everythingOver(t, "sse", "/sse")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			config := server(t)
			config.Trust = true
			c, log := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": config}, Roots: []string{root}}, func(g *timing) { g.start = time.Minute })
			c.Start(t.Context())
			if state(c) != Running {
				t.Fatalf("%+v\n%s", c.Status(), log)
			}
			checkEverything(t, c, root)
		})
	}
}

func checkEverything(t *testing.T, c *Client, root string) {
	t.Helper()
	if got := answer(t, c, tool.Env{}, "echo", in{"message": "hello"}); got != "Echo: hello" {
		t.Errorf("echo: %q", got)
	}
	has(t, answer(t, c, tool.Env{}, "get-sum", in{"a": 2, "b": 3}), "5")
	has(t, answer(t, c, tool.Env{}, "get-structured-content", in{"location": "New York"}), "temperature")
	has(t, answer(t, c, tool.Env{}, "get-resource-links", in{"count": 2}), "Link to the resource demo://")
	image, err := use(t.Context(), c, tool.Env{}, "mcp__s__get-tiny-image", in{})
	if err != nil || !slices.ContainsFunc(image.Parts, func(p message.Part) bool { _, ok := p.(message.ImagePart); return ok }) {
		t.Errorf("get-tiny-image: %+v, %v", image, err)
	}

	var progress strings.Builder
	answer(t, c, tool.Env{Output: func(s string) { progress.WriteString(s) }}, "trigger-long-running-operation", in{"duration": 1, "steps": 3})
	has(t, progress.String(), "of 3")

	// It registers what the client's capabilities allow after the greeting.
	eventually(t, "tools by capability", func() bool {
		return slices.ContainsFunc(c.Tools(), func(t tool.Tool) bool { return t.Name == "mcp__s__trigger-elicitation-request" })
	})
	has(t, answer(t, c, tool.Env{}, "get-roots-list", in{}), root)
	var asked []tool.Question
	got := answer(t, c, asking("chat", &asked, fields(`{"name":"Ada","check":true}`)), "trigger-elicitation-request", in{})
	has(t, got, "Ada")
	if len(asked) != 1 || asked[0].From != "s" || !json.Valid(asked[0].Schema) {
		t.Errorf("asked: %+v", asked)
	}
	asked = nil
	has(t, answer(t, c, asking("chat", &asked, tool.Answer{Declined: true}), "trigger-elicitation-request", in{}), "decline")

	has(t, answer(t, c, tool.Env{}, "resources", in{"action": "list_resources"}), "demo://")
	has(t, answer(t, c, tool.Env{}, "resources", in{"action": "read_resource", "uri": "demo://resource/dynamic/text/1"}), "Resource 1")
	has(t, answer(t, c, tool.Env{}, "resources", in{"action": "list_prompts"}), "simple-prompt()")
	has(t, answer(t, c, tool.Env{}, "resources", in{"action": "get_prompt", "name": "simple-prompt"}), "user:")
}

func TestReferenceFilesystem(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	c := started(t, ServerConfig{Transport: Stdio, Command: "node", Args: []string{reference(t, "server-filesystem"), folder}, Trust: true},
		func(g *timing) { g.start = time.Minute })
	file := filepath.Join(folder, "note.txt")
	answer(t, c, tool.Env{}, "write_file", in{"path": file, "content": "written by the server"})
	if data, err := os.ReadFile(file); err != nil || string(data) != "written by the server" {
		t.Errorf("the file: %q, %v", data, err)
	}
	has(t, answer(t, c, tool.Env{}, "read_text_file", in{"path": file}), "written by the server")
	result, err := use(t.Context(), c, tool.Env{}, "mcp__s__read_text_file", in{"path": "/etc/passwd"})
	if err != nil || !result.IsError {
		t.Errorf("outside its folder: %+v, %v", result, err)
	}
	r, err := tool.New(c.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]tool.Class{"read_text_file": tool.Reads, "write_file": tool.Executes} {
		if tl, _ := r.Get("mcp__s__" + name); tl.Class != want {
			t.Errorf("%s is %q, want %q", name, tl.Class, want)
		}
	}
}
