// Unified diffs, as git writes them and as models do: with wrong counts, wrong
// line numbers or none. The counts are put right, then go-gitdiff reads them.

package files

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// parseUnified reads a unified diff. Hunks without the name of a file belong
// to path.
func parseUnified(patch, path string) ([]*filePatch, error) {
	r := &diffRepair{lines: strings.Split(strings.TrimRight(patch, "\n"), "\n")}
	if path != "" && !strings.Contains("\n"+patch, "\n+++ ") {
		r.out.WriteString("--- a/file\n+++ b/file\n")
		r.byGit = []bool{false}
	} else {
		path = ""
	}
	if err := r.repair(); err != nil {
		return nil, err
	}
	files, _, err := gitdiff.Parse(strings.NewReader(r.out.String()))
	if err != nil {
		return nil, fmt.Errorf("the patch is not a valid unified diff: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New(`the patch names no file: begin with "--- a/name" and "+++ b/name", or with "*** Begin Patch"`)
	}
	// What was copied and what was read are counted alike, or one of the two
	// was mistaken.
	if len(files) != len(r.byGit) || fragments(files) != len(r.hunks) {
		return nil, errors.New("the patch is not a valid unified diff: its files and hunks cannot be told apart")
	}
	var out []*filePatch
	for i, f := range files {
		fp, err := fromGit(f)
		if err != nil {
			return nil, err
		}
		fp.prefixed = !r.byGit[i]
		for _, fragment := range f.TextFragments {
			h := r.hunks[0]
			r.hunks = r.hunks[1:]
			h.take(fragment)
			fp.hunks = append(fp.hunks, h)
		}
		if fp.verb == patchAdd {
			fp.text = added(fp.hunks)
		}
		if path != "" {
			fp.path, fp.prefixed = path, false
		}
		out = append(out, fp)
	}
	return out, nil
}

// fromGit reads what a diff does to a file as a whole.
func fromGit(f *gitdiff.File) (*filePatch, error) {
	if f.IsBinary {
		return nil, errors.New("the patch changes a binary file, which this tool cannot")
	}
	fp := &filePatch{path: f.OldName}
	switch {
	case f.IsNew:
		fp.verb, fp.path = patchAdd, f.NewName
	case f.IsDelete:
		fp.verb = patchDelete
	case f.IsCopy:
		fp.verb, fp.to = patchCopy, f.NewName
	case f.OldName != f.NewName:
		fp.to = f.NewName
	}
	switch was, is := f.OldMode&0o111 != 0, f.NewMode&0o111 != 0; {
	case f.NewMode == 0:
	case f.NewMode&0o170000 != 0 && f.NewMode&0o170000 != 0o100000:
		return nil, fmt.Errorf("%s would be a link or a submodule, which this tool does not make", shown(fp.path))
	case is && !was:
		fp.exec = execSet
	case was && !is:
		fp.exec = execCleared
	}
	return fp, nil
}

func fragments(files []*gitdiff.File) int {
	n := 0
	for _, f := range files {
		n += len(f.TextFragments)
	}
	return n
}

// withoutPrefix drops what diffs put before names.
func withoutPrefix(name string) string {
	for _, prefix := range []string{"a/", "b/"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			return rest
		}
	}
	return name
}

// take fills a hunk from what gitdiff has read.
func (h *hunk) take(f *gitdiff.TextFragment) {
	for _, l := range f.Lines {
		op := byte(' ')
		switch l.Op {
		case gitdiff.OpAdd:
			op = '+'
		case gitdiff.OpDelete:
			op = '-'
		case gitdiff.OpContext:
		}
		h.lines = append(h.lines, hunkLine{op, strings.TrimSuffix(l.Line, "\n")})
		switch {
		case l.NoEOL() && op != '-':
			h.final = finalAbsent
		case l.NoEOL() && h.final == finalKept:
			h.final = finalPresent
		}
	}
}

