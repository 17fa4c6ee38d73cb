// Running one command: its environment and sandbox, where it ends, and what
// is told about it.

package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/tool"
)

// wrapper runs the line and tells through a descriptor of its own where it
// ended. The descriptor is moved up, out of the way of what the line uses.
const wrapper = `exec 200>&3 3>&-
trap 'pwd -P >&200' EXIT
cadre_line=$1
set --
eval "$cadre_line"`

// execution is a command under way.
type execution struct {
	request
	env     tool.Env
	out     *output
	cmd     *exec.Cmd
	started time.Time
	before  *snapshot // nil: it only reads
	repos   *repositories
	folder  *os.File // where it tells the folder it ended in
}

// ending is how it ended.
type ending struct {
	code   int
	took   time.Duration
	moved  string // the note that it is in another folder now
	change changes
}

func (s *Shell) start(ctx context.Context, env tool.Env, r request, out *output) (*execution, error) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil, fmt.Errorf("looking for bash, which has to be installed to run commands: %w", err)
	}
	temp, err := s.tempFolder(r.agent)
	if err != nil {
		return nil, err
	}
	policy := sandbox.Policy{
		Dir: r.agent.root, Sub: r.dir, Write: !r.reads, Network: r.Network, Temp: temp,
		Hide: s.options.Hide, Limits: s.options.Limits,
	}
	if s.options.TempRoot != "" { // agents do not look into each other's
		policy.Hide = append(slices.Clone(policy.Hide), s.options.TempRoot)
	}
	withheld, err := withheldFrom(env, r.agent.root)
	if err != nil {
		return nil, err
	}
	policy.Hide = slices.Concat(policy.Hide, withheld)
	if s.options.Extra != nil {
		policy.Extra = s.options.Extra(env.Agent)
	}
	e := &execution{request: r, env: env, out: out}
	if !r.reads {
		e.before = takeSnapshot(r.agent.root)
		e.repos = guardRepositories(r.agent.root, e.before.repos)
		e.repos.guardOwn(r.Command)
		policy.Protect = append(e.repos.protected(), worktreeLinks(policy.Extra)...)
	}
	environment := scrub(s.options.Env(), r.agent.root)
	if r.reads {
		environment = append(environment, readingEnv...)
	} else if s.options.Cache != "" {
		if err := os.MkdirAll(s.options.Cache, 0o700); err != nil {
			return nil, fmt.Errorf("making the cache folder: %w", err)
		}
		policy.Cache = s.options.Cache
	}
	cmd, err := s.options.Sandbox.Command(ctx, policy, []string{bash, "--noprofile", "--norc", "-c", wrapper, "bash", r.Command}, environment)
	if err != nil {
		return nil, fmt.Errorf("preparing the command: %w", err)
	}
	e.cmd = cmd
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("preparing the command: %w", err)
	}
	defer func() { _ = writer.Close() }() // the command has its own
	e.folder = reader
	cmd.ExtraFiles = []*os.File{writer}
	cmd.Stdout, cmd.Stderr = out, out
	e.started = time.Now()
	if err := cmd.Start(); err != nil {
		_ = reader.Close()
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	return e, nil
}

// mostWithheld bounds the files of the working folder that are hidden from a
// command: each takes a mount.
const mostWithheld = 500

// withheldFrom lists the files and folders of the working folder that the
// agent may not read: a command that names none of them, such as grep -r, would
// show them all the same.
func withheldFrom(env tool.Env, root string) ([]string, error) {
	if env.MayRead == nil || env.Guarded == nil {
		return nil, nil
	}
	var out []string
	entries := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return nil //nolint:nilerr // what cannot be looked at cannot be shown either
		}
		if entries++; entries > maxEntries {
			return fs.SkipAll
		}
		if d.Name() == ".git" && d.IsDir() {
			return fs.SkipDir
		}
		name := filepath.ToSlash(path[len(root)+1:])
		if !env.Guarded(name) || env.MayRead(name) {
			return nil
		}
		if out = append(out, path); len(out) > mostWithheld {
			return fmt.Errorf("more than %d files of the working folder may not be read without asking: no command can be kept from them; narrow the rules", mostWithheld)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return out, err
}

// wait returns once nothing of the command is left.
func (e *execution) wait() ending {
	err := e.cmd.Wait()
	end := ending{code: e.cmd.ProcessState.ExitCode(), took: time.Since(e.started)}
	if err != nil && !errors.As(err, new(*exec.ExitError)) && end.code == 0 {
		end.code = -1 // it ended well, but not all it wrote could be taken in
	}
	_ = e.folder.SetReadDeadline(time.Now().Add(time.Second)) // nobody should be left who holds the other end
	told, _ := io.ReadAll(io.LimitReader(e.folder, 8<<10))
	_ = e.folder.Close()
	if !e.Background {
		end.moved = e.agent.moved(e.dir, lastLine(string(told)))
	}
	if e.before != nil {
		put := e.repos.putRight()
		end.change = e.before.compare(e.env)
		end.change.notes = append(end.change.notes, put...)
	}
	return end
}

func lastLine(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// result tells all about a command that has ended. why is empty if it ended
// by itself.
func (e *execution) result(end ending, why string) tool.Result {
	shown, whole := e.out.result()
	notes := []string{status(end, why)}
	if end.moved != "" {
		notes = append(notes, end.moved)
	}
	r := textResult(shown, append(notes, end.change.notes...))
	r.IsError = end.code != 0 || why != ""
	r.Record = tool.Record{Files: end.change.files, Command: e.Command, Exit: &end.code}
	if whole != nil {
		r.Whole = &tool.Whole{Name: "output.txt", MediaType: "text/plain; charset=utf-8", Data: whole}
	}
	return r
}

func status(end ending, why string) string {
	if why != "" {
		return fmt.Sprintf("[%s, after %s]", why, took(end.took))
	}
	return fmt.Sprintf("[exit code %d, %s]", end.code, took(end.took))
}

func took(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// textResult puts notes on lines of their own after what a command printed.
func textResult(shown string, notes []string) tool.Result {
	if shown != "" && !strings.HasSuffix(shown, "\n") {
		shown += "\n"
	}
	return tool.Result{Parts: []message.Part{message.TextPart{Text: shown + strings.Join(notes, "\n")}}}
}
