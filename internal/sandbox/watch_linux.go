// The watcher: owns every process of a command, also those that left its
// process group or session, and ends them all when the command ends, when it
// is told to, when the process that started it dies, or when they use too
// much.

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	grace     = 500 * time.Millisecond // between asking to end and killing
	sweepFor  = 3 * time.Second        // what cannot be killed is given up
	sweepTick = 5 * time.Millisecond
	watchTick = 200 * time.Millisecond
	watchCost = 50              // the time between two looks, in times of what one takes,
	watchMost = 2 * time.Second // but on a busy machine not longer than this
)

// watch starts argv and returns its exit code once nothing of it is left.
func watch(s spec, argv []string) (int, error) {
	// Orphans of the command become children of this process instead of the
	// system's first one.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("becoming the owner of orphans: %w", err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	first, err := fork(s, argv)
	if err != nil {
		return 0, err
	}
	w := &watcher{spec: s, first: first, ended: make(chan struct{}), gone: make(chan int, 1)}
	go w.reap()
	return w.run(signals)
}

// fork starts the entrance. If the network is to be closed, it gets a network
// namespace without any; where that is forbidden, a filter.
func fork(s spec, argv []string) (int, error) {
	attr := &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: inherited(),
		// A session of its own: there is no terminal to type into.
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	s.Entered = true
	try := func() (int, error) {
		args, err := s.args(argv)
		if err != nil {
			return 0, err
		}
		pid, err := syscall.ForkExec(Self, append([]string{"cadre"}, args...), attr)
		if err != nil {
			return 0, fmt.Errorf("starting the entrance: %w", err)
		}
		return pid, nil
	}
	switch {
	case s.Rules == nil || s.Rules.Network:
		return try()
	case !s.Rules.Sockets:
		s.Filter = noSockets
		return try()
	}
	s.Lonely = true
	withoutNetwork(attr.Sys)
	pid, err := try()
	if err == nil {
		return pid, nil
	}
	s.Lonely, s.Filter = false, noNetwork
	attr.Sys = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return try()
}

// inherited lists the open files that are to be handed on: the first three,
// and those that the starter added. Go opens its own so that they close.
func inherited() []uintptr {
	files := []uintptr{0, 1, 2}
	for fd := uintptr(3); ; fd++ {
		flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			return files
		}
		files = append(files, fd)
	}
}

type watcher struct {
	spec
	first int
	ended chan struct{} // the first process has ended
	gone  chan int      // nothing is left; the exit code
}

// reap collects every child, until there is none.
func (w *watcher) reap() {
	code := codeHelper
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			w.gone <- code
			return
		case pid != w.first:
			continue
		case status.Signaled():
			code = 128 + int(status.Signal())
		default:
			code = status.ExitStatus()
		}
		close(w.ended)
	}
}

func (w *watcher) run(signals <-chan os.Signal) (int, error) {
	next := time.NewTimer(watchTick)
	defer next.Stop()
	for {
		select {
		case code := <-w.gone:
			return code, nil
		case <-w.ended:
			return w.sweep()
		case <-signals:
			return w.stop()
		case <-next.C:
		}
		if os.Getppid() != w.Parent {
			return w.stop()
		}
		begin := time.Now()
		if excess := w.excess(); excess != "" {
			fmt.Fprintf(os.Stderr, "\ncadre: stopped: %s\n", excess)
			return w.sweep()
		}
		next.Reset(min(max(watchTick, watchCost*time.Since(begin)), watchMost))
	}
}

// stop asks everything to end, so that it can remove its lock files, and
// kills what does not soon.
func (w *watcher) stop() (int, error) {
	for _, p := range descendants(os.Getpid()) {
		if !w.Spare || p.pid != w.first {
			_ = unix.Kill(p.pid, unix.SIGTERM) // it may be gone by now
		}
	}
	select {
	case code := <-w.gone:
		return code, nil
	case <-w.ended:
	case <-time.After(grace):
	}
	return w.sweep()
}

// sweep kills everything, again and again: some may start others meanwhile.
func (w *watcher) sweep() (int, error) {
	deadline := time.After(sweepFor)
	for {
		for _, p := range descendants(os.Getpid()) {
			_ = unix.Kill(p.pid, unix.SIGKILL) // it may be gone by now
		}
		select {
		case code := <-w.gone:
			return code, nil
		case <-deadline:
			return 0, errors.New("some of its processes cannot be killed")
		case <-time.After(sweepTick):
		}
	}
}

// excess says which limit the command and all it started are over.
func (w *watcher) excess() string {
	var memory int64
	var tasks int
	for _, p := range descendants(os.Getpid()) {
		memory += p.memory
		tasks += p.threads
	}
	switch {
	case memory > w.Limits.Memory:
		return fmt.Sprintf("the command used more than %d MB of memory", w.Limits.Memory>>20)
	case tasks > w.Limits.Processes:
		return fmt.Sprintf("the command ran more than %d processes and threads", w.Limits.Processes)
	}
	return ""
}
