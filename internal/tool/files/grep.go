// The Grep tool: lines of files that match a regular expression.

package files

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed grep.md
var grepDescription string

const grepSchema = `{"type":"object","properties":{"pattern":{"type":"string","minLength":1,"maxLength":1000},"path":{"type":"string"},"glob":{"type":"string"},"ignore_case":{"type":"boolean","deprecated":true},"context":{"type":"integer","minimum":0,"maximum":5},"max":{"type":"integer","minimum":1,"maximum":1000}},"required":["pattern"],"additionalProperties":false}`

const (
	grepMatches   = 100     // shown unless max says otherwise
	grepLineRunes = 300     // shown of a line
	grepLineBytes = 1 << 20 // searched of a line
)

type grepInput struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
	Context    count  `json:"context"`
	Max        count  `json:"max"`
}

func grepTool() tool.Tool {
	return tool.Tool{
		Name:        "Grep",
		Description: strings.TrimSpace(grepDescription),
		Schema:      json.RawMessage(grepSchema),
		Class:       tool.Reads,
		Plan:        planGrep,
		Run:         runGrep,
	}
}

func planGrep(_ context.Context, env tool.Env, input json.RawMessage) (tool.Action, error) {
	return planReading(env, input, func(f *folder, in grepInput) (string, string, error) {
		name, err := f.name(orHere(in.Path))
		return name, fmt.Sprintf("Search for %q in %s", in.Pattern, shown(name)), err
	})
}

func runGrep(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
	in, err := decode[grepInput](input)
	if err != nil {
		return tool.Result{}, err
	}
	f, err := openFolder(env)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.close()
	return grep(ctx, &walker{f: f, limit: walkEntries}, in)
}

func grep(ctx context.Context, w *walker, in grepInput) (tool.Result, error) {
	m, err := newMatcher(in.Pattern, in.IgnoreCase)
	if err != nil {
		return tool.Result{}, err
	}
	wanted, err := filter(in.Glob)
	if err != nil {
		return tool.Result{}, err
	}
	start, info, err := w.f.locate(orHere(in.Path))
	if err != nil {
		return tool.Result{}, err
	}
	s := &search{
		matcher: m, context: int(in.Context), max: in.Max.or(grepMatches),
		text: newLines(grepLineBytes), mayRead: w.f.mayRead,
	}
	if info.IsDir() {
		err = w.walk(ctx, start, func(name string, link bool) error {
			if link || !wanted(relative(start, name)) {
				return nil
			}
			file, _, err := w.f.open(name)
			if err != nil {
				s.unreadable++
				return nil
			}
			return s.file(ctx, name, file)
		})
	} else {
		file, _, openErr := w.f.open(start)
		if openErr != nil {
			return tool.Result{}, w.f.explain(start, openErr)
		}
		err = s.file(ctx, start, file)
	}
	if err != nil && !errors.Is(err, fs.SkipAll) {
		return tool.Result{}, fmt.Errorf("searching for %q: %w", in.Pattern, err)
	}
	return tool.Text(s.answer(in) + w.note()), nil
}

// search collects what one Grep finds.
type search struct {
	matcher *matcher
	context int
	max     int
	text    *lines

	out        strings.Builder
	matches    int
	searched   int // files
	binary     int // files left out
	unreadable int // files left out
	cut        int // lines searched in part
	withheld   int // files with matches that may not be shown

	mayRead func(name string) bool
}

type numberedLine struct {
	n    int
	text string
}

// file searches one file and closes it. It returns fs.SkipAll once the answer
// is full.
func (s *search) file(ctx context.Context, name string, file io.ReadCloser) error {
	defer func() { _ = file.Close() }()
	s.text.reset(ctx, file)
	head, err := s.text.head()
	if err == nil && isBinary(head) {
		s.binary++
		return nil
	}
	if err == nil {
		s.text.skipBOM()
		s.searched++
		if s.hopeless() {
			return nil
		}
		err = s.lines(ctx, name)
	}
	switch {
	case err == nil, errors.Is(err, fs.SkipAll):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	s.unreadable++
	return nil
}

// hopeless says that the text cannot contain a match. It only looks at texts
// that fit the buffer, which most do: that spares them the slow way by lines.
func (s *search) hopeless() bool {
	whole, err := s.text.r.Peek(s.text.r.Size())
	return errors.Is(err, io.EOF) && !bytes.Contains(whole, s.matcher.needle)
}

func (s *search) lines(ctx context.Context, path string) error {
	name := shown(path)
	var before []numberedLine // context that a match may still need
	after := 0                // context that the last match still needs
	last := 0                 // the line last shown
	for n := 1; ; n++ {
		line, cut, err := s.text.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if cut > 0 {
			s.cut++
		}
		if bytes.IndexByte(line, 0) >= 0 { // binary after all, further down
			s.binary++
			break
		}
		var at []int
		if s.matches < s.max {
			if at, err = s.matcher.find(ctx, line); err != nil {
				return err
			}
		}
		switch {
		case at != nil && last == 0 && !s.mayRead(path):
			s.withheld++
			return nil
		case at != nil:
			first := n - len(before)
			if s.context > 0 && s.out.Len() > 0 && (last == 0 || first > last+1) {
				s.out.WriteString("--\n")
			}
			for _, b := range before {
				fmt.Fprintf(&s.out, "%s-%d- %s\n", name, b.n, b.text)
			}
			before = before[:0]
			fmt.Fprintf(&s.out, "%s:%d: %s\n", name, n, excerpt(line, at[0], grepLineRunes))
			s.matches++
			after, last = s.context, n
		case after > 0:
			fmt.Fprintf(&s.out, "%s-%d- %s\n", name, n, excerpt(line, 0, grepLineRunes))
			after--
			last = n
		case s.context > 0:
			if len(before) == s.context {
				before = before[1:]
			}
			before = append(before, numberedLine{n, excerpt(line, 0, grepLineRunes)})
		}
		if s.full() && after == 0 {
			return fs.SkipAll
		}
	}
	if s.full() {
		return fs.SkipAll
	}
	return nil
}

func (s *search) full() bool { return s.matches >= s.max || s.out.Len() > maxOutput }

// answer words the outcome: what was found, or why probably nothing was.
func (s *search) answer(in grepInput) string {
	switch {
	case s.matches >= s.max:
		fmt.Fprintf(&s.out, "[stopped at %d matches; there may be more]\n", s.matches)
	case s.out.Len() > maxOutput:
		fmt.Fprintf(&s.out, "[stopped at %d matches, as one answer holds about %s; there may be more]\n", s.matches, bytesText(maxOutput))
	case s.matches > 0:
	case s.searched == 0 && s.binary == 0 && s.unreadable == 0 && in.Glob != "":
		fmt.Fprintf(&s.out, "No file matches the glob %q, so nothing was searched.\n", in.Glob)
	default:
		fmt.Fprintf(&s.out, "No match in %d files.\n", s.searched)
	}
	if s.matches == 0 && s.binary > 0 {
		fmt.Fprintf(&s.out, "[binary files not searched: %d]\n", s.binary)
	}
	if s.unreadable > 0 {
		fmt.Fprintf(&s.out, "[files that could not be read: %d]\n", s.unreadable)
	}
	if s.withheld > 0 {
		fmt.Fprintf(&s.out, "[files with matches that are not shown, as reading them asks first or is denied: %d]\n", s.withheld)
	}
	if s.cut > 0 {
		fmt.Fprintf(&s.out, "[lines of which only the first MB was searched: %d]\n", s.cut)
	}
	return s.out.String()
}
