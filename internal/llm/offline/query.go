// Queries: what the rules see of a request. Recognising is deliberately
// simple: a leading verb, and the things named.

package offline

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// query is one request taken apart.
type query struct {
	whole  string // as asked
	text   string // without courtesies in front
	lower  string // text in lower case
	verb   string // its leading verb, "" if it has none that is known
	role   string // of the agent asked, in lower case
	paths  []string
	quoted []string
	idents []string // names as they occur in code
	words  []string // other words that say something, in the case they have
}

// asks says what a verb asks for.
type asks int

const (
	asksNothing asks = iota
	asksFind
	asksList
	asksCount
	asksSummary
	asksPlan
	asksChange
)

// verbs that may lead a request.
var verbs = map[string]asks{
	"find": asksFind, "search": asksFind, "grep": asksFind, "locate": asksFind, "where": asksFind,
	"who": asksFind, "which": asksFind, "explain": asksFind, "how": asksFind, "why": asksFind,
	"what": asksFind, "when": asksFind, "does": asksFind, "is": asksFind, "are": asksFind, "look": asksFind,
	"trace": asksFind, "show": asksFind, "identify": asksFind, "investigate": asksFind, "research": asksFind,
	"list": asksList, "ls": asksList, "enumerate": asksList,
	"count":     asksCount,
	"summarise": asksSummary, "summarize": asksSummary, "summary": asksSummary, "describe": asksSummary,
	"read": asksSummary, "review": asksSummary, "open": asksSummary, "analyse": asksSummary,
	"analyze": asksSummary, "overview": asksSummary, "inspect": asksSummary, "examine": asksSummary,
	"explore": asksSummary, "outline": asksSummary, "check": asksSummary, "document": asksSummary,
	"plan":  asksPlan,
	"write": asksChange, "create": asksChange, "add": asksChange, "fix": asksChange, "change": asksChange,
	"edit": asksChange, "modify": asksChange, "refactor": asksChange, "rename": asksChange,
	"delete": asksChange, "remove": asksChange, "implement": asksChange, "update": asksChange,
	"run": asksChange, "execute": asksChange, "build": asksChange, "compile": asksChange,
	"install": asksChange, "deploy": asksChange, "commit": asksChange, "push": asksChange,
	"download": asksChange, "fetch": asksChange, "translate": asksChange, "generate": asksChange,
	"replace": asksChange, "move": asksChange, "make": asksChange, "draw": asksChange, "calculate": asksChange,
	"convert": asksChange, "debug": asksChange, "optimise": asksChange, "optimize": asksChange,
}

// stopwords say nothing about what is looked for.
var stopwords = wordSet(`a an the and or of in on at to for from by with without into about as is are was were be been
	being do does did has have had it its this that these those there here what which who where when why how all any some
	each every me my i you your we our us they them their can could would should will shall may might please file files
	folder folders directory directories code line lines function functions method methods type types class classes
	defined define definition declared declaration implemented implementation used use uses using called call calls works
	work working happen happens mean means look looks like find search show tell list count many much number project
	repository repo codebase package packages module modules exactly currently also then one two not no if so but get
	gets come comes made make makes put see say says under inside between out up down name names named text word words
	string strings occurrence occurrences time times mentioned mention mentions part parts whole thing things contents content
	before after while because during only until start starts again always never every other same new`)

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

var (
	courtesy = regexp.MustCompile(`(?i)^(?:please|kindly|hey|hi|hello|ok|okay|now|then|also|and|so|first|firstly|second|secondly|third|next|finally|lastly|(?:can|could|would|will) you|i(?: want|'d like| would like| need) (?:you )?to(?: know| see)?|tell me|give me(?: an?| the)?|let's|let us|help me(?: to)?|try to|go and|i'm curious|task:)(?:[\s,:]+|$)`)
	quotes   = regexp.MustCompile("`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|'([^']{2,})'")
	pathLike = regexp.MustCompile(`^(?:\.{0,2}/)?[\w@.*{}\[\],-]+(?:/[\w@.*{}\[\],-]+)*/?$`)
	// hasExt recognises a file by its name; a letter must lead the extension,
	// so that 1.5 is none.
	hasExt    = regexp.MustCompile(`^[\w@*.{}-]*[\w*}-]\.[A-Za-z][A-Za-z0-9]{0,7}$`)
	knownFile = regexp.MustCompile(`^(?i:makefile|dockerfile|license|readme|changelog|go\.mod|go\.sum)$`)
	codeName  = regexp.MustCompile(`^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?$`)
)

// maxQuoted bounds what is searched for of a quotation, in runes: its
// beginning finds it.
const maxQuoted = 200

