// Servers that crash, hang, flood, change and come back.

package mcp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
)

func state(c *Client) State { return c.Status()[0].State }

func TestCrashAndRestart(t *testing.T) {
	t.Parallel()
	c := started(t, stdio("new"), func(g *timing) { g.firstRetry = 500 * time.Millisecond })
	_, err := use(t.Context(), c, tool.Env{}, "mcp__s__crash", in{})
	if err == nil {
		t.Fatal("a call during which the server crashed has succeeded")
	}
	has(t, err.Error(), "the MCP server s ended during the call (exit status 3", "out of cheese", "what the call did is unknown")

	eventually(t, "failed", func() bool { return state(c) == Failed })
	_, err = use(t.Context(), c, tool.Env{}, "mcp__s__echo", in{"text": "x"})
	if err == nil {
		t.Fatal("a server that is not running has answered")
	}
	has(t, err.Error(), "the MCP server s is not running (exit status 3, last line of its standard error: out of cheese); next try in ")
	st := c.Status()[0]
	if st.Tools == 0 || st.Next.Before(st.Since) {
		t.Errorf("status: %+v", st)
	}
	has(t, st.Stderr, "out of cheese")

	eventually(t, "running again", func() bool { return state(c) == Running })
	if got := answer(t, c, tool.Env{}, "echo", in{"text": "back"}); got != "back" {
		t.Errorf("after its restart the server says %q", got)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	c, log := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": stdio("broken")}}, func(g *timing) {
		g.firstRetry, g.lastRetry = 10*time.Millisecond, 40*time.Millisecond
	})
	c.Start(t.Context())
	eventually(t, "five tries", func() bool { return strings.Count(log.String(), "next_try_in=") >= 5 })
	var waits []string
	for line := range strings.Lines(log.String()) {
		if _, wait, ok := strings.Cut(line, "next_try_in="); ok {
			waits = append(waits, strings.TrimSpace(wait))
		}
	}
	if want := []string{"10ms", "20ms", "40ms", "40ms", "40ms"}; !slices.Equal(waits[:5], want) {
		t.Errorf("the waits are %v, want %v", waits, want)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("the same failure was told %d times", n)
	}
}

func TestHealthResetsBackoff(t *testing.T) {
	t.Parallel()
	c, log := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": stdio("new")}}, func(g *timing) { g.healthy = time.Nanosecond })
	c.Start(t.Context())
	for i := range 3 {
		eventually(t, "running", func() bool { return state(c) == Running })
		if _, err := use(t.Context(), c, tool.Env{}, "mcp__s__crash", in{}); err == nil {
			t.Fatal("no crash")
		}
		eventually(t, "noticed", func() bool { return strings.Count(log.String(), "next_try_in=20ms") == i+1 })
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, config ServerConfig) {
		config.Timeout = 300 * time.Millisecond
		c := started(t, config)
		file := tempFile(t)
		_, err := use(t.Context(), c, tool.Env{}, "mcp__s__hang", in{"file": file})
		if err == nil {
			t.Fatal("no timeout")
		}
		has(t, err.Error(), "the MCP server s has not answered within 300ms")
		eventually(t, "the server was told", func() bool { return exists(file + ".cancelled") })

		file = tempFile(t)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			eventually(t, "it hangs", func() bool { return exists(file + ".begun") })
		}()
		if _, err := use(ctx, c, tool.Env{}, "mcp__s__hang", in{"file": file}); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call answers %v", err)
		}
		eventually(t, "the server was told", func() bool { return exists(file + ".cancelled") })
		if got := answer(t, c, tool.Env{}, "echo", in{"text": "still here"}); got != "still here" {
			t.Errorf("after that it says %q", got)
		}
	})
}

