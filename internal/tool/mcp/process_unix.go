// Process groups, where there are some.

//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group that ends as a
// whole.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
