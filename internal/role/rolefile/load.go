// Finding the files, and which role counts if several have one name: the
// project's before the user's before the built-in, the nearer folder before the
// farther.

package rolefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/role"
)

// Bounds of the walk through a folder.
const (
	maxDepth = 6
	maxFiles = 2000
)

// Sources say where to look.
type Sources struct {
	Dir      string                // where the work is done; empty: no project
	Depth    int                   // of the tree, as the user allows it; 0: not said
	Env      func(string) string   // nil: the process's own
	Distance func(a, b string) int // for suggestions, see Options

	CheckRule func(rule string) error // see Options
}

// Set is what was found.
type Set struct {
	Roles    []role.Role    // those that count: the built-in ones and what replaces them, then the project's, then the user's
	Files    []File         // all that were read, in order of precedence
	Shadowed []Shadowed     // roles that do not count
	MaxDepth int            // of the tree
	Errors   []role.Warning // files and roles that could not be read
	Warnings []role.Warning
	Notes    []role.Warning // what is as it should be, but good to know
}

// Shadowed is a role that another one hides, or that is switched off.
type Shadowed struct {
	Role role.Role
	By   role.Source
}

// Registry makes a registry of the roles that count.
func (s *Set) Registry() (*role.Registry, error) { return role.NewRegistry(s.Roles...) }

// place is a folder or file where roles may be.
type place struct {
	path   string // below the root of the file system
	format Format
	file   bool
}

// projectPlaces are looked for in each folder of a project, best first.
var projectPlaces = []place{
	{".cadre/agents", Cadre, false},
	{".cadre/agents.json", AgentRoles, true},
	{".claude/agents", Claude, false},
	{".opencode/agent", OpenCode, false},
	{".opencode/agents", OpenCode, false},
	{".opencode/opencode.json", OpenCode, true},
	{".opencode/opencode.jsonc", OpenCode, true},
	{"opencode.json", OpenCode, true},
	{"opencode.jsonc", OpenCode, true},
	{".gemini/agents", Gemini, false},
	{".github/agents", Copilot, false},
	{".codex/agents", Codex, false},
	{".codex/config.toml", Codex, true},
	{"appsettings.json", AgentRoles, true},
}

// ConfigFolder is the user's configuration folder; empty if there is no home.
// Role files are in agents below it.
func ConfigFolder(env func(string) string) string {
	if dir := configHome(env); dir != "" {
		return filepath.Join(dir, "cadre")
	}
	return ""
}

// configHome is $XDG_CONFIG_HOME, else ~/.config.
func configHome(env func(string) string) string {
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home := homeOf(env); home != "" {
		return filepath.Join(home, ".config")
	}
	return ""
}

func homeOf(env func(string) string) string {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir := env(name); dir != "" {
			return filepath.Clean(dir)
		}
	}
	return ""
}

// userPlaces are the folders of the user, best first.
func userPlaces(env func(string) string) []place {
	var out []place
	add := func(dir string, format Format, names ...string) {
		if dir == "" {
			return
		}
		for _, name := range names {
			out = append(out, place{filepath.Join(dir, name), format, strings.Contains(name, ".")})
		}
	}
	home := func(variable, folder string) string {
		if dir := env(variable); variable != "" && filepath.IsAbs(dir) {
			return dir
		}
		if h := homeOf(env); h != "" {
			return filepath.Join(h, folder)
		}
		return ""
	}
	config := configHome(env)
	add(ConfigFolder(env), Cadre, "agents")
	add(home("CLAUDE_CONFIG_DIR", ".claude"), Claude, "agents")
	if config != "" {
		add(filepath.Join(config, "opencode"), OpenCode, "agent", "agents", "opencode.json", "opencode.jsonc")
	}
	add(home("", ".gemini"), Gemini, "agents")
	add(home("COPILOT_HOME", ".copilot"), Copilot, "agents")
	add(home("CODEX_HOME", ".codex"), Codex, "agents", "config.toml")
	return out
}

