// Finding: search for what is named, read around the best places, show what
// stands there.

package offline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var findRule = rule{
	name: "find",
	fits: func(q query) bool {
		if len(q.terms()) == 0 {
			return false
		}
		return q.verb != "" || len(q.quoted)+len(q.idents) > 0 || q.role == "codesearch"
	},
	next: find,
}

// How much a search looks at.
const (
	findMatches = 300
	findReads   = 3
	findOthers  = 8
)

func find(t *task) step {
	greps := t.of(toolGrep)
	if len(greps) == 0 {
		return search(t)
	}
	last := greps[len(greps)-1]
	found, more := hits(last.result)
	if last.failed && last.input["path"] != nil {
		st := use(toolGrep, map[string]any{"pattern": pattern(t.terms(), false), "ignore_case": true, "max": findMatches})
		st.say = "There is no such path, so I search everywhere."
		return st
	}
	if len(found) == 0 && len(greps) == 1 && !last.failed {
		if wide := widen(t.terms()); wide != "" {
			st := use(toolGrep, map[string]any{"pattern": wide, "ignore_case": true, "max": findMatches})
			st.say = "Nothing under that very name; I try other ways to write it."
			return st
		}
	}
	if len(found) == 0 {
		return answer(notFound(t, last))
	}
	places := rank(found, t.terms())
	if len(t.of(toolRead)) > 0 || !t.offers(toolRead) {
		return answer(showFound(t, places, len(found), more, len(greps) > 1))
	}
	st := step{}
	for _, p := range telling(places) {
		st = st.and(toolRead, map[string]any{"path": p.path, "offset": max(p.best.line-around, 1), "limit": 3 * around})
	}
	return st
}

// telling are the places to be read and shown: those that declare what is
// looked for, if any does.
func telling(places []place) []place {
	var out []place
	for _, p := range places {
		if p.def >= places[0].def && len(out) < findReads {
			out = append(out, p)
		}
	}
	return out
}

// around is how many lines before a place are read.
const around = 14

// search is the first step: contents by Grep, names of files by Glob.
func search(t *task) step {
	input := map[string]any{"pattern": pattern(t.terms(), false), "ignore_case": true, "max": findMatches}
	if len(t.paths) > 0 {
		input["path"] = t.paths[0]
	}
	st := use(toolGrep, input)
	if t.offers(toolGlob) {
		if name := fileTerm(t.terms()); name != "" {
			st = st.and(toolGlob, map[string]any{"pattern": "**/*" + name + "*"})
		}
	}
	st.say = "I search for " + shownTerms(t.terms()) + "."
	return st
}

// fileTerm is the term that may be part of a file's name.
func fileTerm(terms []string) string {
	if len(terms) == 0 || !fileWord.MatchString(terms[0]) {
		return ""
	}
	return strings.ToLower(terms[0])
}

var fileWord = regexp.MustCompile(`^[\w-]{1,60}$`)

// maxPattern bounds a pattern; Grep takes somewhat more.
const maxPattern = 800

// pattern is the regular expression that finds any of the terms, as many as
// fit. whole finds words as they are and not their other forms.
func pattern(terms []string, whole bool) string {
	var alts []string
	size := 0
	for _, term := range terms {
		alt := regexp.QuoteMeta(term)
		switch {
		case isCodeName(term):
			alt = `\b` + lastName(term) + `\b`
		case !whole && plainWord.MatchString(term):
			alt = stem(term)
		}
		if size += len(alt) + 1; size > maxPattern && len(alts) > 0 {
			break
		}
		alts = append(alts, alt)
	}
	return strings.Join(alts, "|")
}

var plainWord = regexp.MustCompile(`^[A-Za-z]+$`)

// stem shortens a word so that its other forms are found as well.
func stem(w string) string {
	if base, ok := strings.CutSuffix(w, "ies"); ok && len(base) > 2 {
		return base + "(?:y|ie)"
	}
	for _, ending := range []string{"ing", "ed", "es", "s"} {
		if base, ok := strings.CutSuffix(w, ending); ok && len(base) > 3 && !strings.HasSuffix(base, "s") {
			return base
		}
	}
	return w
}

var camel = regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)

