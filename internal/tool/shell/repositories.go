// What commands may not change though they may write the working folder: what
// of a repository names programs that git runs, outside the sandbox when a
// person uses it, and our own configuration of the project. Who may write that
// has left the sandbox.

package shell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxRepositories bounds those that are protected: each takes some mounts.
const maxRepositories = 50

// redirecting are files that send git to another configuration. Most
// repositories have none, and a mount cannot protect what is not there: if one
// is made, it is taken away again.
var redirecting = []string{"commondir", "config.worktree"}

// repositories are those of a working folder before a command runs.
type repositories struct {
	root  string
	fixed []string        // must not change, absolute
	wrong map[string]bool // must not come into being, relative to root
}

// guardRepositories looks at what is called .git in the folder.
func guardRepositories(root string, gits []string) *repositories {
	r := &repositories{root: root, wrong: map[string]bool{}}
	for _, git := range gits[:min(len(gits), maxRepositories)] {
		folder := filepath.Join(root, git)
		if info, err := os.Lstat(folder); err != nil || !info.IsDir() { // a link, or the file of a worktree or submodule
			r.fixed = append(r.fixed, folder)
			continue
		}
		// Git itself makes this folder, so that it may as well be there.
		if err := os.Mkdir(filepath.Join(folder, "hooks"), 0o755); err != nil && !os.IsExist(err) {
			r.wrong[filepath.Join(git, "hooks")] = true
		}
		r.fixed = append(r.fixed, filepath.Join(folder, "config"), filepath.Join(folder, "hooks"))
		// Submodules have their own.
		for _, pattern := range []string{"modules/*/config", "modules/*/hooks", "modules/*/*/config", "modules/*/*/hooks", "worktrees/*/config.worktree", "worktrees/*/commondir"} {
			found, err := filepath.Glob(filepath.Join(globQuoted(folder), pattern))
			if err == nil {
				r.fixed = append(r.fixed, found...)
			}
		}
		for _, name := range redirecting {
			if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
				r.fixed = append(r.fixed, filepath.Join(folder, name))
			} else {
				r.wrong[filepath.Join(git, name)] = true
			}
		}
	}
	return r
}

// guardOwn adds what says, in a project that is trusted, what agents may do and
// which servers are started. A command that names it was asked for because of
// that, and may do what it says.
func (r *repositories) guardOwn(command string) {
	for _, name := range []string{".cadre", ".mcp.json"} {
		file := filepath.Join(r.root, name)
		if strings.Contains(command, name) {
			continue
		}
		if _, err := os.Lstat(file); err == nil {
			r.fixed = append(r.fixed, file)
		} else {
			r.wrong[name] = true
		}
	}
}

// protected are the files and folders that the command must not change.
func (r *repositories) protected() []string { return r.fixed }

// putRight removes what must not have come into being, and says so.
func (r *repositories) putRight() (notes []string) {
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return nil // the folder is gone, and they with it
	}
	defer func() { _ = root.Close() }() // it was only used to remove
	for name := range r.wrong {
		if _, err := root.Lstat(name); err != nil {
			continue
		}
		said := "it was removed again"
		if err := root.RemoveAll(name); err != nil {
			said = fmt.Sprintf("it could not be removed: %v; do not use git there before it is", err)
		}
		notes = append(notes, fmt.Sprintf("[%s decides which programs run, and may not be made by the way: %s]", filepath.ToSlash(name), said))
	}
	return notes
}

// worktreeLinks are the files by which git finds the repository of a worktree.
func worktreeLinks(folders []string) []string {
	var out []string
	for _, f := range folders {
		out = append(out, filepath.Join(f, "commondir"), filepath.Join(f, "gitdir"))
	}
	return out
}

func globQuoted(path string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}
