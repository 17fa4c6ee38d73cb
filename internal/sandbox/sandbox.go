// Package sandbox runs commands that agents and their tool servers start, and
// keeps them from more than they are given: the system is readable, only the
// working folder and a private temp folder are writable, and there is no
// network unless it was allowed. Whatever a command starts ends with it.
//
// On Linux three processes stand in a row: a watcher (this binary, executed
// again, see Main) that owns everything below it and kills it; an entrance
// (the same) that takes on the limits and, without bubblewrap, the Landlock
// rules; and the command itself, behind bubblewrap where there is one.
// Elsewhere commands run unconfined and a person is asked for each.
package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Policy is what a command is given.
type Policy struct {
	Dir     string   // the working folder, absolute; the command starts in Sub
	Sub     string   // where it starts, absolute, in Dir; empty: Dir
	Write   bool     // it may write Dir; else everything but Temp is read-only
	Network bool     // it may use the network
	Temp    string   // a private folder that it may write; becomes its TMPDIR
	Cache   string   // a folder for the caches of build tools; empty: below Temp
	Hide    []string // files and folders it must not read, such as keys
	Extra   []string // further folders it may write, such as the git folder of a worktree
	Protect []string // files and folders in Dir and Extra that it must not change though it may write there, where the sandbox can

	Limits Limits
}

// Limits bound what a command may use; 0: the default of the sandbox.
// Memory and Processes are for a command and all it started together: a limit
// on the address space of each process would break programs that reserve much
// and use little, such as Node, Java and the race detector.
type Limits struct {
	Memory    int64 `json:"memory"`    // resident bytes
	Processes int   `json:"processes"` // processes and threads at a time
	FileSize  int64 `json:"file_size"` // bytes of a file it writes
}

// Sandbox is a way to confine commands on this machine.
type Sandbox interface {
	// Name is bubblewrap, landlock or none.
	Name() string
	// Confines tells whether it really keeps a command to its policy. If not,
	// a person has to be asked for every command.
	Confines() bool
	// Gaps says in sentences what it does not keep a command from.
	Gaps() []string
	// Command prepares argv to run under the policy with exactly the given
	// environment, but for the temp and cache folders, which it sets. The
	// ExtraFiles of the Cmd reach the command. The command is killed as a
	// whole, with everything it started, when ctx ends, and what it left
	// behind is killed when it ends by itself; Wait returns soon after.
	Command(ctx context.Context, p Policy, argv, env []string) (*exec.Cmd, error)
}

// The names of the sandboxes.
const (
	Bubblewrap = "bubblewrap"
	Landlock   = "landlock"
	None       = "none"
)

// HelperArg is the first argument of the re-executed binary; see Main.
const HelperArg = "sandbox-exec"

const (
	defaultMemory    = 8 << 30
	defaultProcesses = 4096
	defaultFileSize  = 4 << 30

	// waitDelay is how long Wait goes on after ctx has ended. The watcher
	// needs its grace of half a second; the rest is for a busy machine.
	waitDelay = 5 * time.Second
)

// Options say what Find may use.
type Options struct {
	// Helper is a binary that calls Main first thing: Self, as the running
	// one must have done too. Empty: there is none, nothing can be confined.
	Helper string
	// Only limits the choice to one sandbox by name. Empty: the best.
	Only string
}

