// Patterns for commands, paths and hosts. Each is matched in two ways: strictly
// for what allows, generously for what forbids.

package permission

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// certainty says whether a rule that forbids matches.
type certainty int

const (
	no     certainty = iota
	maybe            // it cannot be told
	likely           // it names the thing, perhaps without harm
	yes
)

// exactly begins a command pattern that is one line, byte for byte.
const exactly = "="

// commandPattern is a pattern for one simple command.
type commandPattern struct {
	words []string
	open  bool // any further words may follow
}

func parsePattern(text string) commandPattern {
	if prefix, ok := strings.CutSuffix(text, ":*"); ok {
		text = prefix + " *"
	}
	p := commandPattern{words: strings.Fields(text)}
	if n := len(p.words); n > 0 && strings.HasSuffix(p.words[n-1], "*") {
		p.open = true
		if p.words[n-1] == "*" {
			p.words = p.words[:n-1]
		}
	}
	return p
}

// covers tells whether the pattern says all of the command, its name included.
func (p commandPattern) covers(c call) bool {
	if len(p.words) <= c.name || len(c.words) < len(p.words) || len(c.words) > len(p.words) && !p.open {
		return false
	}
	for i, want := range p.words {
		if !wordCovers(want, c.words[i], i == c.name) {
			return false
		}
	}
	return true
}

func wordCovers(want string, w word, isName bool) bool {
	if !w.plain {
		return false
	}
	if w.assign {
		variable, _, ok := strings.Cut(want, "=")
		if !ok || strings.Contains(variable, "*") {
			return false
		}
	}
	if !strings.Contains(want, "*") {
		return want == w.text
	}
	if slices.Contains(strings.Split(w.text, "/"), "..") {
		return false // a wildcard leads nowhere but downwards
	}
	if isName && strings.Count(want, "/") != strings.Count(w.text, "/") {
		return false
	}
	return wildcard(want, w.text)
}

// hits tells whether the pattern speaks of the command, wherever in it.
func (p commandPattern) hits(c call) certainty {
	if c.name >= len(c.words) {
		return no
	}
	best := p.begins(c.words[c.name:])
	if c.runsOthers() {
		for start := c.name + 1; start < len(c.words) && best != yes; start++ {
			best = max(best, p.begins(c.words[start:]))
		}
	}
	return best
}

// begins tells whether words begin with the pattern. A word of it that is only
// a * stands for any number of words. Options may stand between the words of
// the pattern, as in git -C dir push: then it is a maybe.
func (p commandPattern) begins(words []word) certainty {
	n := len(words)
	next := slices.Repeat([]certainty{yes}, n+1) // for the pattern from the next word on, by the first word it is tried at
	for i := len(p.words) - 1; i >= 0; i-- {
		want := p.words[i]
		here := make([]certainty, n+1)
		later := no // the best of here behind the word looked at
		if want == "*" {
			here[n] = next[n]
		}
		for j := n - 1; j >= 0; j-- {
			later = max(later, here[j+1])
			if want == "*" {
				here[j] = max(next[j], here[j+1])
				continue
			}
			here[j] = wordHit(want, words[j], i == 0)
			if words[j].plain {
				here[j] = min(here[j], next[j+1])
			}
			if i > 0 && strings.HasPrefix(words[j].text, "-") {
				here[j] = max(here[j], min(maybe, later))
			}
		}
		next = here
	}
	return next[0]
}

func wordHit(want string, w word, isName bool) certainty {
	want, text := strings.ToLower(want), strings.ToLower(w.text)
	switch {
	case w.glob:
		if ok, err := doublestar.Match(text, want); ok || err != nil || strings.Contains(want, "*") {
			return maybe
		}
		return no
	case !w.plain:
		return maybe
	case wildcard(want, text), isName && wildcard(want, path.Base(text)):
		return yes
	}
	return no
}

