// Which processes there are, from /proc.

package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// process is what /proc/<pid>/stat says.
type process struct {
	pid, parent, threads int
	memory               int64 // resident bytes
}

// descendants lists what root has started, directly or not, as far as it is
// still alive or has not been waited for.
func descendants(root int) []process {
	children := map[int][]process{}
	for _, pid := range pids() {
		if p, ok := readProcess(pid); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var out []process
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			out = append(out, p)
			next = append(next, p.pid)
		}
	}
	return out
}

// userTasks counts the processes and threads of a user.
func userTasks(uid int) int {
	n := 0
	for _, pid := range pids() {
		info, err := os.Stat("/proc/" + strconv.Itoa(pid))
		if err != nil {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == uid {
			if p, ok := readProcess(pid); ok {
				n += p.threads
			}
		}
	}
	return n
}

func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

func readProcess(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The name, in parentheses, may contain anything.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 22 {
		return process{}, false
	}
	number := func(field int) int64 { // counted as in proc(5)
		n, _ := strconv.ParseInt(string(fields[field-3]), 10, 64) // the kernel writes numbers
		return n
	}
	return process{pid: pid, parent: int(number(4)), threads: int(number(20)), memory: number(24) * int64(os.Getpagesize())}, true
}
