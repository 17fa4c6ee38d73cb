// Tests of what a confined command can and cannot do.

package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// home is a folder outside those that a sandbox replaces, where a test can see
// whether it is written.
func home(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{here, os.Getenv("HOME"), "/opt", "/srv", "/var/lib"} {
		if base == "" || strings.HasPrefix(base, "/tmp/") || strings.HasPrefix(base, "/var/tmp/") || strings.HasPrefix(base, "/run/") {
			continue
		}
		dir, err := os.MkdirTemp(base, "outside-") //nolint:usetesting // it must not lie in /tmp
		if err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			return dir
		}
	}
	t.Skip("no folder outside /tmp can be written")
	return ""
}

func TestWriting(t *testing.T) {
	t.Parallel()
	each(t, confining, func(t *testing.T, s sandbox.Sandbox) {
		outside := home(t)
		victim := write(t, filepath.Join(outside, "victim"), "whole")
		extra := filepath.Join(outside, "extra")
		write(t, filepath.Join(extra, "old"), "old")
		for name, c := range map[string]struct {
			script   string
			write    bool
			want     bool
			readOnly bool // the same in a read-only view
		}{
			"a new file in the working folder":      {"echo x > new", true, true, false},
			"an old file":                           {"echo x >> old", true, true, false},
			"a file moved between folders":          {"mkdir -p a b && touch a/f && mv a/f b/f", true, true, false},
			"a file linked from another folder":     {"mkdir -p a b && touch a/f && ln a/f b/g", true, true, false},
			"removing":                              {"rm old", true, true, false},
			"the temp folder":                       {`echo x > "$TMPDIR/f" && cat "$TMPDIR/f"`, true, true, true},
			"the cache folder":                      {`mkdir -p "$XDG_CACHE_HOME/x" && touch "$XDG_CACHE_HOME/x/y" && mkdir -p "$GOCACHE"`, true, true, true},
			"nothing":                               {"echo x > /dev/null", true, true, true},
			"a file outside":                        {"echo x > " + outside + "/new", true, false, false},
			"truncating a file outside":             {": > " + victim, true, false, false},
			"removing a file outside":               {"rm -f " + victim + " && ! test -e " + victim, true, false, false},
			"a link that leads outside":             {"ln -s " + outside + " l && echo x > l/new", true, false, false},
			"a hard link to a file outside":         {"ln " + victim + " h && echo x > h", true, false, false},
			"an extra folder":                       {"echo x > " + extra + "/new", true, true, false},
			"changing the mode of a file outside":   {"chmod 777 " + victim + ` && test "$(stat -c %a ` + victim + `)" = 777`, true, s.Name() == sandbox.Landlock, s.Name() == sandbox.Landlock},
			"the system":                            {"touch /usr/cadre-was-here", true, false, false},
			"a signal to a process outside":         {fmt.Sprintf("kill -0 %d", os.Getpid()), true, false, false},
			"mounting":                              {"mount -t tmpfs none /mnt", true, false, false},
			"kernel settings":                       {"cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern", true, false, false},
			"raw devices":                           {"mknod dev b 1 1 && head -c 1 dev", true, false, false},
			"reading the environment of the parent": {fmt.Sprintf("cat /proc/%d/environ", os.Getpid()), true, false, false},
		} {
			p := policy(t)
			p.Extra = []string{extra}
			write(t, filepath.Join(p.Dir, "old"), "old\n")
			for _, p.Write = range []bool{true, false} {
				want := c.want
				if !p.Write {
					want = c.readOnly
				}
				if out, ok := run(t, s, p, c.script); ok != want {
					t.Errorf("%s (writing allowed: %v): ended well: %v, want %v\n%s", name, p.Write, ok, want, out)
				}
			}
		}
		if b, err := os.ReadFile(victim); err != nil || string(b) != "whole" {
			t.Errorf("the file outside is now %q, %v", b, err)
		}
	})
}