// widen gives a pattern for names of several words that were not found as they
// were written, so that parseConfig finds parse_config too; "" if there are
// none.
func widen(terms []string) string {
	var names []string
	for _, term := range terms {
		if words := camel.FindAllString(term, -1); len(words) > 1 {
			names = append(names, strings.Join(words, `[\W_]{0,3}`))
		}
	}
	return strings.Join(names, "|")
}

// place is a file with what was found in it.
type place struct {
	path  string
	hits  []hit
	best  hit
	def   declaration // by best
	score int
}

var declares = regexp.MustCompile(`^\s*(?:export |pub |public |private |protected |static |abstract |async |default )*(?:func|type|class|def|interface|struct|enum|trait|fn|const|var|let|function|create table)\b`)

// rank orders the files by how telling they are: those that declare a term
// first, then those with most different terms.
func rank(found []hit, terms []string) []place {
	byPath := map[string]*place{}
	var order []*place
	for _, h := range found {
		p := byPath[h.path]
		if p == nil {
			p = &place{path: h.path}
			byPath[h.path] = p
			order = append(order, p)
		}
		p.hits = append(p.hits, h)
	}
	for _, p := range order {
		p.weigh(terms)
	}
	slices.SortStableFunc(order, func(a, b *place) int {
		return cmp.Or(b.score-a.score, strings.Compare(a.path, b.path))
	})
	out := make([]place, len(order))
	for i, p := range order {
		out[i] = *p
	}
	return out
}

func (p *place) weigh(terms []string) {
	seen := map[string]bool{}
	top := -1
	for _, h := range p.hits {
		score := 0
		lower := strings.ToLower(h.text)
		for _, term := range terms {
			name := lastName(term)
			if strings.Contains(h.text, name) {
				score += 2
			}
			if strings.Contains(lower, strings.ToLower(name)) {
				seen[term] = true
				score++
			}
		}
		def := declaresNot
		if len(terms) == 1 { // of several words, no declaration is all
			def = declaresTerm(h.text, terms)
			score += 6 * int(def)
			if strings.HasPrefix(h.text, "func (") { // a method says less than what it belongs to
				score -= 3
			}
		}
		if strings.HasPrefix(h.text, "#") {
			score += 2
		}
		if score > top {
			top, p.best, p.def = score, h, def
		}
	}
	p.score = top + 4*len(seen) + min(len(p.hits), 5)
	for _, term := range terms {
		if strings.Contains(strings.ToLower(p.path), strings.ToLower(term)) {
			p.score += 3
		}
	}
	if isTest(p.path) {
		p.score -= 6
	}
	for _, far := range []string{"vendor/", "node_modules/", "dist/", "testdata/", ".min."} {
		if strings.Contains(p.path, far) {
			p.score -= 12
		}
	}
}

// lastName is the name behind the last dot.
func lastName(term string) string { return term[strings.LastIndexByte(term, '.')+1:] }

// declaration grades how surely a line declares what is looked for.
type declaration int

const (
	declaresNot     declaration = iota
	declaresPart                // the term is a part of the name
	declaresFold                // it is the name in another case
	declaresExactly             // it is the name
)

// declaresTerm grades what a line declares by the best of terms.
func declaresTerm(line string, terms []string) declaration {
	loc := declares.FindStringIndex(line)
	if loc == nil {
		return declaresNot
	}
	rest := strings.TrimSpace(line[loc[1]:])
	if strings.HasPrefix(rest, "(") { // a receiver
		_, rest, _ = strings.Cut(rest, ")")
	}
	name := firstName.FindString(rest)
	best := declaresNot
	for _, term := range terms {
		last := lastName(term)
		switch {
		case name == last:
			return declaresExactly
		case strings.EqualFold(name, last):
			best = max(best, declaresFold)
		case strings.Contains(strings.ToLower(name), strings.ToLower(last)):
			best = max(best, declaresPart)
		}
	}
	return best
}

var firstName = regexp.MustCompile(`[\w$]+`)

