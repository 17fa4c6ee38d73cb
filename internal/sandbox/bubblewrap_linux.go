// Bubblewrap: the command gets namespaces of its own, in which the whole file
// system is read-only but for what it may write, and in which there is no
// network, no other process, and no socket of a service.

package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

type bubblewrap struct{ helper, bwrap string }

var _ Sandbox = bubblewrap{}

func findBubblewrap(ctx context.Context, helper string) (Sandbox, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("looking for bwrap: %w", err)
	}
	s := bubblewrap{helper: helper, bwrap: path}
	return s, try(ctx, s)
}

func (bubblewrap) Name() string   { return Bubblewrap }
func (bubblewrap) Confines() bool { return true }

func (bubblewrap) Gaps() []string {
	return []string{
		"a command that is allowed the network reaches the services of this machine too",
		"sockets of services outside /run and /tmp can be spoken to, unless their folder is hidden",
		"as root, files that belong to others are not writable even where root could",
	}
}

func (b bubblewrap) Command(ctx context.Context, p Policy, argv, env []string) (*exec.Cmd, error) {
	p, err := p.resolved()
	if err != nil {
		return nil, err
	}
	// The temp folder is bound to /tmp, so that files which a command leaves
	// there are found by the next one.
	cache := "/tmp/.cache"
	if p.Cache != "" {
		cache = p.Cache
	}
	args := append([]string{b.bwrap}, b.args(p)...)
	args = append(args, "--chdir", p.Sub, "--")
	return watched(ctx, b.helper, p, spec{Spare: true}, append(args, argv...), environment(env, "/tmp", cache))
}

// args are in the order in which bwrap carries them out: a later mount covers
// an earlier one.
func (b bubblewrap) args(p Policy) []string {
	args := []string{"--unshare-all", "--die-with-parent", "--cap-drop", "ALL"}
	if p.Network {
		args = append(args, "--share-net")
	}
	args = append(args, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run")
	// Root keeps the right to write settings of the kernel even without any
	// capability, so that the mount has to take it away.
	for _, path := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"} {
		args = append(args, "--ro-bind-try", path, path)
	}
	for _, path := range []string{"/run/systemd/resolve", "/run/NetworkManager/resolv.conf", "/run/resolvconf", "/run/current-system"} {
		args = append(args, "--ro-bind-try", path, path)
	}
	args = append(args, "--bind", p.Temp, "/tmp")
	if varTmp, err := filepath.EvalSymlinks("/var/tmp"); err == nil && varTmp != "/tmp" {
		args = append(args, "--bind", p.Temp, varTmp)
	}
	// What is hidden may contain the working folder, and the other way round.
	var outer, inner, closed []string
	for _, path := range p.Hide {
		cover := []string{"--ro-bind", "/dev/null", path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			cover = []string{"--tmpfs", path}
			closed = append(closed, "--remount-ro", path)
		}
		if within(p.Dir, path) && path != p.Dir {
			inner = append(inner, cover...)
		} else {
			outer = append(outer, cover...)
		}
	}
	args = append(args, outer...)
	bind := "--ro-bind"
	if p.Write {
		bind = "--bind"
	}
	args = append(args, bind, p.Dir, p.Dir)
	if p.Write {
		for _, path := range p.Extra {
			args = append(args, "--bind", path, path)
		}
		args = append(args, protect(p)...)
	}
	if p.Cache != "" {
		args = append(args, "--bind", p.Cache, p.Cache)
	}
	return slices.Concat(args, inner, closed)
}

// protect makes what is to be protected read-only. The folders above become
// mounts, too: what is a mount cannot be moved away and replaced.
func protect(p Policy) []string {
	var above, fixed []string
	for _, path := range p.Protect {
		for _, folder := range append([]string{p.Dir}, p.Extra...) {
			if !within(folder, path) || path == folder {
				continue
			}
			fixed = append(fixed, "--ro-bind", path, path)
			for parent := filepath.Dir(path); parent != folder; parent = filepath.Dir(parent) {
				above = append(above, parent)
			}
			break
		}
	}
	slices.Sort(above) // a folder stands before what is in it, which a later mount of it would cover
	var args []string
	for _, path := range slices.Compact(above) {
		args = append(args, "--bind", path, path)
	}
	return append(args, fixed...)
}
