// Summarising: a file by its form, a folder by its files, the project by its
// top folder.

package offline

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var aboutProject = regexp.MustCompile(`(?i)\b(?:project|repo(?:sitory)?|code ?base|code|architecture|this folder|workspace|everything)\b`)

var summariseRule = rule{
	name: "summarise",
	fits: func(q query) bool {
		named := len(q.idents)+len(q.quoted) > 0
		if len(q.paths) > 0 {
			switch {
			case named:
				return false
			case verbs[q.verb] == asksSummary, q.verb == "", q.verb == "show":
				return true
			}
			return verbs[q.verb] == asksFind && len(q.words) == 0
		}
		if named || len(q.words) > 1 {
			return false
		}
		return (verbs[q.verb] == asksSummary || verbs[q.verb] == asksFind) && aboutProject.MatchString(q.text)
	},
	next: func(t *task) step {
		targets := t.paths
		if len(targets) == 0 {
			targets = []string{"."}
		}
		var st step
		var texts []string
		for _, p := range targets[:min(len(targets), 4)] {
			text, need := t.look(p, 0)
			st.calls = append(st.calls, need.calls...)
			texts = append(texts, text)
		}
		if len(st.calls) > 0 {
			return st
		}
		return answer(strings.Join(texts, "\n\n"))
	},
}

// folderReads bounds the files of a folder that are looked into.
const folderReads = 5

// folderLines is how much of each is read.
const folderLines = 60

// look gives an account of the file or folder p, or the calls it still needs
// for one. hops counts how often p was corrected.
func (t *task) look(p string, hops int) (string, step) {
	read, wasRead := t.made(toolRead, p)
	listed, wasListed := t.made(toolLS, p)
	isFile := path.Ext(p) != "" && p != "." || knownFile.MatchString(path.Base(p))
	switch {
	case wasRead && !read.failed:
		return t.lookFile(p, read), step{}
	case wasListed && !listed.failed:
		return t.lookFolder(p, listed)
	case isFile && !wasRead:
		return "", use(toolRead, map[string]any{"path": p})
	case !isFile && !wasListed:
		return "", use(toolLS, map[string]any{"path": p})
	case wasRead && !wasListed && strings.Contains(read.result, "is a folder"):
		return "", use(toolLS, map[string]any{"path": p})
	case wasListed && !wasRead && strings.Contains(listed.result, "not a folder"):
		return "", use(toolRead, map[string]any{"path": p})
	}
	why := listed.result
	if wasRead {
		why = read.result
	}
	return t.lookElsewhere(p, why, hops)
}

// lookElsewhere searches for a file or folder that is not where it was said to
// be.
func (t *task) lookElsewhere(p, why string, hops int) (string, step) {
	missing := fmt.Sprintf("`%s` could not be read: %s", p, firstLine(why))
	glob := "**/" + path.Base(p)
	found, searched := t.glob(glob)
	switch {
	case hops > 0 || !t.offers(toolGlob):
		return missing, step{}
	case !searched:
		return "", use(toolGlob, map[string]any{"pattern": glob})
	}
	if paths, _ := foundPaths(found.result); len(paths) > 0 && !found.failed {
		text, need := t.look(paths[0], hops+1)
		if len(need.calls) == 0 && len(paths) > 1 {
			text += "\n\nOther files of that name: " + codeList(paths[1:], 5)
		}
		return text, need
	}
	return missing, step{}
}

// made returns the call of a tool for path p, if it was made.
func (t *task) made(tool, p string) (observation, bool) {
	for _, o := range t.of(tool) {
		if o.input["path"] == p {
			return o, true
		}
	}
	return observation{}, false
}

// glob returns the call of Glob for a pattern, if it was made.
func (t *task) glob(pattern string) (observation, bool) {
	for _, o := range t.of(toolGlob) {
		if o.input["pattern"] == pattern {
			return o, true
		}
	}
	return observation{}, false
}

func (t *task) lookFile(p string, o observation) string {
	e := linesOf(o.result)
	if len(e.lines) == 0 {
		return fmt.Sprintf("**%s**: %s", p, firstLine(o.result))
	}
	d := digestOf(p, e)
	text := d.text()
	if d.lead == "" && len(d.heads) == 0 {
		text += fmt.Sprintf(" It begins:\n\n```%s\n%s\n```", fence(p), strings.Join(e.lines[:min(len(e.lines), 12)], "\n"))
	}
	return text
}

// lookFolder gives an account of a folder once its key files were read.
func (t *task) lookFolder(p string, o observation) (string, step) {
	l := entriesOf(o.result)
	var need step
	var rows []string
	for _, name := range keyFiles(l, folderReads) {
		file := path.Join(p, name)
		read, ok := t.made(toolRead, file)
		if !ok && t.offers(toolRead) {
			need = need.and(toolRead, map[string]any{"path": file, "limit": folderLines})
			continue
		}
		if ok && !read.failed {
			rows = append(rows, "- "+digestOf(file, linesOf(read.result)).line())
		}
	}
	if len(need.calls) > 0 {
		return "", need
	}
	text := listedEntries(o, false)
	if len(rows) > 0 {
		text += "\n\nThe files that say most about it:\n\n" + strings.Join(rows, "\n")
	}
	return text, step{}
}
