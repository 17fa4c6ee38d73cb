// From all roles that were found to those that count.

package rolefile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/role"
)

// Join makes a set of files that a person names, beside the built-in roles.
// Others are the names of roles that exist elsewhere.
func Join(files []File, others []string, distance func(a, b string) int) (*Set, error) {
	builtin, err := role.Builtin()
	if err != nil {
		return nil, err
	}
	s := &Set{Files: files}
	s.settle(builtin)
	s.limitDepth(0)
	s.link(distance, others)
	return s, nil
}

// limitDepth decides how deep a tree may be: as the user says, in the
// configuration (allowed, 0 if not) or a file. A project can only lower it.
func (s *Set) limitDepth(allowed int) {
	stated := func(scope role.Scope) *File {
		if i := slices.IndexFunc(s.Files, func(f File) bool { return f.Scope == scope && f.MaxDepth > 0 }); i >= 0 {
			return &s.Files[i]
		}
		return nil
	}
	if f := stated(role.User); allowed == 0 && f != nil {
		allowed = f.MaxDepth
	}
	s.MaxDepth = cmp.Or(allowed, role.DefaultDepth)
	switch f := stated(role.Project); {
	case f == nil:
	case f.MaxDepth <= s.MaxDepth:
		s.MaxDepth = f.MaxDepth
	default:
		s.Warnings = append(s.Warnings, role.Warning{File: f.Path, Text: fmt.Sprintf("MaxDepth is %d, but a project may only lower the depth of %d: agents.depth in your configuration raises it", f.MaxDepth, s.MaxDepth)})
	}
}

// settle takes in what the files say and chooses among roles of one name. Files
// come in order of precedence.
func (s *Set) settle(builtin []role.Role) {
	s.Files = withoutParts(s.Files)
	for _, f := range s.Files {
		s.Errors = append(s.Errors, f.Errors...)
		s.Warnings = append(s.Warnings, f.Warnings...)
	}
	taken := map[string]role.Source{}
	found := map[string]role.Role{}
	var order []string
	take := func(r role.Role) {
		key := role.Key(r.Name)
		by, hidden := taken[key]
		if !hidden {
			taken[key], found[key] = r.Source, r
			order = append(order, key)
			return
		}
		s.Shadowed = append(s.Shadowed, Shadowed{Role: r, By: by})
		switch {
		case r.Source.Scope == role.BuiltIn:
			s.Notes = append(s.Notes, role.Warning{File: by.File, Line: by.Line, Text: fmt.Sprintf("it replaces the built-in role %s", r.Name)})
		case by.Scope == r.Source.Scope && path.Dir(by.File) == path.Dir(r.Source.File):
			s.Warnings = append(s.Warnings, role.Warning{File: r.Source.File, Line: r.Source.Line, Text: fmt.Sprintf("the role %s is not used: %s defines it, too", r.Name, by)})
		default:
			s.Notes = append(s.Notes, role.Warning{File: r.Source.File, Line: r.Source.Line, Text: fmt.Sprintf("the role %s is not used: %s goes before it", r.Name, by)})
		}
	}
	for _, f := range s.Files {
		for _, r := range f.Roles {
			take(r)
		}
		for _, name := range f.Disabled {
			key := role.Key(name)
			if _, ok := taken[key]; ok {
				continue
			}
			if key == role.Main {
				s.Warnings = append(s.Warnings, role.Warning{File: f.Path, Text: "main cannot be switched off: without it there is nobody to talk to"})
				continue
			}
			taken[key] = role.Source{Scope: f.Scope, File: f.Path, Format: string(f.Format)}
			s.Notes = append(s.Notes, role.Warning{File: f.Path, Text: fmt.Sprintf("it switches the role %s off", name)})
		}
	}
	var names []string // the built-in ones first: their order is that of prompts
	for _, r := range builtin {
		take(r)
		names = append(names, role.Key(r.Name))
	}
	for _, key := range append(names, order...) {
		if r, ok := found[key]; ok {
			s.Roles = append(s.Roles, r)
			delete(found, key)
		}
	}
}

// link resolves the names of delegates. One that does not exist is told and
// left out; a pattern stands for the roles that fit it.
func (s *Set) link(distance func(a, b string) int, others []string) {
	o := Options{Distance: distance}
	names := slices.Clone(others)
	for _, r := range s.Roles {
		names = append(names, r.Name)
	}
	for i := range s.Roles {
		r := &s.Roles[i]
		var to []string
		for _, d := range r.Delegates {
			fits := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !fitsName(d, n) })
			if strings.Contains(d, "*") {
				fits = slices.DeleteFunc(fits, func(n string) bool { return n == r.Name })
			}
			to = append(to, fits...)
			if len(fits) == 0 {
				w := role.Warning{File: r.Source.File, Line: r.Origins["delegates"].Line, Text: fmt.Sprintf("it may delegate to %s%s, but there is no such role: it is left out", d, o.nearest(d, names))}
				r.Warnings = append(r.Warnings, w)
				s.Warnings = append(s.Warnings, w)
			}
		}
		r.Delegates = unique(to)
	}
}

// fitsName compares the name of a role with one in a list of delegates, which
// may be a pattern.
func fitsName(pattern, name string) bool {
	if !strings.Contains(pattern, "*") {
		return role.Key(pattern) == role.Key(name)
	}
	ok, err := path.Match(strings.ToLower(pattern), role.Key(name))
	return err == nil && ok
}
