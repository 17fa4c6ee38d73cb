// Glob patterns from a model: checked before they are matched.

package files

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	maxPattern      = 1000 // bytes
	maxAlternatives = 1000 // that {a,b} may multiply to; each is tried for each file
)

func checkPattern(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("the glob pattern is empty")
	case len(pattern) > maxPattern:
		return fmt.Errorf("the glob pattern is %d bytes long, at most %d are allowed", len(pattern), maxPattern)
	case !doublestar.ValidatePattern(pattern):
		return fmt.Errorf("%q is not a valid glob pattern: are all [ ] and { } closed?", pattern)
	case alternatives(pattern) > maxAlternatives:
		return fmt.Errorf("%q has too many alternatives in { }", pattern)
	}
	return nil
}

// alternatives bounds from above what the braces of pattern expand to.
func alternatives(pattern string) int {
	product := 1
	var open []int // commas in the braces that are open, counted from 1
	for i := 0; i < len(pattern) && product <= maxAlternatives; i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			open = append(open, 1)
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == '}' && len(open) > 0:
			product *= open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
	return product
}

// filter returns what decides whether a path, relative to the folder that is
// searched, matches pattern; one without a slash goes by the file's name. No
// pattern matches everything.
func filter(pattern string) (func(rel string) bool, error) {
	if pattern == "" {
		return func(string) bool { return true }, nil
	}
	if err := checkPattern(pattern); err != nil {
		return nil, err
	}
	if !strings.Contains(pattern, "/") {
		return func(rel string) bool { return doublestar.MatchUnvalidated(pattern, path.Base(rel)) }, nil
	}
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	return func(rel string) bool { return doublestar.MatchUnvalidated(pattern, rel) }, nil
}

// relative gives name, which is in folder or below, as seen from there.
func relative(folder, name string) string {
	if folder == "." {
		return name
	}
	return strings.TrimPrefix(name[len(folder):], "/")
}
