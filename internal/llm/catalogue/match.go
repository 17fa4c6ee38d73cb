// How a name as people write it is compared with the id of a model.

package catalogue

import (
	"slices"
	"strconv"
	"strings"
)

// level says how well a name fits a model; less is better.
type level int

const (
	exact   level = iota // the id itself, in any case
	variant              // another spelling: 4.5 for 4-5, without the date, without the brand
	family               // words only, such as sonnet: the newest that has them
	none
)

// brands are words that people leave out.
var brands = []string{"claude", "gpt", "gemini", "grok", "deepseek", "mistral", "kimi", "glm"}

// noise are words of an id that do not tell models apart.
var noise = []string{"preview", "latest", "customtools"}

// shape is a name taken apart.
type shape struct {
	words   []string // sorted, without brands and noise
	brands  []string // sorted
	noise   int      // how many words of noise there were
	numbers []int    // in order: the version
	date    string   // all digits of a date, empty if there is none
	joined  string   // everything but noise and date, without separators
}

// split takes a name apart at everything that is neither letter nor digit.
func split(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// lastPart is what follows the last slash.
func lastPart(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }

// shapeOf takes a name apart.
func shapeOf(name string) shape {
	var s shape
	parts := split(name)
	for i := 0; i < len(parts); i++ {
		part := parts[i]
		number, err := strconv.Atoi(part)
		switch {
		case err == nil && isDate(parts[i:]):
			s.date = parts[i] + parts[i+1] + parts[i+2]
			i += 2
			continue
		case err == nil && len(part) >= 6:
			s.date = part
			continue
		case slices.Contains(noise, part):
			s.noise++
			continue
		case err == nil:
			s.numbers = append(s.numbers, number)
		case slices.Contains(brands, part):
			s.brands = append(s.brands, part)
		default:
			s.words = append(s.words, part)
		}
		s.joined += part
	}
	slices.Sort(s.words)
	slices.Sort(s.brands)
	return s
}

// isDate tells whether parts begin with a date such as 2024, 08, 06.
func isDate(parts []string) bool {
	return len(parts) >= 3 && len(parts[0]) == 4 && strings.HasPrefix(parts[0], "20") &&
		len(parts[1]) == 2 && len(parts[2]) == 2 && isNumber(parts[1]) && isNumber(parts[2])
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// fit compares a name with a model.
func fit(name string, m Model) level {
	if strings.EqualFold(name, m.ID) {
		return exact
	}
	if m.Name != "" && strings.EqualFold(name, m.Name) {
		return variant
	}
	id := m.ID
	if !strings.Contains(name, "/") {
		id = lastPart(id)
	}
	asked, has := shapeOf(name), shapeOf(id)
	if asked.date != "" && asked.date != has.date {
		return none
	}
	if len(asked.brands) > 0 && !slices.Equal(asked.brands, has.brands) {
		return none
	}
	if asked.joined == "" {
		return none
	}
	sameWords := slices.Equal(asked.words, has.words)
	switch {
	case asked.joined == has.joined:
		return variant
	case sameWords && len(asked.words) > 0 && len(asked.numbers) > 0 && slices.Equal(asked.numbers, has.numbers):
		return variant
	case sameWords && len(asked.words) > 0 && len(asked.numbers) == 0 && len(has.brands) > 0:
		return family
	}
	return none
}

// isVendorID tells that a name which fits a model is an id of its own all the
// same, and must go out as it is written: one that says preview, where the model
// is another form of the same, or one of Google's for the latest of a family.
func isVendorID(name string, m Model, at level) bool {
	asked, has := split(name), split(m.ID)
	switch at {
	case variant:
		return slices.Contains(asked, "preview") && maker(name) != "" && slices.ContainsFunc(noise, func(word string) bool {
			return slices.Contains(asked, word) != slices.Contains(has, word)
		})
	case family:
		return slices.Contains(asked, "latest") && maker(name) == "google"
	case exact, none:
	}
	return false
}

// newer orders models that fit equally well: the higher version first, then
// less noise, then the later date.
func newer(a, b Model) int {
	x, y := shapeOf(lastPart(a.ID)), shapeOf(lastPart(b.ID))
	if c := slices.Compare(y.numbers, x.numbers); c != 0 {
		return c
	}
	if x.noise != y.noise {
		return x.noise - y.noise
	}
	return strings.Compare(y.date, x.date)
}

// best returns the model that name fits best, and how well.
func best(name string, models []Model) (Model, level) {
	var pick Model
	at := none
	for _, m := range models {
		l := fit(name, m)
		if l < at || l == at && l != none && newer(m, pick) < 0 {
			pick, at = m, l
		}
	}
	return pick, at
}
