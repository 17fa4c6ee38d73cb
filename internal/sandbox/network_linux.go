// Closing the network without bubblewrap: a network namespace with nothing
// but loopback in it, or a filter that refuses to make sockets.

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withoutNetwork asks for a network namespace of its own. Who is not root
// needs a user namespace for it, in which he may set up loopback.
func withoutNetwork(attr *syscall.SysProcAttr) {
	attr.Cloneflags = unix.CLONE_NEWNET
	if os.Geteuid() == 0 {
		return
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
}

// loopbackUp lets a command that tests a server reach itself. Without it the
// command is only lonelier.
func loopbackUp() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return
	}
	request.SetUint16(unix.IFF_UP)
	_ = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// filter says which sockets a command may not make.
type filter string

const (
	noNetwork filter = "network" // none but those of this machine's file system
	noSockets filter = "sockets" // none at all
)

// architectures have the system calls under the numbers that this binary
// knows; any other is refused as a whole.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

func canFilter() bool { return architectures[runtime.GOARCH] != 0 }

// apply installs the filter for this thread and what it executes.
func (f filter) apply() error {
	if f == "" {
		return nil
	}
	family := uint32(unix.AF_UNIX)
	if f == noSockets {
		family = 0xffffffff // no family has this number
	}
	const (
		numberAt = 0  // offsets in struct seccomp_data
		archAt   = 4  //
		familyAt = 16 // the lower half of the first argument
		x32      = 0x40000000

		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		answer  = unix.BPF_RET | unix.BPF_K
		refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	)
	program := []unix.SockFilter{
		{Code: load, K: archAt},
		{Code: equal, K: architectures[runtime.GOARCH], Jf: 7}, // else refuse
		{Code: load, K: numberAt},
		{Code: atLeast, K: x32, Jt: 5},                    // refuse: the same calls under other numbers
		{Code: equal, K: unix.SYS_IO_URING_SETUP, Jt: 4},  // refuse: it makes sockets too
		{Code: equal, K: unix.SYS_SOCKET, Jf: 2},          // else allow
		{Code: load, K: familyAt},                         //
		{Code: equal, K: family, Jf: 1},                   // else refuse
		{Code: answer, K: uint32(unix.SECCOMP_RET_ALLOW)}, //
		{Code: answer, K: refuse},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("closing the network: %w", err)
	}
	return nil
}
