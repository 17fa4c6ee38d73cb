// What a project and its user want every agent to know: AGENTS.md and its
// relatives.

package role

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Bounds of the instructions: they are part of every prompt.
const (
	maxInstructions = 32 << 10
	maxImports      = 3 // how deep one file may draw in another
)

// instructionFiles are looked for in each folder, in this order.
var instructionFiles = []string{"AGENTS.md", "CLAUDE.md", ".cadre/instructions.md"}

// Instruction is a file of instructions.
type Instruction struct {
	File string
	Text string
	Cut  bool // it was longer than there was room for
}

// Instructions finds the files of instructions that hold for work in dir: the
// user's own (AGENTS.md in config, which may be empty), then those of the
// project from the root of its repository down to dir. What comes later is
// nearer and counts more. If they are too long together, the farther ones are
// cut first. Files that lead out of the repository are passed over, and what
// could not be read is told.
func Instructions(dir, config string) ([]Instruction, []Warning) {
	f := finder{left: maxInstructions, seen: map[string]bool{}}
	folders := Folders(dir, "")
	if len(folders) > 0 {
		top := folders[len(folders)-1]
		root, err := os.OpenRoot(top)
		if err != nil {
			return nil, []Warning{{File: top, Text: fmt.Sprintf("it cannot be opened for instructions: %v", err)}}
		}
		defer func() { _ = root.Close() }() // it only reads
		for _, folder := range folders {
			rel, err := filepath.Rel(top, folder)
			if err != nil {
				continue
			}
			f.folder(root.FS(), top, filepath.ToSlash(rel), instructionFiles)
		}
	}
	if config != "" {
		f.folder(os.DirFS(config), config, ".", instructionFiles[:1])
	}
	slices.Reverse(f.found)
	return f.found, f.warnings
}

// Folders lists dir and the folders above it up to the root of its repository,
// nearest first. Outside a repository it is dir alone: a folder above it may
// be anyone's. The home folder is nobody's project.
func Folders(dir, home string) []string {
	abs, err := filepath.Abs(dir)
	if dir == "" || err != nil {
		return nil
	}
	var out []string
	for at := abs; at != home; at = filepath.Dir(at) {
		out = append(out, at)
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return out
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	if abs == home {
		return nil
	}
	return []string{abs}
}

// finder gathers instructions, nearest first, while there is room.
type finder struct {
	left     int
	seen     map[string]bool // texts: one file is often a copy or a link of another
	found    []Instruction
	warnings []Warning
}

// folder takes the instructions of one folder. It goes through names from the
// last to the first, as the order is turned round in the end.
func (f *finder) folder(fsys fs.FS, base, rel string, names []string) {
	for _, name := range slices.Backward(names) {
		file := path.Join(rel, name)
		shown := filepath.Join(base, filepath.FromSlash(file))
		text, err := readText(fsys, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			f.warnings = append(f.warnings, Warning{File: shown, Text: fmt.Sprintf("these instructions cannot be read: %v", err)})
			continue
		}
		if name == "CLAUDE.md" {
			text = withImports(fsys, file, text, []string{file})
		}
		text = strings.TrimSpace(text)
		if text == "" || f.seen[text] {
			continue
		}
		f.seen[text] = true
		in := Instruction{File: shown, Text: text}
		if len(text) > f.left {
			in.Text, in.Cut = strings.ToValidUTF8(text[:f.left], ""), true
			f.warnings = append(f.warnings, Warning{File: shown, Text: fmt.Sprintf("these instructions are cut: all together may have %d bytes", maxInstructions)})
		}
		f.left -= len(in.Text)
		if in.Text != "" {
			f.found = append(f.found, in)
		}
	}
}

// imported is an import of CLAUDE.md: @path at the start of a line or after a
// space.
var imported = regexp.MustCompile(`(?:^|[ \t])(@((?:\./|\.\./)*[A-Za-z0-9_./-]+\.(?:md|txt))\b)`)

// withImports puts the files that a text names as @path in their place, one a
// line. trail is how it came there: files that draw each other in end with the
// first.
func withImports(fsys fs.FS, file, text string, trail []string) string {
	if len(trail) > maxImports || !strings.Contains(text, "@") {
		return text
	}
	fenced := false
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if at := imported.FindStringSubmatchIndex(line); at != nil && !fenced {
			name := path.Join(path.Dir(file), line[at[4]:at[5]])
			inner, err := readText(fsys, name)
			if err == nil && !slices.Contains(trail, name) { // an error: it may be no import at all
				inner = withImports(fsys, name, inner, append(slices.Clone(trail), name))
				line = line[:at[2]] + strings.TrimSpace(inner) + line[at[3]:]
			}
		}
		if out.WriteString(line); out.Len() > maxInstructions {
			break
		}
	}
	return out.String()
}

// readText reads a text file, at most as much as there can be room for.
func readText(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name) // before it is opened: opening a pipe waits
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	file, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it only reads
	b, err := io.ReadAll(io.LimitReader(file, maxInstructions+1))
	if err != nil {
		return "", err
	}
	text := strings.TrimPrefix(strings.ReplaceAll(string(b), "\r\n", "\n"), "\ufeff")
	return strings.ToValidUTF8(text, ""), nil
}