func TestProgressGivesTime(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"old", "new"} {
		config := stdio(kind)
		config.Timeout = 1600 * time.Millisecond // less than all steps take, much more than one
		if got := answer(t, started(t, config), tool.Env{}, "steps", in{}); got != "all done" {
			t.Errorf("%s: %q", kind, got)
		}
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	config := stdio("new")
	c := started(t, config)
	var pieces atomic.Int32
	var last atomic.Value
	env := tool.Env{Output: func(text string) { pieces.Add(1); last.Store(text) }}
	if got := answer(t, c, env, "flood", in{}); got != "done" {
		t.Errorf("flood answered %q", got)
	}
	shown := pieces.Load()
	if shown == 0 || shown > 200 {
		t.Errorf("%d of 3000 pieces of progress were shown", shown)
	}
	has(t, last.Load().(string), ": going on\n")
	if n := len(c.Status()[0].Stderr); n == 0 || n > maxTail {
		t.Errorf("%d bytes of standard error are kept", n)
	}
	if got := answer(t, c, env, "echo", in{"text": "x"}); got != "x" || pieces.Load() != shown {
		t.Errorf("after it: %q, and %d pieces more", got, pieces.Load()-shown)
	}
}

func TestHugeResult(t *testing.T) {
	t.Parallel()
	c := started(t, stdio("new"))
	got := answer(t, c, tool.Env{}, "huge", in{"bytes": 12_000_000})
	if len(got) > maxResult+200 || len(got) < maxResult-200 {
		t.Errorf("the answer has %d bytes", len(got))
	}
	has(t, got[len(got)-200:], "longer than 10 MB; 2000000 bytes were left out")

	_, err := use(t.Context(), c, tool.Env{}, "mcp__s__huge", in{"bytes": 20_000_000})
	if err == nil {
		t.Fatal("no error")
	}
	has(t, err.Error(), "more than 16 MB")
	eventually(t, "running again", func() bool { return state(c) == Running })
	if got := answer(t, c, tool.Env{}, "echo", in{"text": "x"}); got != "x" {
		t.Errorf("after it: %q", got)
	}
}

func TestNoiseOnStandardOutput(t *testing.T) {
	t.Parallel()
	c := started(t, stdio("noisy"))
	if got := answer(t, c, tool.Env{}, "echo", in{"text": "x"}); got != "x" {
		t.Errorf("a noisy server says %q", got)
	}
	has(t, c.Status()[0].Stderr, "Downloading…", "[INFO] ready", `{"level":"info"}`)
}

func TestListChanges(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, config ServerConfig) {
		c := started(t, config)
		<-c.Changed() // the first list
		before := len(c.Tools())
		answer(t, c, tool.Env{}, "grow", in{})
		select {
		case <-c.Changed():
		case <-time.After(20 * time.Second):
			t.Fatal("nothing was told")
		}
		if n := len(c.Tools()); n != before+1 {
			t.Fatalf("%d tools before, %d after", before, n)
		}
		if got := answer(t, c, tool.Env{}, "grown", in{}); got != "new here" {
			t.Errorf("the new tool says %q", got)
		}
	})
}

func TestSlowServerDoesNotHoldUpStart(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	// The server is known from a time when it was well: same program, but the
	// kind of server is a value of its environment, which is no part of the key.
	c, _ := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": stdio("new")}, Cache: cache})
	c.Start(t.Context())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	c, _ = newTestClient(t, Options{Servers: map[string]ServerConfig{"s": stdio("mute"), "fine": stdio("new")}, Cache: cache}, func(g *timing) {
		g.start = 300 * time.Millisecond
	})
	if n := len(c.Tools()); n == 0 {
		t.Error("nothing is known before the start")
	}
	c.Start(t.Context())
	eventually(t, "the other is running", func() bool { return state(c) == Running })
	status := c.Status()
	if status[0].Name != "fine" || status[0].Cached {
		t.Errorf("fine: %+v", status[0])
	}
	if status[1].State != Starting || !status[1].Cached || status[1].Tools == 0 {
		t.Errorf("s: %+v", status[1])
	}
	_, err := use(t.Context(), c, tool.Env{}, "mcp__s__echo", in{"text": "x"})
	if err == nil {
		t.Fatal("a mute server has answered")
	}
	has(t, err.Error(), "the MCP server s is still starting")
}

func TestServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": stdio("mute")}}, func(g *timing) {
		g.connect, g.discover = 200*time.Millisecond, 50*time.Millisecond
	})
	c.Start(t.Context())
	has(t, c.Status()[0].Error, "it has not answered within 200ms")
}

func TestMissingProgram(t *testing.T) {
	t.Parallel()
	c, _ := newTestClient(t, Options{Servers: map[string]ServerConfig{
		"s":   {Transport: Stdio, Command: "/nowhere/no-such-program"},
		"off": {Transport: Stdio, Command: "x", Disabled: true},
	}})
	c.Start(t.Context())
	if st := c.Status()[0]; st.State != Disabled || st.Tools != 0 {
		t.Errorf("off: %+v", st)
	}
	has(t, c.Status()[1].Error, "starting no-such-program: ", "no such file")
}

func TestCloseLeavesNoProcess(t *testing.T) {
	t.Parallel()
	if !alive(os.Getpid()) {
		t.Skip("processes are looked at in /proc, which is not here")
	}
	for name, end := range map[string]func(t *testing.T, c *Client){
		"close": func(t *testing.T, c *Client) {
			file := tempFile(t)
			done := make(chan error)
			go func() {
				_, err := use(context.WithoutCancel(t.Context()), c, tool.Env{}, "mcp__s__hang", in{"file": file})
				done <- err
			}()
			eventually(t, "it hangs", func() bool { return exists(file + ".begun") })
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; err == nil || !strings.Contains(err.Error(), "ended during the call") {
				t.Errorf("the call under way answered %v", err)
			}
			if _, err := use(t.Context(), c, tool.Env{}, "mcp__s__echo", in{"text": "x"}); err == nil || !strings.Contains(err.Error(), "it was stopped") {
				t.Errorf("after the end a call answers %v", err)
			}
		},
		"crash": func(t *testing.T, c *Client) {
			if _, err := use(t.Context(), c, tool.Env{}, "mcp__s__crash", in{}); err == nil {
				t.Error("no crash")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := started(t, stdio("new"))
			child, err := strconv.Atoi(answer(t, c, tool.Env{}, "child", in{}))
			if err != nil {
				t.Fatal(err)
			}
			if !alive(child) {
				t.Fatal("the child is not alive")
			}
			end(t, c)
			eventually(t, "the child is gone", func() bool { return !alive(child) })
		})
	}
}

func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestWebServerComesBack ends the sessions of a web server under way, as its
// restart does.
func TestWebServerComesBack(t *testing.T) {
	t.Parallel()
	serve := func(listener net.Listener) *http.Server {
		server := testServer("old")
		t.Cleanup(func() { endSessions(server) })
		web := &http.Server{Handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil), ReadHeaderTimeout: time.Minute}
		go func() { _ = web.Serve(listener) }()
		return web
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	web := serve(listener)
	c := started(t, ServerConfig{Transport: HTTP, URL: "http://" + address})
	if err := web.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = use(t.Context(), c, tool.Env{}, "mcp__s__echo", in{"text": "x"})
	if err == nil {
		t.Fatal("a server that is gone has answered")
	}
	has(t, err.Error(), "the MCP server s") // how it is noticed differs: refused, cut off, or by the stream that hangs

	if listener, err = listen.Listen(t.Context(), "tcp", address); err != nil {
		t.Fatal(err)
	}
	web = serve(listener)
	t.Cleanup(func() { _ = web.Close() })
	eventually(t, "it answers again", func() bool {
		result, err := use(t.Context(), c, tool.Env{}, "mcp__s__echo", in{"text": "x"})
		return err == nil && !result.IsError
	})
}

// fakeSandbox notes what it is asked for and confines nothing.
type fakeSandbox struct{ asked chan sandbox.Policy }

