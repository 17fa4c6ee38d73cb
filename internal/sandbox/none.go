// No sandbox: the command runs as the user. It is still killed as a whole.

package sandbox

import (
	"context"
	"errors"
	"os/exec"
)

type none struct{ helper string }

var _ Sandbox = none{}

func (none) Name() string   { return None }
func (none) Confines() bool { return false }

func (none) Gaps() []string {
	return []string{"a command can read, write and reach whatever you can: look at each before you allow it"}
}

func (n none) Command(ctx context.Context, p Policy, argv, env []string) (*exec.Cmd, error) {
	p, err := p.resolved()
	if err != nil {
		return nil, err
	}
	env = environment(env, p.Temp, "")
	if n.helper != "" {
		return watched(ctx, n.helper, p, spec{}, argv, env)
	}
	return plain(ctx, p, argv, env)
}

// plain runs a command in a process group of its own, without a watcher: what
// leaves the group is not killed.
func plain(ctx context.Context, p Policy, argv, env []string) (*exec.Cmd, error) {
	if len(argv) == 0 {
		return nil, errors.New("there is no command to run")
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = p.Sub
	cmd.Env = env
	cmd.WaitDelay = waitDelay
	inOwnGroup(cmd)
	return cmd, nil
}