// showFound words what was found.
func showFound(t *task, places []place, total int, more, widened bool) string {
	var b strings.Builder
	terms := shownTerms(t.terms())
	if widened {
		fmt.Fprintf(&b, "There is no exact match for %s; these are the nearest.\n\n", terms)
	}
	top := places[0]
	count := fmt.Sprintf("%s in %s", plural(total, "match"), plural(len(places), "file"))
	if more {
		count = "at least " + count
	}
	if top.def != declaresNot {
		fmt.Fprintf(&b, "%s: declared at `%s:%d` (%s).", terms, top.path, top.best.line, count)
	} else {
		fmt.Fprintf(&b, "%s: %s. The most telling place is `%s:%d`.", terms, count, top.path, top.best.line)
	}
	var seen []span
	for _, p := range telling(places) {
		o, ok := t.made(toolRead, p.path)
		if !ok || o.failed {
			continue
		}
		text, s := p.excerpt(linesOf(o.result))
		b.WriteString("\n\n" + text)
		seen = append(seen, s)
	}
	if others := otherPlaces(places, seen); len(others) > 0 {
		b.WriteString("\n\nOther places:\n\n" + strings.Join(others, "\n"))
	}
	b.WriteString(globbed(t))
	return b.String()
}

// span is a piece of a file that was shown.
type span struct {
	path     string
	from, to int // lines
}

// excerpt shows the code at the best place of p, with the comment before it.
func (p place) excerpt(e excerpt) (string, span) {
	at := p.best.line - e.first
	if at < 0 || at >= len(e.lines) {
		return fmt.Sprintf("`%s:%d`: %s", p.path, p.best.line, strings.TrimSpace(p.best.text)), span{p.path, p.best.line, p.best.line}
	}
	from := at
	for from > 0 {
		if _, ok := commentText(e.lines[from-1]); !ok {
			break
		}
		from--
	}
	to := at + 1
	for to < len(e.lines) && !p.endsAt(e.lines, at, to) {
		to++
	}
	code := strings.TrimRight(strings.Join(e.lines[from:to], "\n"), "\n ")
	return fmt.Sprintf("`%s:%d`\n\n```%s\n%s\n```", p.path, e.first+from, fence(p.path), code),
		span{p.path, e.first + from, e.first + to - 1}
}

// endsAt reports whether an excerpt that has lines[at:to] has enough: a whole
// declaration, or some lines around a mention.
func (p place) endsAt(lines []string, at, to int) bool {
	if p.def == declaresNot {
		return to >= at+6
	}
	last := lines[to-1]
	open := strings.HasSuffix(lines[at], "{") || strings.HasSuffix(lines[at], "(") || strings.HasSuffix(lines[at], ":")
	return to >= at+20 || last == "}" || last == ")" || !open && strings.TrimSpace(lines[to]) == ""
}

// othersPerFile bounds the lines named of one file.
const othersPerFile = 2

// otherPlaces names what was found and not shown, a few lines of each file.
func otherPlaces(places []place, seen []span) []string {
	var out []string
	left := 0
	for _, p := range places {
		n := 0
		for _, h := range p.hits {
			if slices.ContainsFunc(seen, func(s span) bool { return s.path == h.path && s.from <= h.line && h.line <= s.to }) {
				continue
			}
			if n++; n > othersPerFile || len(out) == findOthers {
				left++
				continue
			}
			out = append(out, fmt.Sprintf("- `%s:%d`: %s", h.path, h.line, clip(strings.TrimSpace(h.text), 100)))
		}
	}
	if left > 0 && len(out) > 0 {
		out = append(out, fmt.Sprintf("- and %d more", left))
	}
	return out
}

// globbed names the files whose names fit.
func globbed(t *task) string {
	for _, o := range t.of(toolGlob) {
		if paths, more := foundPaths(o.result); len(paths) > 0 && !o.failed {
			n := len(paths) + more
			return fmt.Sprintf("\n\nFiles with such a name (%d): %s", n, codeList(paths, 6))
		}
	}
	return ""
}

func notFound(t *task, last observation) string {
	if last.failed {
		return "The search failed: " + firstLine(last.result)
	}
	text := "I found no " + shownTerms(t.terms()) + " in the files here."
	if len(t.paths) > 0 && last.input["path"] != nil {
		text = fmt.Sprintf("I found no %s in %s.", shownTerms(t.terms()), t.paths[0])
	}
	return text + " I searched their contents, without regard to case; files that are ignored or binary are left out." + globbed(t)
}

func shownTerms(terms []string) string { return codeList(terms, 6) }

// codeList writes names as code, at most limit of them.
func codeList(names []string, limit int) string {
	var out []string
	for _, n := range names {
		if len(out) == limit {
			out = append(out, "…")
			break
		}
		out = append(out, "`"+n+"`")
	}
	return strings.Join(out, ", ")
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// clip cuts s after n runes.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
