// The helper: this binary executed again, first as the watcher of a command
// and then as its entrance. What it is told travels as JSON in an argument,
// what it runs as the arguments after that.

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// spec is what the helper is told.
type spec struct {
	Parent  int    `json:"parent"`  // the process whose death ends the command
	Entered bool   `json:"entered"` // false: watch; true: enter and become the command
	Spare   bool   `json:"spare"`   // the first process is not asked to end, as it takes the others with it
	Limits  Limits `json:"limits"`
	Rules   *rules `json:"rules,omitempty"` // of Landlock
	Filter  filter `json:"filter,omitempty"`
	Lonely  bool   `json:"lonely,omitempty"` // it has a network namespace without any network
}

// Self names the running binary, also after it was replaced on the disk.
const Self = "/proc/self/exe"

// wired is set once Main has been called. It is the only state of this
// package: a program that does not call Main, such as a test binary, would
// start itself instead of a helper, and so on without end.
var wired atomic.Bool

// usable says why the running program cannot be its own helper.
func usable() error {
	if !wired.Load() {
		return errors.New("this program does not call sandbox.Main first thing, so that it cannot be its own helper")
	}
	// A test binary may call Main only in the processes that play a command:
	// as a helper it would run its tests, which start such processes again.
	for pid := os.Getppid(); pid > 1; {
		line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if args := strings.SplitN(string(line), "\x00", 3); err == nil && len(args) > 1 && args[1] == HelperArg {
			return errors.New("this program runs below a helper already, which could go on without end")
		}
		p, ok := readProcess(pid)
		if !ok {
			break
		}
		pid = p.parent
	}
	return nil
}

// codeHelper is the exit code if the helper itself fails.
const codeHelper = 125

// Main does the part of a helper process if the arguments of this process
// (os.Args) ask for it, and returns the exit code. Call it first thing in
// main, before anything reads configuration or starts a goroutine:
//
//	if code, ran := sandbox.Main(os.Args); ran {
//		os.Exit(code)
//	}
func Main(args []string) (code int, ran bool) {
	wired.Store(true)
	if len(args) < 2 || args[1] != HelperArg {
		return 0, false
	}
	code, err := help(args[2:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "cadre: running the command in a sandbox: %v\n", err)
		return codeHelper, true
	}
	return code, true
}

func help(args []string) (int, error) {
	if len(args) < 3 || args[1] != "--" {
		return 0, errors.New("this is started by cadre itself, with a specification and a command")
	}
	var s spec
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		return 0, fmt.Errorf("reading the specification: %w", err)
	}
	// What is set below is set for one thread; it must be the one that forks
	// or executes.
	runtime.LockOSThread()
	if s.Entered {
		return 0, enter(s, args[2:])
	}
	return watch(s, args[2:])
}

func (s spec) args(argv []string) ([]string, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("writing the specification: %w", err)
	}
	return append([]string{HelperArg, string(b), "--"}, argv...), nil
}

// watched prepares argv to run below a watcher.
func watched(ctx context.Context, helper string, p Policy, s spec, argv, env []string) (*exec.Cmd, error) {
	if len(argv) == 0 {
		return nil, errors.New("there is no command to run")
	}
	s.Parent, s.Limits = os.Getpid(), p.Limits.orDefault()
	args, err := s.args(argv)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, helper, args...)
	cmd.Dir = p.Sub
	cmd.Env = env
	cmd.WaitDelay = waitDelay
	// Ctrl-C in the terminal is for cadre, which then ends its commands.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd, nil
}

// enter takes on limits and rules, and becomes the command.
func enter(s spec, argv []string) error {
	if err := setLimits(s.Limits); err != nil {
		return err
	}
	path, err := lookPath(argv[0])
	if err != nil {
		return err
	}
	if s.Lonely {
		loopbackUp()
	}
	if s.Rules != nil {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("giving up new privileges: %w", err)
		}
		if err := s.Rules.restrict(); err != nil {
			return err
		}
		if err := dropCapabilities(); err != nil {
			return err
		}
	}
	if err := s.Filter.apply(); err != nil {
		return err
	}
	return fmt.Errorf("executing %s: %w", argv[0], unix.Exec(path, argv, os.Environ()))
}

// lookPath finds a command by the PATH of the environment that it will have.
func lookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("looking for %s: %w", strings.TrimSpace(name), err)
	}
	return path, nil
}

// setLimits sets what the kernel counts for one process. Processes count for
// the user as a whole, so that those which run already are added; the watcher
// counts those of the command.
func setLimits(l Limits) error {
	tasks := uint64(userTasks(os.Getuid())) + uint64(l.Processes)
	for _, limit := range []struct {
		what     string
		resource int
		most     uint64
	}{
		{"the size of files", unix.RLIMIT_FSIZE, uint64(l.FileSize)},
		{"the number of processes", unix.RLIMIT_NPROC, tasks},
		{"memory dumps", unix.RLIMIT_CORE, 0},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(limit.resource, &now); err != nil {
			return fmt.Errorf("reading the limit on %s: %w", limit.what, err)
		}
		most := min(limit.most, now.Max)
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limiting %s: %w", limit.what, err)
		}
	}
	return nil
}

// kept are the capabilities that root keeps below Landlock: those over files,
// which Landlock's rules bound, and over its own identity.
var kept = map[uintptr]bool{
	unix.CAP_CHOWN: true, unix.CAP_DAC_OVERRIDE: true, unix.CAP_FOWNER: true,
	unix.CAP_FSETID: true, unix.CAP_SETGID: true, unix.CAP_SETUID: true,
}

// dropCapabilities takes effect when the command is executed.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if kept[c] {
			continue
		}
		// EPERM: an ordinary user, who has none. EINVAL: an older kernel.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("giving up capability %d: %w", c, err)
		}
	}
	return nil
}
