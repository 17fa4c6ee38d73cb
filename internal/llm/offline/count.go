// Counting: files, lines, declarations, occurrences.

package offline

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var (
	howMany     = regexp.MustCompile(`(?i)\bhow (?:many|often|long|big|large)\b|^(?:the )?number of\b`)
	countsLines = regexp.MustCompile(`(?i)\blines?\b|\bhow (?:long|big|large)\b`)
	countsFiles = regexp.MustCompile(`(?i)\bfiles?\b`)
	countsDirs  = regexp.MustCompile(`(?i)\b(?:folders?|director(?:y|ies))\b`)
	countsTests = regexp.MustCompile(`(?i)\btests?\b`)
	countsFuncs = regexp.MustCompile(`(?i)\b(?:functions?|methods?|funcs?)\b`)
	countsTypes = regexp.MustCompile(`(?i)\b(?:types?|classes|structs?|interfaces?)\b`)
)

var countRule = rule{
	name: "count",
	fits: func(q query) bool { return verbs[q.verb] == asksCount || howMany.MatchString(q.text) },
	next: func(t *task) step {
		switch {
		case countsLines.MatchString(t.text) && len(t.quoted)+len(t.idents) == 0:
			return countLines(t)
		case countsFiles.MatchString(t.text) && len(t.quoted)+len(t.idents) == 0:
			return countFiles(t)
		case countsDirs.MatchString(t.text):
			return countFolders(t)
		}
		return countMatches(t)
	},
}

// countReads bounds the files whose lines are counted.
const countReads = 25

// countLines reads one line of each file: the tool says how many there are.
func countLines(t *task) step {
	if reads := t.of(toolRead); len(reads) > 0 {
		return answer(countedLines(t, reads))
	}
	var files []string
	for _, p := range t.paths {
		if !strings.ContainsAny(p, "*{[") && (path.Ext(p) != "" || knownFile.MatchString(path.Base(p))) {
			files = append(files, p)
		}
	}
	if len(files) == 0 {
		globs := t.of(toolGlob)
		if len(globs) == 0 {
			return use(toolGlob, filesOf(t))
		}
		if globs[0].failed {
			return answer("The files could not be listed: " + firstLine(globs[0].result))
		}
		files, _ = foundPaths(globs[0].result)
		if len(files) == 0 {
			return answer(listedFiles(globs[0]))
		}
	}
	st := step{}
	for _, f := range files[:min(len(files), countReads)] {
		st = st.and(toolRead, map[string]any{"path": f, "limit": 1})
	}
	return st
}

// filesOf is the input of Glob for the files a request speaks of, all by
// default.
func filesOf(t *task) map[string]any {
	glob := globOf(t.query)
	if glob == "" {
		glob = "**/*"
	}
	return globInput(glob, t.place())
}

func countedLines(t *task, reads []observation) string {
	total, counted := 0, 0
	var rows, failed []string
	for _, o := range reads {
		file, _ := o.input["path"].(string)
		if o.failed {
			failed = append(failed, fmt.Sprintf("- `%s` was not counted: %s", file, firstLine(o.result)))
			continue
		}
		n := linesOf(o.result).total
		total += n
		counted++
		rows = append(rows, fmt.Sprintf("- `%s`: %d", file, n))
	}
	if counted == 0 {
		return "No lines could be counted:\n\n" + strings.Join(failed, "\n")
	}
	text := fmt.Sprintf("%s in %s.", capital(plural(total, "line")), plural(counted, "file"))
	if globs := t.of(toolGlob); len(globs) > 0 {
		paths, more := foundPaths(globs[0].result)
		if left := len(paths) + more - len(reads); left > 0 {
			text = fmt.Sprintf("%s in the %d newest files; %d more were not counted.", capital(plural(total, "line")), counted, left)
		}
	}
	if len(rows) > 1 || len(failed) > 0 {
		text += "\n\n" + strings.Join(append(rows, failed...), "\n")
	} else if len(rows) == 1 {
		file, _ := reads[0].input["path"].(string)
		text = fmt.Sprintf("`%s` has %s.", file, plural(total, "line"))
	}
	return text
}

func countFiles(t *task) step {
	globs := t.of(toolGlob)
	if len(globs) == 0 {
		return use(toolGlob, filesOf(t))
	}
	if globs[0].failed {
		return answer("The files could not be listed: " + firstLine(globs[0].result))
	}
	paths, more := foundPaths(globs[0].result)
	where := "here"
	if dir, ok := globs[0].input["path"].(string); ok {
		where = "in `" + dir + "`"
	}
	text := fmt.Sprintf("There are %s %s that match `%v`, folders below included, ignored files left out.",
		plural(len(paths)+more, "file"), where, globs[0].input["pattern"])
	if len(paths)+more == 1 {
		text = strings.Replace(strings.Replace(text, "There are", "There is", 1), "match", "matches", 1)
	}
	return answer(text)
}

func countFolders(t *task) step {
	entries := t.of(toolLS)
	if len(entries) == 0 {
		dir := t.place()
		if dir == "" {
			dir = "."
		}
		return use(toolLS, map[string]any{"path": dir})
	}
	return answer(listedEntries(entries[0], true))
}

// maxMatches is as many as Grep gives.
const maxMatches = 1000

func countMatches(t *task) step {
	greps := t.of(toolGrep)
	if len(greps) == 0 {
		what, _ := counted(t.query)
		if what == "" {
			return unknownRule.next(t)
		}
		in := map[string]any{"pattern": what, "max": maxMatches}
		if len(t.paths) > 0 {
			in["path"] = t.paths[0]
		}
		return use(toolGrep, in)
	}
	if greps[0].failed {
		return answer("The search failed: " + firstLine(greps[0].result))
	}
	_, name := counted(t.query)
	found, more := hits(greps[0].result)
	perFile := map[string]int{}
	var files []string
	for _, h := range found {
		if perFile[h.path] == 0 {
			files = append(files, h.path)
		}
		perFile[h.path]++
	}
	least := ""
	if more {
		least = "at least "
	}
	text := fmt.Sprintf("%s: %s%s in %s.", capital(name), least, plural(len(found), "line"), plural(len(files), "file"))
	var rows []string
	for i, f := range files {
		if i == 15 {
			rows = append(rows, fmt.Sprintf("- and %d more files", len(files)-i))
			break
		}
		rows = append(rows, fmt.Sprintf("- `%s`: %d", f, perFile[f]))
	}
	if len(rows) > 0 {
		text += "\n\n" + strings.Join(rows, "\n")
	}
	return answer(text)
}

// counted gives the pattern of what is to be counted, and its name.
func counted(q query) (expr, name string) {
	switch {
	case len(q.quoted)+len(q.idents) > 0:
		return pattern(q.terms(), true), shownTerms(q.terms())
	case countsTests.MatchString(q.text):
		return `^\s*(?:func Test\w*\(|(?:it|test)\(|(?:async )?def test_|#\[test\])`, "tests, by the form of their declaration"
	case countsFuncs.MatchString(q.text):
		return `^\s*(?:func |def |async def |fn |pub fn |function |export function |async function )`, "functions, by the form of their declaration"
	case countsTypes.MatchString(q.text):
		return `^\s*(?:type \w+ |class |struct |interface |enum |pub struct |pub enum |export (?:class|interface|type) )`, "types, by the form of their declaration"
	case len(q.words) > 0:
		return "(?i)" + pattern(q.words, false), shownTerms(q.words)
	}
	return "", ""
}
