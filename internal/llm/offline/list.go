// Listing: the entries of a folder, or files of a kind.

package offline

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var (
	asksEntries = regexp.MustCompile(`(?i)^what(?:'s| is| are)(?: there)?(?: the files)? (?:in|inside|under)\b|^(?:which|what) (?:\S+ )?(?:files|folders|packages)\b`)
	findFiles   = regexp.MustCompile(`(?i)^(?:find|show|search)(?: me)?(?: for)? (?:all |every |the )?(?:\S+ )?files\b`)
	kindOfFiles = regexp.MustCompile(`(?i)\b([\w+#.*-]+)(?: source| code)? (?:files?|code)\b`)
)

var listRule = rule{
	name: "list",
	fits: func(q query) bool {
		if verbs[q.verb] == asksList || asksEntries.MatchString(q.text) || findFiles.MatchString(q.text) {
			return true
		}
		return q.verb == "show" && q.folder() != "" && len(q.idents)+len(q.quoted) == 0
	},
	next: list,
}

func list(t *task) step {
	if globs := t.of(toolGlob); len(globs) > 0 {
		return answer(listedFiles(globs[0]))
	}
	if entries := t.of(toolLS); len(entries) > 0 {
		return answer(listedEntries(entries[0], t.onlyFolders()))
	}
	dir := t.place()
	if glob := globOf(t.query); glob != "" {
		return use(toolGlob, globInput(glob, dir))
	}
	if dir == "" {
		dir = "."
	}
	return use(toolLS, map[string]any{"path": dir})
}

func globInput(glob, dir string) map[string]any {
	in := map[string]any{"pattern": glob}
	if dir != "" && dir != "." {
		in["path"] = dir
	}
	return in
}

// kinds of files by the words people use for them.
var kinds = map[string]string{
	"go": "*.go", "golang": "*.go", "python": "*.py", "py": "*.py", "javascript": "*.{js,jsx,mjs}", "js": "*.{js,jsx,mjs}",
	"typescript": "*.{ts,tsx}", "ts": "*.{ts,tsx}", "rust": "*.rs", "java": "*.java", "c": "*.{c,h}", "c++": "*.{cc,cpp,hpp}",
	"ruby": "*.rb", "markdown": "*.md", "md": "*.md", "yaml": "*.{yaml,yml}", "yml": "*.{yaml,yml}", "json": "*.json",
	"toml": "*.toml", "sql": "*.sql", "shell": "*.sh", "html": "*.html", "css": "*.css", "text": "*.txt", "xml": "*.xml",
	"test": "*{_test,.test,.spec}.*", "tests": "*{_test,.test,.spec}.*", "readme": "README*",
}

// globOf is the pattern of the files a request speaks of, "" if it speaks of
// none in particular.
func globOf(q query) string {
	for _, p := range q.paths {
		if strings.ContainsAny(p, "*{[") {
			if strings.Contains(p, "/") {
				return p
			}
			return "**/" + p
		}
	}
	if m := kindOfFiles.FindStringSubmatch(q.lower); m != nil {
		word := m[1]
		if glob, ok := kinds[word]; ok {
			return "**/" + glob
		}
		if ext, ok := strings.CutPrefix(word, "."); ok && ext != "" {
			return "**/*." + ext
		}
		if word == "all" {
			return "**/*"
		}
	}
	if strings.Contains(q.lower, "files named") || strings.Contains(q.lower, "files called") {
		if terms := q.terms(); len(terms) > 0 {
			return "**/*" + terms[0] + "*"
		}
		if len(q.paths) > 0 {
			return "**/" + path.Base(q.paths[0])
		}
	}
	return ""
}

// listLimit bounds the names shown.
const listLimit = 60

func listedFiles(o observation) string {
	glob, _ := o.input["pattern"].(string)
	where := ""
	if dir, ok := o.input["path"].(string); ok {
		where = " in " + dir
	}
	if o.failed {
		return "The files could not be listed: " + firstLine(o.result)
	}
	paths, more := foundPaths(o.result)
	if len(paths) == 0 {
		return fmt.Sprintf("No file matches `%s`%s.", glob, where)
	}
	total := len(paths) + more
	return fmt.Sprintf("%s matching `%s`%s, the newest first:\n\n%s", capital(plural(total, "file")), glob, where, bullets(paths, total))
}

// bullets lists names as code, and how many of total are left out.
func bullets(names []string, total int) string {
	var b strings.Builder
	for i, n := range names {
		if i == listLimit {
			break
		}
		b.WriteString("- `" + n + "`\n")
	}
	if rest := total - min(len(names), listLimit); rest > 0 {
		fmt.Fprintf(&b, "- and %d more\n", rest)
	}
	return strings.TrimRight(b.String(), "\n")
}

// onlyFolders reports whether a request is about folders and not about files.
func (q query) onlyFolders() bool {
	return countsDirs.MatchString(stripPlace.ReplaceAllString(q.text, "")) && !countsFiles.MatchString(q.text)
}

// stripPlace matches "in the docs folder", which names a place and does not
// ask for folders.
var stripPlace = regexp.MustCompile(`(?i)\b(?:in|under|inside|below|of)\s+(?:the|this|that)?\s*(?:\S+\s+)?(?:folder|directory)$`)

// listedEntries words an answer of LS.
func listedEntries(o observation, onlyFolders bool) string {
	dir, _ := o.input["path"].(string)
	if o.failed {
		return fmt.Sprintf("`%s` could not be listed: %s", dir, firstLine(o.result))
	}
	l := entriesOf(o.result)
	if len(l.folders)+len(l.files) == 0 {
		return fmt.Sprintf("`%s` is empty.", dir)
	}
	name := "`" + dir + "`"
	if dir == "." {
		name = "The working folder"
	}
	var names []string
	for _, f := range l.folders {
		names = append(names, f+"/")
	}
	if onlyFolders {
		return fmt.Sprintf("%s has %s:\n\n%s", name, plural(len(l.folders), "folder"), bullets(names, len(names)))
	}
	names = append(names, l.files...)
	return fmt.Sprintf("%s has %s and %s:\n\n%s", name, plural(len(l.folders), "folder"), plural(len(l.files), "file"),
		bullets(names, len(names)+l.more))
}
