// Names of models as people write them in role files. Whether there is such a
// model is for the catalogue to say; here they only lose what is no name.

package rolefile

import (
	"regexp"
	"strings"
)

// tail is what some products write behind the name of a model: the provider in
// parentheses, the size of the window.
var tail = regexp.MustCompile(`\s*(\([^()]*\)|\[[^\[\]]*\])\s*$`)

// modelNames reads one name or a list to fall back through. The empty list
// means the parent's model.
func modelNames(v any) ([]string, bool) {
	names, ok := list(v)
	if !ok {
		return nil, false
	}
	var out []string
	for _, name := range names {
		name = unquote(name)
		for tail.MatchString(name) {
			name = tail.ReplaceAllString(name, "")
		}
		switch strings.ToLower(name) {
		case "inherit", "auto", "parent", "none", "null", "":
		default:
			out = append(out, name)
		}
	}
	return unique(out), true
}
