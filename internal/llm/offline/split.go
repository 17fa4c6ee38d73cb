// Splitting: a compound request into parts that can be worked on apart. When
// in doubt it does not split: one agent with the whole request does less harm
// than two with half of it.

package offline

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	listItem  = regexp.MustCompile(`^\s*(?:\d{1,3}[.)]|[-*•])\s+(.+)$`)
	forEach   = regexp.MustCompile(`(?i)^for (?:each|every one) of (.+?)(?::|, (?:please )?)\s*(\D.+)$`)
	eachOf    = regexp.MustCompile(`(?i)^(.+?) (?:for|of|in) (?:each|all) of (?:the following:? )?(.+)$`)
	joints    = regexp.MustCompile(`(?i)(?:,\s*|\s+)and\s+(?:then\s+)?|,\s*then\s+|;\s*(?:then\s+)?`)
	sentence  = regexp.MustCompile(`[.?!]\s+`)
	enumerate = regexp.MustCompile(`(?i)\s*,\s*(?:and\s+)?|\s+and\s+`)
	pronoun   = regexp.MustCompile(`(?i)\b(?:it|its|them|their|those|that one|this one)\b`)
	theFile   = regexp.MustCompile(`(?i)\b(?:its|it|them|each one|the file|that file)\b`)
)

// maxParts bounds how many parts a request is split into; more are a document,
// not a request.
const maxParts = 50

// split gives the parts of a request, or the request alone.
func split(request string) []string {
	masked, quoted := maskQuotes(request)
	for _, way := range []func(string) []string{splitList, splitLines, splitForEach, splitSentences, splitClauses, splitObjects} {
		parts := way(masked)
		if len(parts) > 1 && len(parts) <= maxParts {
			for i := range parts {
				parts[i] = quoted.restore(strings.TrimRight(strings.TrimSpace(parts[i]), ".;,"))
			}
			return parts
		}
	}
	return []string{request}
}

// masks are the quoted pieces of a request: nothing is split inside of them.
type masks []string

func maskQuotes(s string) (string, masks) {
	var m masks
	masked := quotes.ReplaceAllStringFunc(s, func(q string) string {
		m = append(m, q)
		return "\x00" + strconv.Itoa(len(m)-1) + "\x01"
	})
	return masked, m
}

func (m masks) restore(s string) string {
	for i, q := range m {
		s = strings.ReplaceAll(s, "\x00"+strconv.Itoa(i)+"\x01", q)
	}
	return s
}

// splitList splits a list of items, numbered or with bullets. What stands
// before it gives items without a verb theirs: "Summarise these: - a - b".
func splitList(s string) []string {
	var before, items []string
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		if m := listItem.FindStringSubmatch(line); m != nil {
			items = append(items, strings.TrimSpace(m[1]))
		} else if len(items) == 0 && strings.TrimSpace(line) != "" {
			before = append(before, line)
		} else if strings.TrimSpace(line) != "" {
			items[len(items)-1] += " " + strings.TrimSpace(line)
		}
	}
	if len(items) < 2 {
		return nil
	}
	verb := leadingVerb(strings.Join(before, " "))
	for i, item := range items {
		if leadingVerb(item) != "" {
			continue
		}
		if verb == "" {
			return nil // a list of things, and nothing to do with them
		}
		items[i] = verb + " " + item
	}
	return items
}

// splitLines splits lines that are requests each.
func splitLines(s string) []string {
	var parts []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if leadingVerb(line) == "" {
			return nil
		}
		parts = append(parts, line)
	}
	return parts
}

// splitForEach splits "for each of a, b and c: do this".
func splitForEach(s string) []string {
	s = strings.TrimRight(stripCourtesies(s), " .!?")
	m := forEach.FindStringSubmatch(s)
	var items, action string
	if m != nil {
		items, action = m[1], m[2]
		// The first comma may stand between items: the verb begins the action.
		for leadingVerb(action) == "" {
			head, tail, ok := strings.Cut(action, ",")
			if !ok {
				return nil
			}
			items, action = items+", "+head, strings.TrimSpace(tail)
		}
	} else if m = eachOf.FindStringSubmatch(s); m != nil && leadingVerb(m[1]) != "" {
		items, action = m[2], m[1]
	} else {
		return nil
	}
	var parts []string
	for _, item := range enumerate.Split(items, -1) {
		if item = strings.TrimSpace(item); item != "" {
			parts = append(parts, apply(action, item))
		}
	}
	return parts
}

// apply says an action of one thing: "explain what it does" of a.go is
// "explain what a.go does".
func apply(action, item string) string {
	action = strings.TrimRight(strings.TrimSpace(action), " .,:")
	if loc := theFile.FindStringIndex(action); loc != nil {
		if strings.EqualFold(action[loc[0]:loc[1]], "its") {
			item += "'s"
		}
		return action[:loc[0]] + item + action[loc[1]:]
	}
	if !strings.Contains(action, " ") {
		return action + " " + item
	}
	return action + " in " + item
}

// splitSentences splits sentences that are requests each.
func splitSentences(s string) []string {
	pieces := sentence.Split(strings.TrimSpace(s), -1)
	return independent(pieces)
}

// splitClauses splits "list the files and count the lines": clauses with a
// verb and an object each.
func splitClauses(s string) []string {
	var parts []string
	at := 0
	for _, loc := range joints.FindAllStringIndex(s, -1) {
		if leadingVerb(s[loc[1]:]) != "" {
			parts = append(parts, s[at:loc[0]])
			at = loc[1]
		}
	}
	return independent(append(parts, s[at:]))
}

// independent returns pieces if each is a request of its own: it has a verb
// and something more, and does not refer to another.
func independent(pieces []string) []string {
	var out []string
	for i, p := range pieces {
		p = strings.TrimSpace(p)
		if p == "" {
			continue
		}
		p = stripCourtesies(p)
		if leadingVerb(p) == "" || !strings.Contains(p, " ") || i > 0 && pronoun.MatchString(p) {
			return nil
		}
		out = append(out, p)
	}
	return out
}

// splitObjects splits "summarise a.go, b.go and c.go": a verb with several
// things that have names.
func splitObjects(s string) []string {
	s = strings.TrimRight(stripCourtesies(s), " .!?")
	if leadingVerb(s) == "" {
		return nil
	}
	pieces := enumerate.Split(s, -1)
	if len(pieces) < 2 {
		return nil
	}
	cut := strings.LastIndexByte(pieces[0], ' ')
	if cut < 0 {
		return nil
	}
	action := pieces[0][:cut]
	pieces[0] = pieces[0][cut+1:]
	var parts []string
	for _, p := range pieces {
		if !looksLikePath(p) && !isCodeName(p) && !strings.HasPrefix(p, "\x00") {
			return nil
		}
		parts = append(parts, action+" "+p)
	}
	return parts
}
