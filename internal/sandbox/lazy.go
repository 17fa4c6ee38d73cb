// A sandbox that is looked for when it is first needed: trying takes processes,
// and most runs start none.

package sandbox

import (
	"context"
	"os/exec"
	"sync"
)

// Lazy returns a sandbox that find provides on its first use.
func Lazy(find func() Sandbox) Sandbox { return &lazy{find: sync.OnceValue(find)} }

type lazy struct{ find func() Sandbox }

func (l *lazy) Name() string   { return l.find().Name() }
func (l *lazy) Confines() bool { return l.find().Confines() }
func (l *lazy) Gaps() []string { return l.find().Gaps() }

func (l *lazy) Command(ctx context.Context, p Policy, argv, env []string) (*exec.Cmd, error) {
	return l.find().Command(ctx, p, argv, env)
}
