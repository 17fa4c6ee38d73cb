// Finding the files, reading them in order, and whether a project is trusted.

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// names are what a file may be called, in the order of looking.
var names = []string{"config.yaml", "config.yml"}

// maxSize bounds a file: a larger one was named by mistake.
const maxSize = 1 << 20

// Options say where to look. The zero value reads the user's file only.
type Options struct {
	// Dir is where the work is done. The project's file is the nearest
	// .cadre/config.yaml at or above it, within the repository.
	Dir string
	// Env is the environment; nil means the process's own.
	Env func(string) string
	// Trust trusts the project, whatever the user's file says.
	Trust bool
}

// UserFile is where the user's file is, or would be: $CADRE_CONFIG, else
// cadre/config.yaml in $XDG_CONFIG_HOME, else in ~/.config. It is empty if
// there is no home folder.
func UserFile(env func(string) string) string {
	if file := env("CADRE_CONFIG"); file != "" {
		return file
	}
	dir := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the specification wants a relative path ignored
		home := homeOf(env)
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	dir = filepath.Join(dir, "cadre")
	if found := within(dir); found != "" {
		return found
	}
	return filepath.Join(dir, names[0])
}

// Load reads the user's file and the project's. Files that do not exist say
// nothing. The error is an *Error; the Config that comes with it holds whatever
// could be read, so that a diagnosis can go on, but is not to be worked with.
func Load(o Options) (*Config, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	c := &Config{Limits: map[string]Limit{}, where: map[string]string{}}
	var bad []Problem
	user := UserFile(o.Env)
	if user != "" {
		r := &reader{config: c, file: user, env: o.Env, trusted: true, isUser: true}
		bad = append(bad, r.read(o.Env("CADRE_CONFIG") != "")...)
	}
	if project := projectFile(o.Dir, homeOf(o.Env)); project != "" && project != user {
		trusted := o.Trust || c.trusts(filepath.Dir(filepath.Dir(project)), homeOf(o.Env))
		r := &reader{config: c, file: project, env: o.Env, trusted: trusted, userFile: user}
		bad = append(bad, r.read(false)...)
	}
	if len(bad) > 0 {
		return c, &Error{Problems: bad}
	}
	return c, nil
}

// within returns the configuration file in dir, empty if there is none.
func within(dir string) string {
	for _, name := range names {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return ""
}

// projectFile looks for a project's file in dir and above it, not beyond the
// root of a repository nor up to the home folder.
func projectFile(dir, home string) string {
	if dir == "" {
		return ""
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if found := within(filepath.Join(dir, ".cadre")); found != "" {
			return found
		}
		_, err := os.Stat(filepath.Join(dir, ".git"))
		above := filepath.Dir(dir)
		if err == nil || above == dir || above == home {
			return ""
		}
		dir = above
	}
}

func homeOf(env func(string) string) string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir := env(name); dir != "" {
			return filepath.Clean(dir)
		}
	}
	return ""
}

// Trusts tells whether the user trusts the project in dir.
func (c *Config) Trusts(dir string, env func(string) string) bool { return c.trusts(dir, homeOf(env)) }

// trusts tells whether the user trusts the project in dir.
func (c *Config) trusts(dir, home string) bool {
	dir = realPath(dir)
	for _, t := range c.Trust {
		if rest, ok := strings.CutPrefix(t, "~"); ok && home != "" && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
			t = home + rest
		}
		rel, err := filepath.Rel(realPath(t), dir)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// realPath is path without symbolic links, as far as it exists.
func realPath(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return filepath.Clean(path)
}

// read reads the reader's file into its Config. A file that must exist and
// does not is a problem.
func (r *reader) read(must bool) []Problem {
	src, err := load(r.file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !must:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return []Problem{{File: r.file, Text: "CADRE_CONFIG names this file, but there is none: create it, or unset CADRE_CONFIG"}}
	case err != nil:
		return []Problem{{File: r.file, Text: fmt.Sprintf("it cannot be read (%v): correct its permissions, or move it away", cause(err))}}
	}
	r.config.Files = append(r.config.Files, r.file)
	r.warnOfTwins()
	r.parse(src)
	r.warnOfReaders()
	return r.problems
}

// load reads a file of a sensible size.
func load(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	if info.Size() > maxSize {
		return nil, fmt.Errorf("it has more than %d bytes", maxSize)
	}
	return os.ReadFile(path)
}

// cause drops the path from an error of the file system: it is told apart.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// warnOfTwins warns of a second file that is not read.
func (r *reader) warnOfTwins() {
	if filepath.Base(r.file) != names[0] {
		return
	}
	for _, other := range names[1:] {
		path := filepath.Join(filepath.Dir(r.file), other)
		if _, err := os.Stat(path); err == nil {
			r.config.Warnings = append(r.config.Warnings, Problem{File: path, Text: "this file is not read, because " + r.file + " is: move what is in it there"})
		}
	}
}

// warnOfReaders warns if a key is written in a file that others can see.
func (r *reader) warnOfReaders() {
	if r.plainKey == 0 {
		return
	}
	if !r.isUser {
		r.warnAt(r.plainKey, "a key written into a project's file is easily shared with it: write key_env and the name of a variable instead")
		return
	}
	if info, err := os.Stat(r.file); err == nil && info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		r.warnAt(r.plainKey, "other users of this machine may read the key in this file: run chmod 600 on it, or write key_env and the name of a variable instead")
	}
}
