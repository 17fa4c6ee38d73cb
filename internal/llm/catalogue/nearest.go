// Names that nothing is known by: what was probably meant, and what to do.

package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/cadre-dev/cadre/internal/spelling"
)

// NameError says that a name stands for no model that can be used.
type NameError struct {
	Name    string
	Problem string
	Near    []string // names that could be meant
	Hint    string   // what to do
}

// Error implements error.
func (e *NameError) Error() string {
	s := fmt.Sprintf("model %q cannot be used: %s", e.Name, e.Problem)
	if len(e.Near) > 0 {
		s += " (near it: " + strings.Join(e.Near, ", ") + ")"
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// unknown is the error for a name that no provider in use has: because its
// provider has no key, or because there is no such model.
func (c *Catalogue) unknown(name string) error {
	var idle []*provider
	for _, p := range c.providers() {
		if !p.ready() {
			idle = append(idle, p)
		}
	}
	var known []Model
	e := &NameError{Name: name}
	for _, p := range idle {
		models := c.models(p)
		m, at := best(name, models)
		known = append(known, models...)
		if at == none {
			continue
		}
		if e.Problem == "" || maker(m.ID) == p.name {
			e.Problem, e.Hint = fmt.Sprintf("it is %s, and %s cannot be used yet", m.Ref(), p.name), p.missing
		}
	}
	if e.Problem != "" {
		return e
	}
	if left, right, ok := strings.Cut(name, "/"); ok {
		if meant := c.nearProvider(left); meant != "" {
			return &NameError{Name: name, Problem: fmt.Sprintf("there is no provider %q", left), Near: []string{meant + "/" + right}}
		}
	}
	e.Problem = "there is no such model"
	var usable []Model
	cloud := false
	for _, p := range c.usable() {
		usable = append(usable, c.models(p)...)
		cloud = cloud || !p.vendor.local
	}
	e.Near = near(name, usable)
	if len(e.Near) == 0 {
		e.Near = near(name, known)
	}
	switch {
	case !cloud:
		e.Hint = "no provider is configured: set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or that of another (`cadre doctor` names them), start a local server, or use offline"
	case maker(name) != "" && c.provider(maker(name)).ready():
		e.Hint = fmt.Sprintf("`cadre models` lists those that can be used; a new one is used as %s/%s", maker(name), name)
	default:
		e.Hint = "`cadre models` lists those that can be used; one that is not listed is written as provider/model, with a provider that has a key or is under providers in the configuration"
	}
	return e
}

// nearProvider returns the provider that a misspelt name means.
func (c *Catalogue) nearProvider(name string) string {
	for _, p := range c.providers() {
		if d := spelling.Distance(strings.ToLower(name), p.name); d <= 2 && d < len(p.name)/2 {
			return p.name
		}
	}
	return ""
}

// nearCount is how many names are offered.
const nearCount = 4

// near returns the names of the models that are most like name, best first.
func near(name string, models []Model) []string {
	type scored struct {
		ref   string
		score int
	}
	asked := strings.Join(split(lastPart(name)), "")
	if len(asked) < 3 {
		return nil // anything is near it
	}
	var list []scored
	for _, m := range models {
		if s := unlike(asked, m); s <= max(1, len(asked)/3) {
			list = append(list, scored{m.Ref(), s})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var out []string
	for _, x := range list[:min(len(list), nearCount)] {
		out = append(out, x.ref)
	}
	return out
}

// unlike counts the letters by which asked differs from the nearest spelling of
// a model; a part of one differs by little.
func unlike(asked string, m Model) int {
	s := shapeOf(lastPart(m.ID))
	brandless := strings.Join(s.words, "")
	least := min(spelling.Distance(asked, s.joined), spelling.Distance(asked, strings.Join(split(m.Name), "")))
	if brandless != "" {
		least = min(least, spelling.Distance(asked, brandless))
	}
	if len(asked) >= 3 && strings.Contains(s.joined, asked) {
		least = min(least, 1)
	}
	return least
}

// misspelt returns the id that is meant by one that differs from it in a few
// letters of its words. If digits differ, or something is added or left off, it
// is another version, which may well exist.
func misspelt(id string, models []Model) string {
	asked := split(id)
	for _, m := range models {
		for _, other := range []string{m.ID, strings.TrimSuffix(m.ID, shapeOf(m.ID).date)} {
			if is := split(other); isTypo(asked, is) || isTypo([]string{strings.Join(asked, "")}, []string{strings.Join(is, "")}) {
				return m.ID
			}
		}
	}
	return ""
}

// isTypo compares names word by word. They differ in at least one, by a letter
// or two in a longer one, and nowhere in a digit or at the end of a word with
// one.
func isTypo(asked, is []string) bool {
	if len(asked) != len(is) {
		return false
	}
	differ := false
	for i, a := range asked {
		b := is[i]
		if a == b {
			continue
		}
		far := spelling.Distance(a, b)
		swapped := len(a) == len(b) && far == 2 && sorted(a) == sorted(b)
		if digits(a) != digits(b) || far > max(1, min(len(a), len(b))/3) && !swapped || far > 2 {
			return false
		}
		if min(len(a), len(b)) < 3 || digits(a) != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a)) {
			return false
		}
		differ = true
	}
	return differ
}

func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}