func TestHiding(t *testing.T) {
	t.Parallel()
	each(t, confining, func(t *testing.T, s sandbox.Sandbox) {
		outside := home(t)
		p := policy(t)
		write(t, filepath.Join(outside, ".ssh", "key"), "SECRET")
		write(t, filepath.Join(outside, ".config", "gh", "hosts"), "SECRET")
		write(t, filepath.Join(outside, ".netrc"), "SECRET")
		write(t, filepath.Join(outside, ".config", "other"), "PLAIN")
		write(t, filepath.Join(outside, ".gitconfig"), "PLAIN")
		if err := os.Symlink(filepath.Join(outside, ".ssh"), filepath.Join(outside, "link")); err != nil {
			t.Fatal(err)
		}
		p.Hide = sandbox.Secrets(outside)
		if len(p.Hide) != 3 {
			t.Errorf("found %q", p.Hide)
		}
		out, _ := run(t, s, p, "cd "+outside+"; cat .ssh/key link/key .config/gh/hosts .netrc .config/other .gitconfig")
		if strings.Contains(out, "SECRET") || strings.Count(out, "PLAIN") != 2 {
			t.Errorf("read:\n%s", out)
		}
		if out, ok := run(t, s, p, "ls -a "+outside+" /"); !ok {
			t.Errorf("listing: %s", out)
		}
	})
}

func TestHidingInsideAndAround(t *testing.T) {
	t.Parallel()
	s := find(t, sandbox.Bubblewrap)
	p := policy(t)
	p.Dir = filepath.Join(home(t), "around", "work")
	write(t, filepath.Join(p.Dir, "sub", "key"), "SECRET")
	write(t, filepath.Join(p.Dir, "file"), "PLAIN")
	write(t, filepath.Join(filepath.Dir(p.Dir), "key"), "SECRET")
	p.Hide = []string{filepath.Dir(p.Dir), filepath.Join(p.Dir, "sub")}
	out, _ := run(t, s, p, "cat file sub/key ../key; echo new > file; echo new > sub/new; echo new > ../new && echo SECRET")
	if strings.Contains(out, "SECRET") || !strings.Contains(out, "PLAIN") || exists(t, p.Dir, "sub", "new") {
		t.Errorf("got:\n%s", out)
	}
}

// listen takes connections and datagrams on this machine and tells of them.
func listen(t *testing.T) (tcp, udp string, reached <-chan string) {
	t.Helper()
	ch := make(chan string, 100)
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := config.ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = l.Close(), u.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			ch <- "tcp"
			_ = c.Close()
		}
	}()
	go func() {
		b := make([]byte, 10)
		for {
			if _, _, err := u.ReadFrom(b); err != nil {
				return
			}
			ch <- "udp"
		}
	}()
	slashed := func(a net.Addr) string { return strings.Replace(a.String(), ":", "/", 1) }
	return slashed(l.Addr()), slashed(u.LocalAddr()), ch
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	each(t, confining, func(t *testing.T, s sandbox.Sandbox) {
		tcp, udp, reached := listen(t)
		script := fmt.Sprintf("echo x > /dev/udp/%s; : < /dev/tcp/%s", udp, tcp)
		for _, write := range []bool{false, true} {
			p := policy(t)
			p.Write = write
			if out, ok := run(t, s, p, script); ok {
				t.Errorf("without network (writing allowed: %v) it went well: %s", write, out)
			}
		}
		select {
		case what := <-reached:
			t.Errorf("without network %s was reached", what)
		default:
		}
		p := policy(t)
		p.Network = true
		if out, ok := run(t, s, p, script); !ok {
			t.Errorf("with network: %s", out)
		}
		if a, b := <-reached, <-reached; a == b {
			t.Errorf("with network %s and %s were reached", a, b)
		}
	})
}

// A test of a server needs loopback, also without network.
func TestLoopback(t *testing.T) {
	t.Parallel()
	each(t, confining, func(t *testing.T, s sandbox.Sandbox) {
		p := policy(t)
		out, ok := run(t, s, p, "exec 3<>/dev/udp/127.0.0.1/9 && echo x >&3")
		if strings.Contains(out, "Operation not permitted") && s.Name() == sandbox.Landlock {
			t.Skip("the kernel allows no network namespace here, as sandbox.Gaps says")
		}
		if !ok {
			t.Errorf("loopback: %s", out)
		}
	})
}

