// Landlock: the command takes on rules of the kernel before it starts. They
// allow and cannot forbid, so that what is hidden is left out by allowing all
// that lies beside it.

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
	"github.com/landlock-lsm/go-landlock/landlock/syscall"
)

const (
	abiTruncate = 3 // before it, any file could be truncated
	abiScoped   = 6 // before it, other processes of the user could be signalled
	abiSockets  = 9 // before it, sockets on the disk could be spoken to
)

type landlocked struct {
	helper string
	abi    int
}

var _ Sandbox = landlocked{}

func findLandlock(ctx context.Context, helper string) (Sandbox, error) {
	abi, err := syscall.LandlockGetABIVersion()
	if err != nil {
		return nil, fmt.Errorf("asking the kernel for Landlock: %w", err)
	}
	if abi < abiTruncate {
		return nil, fmt.Errorf("the kernel has version %d of Landlock, %d is needed", abi, abiTruncate)
	}
	if !canFilter() {
		return nil, errors.New("the network cannot be closed on this kind of processor")
	}
	s := landlocked{helper: helper, abi: abi}
	return s, try(ctx, s)
}

func (landlocked) Name() string   { return Landlock }
func (landlocked) Confines() bool { return true }

func (l landlocked) Gaps() []string {
	gaps := []string{
		"the names of hidden files can be listed; what is hidden inside the working folder can be read by a command that may write there",
		"/tmp is not private: it can be read, and only the folder in TMPDIR can be written",
		"where the kernel allows no network namespace, a command without network has no loopback either",
		"other processes can be seen",
		"a command that may write can change the configuration and the hooks of git in the working folder",
		"there is no shared memory (/dev/shm), without which some programs fail, such as multiprocessing in Python",
	}
	if l.abi < abiScoped {
		gaps = append(gaps, "other processes of the user can be sent signals")
	}
	if l.abi < abiSockets {
		gaps = append(gaps, "a command that may write can speak to services over sockets on the disk, such as that of a container engine")
	}
	return gaps
}

func (l landlocked) Command(ctx context.Context, p Policy, argv, env []string) (*exec.Cmd, error) {
	p, err := p.resolved()
	if err != nil {
		return nil, err
	}
	rules := &rules{Hide: p.Hide, Write: []string{p.Temp}, Network: p.Network, Sockets: p.Write || p.Network}
	cache := filepath.Join(p.Temp, ".cache")
	if p.Cache != "" {
		cache = p.Cache
		rules.Write = append(rules.Write, cache)
	}
	if p.Write {
		rules.Write = append(append(rules.Write, p.Dir), p.Extra...)
	}
	rules.Read = append([]string{p.Dir}, rules.Write...)
	return watched(ctx, l.helper, p, spec{Rules: rules}, argv, environment(env, p.Temp, cache))
}

// rules are what the entrance takes on.
type rules struct {
	Hide    []string `json:"hide,omitempty"`
	Read    []string `json:"read,omitempty"` // readable though hidden or below what is, but for what is hidden in it
	Write   []string `json:"write,omitempty"`
	Network bool     `json:"network,omitempty"`
	Sockets bool     `json:"sockets,omitempty"` // sockets may be made at all
}

// restrict binds all threads of this process, for ever. Landlock's own rules
// for ports know too few protocols: see network_linux.go.
func (r rules) restrict() error {
	view := &readable{hide: append(slices.Clone(r.Hide), "/dev")}
	view.add("/")
	for _, path := range r.Read {
		inside := &readable{hide: slices.DeleteFunc(slices.Clone(r.Hide), func(h string) bool { return h == path || !within(path, h) })}
		inside.add(path)
		view.whole, view.listed = append(view.whole, inside.whole...), append(view.listed, inside.listed...)
	}
	var dirs, files []string
	for _, path := range view.whole {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			dirs = append(dirs, path)
		} else if err == nil {
			files = append(files, path)
		}
	}
	const listDir = landlock.AccessFSSet(syscall.AccessFSReadDir)
	// In one step: a further one that does not speak of files would take away
	// the right to move them between folders.
	config := landlock.V11
	config.HandledAccessNet = 0
	err := config.BestEffort().Restrict(
		landlock.RODirs(dirs...).IgnoreIfMissing(),
		landlock.ROFiles(files...).IgnoreIfMissing(),
		landlock.PathAccess(listDir, view.listed...).IgnoreIfMissing(),
		landlock.RWDirs(r.Write...).WithRefer().WithResolveUnix(),
		landlock.RWFiles(devices...).WithIoctlDev().IgnoreIfMissing(),
		landlock.RWDirs("/dev/pts").WithIoctlDev().IgnoreIfMissing(),
	)
	if err != nil {
		return fmt.Errorf("applying the Landlock rules: %w", err)
	}
	return nil
}

// devices are safe to use for everyone.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}

// readable collects everything that is not hidden.
type readable struct {
	hide   []string
	whole  []string // readable with all that is below
	listed []string // only the names in it: something below is hidden
}

func (v *readable) add(path string) {
	hidden, split := false, false
	for _, h := range v.hide {
		hidden = hidden || h == path
		split = split || within(path, h)
	}
	switch {
	case hidden:
		return
	case !split:
		v.whole = append(v.whole, path)
		return
	}
	v.listed = append(v.listed, path)
	entries, err := os.ReadDir(path)
	if err != nil {
		return // what cannot be listed stays closed
	}
	for _, e := range entries {
		// What a link leads to is decided where it lies.
		if e.Type()&os.ModeSymlink == 0 {
			v.add(filepath.Join(path, e.Name()))
		}
	}
}
