// Ignore files: the rules of .gitignore and .ignore, as git reads them.
//
// The patterns are close to those of doublestar, so that a rule is one
// pattern and a few facts. (sabhiram/go-gitignore was tried against git: it
// misjudged half of the cases in ignore_test.go, such as foo/bar, which it
// applies at any depth, file?.txt, [!a] and c++.)

package files

import (
	"io"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const maxIgnoreFile = 1 << 20 // bytes read of one

// rule is one line of an ignore file.
type rule struct {
	pattern string
	form    ruleForm
	negate  bool // the line started with !
	folders bool // it ended with /
	base    bool // it has no other slash: it applies to the last part, at any depth
}

// ruleForm spares most rules the general matcher.
type ruleForm int

const (
	general ruleForm = iota
	literal          // no wildcards
	suffix           // * and then no wildcards; pattern is what follows the *
)

func parseRules(text string) []rule {
	var rules []rule
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	var r rule
	line, r.negate = strings.CutPrefix(line, "!")
	line, r.folders = strings.CutSuffix(line, "/")
	r.base = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule{}, false
	}
	const wildcards = `*?[\`
	switch rest, star := strings.CutPrefix(line, "*"); {
	case !strings.ContainsAny(line, wildcards):
		r.form, r.pattern = literal, line
	case star && r.base && !strings.ContainsAny(rest, wildcards):
		r.form, r.pattern = suffix, rest
	default:
		r.pattern = translate(line)
	}
	return r, r.form != general || doublestar.ValidatePattern(r.pattern)
}

// translate rewrites what git and doublestar read differently.
func translate(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '\\':
			b.WriteByte(c)
			if i++; i < len(line) {
				b.WriteByte(line[i])
			}
		case '{', '}': // alternatives to doublestar, nothing special to git
			b.WriteByte('\\')
			b.WriteByte(c)
		case '[':
			b.WriteByte(c)
			if i+1 < len(line) && (line[i+1] == '!' || line[i+1] == '^') {
				i++
				b.WriteByte(line[i])
			}
			if i+1 < len(line) && line[i+1] == ']' { // a bracket in first place is a member
				i++
				b.WriteString(`\]`)
			}
		default:
			b.WriteByte(c)
		}
	}
	pattern := b.String()
	if strings.HasSuffix(pattern, "/**") { // the contents, and not the folder itself
		pattern += "/*"
	}
	return pattern
}

// matches takes a path relative to the folder of the ignore file.
func (r rule) matches(rel string, isFolder bool) bool {
	if r.folders && !isFolder {
		return false
	}
	if r.base {
		rel = path.Base(rel)
	}
	switch r.form {
	case literal:
		return rel == r.pattern
	case suffix:
		return strings.HasSuffix(rel, r.pattern)
	case general:
	}
	return doublestar.MatchUnvalidated(r.pattern, rel)
}

// scope is the rules of one folder, above those of the folders around it.
type scope struct {
	around    *scope
	folder    string
	ignore    []rule // of .ignore
	gitignore []rule
}

// excludes says whether name, which is in the folder of s or below, is
// ignored. A nearer file decides before one further out, the last rule of a
// file before the ones above it, and any .ignore before any .gitignore.
func (s *scope) excludes(name string, isFolder bool) bool {
	for _, rulesOf := range []func(*scope) []rule{
		func(s *scope) []rule { return s.ignore },
		func(s *scope) []rule { return s.gitignore },
	} {
		for at := s; at != nil; at = at.around {
			rel := name
			if at.folder != "." {
				rel = name[len(at.folder)+1:]
			}
			rules := rulesOf(at)
			for i := len(rules) - 1; i >= 0; i-- {
				if rules[i].matches(rel, isFolder) {
					return !rules[i].negate
				}
			}
		}
	}
	return false
}

// scopeOf reads the ignore files of every folder from the working folder down
// to the one around name. Those above the working folder are out of reach.
func (f *folder) scopeOf(name string) *scope {
	s := &scope{folder: ".", gitignore: f.rules(".git/info/exclude")}
	if name == "." {
		return s
	}
	s = f.scopeAt(s, ".")
	for i, c := range name {
		if c == '/' {
			s = f.scopeAt(s, name[:i])
		}
	}
	return s
}

// scopeAt adds the ignore files of one folder.
func (f *folder) scopeAt(around *scope, name string) *scope {
	s := &scope{
		around:    around,
		folder:    name,
		ignore:    f.rules(path.Join(name, ".ignore")),
		gitignore: f.rules(path.Join(name, ".gitignore")),
	}
	if len(s.ignore) == 0 && len(s.gitignore) == 0 {
		return around
	}
	return s
}

// rules reads an ignore file. One that is missing or cannot be read ignores
// nothing.
func (f *folder) rules(name string) []rule {
	file, _, err := f.open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return parseRules(string(text))
}
