// cadre agents lint: what is wrong with role files, by file and line.

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/role/rolefile"
	"github.com/cadre-dev/cadre/internal/spelling"
)

func newAgentsLint() *cobra.Command {
	var asJSON, strict bool
	cmd := &cobra.Command{
		Use:   "lint [PATH...]",
		Short: "Check role files",
		Long: `Checks the role files that count in this folder, or those at PATH (files or
folders), in whichever of the formats they are. Errors are files or roles that
cannot be used; warnings are things that are not taken over or may be meant
otherwise; notes are good to know. With errors the exit code is 1.`,
		Example: `  cadre agents lint
  cadre agents lint .claude/agents --strict`,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			set, roles, err := toLint(args)
			if err != nil {
				return err
			}
			checkModels(set, roles)
			if asJSON {
				err = lintJSON(cmd, set, roles)
			} else {
				lintText(cmd, set, roles)
			}
			if err != nil {
				return err
			}
			if len(set.Errors) > 0 || strict && len(set.Warnings) > 0 {
				return &ended{code: exitFailed} // all has been said
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	f.BoolVar(&strict, "strict", false, "warnings fail, too")
	return cmd
}

// toLint reads what is to be checked; roles are those that come from files.
func toLint(paths []string) (*rolefile.Set, []role.Role, error) {
	here, err := rolesHere()
	if err != nil {
		return nil, nil, err
	}
	set := here
	if len(paths) > 0 {
		var files []rolefile.File
		for _, path := range paths {
			found, err := rolefile.Read(path, rolefile.Options{Scope: role.Project, Distance: spelling.Distance, CheckRule: permission.CheckBound})
			if err != nil {
				return nil, nil, wrong(err, "name a role file, or a folder of them")
			}
			files = append(files, found...)
		}
		var others []string
		for _, r := range here.Roles {
			others = append(others, r.Name)
		}
		if set, err = rolefile.Join(files, others, spelling.Distance); err != nil {
			return nil, nil, err
		}
		if len(files) == 0 {
			set.Notes = append(set.Notes, role.Warning{File: strings.Join(paths, ", "), Text: "there are no role files"})
		}
	}
	roles := slices.DeleteFunc(slices.Clone(set.Roles), func(r role.Role) bool { return r.Source.File == "" })
	return set, roles, nil
}

// checkModels warns of models that do not exist, and notes those that lack a
// key only.
func checkModels(set *rolefile.Set, roles []role.Role) {
	c, err := catalogueHere()
	if err != nil {
		set.Notes = append(set.Notes, role.Warning{Text: fmt.Sprintf("models were not checked: %v", err)})
		return
	}
	known := allModels()
	for _, r := range roles {
		for _, name := range r.Models() {
			_, err := c.Resolve(name)
			if err == nil {
				continue
			}
			w := role.Warning{File: r.Source.File, Line: r.Origin("model").Line, Text: fmt.Sprintf("%v; without it the parent's model is used", err)}
			if _, err := known.Resolve(name); err == nil {
				set.Notes = append(set.Notes, w)
			} else {
				set.Warnings = append(set.Warnings, w)
			}
		}
	}
}

// allModels is a catalogue in which every vendor has a key: it tells names that
// exist from names that do not.
func allModels() *catalogue.Catalogue {
	c, _, _ := app.Catalogue(app.Options{Env: func(name string) string { // without a home there is no file that could be broken
		if strings.HasSuffix(name, "_API_KEY") {
			return "none"
		}
		return ""
	}})
	return c
}

func lintText(cmd *cobra.Command, set *rolefile.Set, roles []role.Role) {
	out := cmd.OutOrStdout()
	for _, group := range []struct {
		kind string
		list []role.Warning
	}{{"error", set.Errors}, {"warning", set.Warnings}, {"note", set.Notes}} {
		for _, w := range group.list {
			place := ""
			if w.File != "" {
				place = role.Origin{File: shownPath(w.File), Line: w.Line}.String() + ": "
			}
			fmt.Fprintf(out, "%s%s: %s\n", place, group.kind, w.Text)
		}
	}
	fmt.Fprintf(out, "%s, %s, %s\n", counted(len(roles), "role"), counted(len(set.Errors), "error"), counted(len(set.Warnings), "warning"))
}

func lintJSON(cmd *cobra.Command, set *rolefile.Set, roles []role.Role) error {
	names := []string{}
	for _, r := range roles {
		names = append(names, r.Name)
	}
	return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{
		"roles": names, "ok": len(set.Errors) == 0,
		"errors": append([]role.Warning{}, set.Errors...), "warnings": append([]role.Warning{}, set.Warnings...), "notes": append([]role.Warning{}, set.Notes...),
	})
}
