// Package sandbox runs commands that agents and their tool servers start, and
// keeps them from more than they are given: the system is readable, only the
// working folder and a private temp folder are writable, and there is no
// network unless it was allowed.
package sandbox

import (
	"context"
	"os/exec"
)

// Policy is what a command is given.
type Policy struct {
	Dir     string   // the working folder, absolute; the command starts in Sub
	Sub     string   // where it starts, absolute, in Dir; empty: Dir
	Write   bool     // it may write Dir; else everything but Temp is read-only
	Network bool     // it may use the network
	Temp    string   // a private folder that it may write; becomes its TMPDIR
	Hide    []string // files and folders it must not read, such as keys
	Extra   []string // further folders it may write, such as the git folder of a worktree

	Limits Limits
}

// Limits bound what a command may use; 0: the default of the sandbox.
type Limits struct {
	Memory    int64 // bytes of each process
	Processes int   // at a time
	FileSize  int64 // bytes of a file it writes
}

// Sandbox is a way to confine commands on this machine.
type Sandbox interface {
	// Name is bubblewrap, landlock or none.
	Name() string
	// Confines tells whether it really keeps a command to its policy. If not,
	// a person has to be asked for every command.
	Confines() bool
	// Command prepares argv to run under the policy with exactly the given
	// environment. The command is killed as a whole, with everything it
	// started, when ctx ends; Wait then returns soon.
	Command(ctx context.Context, p Policy, argv, env []string) (*exec.Cmd, error)
}
