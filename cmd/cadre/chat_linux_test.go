// Tests of cadre chat in a terminal: talking while questions wait, answering,
// leaving and coming back.

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a cadre command in a terminal of its own.
type terminal struct {
	t      *testing.T
	in     *os.File
	exited chan error

	mu    sync.Mutex
	shown strings.Builder
	seen  int // up to where the test has looked
}

// terminal starts a command in a terminal.
func (f *folder) terminal(args ...string) *terminal {
	f.t.Helper()
	ours, theirs := openTerminal(f.t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = f.work, theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Env = append(os.Environ(), playCommand+"=1", "CADRE_HOME="+f.data, "HOME="+f.data, "CADRE_LOG=", "NO_COLOR=1", "LC_ALL=C.UTF-8", "TERM=xterm", "GORACE=atexit_sleep_ms=0")
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	_ = theirs.Close() // the command has it
	c := &terminal{t: f.t, in: ours, exited: make(chan error, 1)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(c, ours) // it ends with the command
	}()
	go func() {
		c.exited <- cmd.Wait()
		cancel()
	}()
	f.t.Cleanup(func() {
		cancel()
		<-read
		_ = ours.Close()
	})
	return c
}

// openTerminal makes a terminal: its two ends.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(theirs.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// Write takes what the command shows.
func (c *terminal) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown.Write(b)
}

// types sends a line.
func (c *terminal) types(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// shows waits until the terminal shows some texts, in any order, after what it
// was last seen to show.
func (c *terminal) shows(texts ...string) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) {
		c.mu.Lock()
		all := c.shown.String()
		c.mu.Unlock()
		end := c.seen
		missing := slices.IndexFunc(texts, func(text string) bool {
			k := strings.Index(all[c.seen:], text)
			end = max(end, c.seen+k+len(text))
			return k < 0
		})
		if missing < 0 {
			c.seen = end
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("the terminal does not show %q after what was seen; it shows\n%s", texts[missing], all)
		}
	}
}

// ends waits for the command's end.
func (c *terminal) ends() {
	c.t.Helper()
	select {
	case err := <-c.exited:
		if err != nil {
			c.t.Errorf("the command ends with %v", err)
		}
	case <-time.After(patience):
		c.t.Fatal("the command does not end")
	}
}

// TestTalk: the orchestrator is talked to while questions wait, a message can
// name an agent, an answer from elsewhere is told; who leaves finds what is
// unfinished again.
func TestTalk(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	c := f.terminal("chat", "--model", script(t, "talk.yaml"))
	c.shows("> ")
	c.types("/stop")
	c.shows("Nothing is at work.")
	c.types("find papers")
	c.shows(" asks  [", "They run.")
	c.types("/say how far are they?")
	c.shows("So far one waits.")
	c.types("@general-2 It is 1999")
	c.shows("sent to main/general-2")
	c.types("/quit")
	c.shows("What is unfinished waits")
	c.ends()
	left := f.waiting()
	if left.Path != "main/general" {
		t.Fatalf("%s waits", left.Path)
	}
	chat, _, _ := strings.Cut(left.ID, ".")

	c = f.terminal("chat", "--chat", chat)
	c.shows("Which year for one?")
	f.run(0, "inbox", "answer", left.ID, "1812").wants(t, "main/general goes on")
	c.shows(left.ID + " no longer waits: answered")
	c.shows("All in:")
	c.types("hi")
	c.shows("Hello again.")
	c.types("@nobody hi")
	c.shows("nobody", "> ")
	c.types("/model")
	c.shows("The model is scripted:")
	c.types("/model nobody/nothing")
	c.shows("From your next message on the model is nobody/nothing.")
	c.types("hello?")
	c.shows("nobody", "> ")
	c.types("/model offline")
	c.shows("the model is offline.")
	c.types("hello?")
	c.shows("✓ completed")
	c.types("/model")
	c.shows("The model is offline.")
	c.types("/quit")
	c.ends()
	f.run(0, "show", chat+".1").wants(t, "1812")
	f.run(0, "show", chat+".2").wants(t, "It is 1999")
	f.sound()
}
