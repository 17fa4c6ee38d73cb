// Processes that the benchmark starts, and what they use.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

// process is one that runs until it is stopped.
type process struct {
	cmd    *exec.Cmd
	errors bytes.Buffer // what it wrote to standard error
	exited chan struct{}
	once   sync.Once
}

// start runs a command in a folder and waits for a line of its output that
// begins with prefix; it returns what follows that.
func start(ctx context.Context, dir string, env []string, prefix, name string, args ...string) (*process, string, error) {
	p := &process{cmd: exec.CommandContext(ctx, name, args...), exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stderr = dir, &p.errors
	p.cmd.Env = append(os.Environ(), env...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, "", fmt.Errorf("starting %s: %w", name, err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			go p.drain(lines)
			return p, strings.TrimSpace(rest), nil
		}
		if err != nil {
			_ = p.cmd.Wait() // its output tells more
			return nil, "", fmt.Errorf("%s ended before it was ready: %s", name, strings.TrimSpace(p.errors.String()))
		}
	}
}

func (p *process) drain(r io.Reader) {
	_, _ = io.Copy(io.Discard, r) // until it ends
	_ = p.cmd.Wait()              // how it ended does not matter
	close(p.exited)
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the process and waits for it.
func (p *process) stop(sig os.Signal) {
	p.once.Do(func() { _ = p.cmd.Process.Signal(sig) }) // it may have ended
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill() // it may have ended just now
		<-p.exited
	}
}

// cpu is the CPU time of a running process so far, in seconds.
func cpu(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time: %w", err)
	}
	// Behind the name, which is in parentheses, user and system time are the
	// fields 14 and 15 of the line, in hundredths of a second.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return float64(user+system) / 100, errors.Join(err1, err2)
}

// measure runs a process under test to its end and reads its report.
func measure(ctx context.Context, dir, name string, args ...string) (chat.Report, error) {
	var report chat.Report
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return report, fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(errs.String()))
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return report, fmt.Errorf("%s reported %q: %w", name, out, err)
	}
	return report, nil
}