// wildcard matches text against a pattern in which * stands for any text.
func wildcard(pattern, text string) bool {
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, pieces[0])
	last := pieces[len(pieces)-1]
	if !ok || len(text) < len(last) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[:len(text)-len(last)]
	for _, piece := range pieces[1 : len(pieces)-1] {
		_, after, ok := strings.Cut(text, piece)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// leaves tells whether a path is not a clean name inside the working folder.
func leaves(name string) bool { return !fs.ValidPath(name) }

// pathCovers tells whether the pattern names this very path.
func pathCovers(pattern, name string) bool {
	return !leaves(name) && globPath(pattern, name)
}

// pathHits tells whether the pattern names the path or a folder above it.
func pathHits(pattern, name string) bool { return hitsOne(pattern, appendUpwards(nil, name)) }

// appendUpwards adds a path and the folders above it, in the spelling in which
// patterns that forbid are held against them.
func appendUpwards(to []string, name string) []string {
	name = strings.TrimLeft(path.Clean(strings.ToLower(name)), "/")
	for ; name != "." && name != ""; name = path.Dir(name) {
		to = append(to, name)
	}
	return to
}

// hitsOne tells whether the pattern names one of these.
func hitsOne(pattern string, names []string) bool {
	pattern = strings.ToLower(pattern)
	for _, name := range names {
		if globPath(pattern, name) {
			return true
		}
	}
	return false
}

func globPath(pattern, name string) bool {
	if inside, ok := strings.CutSuffix(pattern, "/"); ok {
		pattern = inside + "/**"
	}
	if strings.Contains(pattern, "/") {
		pattern = strings.TrimPrefix(pattern, "./")
	} else {
		name = path.Base(name)
	}
	if pattern != "" && name != "" && pattern[0] != name[0] && !strings.ContainsRune(`*?[{\`, rune(pattern[0])) {
		return false // most do not even begin alike
	}
	return doublestar.MatchUnvalidated(pattern, name)
}

// mentionHits tells whether a word of a command names a file that the pattern
// names: .env, --file=.env, HEAD:.env, @.env.
func mentionHits(pattern string, w word) certainty {
	if !w.plain && !w.glob {
		return maybe
	}
	best := no
	for part := range strings.FieldsFuncSeq(w.text, func(r rune) bool { return strings.ContainsRune("=:,@", r) }) {
		switch part = strings.TrimPrefix(part, "~"); {
		case pathHits(pattern, part):
			return yes
		case w.glob && globsMeet(strings.ToLower(pattern), strings.ToLower(part)):
			best = maybe
		}
	}
	return best
}

// globsMeet tells whether a wildcard of the shell may name what the pattern
// does. It goes by what stands before the first and behind the last wildcard
// of both, so that it says yes too often rather than too seldom.
func globsMeet(pattern, shell string) bool {
	if !strings.Contains(pattern, "/") {
		shell = path.Base(shell)
	}
	if strings.HasPrefix(pattern, ".") && !strings.HasPrefix(pattern, "./") && !strings.HasPrefix(shell, ".") {
		return false // a wildcard of the shell names no hidden file
	}
	const meta = "*?[{"
	if !strings.ContainsAny(pattern, meta) {
		ok, err := doublestar.Match(shell, strings.TrimPrefix(pattern, "./"))
		return ok || err != nil
	}
	ends := func(s string) (before, behind string) {
		first, last := strings.IndexAny(s, meta), strings.LastIndexAny(s, "*?]}")
		if first < 0 || last < 0 {
			return s, s
		}
		return s[:first], s[last+1:]
	}
	a1, a2 := ends(strings.TrimPrefix(pattern, "./"))
	b1, b2 := ends(shell)
	return (strings.HasPrefix(a1, b1) || strings.HasPrefix(b1, a1)) && (strings.HasSuffix(a2, b2) || strings.HasSuffix(b2, a2))
}

// hostMatches compares without regard to case and a dot at the end.
func hostMatches(pattern, host string) bool {
	pattern = strings.ToLower(strings.TrimSuffix(pattern, "."))
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if pattern == "*" {
		return true
	}
	if below, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(host, below) && len(host) > len(below)
	}
	return pattern == host
}

func hostHits(pattern string, hosts []string) certainty {
	best := no
	for _, host := range hosts {
		switch {
		case hostMatches(pattern, host):
			return yes
		case host == "*":
			best = maybe
		}
	}
	return best
}
