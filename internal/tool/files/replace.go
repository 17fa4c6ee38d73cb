// Search and replace in a text: what Edit, MultiEdit and an operation of Patch
// have in common.

package files

import (
	"errors"
	"fmt"
	"strings"
)

const shownPlaces = 10 // line numbers listed of an old text that is not unique

// replacement is one search and replace, as models write it.
type replacement struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// replaceText changes the text of a file, and says where. Lines end in the
// file as they did, however the replacement has them.
func replaceText(file *draftFile, r replacement) (text, said string, err error) {
	t := parseText(file.after)
	p := t.plain()
	wanted, by := toNewlines(r.Old), toNewlines(r.New)
	switch wanted {
	case "":
		return "", "", errors.New("old_string is empty: give the text to replace; to make or replace a whole file use Write")
	case by:
		return "", "", errors.New("old_string and new_string are the same: nothing would change")
	}
	wanted = strings.TrimPrefix(wanted, bom)
	places := find(p.text, wanted)
	switch {
	case len(places) == 0:
		return "", "", fmt.Errorf("old_string was not found in %s.%s", shown(file.asked), notFound(t.texts(), wanted, "old_string"))
	case len(places) > 1 && !r.All:
		return "", "", fmt.Errorf("old_string occurs %d times in %s, %s: add lines around it until it is unique, or set replace_all", len(places), shown(file.asked), atLines(p, places))
	}
	var b strings.Builder
	raw, done := string(file.after), 0
	for _, at := range places {
		b.WriteString(raw[done:p.inFile(at)])
		end := t.ends()
		if t.mixed() {
			end = t.endAt(p.lineAt(at) - 1)
		}
		b.WriteString(strings.ReplaceAll(by, "\n", end))
		done = p.inFile(at + len(wanted))
	}
	b.WriteString(raw[done:])
	if len(places) == 1 {
		return b.String(), fmt.Sprintf("line %d", p.lineAt(places[0])), nil
	}
	return b.String(), fmt.Sprintf("%d places, %s", len(places), atLines(p, places)), nil
}

// find gives the places of needle, which do not overlap.
func find(text, needle string) []int {
	var places []int
	for from := 0; needle != ""; {
		i := strings.Index(text[from:], needle)
		if i < 0 {
			break
		}
		places = append(places, from+i)
		from += i + len(needle)
	}
	return places
}

func atLines(p *plain, places []int) string {
	var b strings.Builder
	b.WriteString("at lines ")
	line, from := 1, 0
	for i, at := range places {
		if i == shownPlaces {
			b.WriteString(" …")
			break
		}
		line, from = line+strings.Count(p.text[from:at], "\n"), at
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", line)
	}
	return b.String()
}