// parseQuery takes a request apart.
func parseQuery(text, role string) query {
	q := query{whole: strings.TrimSpace(text), role: role}
	q.text = strings.TrimRight(stripCourtesies(q.whole), " .!?")
	q.lower = strings.ToLower(q.text)
	q.verb = leadingVerb(q.text)
	rest := quotes.ReplaceAllStringFunc(q.text, func(m string) string {
		inner := strings.TrimSpace(m[1 : len(m)-1])
		if strings.HasPrefix(m, "“") {
			inner = strings.Trim(m, "“”")
		}
		if looksLikePath(inner) {
			q.paths = append(q.paths, path.Clean(inner))
		} else if inner != "" {
			q.quoted = append(q.quoted, string([]rune(inner)[:min(maxQuoted, len([]rune(inner)))]))
		}
		return " "
	})
	for i, token := range strings.Fields(rest) {
		token = strings.Trim(token, ",;:!?\"'<>")
		if i == 0 { // its capital says nothing
			token = strings.ToLower(token[:min(1, len(token))]) + token[min(1, len(token)):]
		}
		q.add(token)
	}
	return q
}

// add sorts one token.
func (q *query) add(token string) {
	bare := strings.TrimSuffix(token, ".")
	switch {
	case bare == "" || bare == "e.g" || bare == "i.e" || strings.Contains(bare, "://"):
	case looksLikePath(bare):
		q.paths = append(q.paths, path.Clean(bare))
	case isCodeName(bare):
		q.idents = append(q.idents, strings.TrimSuffix(bare, "()"))
	default:
		w := strings.Trim(bare, "'’`*_")
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		lower := strings.ToLower(w)
		_, isVerb := verbs[lower]
		isVerb = isVerb && w == lower // Find in the middle of a text is a name
		if len(w) > 1 && !stopwords[lower] && !isVerb && !slices.Contains(q.words, w) {
			q.words = append(q.words, w)
		}
	}
}

func stripCourtesies(s string) string {
	for {
		m := courtesy.FindString(s)
		if m == "" {
			return s
		}
		s = strings.TrimSpace(s[len(m):])
	}
}

// leadingVerb returns the verb a text begins with, courtesies aside.
func leadingVerb(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(stripCourtesies(text)), " ")
	first = strings.ToLower(strings.TrimRight(first, ",.:;!?\n"))
	first = strings.TrimSuffix(strings.TrimSuffix(first, "'s"), "’s")
	if _, ok := verbs[first]; ok {
		return first
	}
	return ""
}

func looksLikePath(s string) bool {
	if strings.ContainsAny(s, " \t") || s == "and/or" || s == "/" {
		return false
	}
	if s == "." || knownFile.MatchString(s) {
		return true
	}
	if strings.Contains(s, "/") {
		return pathLike.MatchString(s)
	}
	if !hasExt.MatchString(s) {
		return false
	}
	// strings.Builder is code, builder.go a file: extensions are lower case,
	// and known if the rest could be code.
	ext := path.Ext(s)
	return ext == strings.ToLower(ext) && (languageOf(s) != "" || !codeName.MatchString(s) || len(ext) <= 4)
}

// isCodeName recognises names no one uses outside of code: camelCase,
// CamelCase, snake_case, pkg.Name, name(), ALLCAPS.
func isCodeName(s string) bool {
	if !codeName.MatchString(s) || len(s) < 2 {
		return false
	}
	if strings.HasSuffix(s, "()") || strings.Contains(s, "_") || strings.Contains(s, ".") {
		return true
	}
	upper := 0
	for i, r := range s {
		if unicode.IsUpper(r) && i > 0 {
			upper++
		}
	}
	return upper > 0
}

// terms are what a search looks for, the most telling first.
func (q query) terms() []string {
	switch {
	case len(q.quoted) > 0:
		return q.quoted
	case len(q.idents) > 0:
		return q.idents
	}
	return q.words
}

var (
	lastPlace = regexp.MustCompile(`(?i)\b(?:in|under|inside|below|of)\s+(?:the\s+)?([\w.-]+)(?:\s+(?:folder|directory|package|dir))?$`)
	noPlace   = wordSet("here total all it them this there project repo repository codebase code general folder directory package files lines go")
)

// place returns the folder a request speaks of, also if it is a plain word at
// its end: "how many files are in internal".
func (q query) place() string {
	if f := q.folder(); f != "" {
		return f
	}
	if m := lastPlace.FindStringSubmatch(q.text); m != nil && len(q.paths) == 0 && !noPlace[strings.ToLower(m[1])] {
		return m[1]
	}
	return ""
}

// folder returns the first path that looks like a folder, "" if there is none.
func (q query) folder() string {
	for _, p := range q.paths {
		if path.Ext(p) == "" && !knownFile.MatchString(path.Base(p)) || p == "." {
			return p
		}
	}
	return ""
}
