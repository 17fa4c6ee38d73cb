// How a command ends: the one place where errors and outcomes become exit codes
// and words.

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
)

// The exit codes. README.md has the same table.
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitLimit      = 3
	exitCancelled  = 130 // 128 + SIGINT, as shells have it
	exitTerminated = 143 // 128 + SIGTERM
)

// ended is what a command returns when it does not simply succeed.
type ended struct {
	code int
	err  error  // nil: all has been said already
	next string // what to do now
}

func (e *ended) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *ended) Unwrap() error { return e.err }

// usage is an error of the command line: nothing was started.
func usage(format string, args ...any) error {
	return &ended{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// wrong is an error of the command line, with what to do next.
func wrong(err error, next string) error { return &ended{code: exitUsage, err: err, next: next} }

// failed is any other error, with what to do next.
func failed(err error, next string) error { return &ended{code: exitFailed, err: err, next: next} }

// terminated is the end by a signal that leaves the rest to recovery.
func terminated(err error, next string) error {
	return &ended{code: exitTerminated, err: err, next: next}
}

// stopped is the end of a run that did not complete.
func stopped(r agent.Reason, err error, next string) error {
	return &ended{code: codeOf(r), err: err, next: next}
}

// codeOf is the exit code of a run that ended so.
func codeOf(r agent.Reason) int {
	switch r {
	case agent.ReasonCompleted:
		return exitOK
	case agent.ReasonFailed, agent.ReasonInterrupted:
		return exitFailed
	case agent.ReasonPartial, agent.ReasonTimeout, agent.ReasonMaxTurns, agent.ReasonBudget:
		return exitLimit
	case agent.ReasonCancelled, agent.ReasonSuperseded:
		return exitCancelled
	}
	return exitFailed
}

// ran marks the errors that a command returns, as opposed to those that cobra
// finds in the command line before it runs.
func ran(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := do(cmd, args)
		var e *ended
		if err == nil || errors.As(err, &e) {
			return err
		}
		return failed(err, nextFor(err))
	}
}

// nextFor tells what a person can do about an error, where the error itself
// does not.
func nextFor(err error) string {
	var p *wire.Problem
	switch {
	case errors.As(err, &p):
		return p.Hint
	case errors.Is(err, store.ErrCorrupt):
		return "`cadre db check`, with the same --data, names what is damaged"
	case errors.Is(err, store.ErrUnavailable):
		return "what was stored before is safe; try again when the cause is gone"
	}
	return ""
}

// notOpened words the errors of opening a data folder to work in it.
func (g *globals) notOpened(dir string, err error) error {
	if errors.Is(err, store.ErrInUse) {
		return failed(fmt.Errorf("the data folder %s is in use by another process", dir),
			fmt.Sprintf("wait for it, stop it, or name another folder with --data; `%s` looks at it meanwhile", g.command("show")))
	}
	return err
}

// asUsage turns what cobra found wrong with a command line into an error of
// usage, and lets errors of usage that do not say what to do name the help.
func asUsage(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	var e *ended
	if !errors.As(err, &e) {
		e = &ended{code: exitUsage, err: err}
	}
	if e.code == exitUsage && e.next == "" && cmd != nil {
		e.next = fmt.Sprintf("`%s --help` tells how it is used", cmd.CommandPath())
	}
	return e
}

// report says what went wrong and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	var e *ended
	if !errors.As(err, &e) {
		e = &ended{code: exitFailed, err: err}
	}
	if e.err != nil {
		fmt.Fprintf(w, "cadre: %v\n", e.err)
	}
	if e.next != "" {
		fmt.Fprintf(w, "  %s\n", e.next)
	}
	return e.code
}