// added is the text of a new file.
func added(hunks []*hunk) string {
	var b strings.Builder
	absent := false
	for _, h := range hunks {
		for _, l := range h.lines {
			b.WriteString(l.text + "\n")
		}
		absent = h.final == finalAbsent
	}
	if absent {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}

// diffRepair copies a diff and puts the counts of its hunks right.
type diffRepair struct {
	lines []string
	at    int
	byGit []bool // the files so far: whether git's header names them
	begun bool   // git's header has begun, and the lines --- and +++ may follow
	out   strings.Builder
	hunks []*hunk // in order; what their headers said
}

func (r *diffRepair) repair() error {
	for r.at < len(r.lines) {
		line := r.lines[r.at]
		switch {
		case strings.HasPrefix(line, "@@"):
			if len(r.byGit) == 0 {
				return fmt.Errorf("line %d of the patch: a hunk comes before the name of its file: give path, or the lines --- and +++", r.at+1)
			}
			if err := r.hunk(); err != nil {
				return err
			}
			continue
		case r.header(r.at):
			r.names()
			continue
		case strings.HasPrefix(line, "diff --git "):
			r.byGit, r.begun = append(r.byGit, true), true
			line = withPrefixes(line)
		case strings.HasPrefix(line, "GIT binary patch"), strings.HasPrefix(line, "Binary files "):
			return errors.New("the patch changes a binary file, which this tool cannot")
		case len(r.byGit) > 0 && line != "" && strings.ContainsRune("+- ", rune(line[0])) && strings.TrimSpace(line) != "--" && !fence(line):
			return fmt.Errorf("line %d of the patch, %q, belongs to no hunk: a hunk begins with a line @@", r.at+1, clipped(line))
		}
		if !fence(line) {
			r.out.WriteString(line + "\n")
		}
		r.at++
	}
	return nil
}

// header says whether the two lines that name a file begin at line i.
func (r *diffRepair) header(i int) bool {
	return i+1 < len(r.lines) && strings.HasPrefix(r.lines[i], "--- ") && strings.HasPrefix(r.lines[i+1], "+++ ")
}

// names copies the two lines. In a header of git's, gitdiff takes the first
// folder for a prefix; where the model left the prefix out, it gets one.
func (r *diffRepair) names() {
	for i, prefix := range []string{"a/", "b/"} {
		mark, name := r.lines[r.at+i][:4], r.lines[r.at+i][4:]
		if r.begun && !strings.HasPrefix(name, `"`) && !strings.HasPrefix(name, "/dev/null") && withoutPrefix(name) == name {
			name = prefix + name
		}
		r.out.WriteString(mark + name + "\n")
	}
	if !r.begun {
		r.byGit = append(r.byGit, false)
	}
	r.begun = false
	r.at += 2
}

// withPrefixes puts them into the first line of git's header.
func withPrefixes(line string) string {
	const start = "diff --git "
	names := strings.Fields(line[len(start):])
	if len(names) != 2 || strings.HasPrefix(names[0], `"`) || withoutPrefix(names[0]) != names[0] {
		return line
	}
	return start + "a/" + names[0] + " b/" + names[1]
}

// hunk copies a hunk. If its counts lead to where something new begins, they
// are right; else it goes on for as long as its lines look like it.
func (r *diffRepair) hunk() error {
	h := &hunk{}
	h.header(r.lines[r.at])
	first := r.at + 1
	end := r.counted(first)
	if end < 0 {
		end = first
		for end < len(r.lines) && r.inside(end) {
			end++
		}
		for end > first && r.lines[end-1] == "" { // these only separate
			end--
		}
	}
	body := r.lines[first:end]
	old, fresh := 0, 0
	for _, line := range body {
		switch {
		case line == "" || line[0] == ' ':
			old++
			fresh++
		case line[0] == '-':
			old++
		case line[0] == '+':
			fresh++
		}
	}
	if old+fresh == 0 {
		return fmt.Errorf("line %d of the patch: a hunk without lines", r.at+1)
	}
	fmt.Fprintf(&r.out, "@@ -1,%d +1,%d @@\n", old, fresh)
	for _, line := range body {
		r.out.WriteString(line + "\n")
	}
	r.hunks = append(r.hunks, h)
	r.at = end
	return nil
}

// inside says whether line i can belong to the hunk above it.
func (r *diffRepair) inside(i int) bool {
	line := r.lines[i]
	if line == "" {
		return true
	}
	if r.header(i) && (i+2 >= len(r.lines) || strings.HasPrefix(r.lines[i+2], "@@")) {
		return false
	}
	return strings.ContainsRune(" +-", rune(line[0])) || strings.HasPrefix(line, `\ `)
}

// counted gives the line after a hunk whose header counts right; -1 if it does
// not.
func (r *diffRepair) counted(first int) int {
	old, fresh, ok := hunkCounts(r.lines[first-1])
	if !ok {
		return -1
	}
	i := first
	for ; i < len(r.lines) && (old > 0 || fresh > 0); i++ {
		line := r.lines[i]
		switch {
		case line == "" || line[0] == ' ':
			old--
			fresh--
		case line[0] == '-':
			old--
		case line[0] == '+':
			fresh--
		case !strings.HasPrefix(line, `\ `):
			return -1
		}
	}
	if i < len(r.lines) && strings.HasPrefix(r.lines[i], `\ `) {
		i++
	}
	if old != 0 || fresh != 0 || i < len(r.lines) && r.lines[i] != "" && !r.header(i) && r.lines[i] != "-- " && r.inside(i) {
		return -1
	}
	return i
}

// fence says whether a line is the mark of a code block in Markdown.
func fence(line string) bool { return strings.HasPrefix(line, "```") }

// hunkCounts reads the counts of old and new lines from a hunk's header.
func hunkCounts(line string) (old, fresh int, ok bool) {
	m := hunkNumbers.FindStringSubmatch(line)
	if m == nil {
		return 0, 0, false
	}
	counts := [2]int{1, 1}
	for i, text := range []string{m[2], m[4]} {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, 0, false
		}
		counts[i] = n
	}
	return counts[0], counts[1], true
}
