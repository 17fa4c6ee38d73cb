// Each file: an action for every file of a kind, found by Glob and given to a
// sub-agent each.

package offline

import (
	"fmt"
	"regexp"
	"strings"
)

var eachFile = regexp.MustCompile(`(?i)(?:\bfor )?\b(?:each|every|all)\b(?: of)?(?: the)?(?: ([\w+#.*-]+))? files?\b(?: (?:in|under|of|inside|from|below) (?:the )?([\w./-]*[\w/]))?`)

var eachRule = rule{
	name: "each file",
	fits: func(q query) bool {
		if !eachFile.MatchString(q.text) {
			return false
		}
		action := leadingVerb(actionOf(q.text))
		return verbs[action] == asksSummary || action == "explain" ||
			strings.HasPrefix(q.lower, "for ") && verbs[action] == asksCount
	},
	next: each,
}

// maxEach bounds the files that are worked on.
const maxEach = 20

// actionOf is what is to be done with each file.
func actionOf(text string) string {
	loc := eachFile.FindStringIndex(text)
	action := strings.TrimSpace(text[:loc[0]])
	if action == "" {
		action = strings.TrimLeft(text[loc[1]:], " ,:")
	}
	return strings.TrimSpace(action)
}

func each(t *task) step {
	globs := t.of(toolGlob)
	if len(globs) == 0 {
		m := eachFile.FindStringSubmatch(t.text)
		glob := "**/*"
		if kind, ok := kinds[strings.ToLower(m[1])]; ok {
			glob = "**/" + kind
		} else if strings.Contains(m[1], "*") {
			glob = "**/" + m[1]
		}
		return use(toolGlob, globInput(glob, strings.TrimSuffix(m[2], "/")))
	}
	files, more := foundPaths(globs[0].result)
	if globs[0].failed || len(files) == 0 {
		return answer(listedFiles(globs[0]))
	}
	left := len(files) + more - min(len(files), maxEach)
	files = files[:min(len(files), maxEach)]
	action := actionOf(t.text)
	var parts []string
	for _, f := range files {
		parts = append(parts, apply(action, f))
	}
	note := ""
	if left > 0 {
		note = fmt.Sprintf("\n\n%d more files match; I took the newest %d.", left, len(files))
	}
	if spawned := t.of(toolSpawn); len(spawned) > 0 && !spawned[0].failed {
		return answer(mergeSpawned(spawned[0].result) + note)
	} else if len(spawned) == 0 && len(files) > 1 && t.offers(toolSpawn) {
		return spawn(t.situation, parts)
	}
	return t.eachMyself(files, note)
}

// eachMyself looks at the files without help, more briefly.
func (t *task) eachMyself(files []string, note string) step {
	var need step
	var rows []string
	for _, f := range files {
		o, ok := t.made(toolRead, f)
		switch {
		case !ok:
			need = need.and(toolRead, map[string]any{"path": f, "limit": folderLines})
		case o.failed:
			rows = append(rows, fmt.Sprintf("- `%s` could not be read: %s", f, firstLine(o.result)))
		default:
			rows = append(rows, "- "+digestOf(f, linesOf(o.result)).line())
		}
	}
	if len(need.calls) > 0 {
		return need
	}
	return answer(strings.Join(rows, "\n") + note)
}