// Find picks the best sandbox that works here, by trying. The notes say what
// was tried and did not work; if nothing confines, the first is a warning
// that a person should see once.
func Find(ctx context.Context, o Options) (Sandbox, []string) {
	var notes []string
	if err := usable(); o.Helper != "" && err != nil {
		notes = append(notes, err.Error())
		o.Helper = ""
	}
	for _, try := range []struct {
		name string
		find func(context.Context, string) (Sandbox, error)
	}{{Bubblewrap, findBubblewrap}, {Landlock, findLandlock}} {
		if o.Only != "" && o.Only != try.name {
			continue
		}
		if o.Helper == "" {
			notes = append(notes, try.name+" is not used: there is no helper to run it")
			continue
		}
		s, err := try.find(ctx, o.Helper)
		if err == nil {
			return s, notes
		}
		notes = append(notes, fmt.Sprintf("%s is not used: %v", try.name, err))
	}
	warning := "WARNING: commands cannot be confined on this machine, so every command asks first. Install bubblewrap (bwrap), or use a Linux kernel 6.2 or later with Landlock."
	if o.Only == None {
		warning = "WARNING: the sandbox is turned off, so every command asks first."
	}
	return none{helper: o.Helper}, slices.Concat([]string{warning}, notes)
}

// Report says in lines what confines commands here, for a person who checks
// the installation.
func Report(s Sandbox, notes []string) []string {
	lines := []string{"sandbox: " + s.Name()}
	if !s.Confines() {
		lines[0] += " (commands are not confined)"
	}
	for _, n := range notes {
		lines = append(lines, "  note: "+n)
	}
	for _, g := range s.Gaps() {
		lines = append(lines, "  gap: "+g)
	}
	return lines
}

// try runs a command that does nothing in s and says why it cannot.
func try(ctx context.Context, s Sandbox) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	dir, err := os.MkdirTemp("", "cadre-sandbox-")
	if err != nil {
		return fmt.Errorf("making a folder to try it in: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd, err := s.Command(ctx, Policy{Dir: dir, Temp: dir}, []string{"true"}, []string{"PATH=" + os.Getenv("PATH")})
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("trying it: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// resolved returns the policy with absolute paths that contain no links, so
// that a rule for a path holds for what is there.
func (p Policy) resolved() (Policy, error) {
	var err error
	if p.Dir, err = resolve("the working folder", p.Dir); err != nil {
		return p, err
	}
	if p.Temp, err = resolve("the temp folder", p.Temp); err != nil {
		return p, err
	}
	if p.Sub == "" {
		p.Sub = p.Dir
	}
	if p.Sub, err = resolve("the folder to start in", p.Sub); err != nil {
		return p, err
	}
	if !within(p.Dir, p.Sub) {
		return p, fmt.Errorf("the folder to start in, %s, is outside the working folder %s", p.Sub, p.Dir)
	}
	if p.Cache != "" {
		if p.Cache, err = resolve("the cache folder", p.Cache); err != nil {
			return p, err
		}
	}
	p.Extra = existing(p.Extra)
	p.Hide = existing(p.Hide)
	p.Protect = existing(p.Protect)
	return p, nil
}

func resolve(what, path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s %q is not an absolute path", what, path)
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", what, err)
	}
	return path, nil
}

// existing resolves paths and leaves out those that are not there.
func existing(paths []string) []string {
	var out []string
	for _, p := range paths {
		if r, err := filepath.EvalSymlinks(p); err == nil && filepath.IsAbs(r) {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// within tells whether path is dir or lies below it; both are clean.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// orDefault fills in what is not limited otherwise.
func (l Limits) orDefault() Limits {
	if l.Memory <= 0 {
		l.Memory = defaultMemory
	}
	if l.Processes <= 0 {
		l.Processes = defaultProcesses
	}
	if l.FileSize <= 0 {
		l.FileSize = defaultFileSize
	}
	return l
}

// environment points the temp folder, and for a confined command the caches
// of build tools, to where it may write: the home folder is read-only then.
// What the tools have downloaded before stays readable at its usual place, so
// that builds and tests work without network.
func environment(env []string, temp, cache string) []string {
	set := []string{"TMPDIR=" + temp}
	if cache != "" {
		set = append(set,
			"XDG_CACHE_HOME="+cache,
			"GOCACHE="+filepath.Join(cache, "go-build"),
			"npm_config_cache="+filepath.Join(cache, "npm"))
	}
	var out []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") }) {
			out = append(out, v)
		}
	}
	return append(out, set...)
}
