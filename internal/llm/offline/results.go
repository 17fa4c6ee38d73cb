// Results: what the tools answered, read back from text. Lines that have no
// known form are skipped: notes of the tools, or forms that came later.

package offline

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

var (
	grepLine   = regexp.MustCompile(`^(.+?):(\d+): ?(.*)$`)
	readLine   = regexp.MustCompile(`^\s*(\d+)\t(.*)$`)
	shownLines = regexp.MustCompile(`\[lines \d+-\d+ of (\d+) shown`)
	andMore    = regexp.MustCompile(`^\[and (?:at least )?(\d+) more`)
	sizeOf     = regexp.MustCompile(`^(.*) \(([^()]*)\)$`)
)

// hit is a line that Grep found.
type hit struct {
	path string
	line int
	text string
}

// hits reads an answer of Grep; more says that it was cut short.
func hits(result string) (found []hit, more bool) {
	for line := range strings.Lines(result) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "[stopped at") {
			more = true
		} else if m := grepLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[2])
			found = append(found, hit{m[1], n, m[3]})
		}
	}
	return found, more
}

// foundPaths reads an answer of Glob; more counts those it left out.
func foundPaths(result string) (paths []string, more int) {
	for line := range strings.Lines(result) {
		line = strings.TrimSpace(line)
		switch m := andMore.FindStringSubmatch(line); {
		case m != nil:
			more, _ = strconv.Atoi(m[1])
		case line == "" || strings.HasPrefix(line, "[") || strings.HasPrefix(line, "No file matches"):
		default:
			paths = append(paths, line)
		}
	}
	return paths, more
}

// listing is an answer of LS.
type listing struct {
	folders, files []string // names
	sizes          map[string]string
	more           int
}

func entriesOf(result string) listing {
	l := listing{sizes: map[string]string{}}
	for line := range strings.Lines(result) {
		line = strings.TrimRight(line, "\n")
		if m := andMore.FindStringSubmatch(line); m != nil {
			l.more, _ = strconv.Atoi(m[1])
			continue
		}
		if line == "" || strings.HasPrefix(line, "[") || strings.HasSuffix(line, "is an empty folder.") {
			continue
		}
		if name, ok := strings.CutSuffix(line, "/"); ok {
			l.folders = append(l.folders, name)
			continue
		}
		name, _, _ := strings.Cut(line, " -> ")
		if m := sizeOf.FindStringSubmatch(name); m != nil {
			name = m[1]
			l.sizes[name] = m[2]
		}
		l.files = append(l.files, name)
	}
	return l
}

// excerpt is an answer of Read.
type excerpt struct {
	first int // the number of the first line
	lines []string
	total int // of the file, as far as it is known
}

func linesOf(result string) excerpt {
	e := excerpt{first: 1}
	for line := range strings.Lines(result) {
		line = strings.TrimRight(line, "\n")
		if m := readLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[1])
			if len(e.lines) == 0 {
				e.first = n
			}
			e.lines = append(e.lines, m[2])
		} else if m := shownLines.FindStringSubmatch(line); m != nil {
			e.total, _ = strconv.Atoi(m[1])
		}
	}
	e.total = max(e.total, e.first+len(e.lines)-1)
	return e
}

// languages by the extension of a file.
var languages = map[string]string{
	".go": "Go", ".py": "Python", ".js": "JavaScript", ".jsx": "JavaScript", ".mjs": "JavaScript",
	".ts": "TypeScript", ".tsx": "TypeScript", ".rs": "Rust", ".java": "Java", ".kt": "Kotlin",
	".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".cs": "C#", ".rb": "Ruby",
	".php": "PHP", ".swift": "Swift", ".sh": "Shell", ".sql": "SQL", ".md": "Markdown", ".txt": "text",
	".yaml": "YAML", ".yml": "YAML", ".json": "JSON", ".toml": "TOML", ".html": "HTML", ".css": "CSS",
	".proto": "Protocol Buffers", ".mod": "Go module", ".sum": "checksums", ".xml": "XML", ".csv": "CSV",
	".lua": "Lua", ".ex": "Elixir", ".exs": "Elixir", ".scala": "Scala", ".vue": "Vue", ".svelte": "Svelte",
}

// languageOf names the language of a file, "" if its name does not tell.
func languageOf(file string) string { return languages[strings.ToLower(path.Ext(file))] }

// fence is what a block of the file's code is marked with.
func fence(file string) string { return strings.TrimPrefix(strings.ToLower(path.Ext(file)), ".") }

// isTest recognises files of tests by their names.
func isTest(file string) bool {
	base := path.Base(file)
	return strings.Contains(base, "_test.") || strings.Contains(base, ".test.") ||
		strings.Contains(base, ".spec.") || strings.HasPrefix(base, "test_")
}