// Load reads all roles that count for work in a folder.
func Load(s Sources) (*Set, error) {
	if s.Env == nil {
		s.Env = os.Getenv
	}
	set := &Set{}
	l := &loader{set: set, o: Options{Distance: s.Distance, CheckRule: s.CheckRule}}
	folders := role.Folders(s.Dir, homeOf(s.Env))
	if len(folders) > 0 {
		top := folders[len(folders)-1]
		if root, err := os.OpenRoot(top); err != nil {
			set.Errors = append(set.Errors, role.Warning{File: top, Text: fmt.Sprintf("the folder cannot be opened: %v", cause(err))})
		} else {
			defer func() { _ = root.Close() }() // it only reads
			l.project(root.FS(), top, folders)
		}
	}
	l.o.Scope = role.User
	for _, p := range userPlaces(s.Env) {
		dir, name := filepath.Split(p.path)
		l.look(os.DirFS(dir), filepath.Clean(dir), place{name, p.format, p.file})
	}
	builtin, err := role.Builtin()
	if err != nil {
		return nil, err
	}
	set.settle(builtin)
	set.limitDepth(s.Depth)
	set.link(s.Distance, nil)
	return set, nil
}

// loader reads files in order of precedence.
type loader struct {
	set *Set
	o   Options
}

func (l *loader) project(fsys fs.FS, top string, folders []string) {
	l.o.Scope = role.Project
	for _, folder := range folders {
		rel, err := filepath.Rel(top, folder)
		if err != nil {
			continue
		}
		for _, p := range projectPlaces {
			p.path = path.Join(filepath.ToSlash(rel), p.path)
			l.look(fsys, top, p)
		}
	}
}

// look reads what is at a place. base is where the file system is rooted.
func (l *loader) look(fsys fs.FS, base string, p place) {
	names := []string{p.path}
	if !p.file {
		names = l.walk(fsys, base, p)
	} else if _, err := fs.Stat(fsys, p.path); errors.Is(err, fs.ErrNotExist) {
		return
	}
	for _, name := range names {
		f := readFile(fsys, base, name, p.format, l.o)
		if !f.Skipped {
			l.set.Files = append(l.set.Files, f)
		}
	}
}

// walk lists the role files of a folder and those below it, in order.
func (l *loader) walk(fsys fs.FS, base string, p place) []string {
	names, problems := roleFiles(fsys, base, p.path)
	for _, problem := range problems {
		l.set.Files = append(l.set.Files, File{Path: problem.File, Format: p.format, Scope: l.o.Scope, Errors: []role.Warning{problem}})
	}
	return slices.DeleteFunc(names, func(name string) bool {
		switch filepath.Ext(name) {
		case ".toml":
			return p.format != Codex && p.format != Cadre
		case ".json", ".jsonc":
			return p.format != Cadre
		}
		return p.format == Codex
	})
}

// roleFiles lists the files at or below a folder that can hold roles. Links are
// followed as far as the file system lets them, each folder once.
func roleFiles(fsys fs.FS, base, dir string) (names []string, problems []role.Warning) {
	var visited []fs.FileInfo
	var visit func(dir string, depth int)
	fail := func(name string, err error) {
		problems = append(problems, role.Warning{File: filepath.Join(base, filepath.FromSlash(name)), Text: unreadable(err)})
	}
	visit = func(dir string, depth int) {
		info, err := fs.Stat(fsys, dir)
		if errors.Is(err, fs.ErrNotExist) && depth == 0 {
			return
		}
		if err != nil {
			fail(dir, err)
			return
		}
		if !info.IsDir() || depth > maxDepth || len(names) > maxFiles ||
			slices.ContainsFunc(visited, func(v fs.FileInfo) bool { return os.SameFile(v, info) }) {
			return
		}
		visited = append(visited, info)
		entries, err := fs.ReadDir(fsys, dir)
		if err != nil {
			fail(dir, err)
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			isDir := e.IsDir()
			if e.Type()&fs.ModeSymlink != 0 {
				info, err := fs.Stat(fsys, name)
				if err != nil {
					fail(name, err)
					continue
				}
				isDir = info.IsDir()
			}
			switch {
			case strings.HasPrefix(e.Name(), "."):
			case isDir:
				visit(name, depth+1)
			case slices.Contains([]string{".md", ".toml", ".json", ".jsonc"}, filepath.Ext(name)) && len(names) < maxFiles:
				names = append(names, name)
			}
		}
	}
	visit(path.Clean(dir), 0)
	return names, problems
}

