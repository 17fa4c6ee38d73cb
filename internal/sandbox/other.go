//go:build !linux

// Where there is no sandbox: commands run unconfined, and Main has no job.

package sandbox

import (
	"context"
	"errors"
	"os/exec"
)

// Self is empty, as there is no helper.
const Self = ""

type spec struct{}

var errNotHere = errors.New("it exists on Linux only")

func usable() error { return nil }

func findBubblewrap(context.Context, string) (Sandbox, error) { return nil, errNotHere }
func findLandlock(context.Context, string) (Sandbox, error)   { return nil, errNotHere }

func watched(ctx context.Context, _ string, p Policy, _ spec, argv, env []string) (*exec.Cmd, error) {
	return plain(ctx, p, argv, env)
}

// Main does the part of a helper process on Linux; here there is none.
func Main([]string) (code int, ran bool) { return 0, false }
