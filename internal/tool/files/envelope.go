// The patch format that begins with "*** Begin Patch": files are named by
// lines with stars, and hunks have no line numbers but lines of context.

package files

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	envelopeBegin  = "*** Begin Patch"
	envelopeEnd    = "*** End Patch"
	envelopeAdd    = "*** Add File: "
	envelopeUpdate = "*** Update File: "
	envelopeDelete = "*** Delete File: "
	envelopeMove   = "*** Move to: "
	envelopeEOF    = "*** End of File"
)

// filePatch is what a patch does to one file.
type filePatch struct {
	verb  patchVerb
	path  string
	to    string // where it is moved or copied to
	text  string // of a file that is added
	hunks []*hunk
	exec  execBit

	prefixed bool // path may begin with a/ or b/, as in diffs
}

type patchVerb int

const (
	patchUpdate patchVerb = iota
	patchAdd
	patchDelete
	patchCopy
)

func isEnvelope(patch string) bool { return envelopeStart(strings.Split(patch, "\n")) >= 0 }

func envelopeStart(lines []string) int {
	for i, line := range lines {
		if strings.TrimSpace(line) == envelopeBegin {
			return i
		}
	}
	return -1
}

// parseEnvelope reads the lines between begin and end. What stands around
// them, such as the shell command that models are used to write, is left out.
func parseEnvelope(patch string) ([]*filePatch, error) {
	lines := strings.Split(patch, "\n")
	p := &envelopeParser{lines: lines, at: envelopeStart(lines) + 1}
	var files []*filePatch
	for {
		line, ok := p.peek()
		if !ok {
			return nil, fmt.Errorf("the patch has no line %q: was it cut off?", envelopeEnd)
		}
		p.at++
		switch {
		case strings.TrimSpace(line) == envelopeEnd:
			if len(files) == 0 {
				return nil, errors.New("the patch is empty")
			}
			if extra := p.leftover(); extra != "" {
				return nil, fmt.Errorf("after %q comes %q: nothing may follow but the end", envelopeEnd, extra)
			}
			return files, nil
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, envelopeAdd):
			files = append(files, p.add(named(line, envelopeAdd)))
		case strings.HasPrefix(line, envelopeDelete):
			files = append(files, &filePatch{verb: patchDelete, path: named(line, envelopeDelete)})
		case strings.HasPrefix(line, envelopeUpdate):
			file, err := p.update(named(line, envelopeUpdate))
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		default:
			return nil, p.unexpected(p.at-1, "a line such as \"*** Update File: name\" must come here, and each line of an added file begins with +")
		}
	}
}

func named(line, prefix string) string { return strings.TrimSpace(line[len(prefix):]) }

type envelopeParser struct {
	lines []string
	at    int
}

func (p *envelopeParser) peek() (string, bool) {
	if p.at >= len(p.lines) {
		return "", false
	}
	return p.lines[p.at], true
}

func (p *envelopeParser) unexpected(i int, what string) error {
	line, _ := shorten([]byte(p.lines[i]), closestRunes)
	return fmt.Errorf("line %d of the patch, %q: %s", i+1, line, what)
}

// leftover returns what follows the end and is not the end of whatever the
// patch was wrapped into.
func (p *envelopeParser) leftover() string {
	for ; p.at < len(p.lines); p.at++ {
		switch line := strings.TrimSpace(p.lines[p.at]); line {
		case "", "EOF", "PATCH", "```", "'", `"`:
		default:
			short, _ := shorten([]byte(line), closestRunes)
			return short
		}
	}
	return ""
}

func (p *envelopeParser) add(name string) *filePatch {
	var b strings.Builder
	for ; p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "+"); p.at++ {
		b.WriteString(p.lines[p.at][1:] + "\n")
	}
	return &filePatch{verb: patchAdd, path: name, text: b.String()}
}

func (p *envelopeParser) update(name string) (*filePatch, error) {
	file := &filePatch{path: name}
	if line, ok := p.peek(); ok && strings.HasPrefix(line, envelopeMove) {
		file.to = named(line, envelopeMove)
		p.at++
	}
	h := &hunk{}
	begin := p.at
	finish := func() error {
		switch changes, err := h.settle(); {
		case err != nil:
			return p.unexpected(begin, err.Error())
		case changes:
			file.hunks = append(file.hunks, h)
			h = &hunk{}
		}
		return nil
	}
	for ; p.at < len(p.lines); p.at++ {
		line := p.lines[p.at]
		switch {
		case strings.TrimSpace(line) == envelopeEOF:
			h.atEnd = true
		case strings.HasPrefix(line, "@@"):
			if err := finish(); err != nil {
				return nil, err
			}
			begin = p.at
			h.header(line)
		case strings.HasPrefix(line, "*** "):
			if err := finish(); err != nil {
				return nil, err
			}
			if len(h.anchors) > 0 {
				return nil, p.unexpected(begin, "a hunk without any line that begins with + or -")
			}
			if len(file.hunks) == 0 && file.to == "" {
				return nil, fmt.Errorf("the patch says nothing about what to update in %s", shown(name))
			}
			return file, nil
		default:
			if !h.add(line) {
				return nil, p.unexpected(p.at, "lines of a hunk begin with a blank (context), + or -")
			}
		}
	}
	return nil, fmt.Errorf("the patch has no line %q: was it cut off?", envelopeEnd)
}

// add takes a line of the patch into the hunk, if it is one.
func (h *hunk) add(line string) bool {
	switch {
	case line == "":
		h.lines = append(h.lines, hunkLine{' ', ""})
	case strings.ContainsRune(" +-", rune(line[0])):
		h.lines = append(h.lines, hunkLine{line[0], line[1:]})
	default:
		return false
	}
	return true
}

// settle ends a hunk, and says whether it changes anything. Empty lines at
// its end only separate it from what follows.
func (h *hunk) settle() (changes bool, err error) {
	for n := len(h.lines); n > 0 && h.lines[n-1] == (hunkLine{' ', ""}); n-- {
		h.lines = h.lines[:n-1]
	}
	if len(h.lines) == 0 {
		return false, nil
	}
	for _, l := range h.lines {
		if l.op != ' ' {
			return true, nil
		}
	}
	return false, errors.New("a hunk without any line that begins with + or -")
}

var hunkNumbers = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// header reads a line that begins with @@: line numbers, or a line that stands
// above the hunk.
func (h *hunk) header(line string) {
	if m := hunkNumbers.FindStringSubmatch(line); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil { // too large a number says as little as none
			return
		}
		h.line, h.after = n, m[2] == "0"
		return
	}
	anchor := strings.TrimPrefix(line, "@@")
	anchor = strings.TrimSuffix(strings.TrimPrefix(anchor, " "), " @@")
	if trimmed := strings.TrimSpace(anchor); trimmed != "" && trimmed != "@@" && trimmed != "..." {
		h.anchors = append(h.anchors, anchor)
	}
}