// unreadable says that something cannot be read, and what to do.
func unreadable(err error) string {
	err = cause(err)
	hint := "correct its permissions, or move it away"
	switch {
	case strings.Contains(err.Error(), "escapes"):
		hint = "a project's files may not link out of the project"
	case errors.Is(err, fs.ErrNotExist):
		hint = "it is a link to something that does not exist"
	}
	return fmt.Sprintf("it cannot be read (%v): %s", err, hint)
}

// cause drops the path from an error of the file system: it is told apart.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// readFile reads one file. What it names is read from the same file system, so
// that a project's file cannot make us read others; the user's own may.
func readFile(fsys fs.FS, base, name string, format Format, o Options) File {
	o.Format = format
	var parts []string
	o.Open = func(ref string) ([]byte, error) {
		if o.Scope == role.User && filepath.IsAbs(ref) {
			return readSmall(os.DirFS(filepath.Dir(ref)), filepath.Base(ref))
		}
		data, at, err := openRef(fsys, name, ref)
		if err != nil {
			return nil, cause(err)
		}
		parts = append(parts, filepath.Join(base, filepath.FromSlash(at)))
		return data, nil
	}
	shown := filepath.Join(base, filepath.FromSlash(name))
	data, err := readSmall(fsys, name)
	if err != nil {
		return File{Path: shown, Format: format, Scope: o.Scope, Errors: []role.Warning{{File: shown, Text: unreadable(err)}}}
	}
	f := Parse(shown, data, o)
	f.Parts = parts
	return f
}

// withoutParts leaves out the files that belong to others: a bare prompt, or
// Codex's settings, that another file names are no roles of their own.
func withoutParts(files []File) []File {
	named := map[string]bool{}
	for _, f := range files {
		for _, part := range f.Parts {
			named[part] = true
		}
	}
	return slices.DeleteFunc(files, func(f File) bool { return named[f.Path] && (f.Bare || f.Format == Codex) })
}

// readSmall reads a regular file of a sensible size, or just enough of it to
// see that it is larger.
func readSmall(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name) // before it is opened: opening a pipe waits
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	if info.Size() > maxSize {
		return make([]byte, maxSize+1), nil
	}
	return fs.ReadFile(fsys, name)
}

// openRef reads a file that another one names, relative to that one's folder
// or to one above it, and tells where it was.
func openRef(fsys fs.FS, from, ref string) (data []byte, at string, err error) {
	ref = filepath.ToSlash(ref)
	for dir := path.Dir(from); ; dir = path.Dir(dir) {
		name := path.Join(dir, ref)
		if path.IsAbs(ref) || strings.HasPrefix(ref, "~") || !fs.ValidPath(name) {
			return nil, "", errors.New("it lies outside the folder of the file that names it")
		}
		data, err := readSmall(fsys, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || dir == "." {
			return data, name, err
		}
	}
}

// Read reads role files that a person names: a file, a project with the folders
// that Load looks into, or all files of a folder that can be roles. The error
// says that there is no such path.
func Read(name string, o Options) ([]File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("reading role files: %w", err)
	}
	dir, base := filepath.Split(filepath.Clean(name))
	if dir == "" {
		dir = "."
	}
	if !info.IsDir() {
		return []File{readFile(os.DirFS(dir), filepath.Clean(dir), base, formatOf(absolute(name)), o)}, nil
	}
	root := os.DirFS(name)
	l := &loader{set: &Set{}, o: o}
	for _, p := range projectPlaces {
		l.look(root, name, p)
	}
	if len(l.set.Files) > 0 {
		return withoutParts(l.set.Files), nil
	}
	names, problems := roleFiles(root, name, ".")
	var out []File
	for _, problem := range problems {
		out = append(out, File{Path: problem.File, Scope: o.Scope, Errors: []role.Warning{problem}})
	}
	for _, n := range names {
		if f := readFile(root, name, n, formatOf(absolute(filepath.Join(name, n))), o); !f.Skipped && !f.Bare {
			out = append(out, f)
		}
	}
	return withoutParts(out), nil
}

// absolute is a path from the root, by which a format can be told.
func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}
