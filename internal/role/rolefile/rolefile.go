// Package rolefile reads roles from files: Cadre's own Markdown, and the files
// of Claude Code, opencode, Gemini CLI, GitHub Copilot and Codex as they are.
//
// All formats come down to entries, a key with a value and a line (entry.go,
// markdown.go, toml.go, json.go); one table says what each key means, whoever
// invented it (keys.go). load.go finds the files and decides which role counts
// if two have one name; encode.go writes Cadre's own format.
//
// A file of a project is input from a stranger. It can narrow what an agent may
// do, never widen it: permissions, hooks and servers in it are named in a
// warning and left out.
package rolefile

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/role"
)

// Format is whose file format a file has.
type Format string

// The formats.
const (
	Cadre      Format = "cadre"
	Claude     Format = "claude"
	OpenCode   Format = "opencode"
	Gemini     Format = "gemini"
	Copilot    Format = "copilot"
	Codex      Format = "codex"
	AgentRoles Format = "agent-roles" // JSON with a section AgentRoles
)

// Bounds of a file: a larger one is no role. Those of data are closer, as its
// parsers take more than linear time for some input.
const (
	maxSize = 1 << 20
	maxData = 256 << 10
)

// maxWarnings bounds what is told of one file.
const maxWarnings = 200

// Options are what reading a file needs from outside.
type Options struct {
	Format Format // empty: told from the path
	Scope  role.Scope
	// Distance tells how far apart two names are, for suggestions; nil: none
	// are made.
	Distance func(a, b string) int

	// CheckRule says what is wrong with a rule of role.Role.ToolRules; nil:
	// all are taken, and those that mean nothing allow nothing.
	CheckRule func(rule string) error
	// Open reads a file that a role file names, such as one with its prompt.
	// nil: none is read.
	Open func(name string) ([]byte, error)
}

// File is what a file holds.
type File struct {
	Path     string
	Format   Format
	Scope    role.Scope
	Roles    []role.Role
	Disabled []string       // roles that it switches off
	MaxDepth int            // of the tree, if it says so
	Errors   []role.Warning // what could not be read at all
	Warnings []role.Warning // what was read with reservations
	Skipped  bool           // it holds no role and was not meant to
	Parts    []string       // files that it names: its prompts and settings
	Bare     bool           // it has no front matter: it may be any text
}

// Parse reads the roles of a file. It never fails as a whole: what is wrong is
// in File.Errors, and hides no other role of the file.
func Parse(name string, data []byte, o Options) File {
	if o.Format == "" {
		o.Format = formatOf(name)
	}
	if o.Scope == "" {
		o.Scope = role.User
	}
	f := &File{Path: name, Format: o.Format, Scope: o.Scope}
	p := &parser{file: f, o: o}
	data, err := clean(data)
	if err != nil {
		p.fail(0, "%v", err)
		return *f
	}
	isTOML, isJSON := strings.HasSuffix(name, ".toml"), strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonc")
	switch {
	case (isTOML || isJSON) && len(data) > maxData:
		p.fail(0, "it has more than %d bytes, which is too much for roles", maxData)
	case isTOML:
		p.toml(string(data))
	case isJSON:
		p.json(data)
	default:
		p.markdown(string(data))
	}
	for _, r := range f.Roles {
		f.Warnings = append(f.Warnings, r.Warnings...)
	}
	slices.SortStableFunc(f.Warnings, func(a, b role.Warning) int { return a.Line - b.Line })
	if n := len(f.Warnings); n > maxWarnings {
		f.Warnings = append(f.Warnings[:maxWarnings:maxWarnings], role.Warning{File: name, Text: fmt.Sprintf("there are %d more warnings", n-maxWarnings)})
	}
	if len(f.Roles) == 1 {
		f.Roles[0].Warnings = slices.Clone(f.Warnings)
	}
	return *f
}

// clean takes away what editors add, and refuses what is no text.
func clean(data []byte) ([]byte, error) {
	switch {
	case len(data) > maxSize:
		return nil, fmt.Errorf("it has more than %d bytes, which is too much for a role", maxSize)
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, errors.New("it is encoded in UTF-16: save it as UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return nil, errors.New("it is no text file")
	case !utf8.Valid(data):
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n")), nil
}

// formatOf tells the format of a file by its path.
func formatOf(name string) Format {
	name = filepath.ToSlash(name)
	within := func(folder string) bool { return strings.Contains("/"+name, "/"+folder+"/") }
	switch base := path.Base(name); {
	case within(".cadre"):
		return Cadre
	case within(".claude"):
		return Claude
	case within(".opencode") || within("opencode") || strings.HasPrefix(base, "opencode.json"):
		return OpenCode
	case within(".gemini"):
		return Gemini
	case within(".github") || within(".copilot") || strings.HasSuffix(base, ".agent.md") || strings.HasSuffix(base, ".chatmode.md"):
		return Copilot
	case within(".codex") || strings.HasSuffix(base, ".toml"):
		return Codex
	case strings.HasSuffix(base, ".json"):
		return AgentRoles
	}
	return Cadre
}

// stem is the name that a file gives its role.
func stem(name string) string {
	base := path.Base(filepath.ToSlash(name))
	for _, suffix := range []string{".agent.md", ".chatmode.md", ".md", ".toml", ".jsonc", ".json"} {
		if s, ok := strings.CutSuffix(base, suffix); ok && s != "" {
			return s
		}
	}
	return base
}

// parser reads one file.
type parser struct {
	file *File
	o    Options
}

func (p *parser) fail(line int, format string, args ...any) {
	p.file.Errors = append(p.file.Errors, role.Warning{File: p.file.Path, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (p *parser) warn(line int, format string, args ...any) {
	p.file.Warnings = append(p.file.Warnings, role.Warning{File: p.file.Path, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (o Options) checkRule(rule string) error {
	if o.CheckRule == nil {
		return nil
	}
	return o.CheckRule(rule)
}

// nearest returns the name that was probably meant, as " (did you mean …?)".
func (o Options) nearest(word string, among []string) string {
	if o.Distance == nil {
		return ""
	}
	best, at := "", min(1+len(word)/4, 3)+1
	for _, name := range among {
		if d := o.Distance(strings.ToLower(word), strings.ToLower(name)); d < at {
			best, at = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}