func (fakeSandbox) Name() string   { return "none" }
func (fakeSandbox) Confines() bool { return false }
func (fakeSandbox) Gaps() []string { return nil }

func (f fakeSandbox) Command(ctx context.Context, p sandbox.Policy, argv, env []string) (*exec.Cmd, error) {
	select {
	case f.asked <- p:
	default:
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = env, p.Dir
	return cmd, nil
}

func TestSandbox(t *testing.T) {
	t.Parallel()
	box := fakeSandbox{make(chan sandbox.Policy, 1)}
	config := stdio("new")
	config.Sandbox = SandboxConfig{Write: []string{"/var/cache/x"}}
	off := stdio("new")
	off.Sandbox.Off = true
	dir, cache, temp := t.TempDir(), t.TempDir(), t.TempDir()
	c, _ := newTestClient(t, Options{
		Servers: map[string]ServerConfig{"s": config, "off": off},
		Dir:     dir, Cache: cache, TempRoot: temp, Sandbox: box, Hide: []string{"/secret"},
	})
	c.Start(t.Context())
	p := <-box.asked
	if p.Dir != dir || !p.Write || p.Network || !slices.Equal(p.Hide, []string{"/secret"}) || filepath.Dir(p.Temp) != temp {
		t.Errorf("the policy is %+v", p)
	}
	if !slices.Equal(p.Extra, []string{"/var/cache/x"}) || filepath.Dir(p.Cache) != cache {
		t.Errorf("it may also write %v and %s", p.Extra, p.Cache)
	}
	if len(box.asked) != 0 {
		t.Error("a server that is to run without a sandbox ran in one")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if exists(p.Temp) {
		t.Error("its temp folder is left")
	}
}

func TestConfined(t *testing.T) {
	t.Parallel()
	for _, name := range []string{sandbox.Bubblewrap, sandbox.Landlock} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, notes := sandbox.Find(t.Context(), sandbox.Options{Helper: os.Args[0], Only: name})
			if !box.Confines() {
				t.Skip(notes)
			}
			testConfined(t, box)
		})
	}
}

func testConfined(t *testing.T, box sandbox.Sandbox) {
	t.Helper()
	dir, outside := t.TempDir(), t.TempDir()
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	server := stdio("new")
	server.Command = filepath.Join(dir, "server") // temp folders other than its own are hidden from it
	if err := os.WriteFile(server.Command, program, 0o700); err != nil {
		t.Fatal(err)
	}
	server.Env["MARK"] = config.NewSecret(dir)
	c, log := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": server}, Dir: dir, Sandbox: box, Cache: t.TempDir()}, func(g *timing) { g.start = time.Minute })
	c.Start(t.Context())
	if state(c) != Running {
		t.Fatalf("%+v\n%s", c.Status(), log)
	}
	if got := answer(t, c, tool.Env{}, "write", in{"file": filepath.Join(dir, "a")}); got != "written" || !exists(filepath.Join(dir, "a")) {
		t.Errorf("in its folder: %q", got)
	}
	_, err = use(t.Context(), c, tool.Env{}, "mcp__s__write", in{"file": filepath.Join(outside, "b")})
	if err == nil || exists(filepath.Join(outside, "b")) {
		t.Errorf("outside its folder: %v", err)
	}
	if _, err := use(t.Context(), c, tool.Env{}, "mcp__s__crash", in{}); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("its crash is told as %v", err)
	}
	eventually(t, "running again", func() bool { return state(c) == Running })
	answer(t, c, tool.Env{}, "child", in{})
	if len(marked(dir)) < 2 {
		t.Errorf("server and child are not found: %v", marked(dir))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "nothing is left", func() bool { return len(marked(dir)) == 0 })
}

// marked finds the processes with MARK in their environment.
func marked(mark string) (found []string) {
	processes, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range processes {
		if env, err := os.ReadFile(file); err == nil && strings.Contains(string(env), "MARK="+mark) {
			found = append(found, file)
		}
	}
	return found
}