func TestEnvironmentFolderAndCode(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, s sandbox.Sandbox) {
		p := policy(t)
		write(t, filepath.Join(p.Dir, "sub", "f"), "")
		p.Sub = filepath.Join(p.Dir, "sub")
		out, ok := run(t, s, p, "pwd; echo $GIVEN; env | cut -d= -f1 | sort | tr '\\n' ' '")
		lines := strings.Split(out, "\n")
		want := "GIVEN GOCACHE HOME OLDPWD PATH PWD SHLVL TMPDIR XDG_CACHE_HOME _ npm_config_cache"
		if s.Name() == sandbox.None {
			want = "GIVEN HOME OLDPWD PATH PWD SHLVL TMPDIR _"
		}
		names := strings.ReplaceAll(lines[len(lines)-1], "OLDPWD ", "")
		if !ok || len(lines) != 3 || lines[0] != p.Sub || lines[1] != "yes" || strings.TrimSpace(names) != strings.ReplaceAll(want, "OLDPWD ", "") {
			t.Errorf("got %q", out)
		}
		cmd := prepare(t.Context(), t, s, p, "exit 7")
		if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
		}
		cmd = prepare(t.Context(), t, s, p, "kill -9 $$")
		if _ = cmd.Run(); cmd.ProcessState.ExitCode() != 128+9 {
			t.Errorf("exit code after a signal %d", cmd.ProcessState.ExitCode())
		}
		p.Sub = os.TempDir()
		if _, err := s.Command(t.Context(), p, []string{"true"}, nil); err == nil {
			t.Error("it starts outside the working folder")
		}
	})
}

func TestExtraFiles(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, s sandbox.Sandbox) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := prepare(t.Context(), t, s, policy(t), "echo here >&3")
		cmd.ExtraFiles = []*os.File{w}
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		b := make([]byte, 100)
		n, err := r.Read(b)
		if string(b[:n]) != "here\n" {
			t.Errorf("got %q, %v", b[:n], err)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, s sandbox.Sandbox) {
		p := policy(t)
		p.Limits = sandbox.Limits{Memory: 60 << 20, Processes: 30, FileSize: 1 << 20}
		if out, ok := run(t, s, p, "head -c 2000000 /dev/zero > big"); ok {
			t.Errorf("a file over the limit was written: %s", out)
		}
		if out, ok := run(t, s, p, `x=$(head -c 100000000 /dev/zero | tr '\0' x); sleep 60; echo $?`); ok || !strings.Contains(out, "more than 60 MB") {
			t.Errorf("memory: %v %s", ok, out)
		}
		p.Limits.Memory = 0
		if out, ok := run(t, s, p, `for i in {1..60}; do sleep 60 & done; wait`); ok || !strings.Contains(out, "more than 30 processes") && !strings.Contains(out, "Resource temporarily unavailable") {
			t.Errorf("processes: %v %s", ok, out)
		}
	})
}

// Where no network namespace is to be had, a filter closes the network; the
// helper is asked for it directly.
func TestFilter(t *testing.T) {
	t.Parallel()
	tcp, udp, reached := listen(t)
	unix := `python3 -c 'import socket; socket.socket(socket.AF_UNIX)'`
	if _, err := exec.LookPath("python3"); err != nil {
		unix = "true"
	}
	for _, c := range []struct {
		filter, script string
		want           bool
	}{
		{"network", "echo hello | cat", true},
		{"network", unix, true},
		{"network", "echo x > /dev/udp/" + udp, false},
		{"network", ": < /dev/tcp/" + tcp, false},
		{"sockets", "echo hello | cat", true},
		{"sockets", unix, unix == "true"},
		{"sockets", "echo x > /dev/udp/" + udp, false},
		{"sockets", ": < /dev/tcp/" + tcp, false},
	} {
		spec := fmt.Sprintf(`{"entered":true,"filter":%q,"limits":{"memory":1000000000,"processes":1000,"file_size":1000000}}`, c.filter)
		out, err := exec.CommandContext(t.Context(), sandbox.Self, sandbox.HelperArg, spec, "--", "bash", "-c", c.script).CombinedOutput()
		if (err == nil) != c.want {
			t.Errorf("%s: %s: %v: %s", c.filter, c.script, err, out)
		}
	}
	select {
	case what := <-reached:
		t.Errorf("%s was reached", what)
	default:
	}
}

func TestHelperRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"{}"}, {"{}", "--"}, {"no JSON", "--", "true"}, {`{"entered":true}`, "--", "no-such-command"}} {
		out, err := exec.CommandContext(t.Context(), sandbox.Self, append([]string{sandbox.HelperArg}, args...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "sandbox") {
			t.Errorf("%q: %v, %s", args, err, out)
		}
	}
	if _, ran := sandbox.Main([]string{"cadre", "run"}); ran {
		t.Error("an ordinary command is taken for the helper")
	}
}

func TestFindSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s, notes := sandbox.Find(t.Context(), sandbox.Options{Helper: sandbox.Self, Only: sandbox.Bubblewrap})
	if s.Confines() || len(notes) != 2 || !strings.HasPrefix(notes[0], "WARNING") || !strings.Contains(notes[1], "bwrap") {
		t.Errorf("%s: %q", s.Name(), notes)
	}
	if report := sandbox.Report(s, notes); len(report) < 4 || report[0] != "sandbox: none (commands are not confined)" {
		t.Errorf("report %q", report)
	}
	// A bwrap that does not work, as where user namespaces are forbidden.
	broken := filepath.Join(os.Getenv("PATH"), "bwrap")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho bwrap: setting up uid map: Permission denied >&2; exit 1\n"), 0o700); err != nil { //nolint:gosec // it has to be executable
		t.Fatal(err)
	}
	s, notes = sandbox.Find(t.Context(), sandbox.Options{Helper: sandbox.Self, Only: sandbox.Bubblewrap})
	if s.Confines() || len(notes) != 2 || !strings.Contains(notes[1], "Permission denied") {
		t.Errorf("%s: %q", s.Name(), notes)
	}
	s, notes = sandbox.Find(t.Context(), sandbox.Options{})
	if s.Confines() || !strings.Contains(strings.Join(notes, "\n"), "there is no helper") {
		t.Errorf("%s: %q", s.Name(), notes)
	}
	if s, notes := sandbox.Find(t.Context(), sandbox.Options{Helper: sandbox.Self, Only: sandbox.None}); s.Confines() || !strings.Contains(notes[0], "turned off") {
		t.Errorf("%s: %q", s.Name(), notes)
	}
}

// What is protected stays as it is though the folder around it may be written,
// and cannot be moved away either.
func TestProtect(t *testing.T) {
	t.Parallel()
	each(t, all, func(t *testing.T, s sandbox.Sandbox) {
		if s.Name() != sandbox.Bubblewrap {
			t.Skip("only bubblewrap can")
		}
		p := policy(t)
		p.Write = true
		hooks, config := filepath.Join(p.Dir, ".git", "hooks"), filepath.Join(p.Dir, ".git", "config")
		if err := os.MkdirAll(hooks, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Protect = []string{config, hooks, filepath.Join(p.Dir, "missing")}
		for _, line := range []string{
			"echo new > .git/config", "echo new > .git/c && mv .git/c .git/config", "rm .git/config", "touch .git/hooks/pre-commit",
			"mv .git/hooks .git/other", "mv .git other", "chmod 777 .git/config",
		} {
			if out, ok := run(t, s, p, line); ok {
				t.Errorf("%s: %s", line, out)
			}
		}
		if out, ok := run(t, s, p, "echo x > .git/index && echo y > file"); !ok {
			t.Errorf("what is beside cannot be written: %s", out)
		}
		if b, err := os.ReadFile(config); string(b) != "old" {
			t.Errorf("%q %v", b, err)
		}
	})
}
