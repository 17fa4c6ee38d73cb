// What to say of a path that does not exist: the existing names it was
// probably meant to be.

package files

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/spelling"
)

const (
	nearestNames = 5
	nearestOf    = 2000 // names of a folder that are compared
)

// missing words the error for a name that does not exist: it names the last
// folder on its way that does, and the nearest names in it.
func (f *folder) missing(name string) error {
	if info, err := f.root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link to something that does not exist", shown(name))
	}
	folder, wanted := path.Split(name)
	for folder = path.Clean(folder); folder != "."; folder, wanted = path.Dir(folder), path.Base(folder) {
		if info, err := f.root.Stat(folder); err == nil && info.IsDir() {
			break
		}
	}
	in := "the working folder"
	if folder != "." {
		in = shown(folder)
	}
	what := shown(name) + " does not exist"
	if gone := path.Join(folder, wanted); gone != name {
		what += ", nor does " + shown(gone)
	}
	entries, _, err := f.list(folder, nearestOf)
	if err != nil {
		return errors.New(what) // why the folder cannot be listed was not asked
	}
	if len(entries) == 0 {
		return fmt.Errorf("%s; %s is empty", what, in)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
		if e.IsDir() {
			names[i] += "/"
		}
	}
	return fmt.Errorf("%s; nearest in %s: %s", what, in, strings.Join(nearest(wanted, names), ", "))
}

// nearest returns the few names that are most like wanted, the likest first.
func nearest(wanted string, names []string) []string {
	wanted = strings.ToLower(wanted)
	type scored struct {
		name  string
		score int
	}
	all := make([]scored, len(names))
	for i, name := range names {
		lower := strings.ToLower(strings.TrimSuffix(name, "/"))
		score := spelling.Distance(wanted, lower)
		if lower != "" && (strings.Contains(wanted, lower) || strings.Contains(lower, wanted)) {
			score /= 2
		}
		all[i] = scored{name, score}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	var out []string
	for _, s := range all[:min(len(all), nearestNames)] {
		out = append(out, shown(s.name))
	}
	return out
}
