// Tests with what only Unix has: pipes and sockets in the working folder.

//go:build unix

package files

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Opening a pipe waits for a writer; no tool may do that.
func TestSpecialFiles(t *testing.T) { // not parallel: it changes folder
	dir := tree(t, map[string]string{"file": "text\n", "to-pipe": "-> pipe"})
	for _, pipe := range []string{"pipe", ".gitignore"} {
		if err := syscall.Mkfifo(filepath.Join(dir, pipe), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir) // the path of a socket must be short
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", "sock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()

	contains(t, refusal(t, dir, "Read", `{"path":"pipe"}`), "pipe is a pipe, not a file that can be read")
	contains(t, refusal(t, dir, "Read", `{"path":"to-pipe"}`), "to-pipe is a pipe, not a file that can be read")
	contains(t, refusal(t, dir, "Read", `{"path":"sock"}`), "sock")
	contains(t, refusal(t, dir, "Grep", `{"pattern":"x","path":"pipe"}`), "pipe is a pipe")
	for _, name := range []string{"pipe", "to-pipe", "sock"} {
		for call, input := range calls(name) {
			contains(t, refusal(t, dir, toolOf(call), input), strings.TrimPrefix(name, "to-"))
		}
		contains(t, refusal(t, dir, "Patch", object("operations", ops(map[string]any{"operation": "delete", "path": name}))), strings.TrimPrefix(name, "to-"))
	}
	equal(t, text(t, dir, "LS", ``), ".gitignore (a pipe)\nfile (5 B)\npipe (a pipe)\nsock (a socket)\nto-pipe -> pipe\n")
	equal(t, text(t, dir, "Glob", `{"pattern":"**"}`), "file\n")
	equal(t, text(t, dir, "Grep", `{"pattern":"."}`), "file:1: text\n")
}
