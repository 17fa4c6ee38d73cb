// cadre agents new and import: writing role files in Cadre's own format.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/role/rolefile"
	"github.com/cadre-dev/cadre/internal/spelling"
)

func newAgentsNew() *cobra.Command {
	var user, project, asJSON bool
	var from string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the file of a new role",
		Long: `Writes a commented template to .cadre/agents of the project, or to the user's
folder. With --from it begins as a copy of another role. A file that exists is
not overwritten.`,
		Example: `  cadre agents new "Release manager"
  cadre agents new strict-reviewer --from reviewer --user`,
		Args: exactly("NAME"),
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			if user && project {
				return usage("--user and --project exclude each other")
			}
			name := strings.Join(strings.Fields(args[0]), " ")
			if fileName(name) == "" {
				return usage("%q is no name for a role: it needs letters or digits", args[0])
			}
			set, err := rolesHere()
			if err != nil {
				return err
			}
			text := rolefile.Template(name)
			if from != "" {
				if text, err = copyOf(set, from, name); err != nil {
					return err
				}
			}
			path, err := targetFile(user, name)
			if err != nil {
				return err
			}
			if err := writeNew(path, text, false); err != nil {
				return err
			}
			for _, r := range set.Roles {
				if role.Key(r.Name) == role.Key(name) {
					fmt.Fprintf(cmd.ErrOrStderr(), "note: there is a role %s already, from %s: the nearer of the two counts\n", r.Name, shownSource(r.Source))
				}
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]string{"name": name, "file": path})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\nEdit it, then look at it with `cadre agents explain %q`.\n", shownPath(path), name)
			return nil
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&user, "user", false, "for all your projects, in your configuration folder")
	f.BoolVar(&project, "project", false, "for this project, in .cadre/agents (the default)")
	f.StringVar(&from, "from", "", "begin with a copy of this role")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	must(cmd.RegisterFlagCompletionFunc("from", completeAgents))
	return cmd
}

// copyOf is the file of a role under another name.
func copyOf(set *rolefile.Set, from, name string) ([]byte, error) {
	for _, r := range set.Roles {
		if role.Key(r.Name) == role.Key(from) {
			r.Name, r.DisplayName, r.AsTool = name, "", nil
			if r.Mode == role.ModePrimary {
				r.Mode = ""
			}
			return rolefile.Encode(r)
		}
	}
	return nil, noRole(set, from)
}

// fileName is the name of a role's file, without its end; empty if nothing of
// the name can be part of one.
func fileName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, role.Key(name)), "-")
}

// targetFile is where the file of a role belongs.
func targetFile(user bool, name string) (string, error) {
	if user {
		dir := rolefile.ConfigFolder(os.Getenv)
		if dir == "" {
			return "", usage("there is no home folder to write to: leave --user out")
		}
		return filepath.Join(dir, "agents", fileName(name)+".md"), nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the current folder: %w", err)
	}
	if folders := role.Folders(dir, ""); len(folders) > 0 {
		dir = folders[len(folders)-1]
	}
	return filepath.Join(dir, ".cadre", "agents", fileName(name)+".md"), nil
}

// writeNew writes a file that does not exist yet, or may be replaced.
func writeNew(path string, text []byte, replace bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making the folder for role files: %w", err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if replace {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return failed(fmt.Errorf("%s exists already", shownPath(path)), "edit it, or choose another name")
	}
	if err != nil {
		return fmt.Errorf("writing the role file: %w", err)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// imported is what became of one role of a file.
type imported struct {
	Name     string         `json:"name"`
	From     string         `json:"from"`
	Format   string         `json:"format"`
	To       string         `json:"to,omitempty"`
	Error    string         `json:"error,omitempty"`
	Tools    []string       `json:"tools"`
	AllTools bool           `json:"all_tools"`
	Model    string         `json:"model"`
	Warnings []role.Warning `json:"warnings"`
}

func newAgentsImport() *cobra.Command {
	var user, force, dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "import PATH...",
		Short: "Convert other products' role files to Cadre's format",
		Long: `Converts the role files at PATH (files or folders) into .cadre/agents, and tells
what of them was mapped and what was left out. They need not be imported to be
used: Cadre reads them where they are, too.`,
		Example: `  cadre agents import .claude/agents --dry-run
  cadre agents import ~/.codex/agents/reviewer.toml --user`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("PATH is missing")
			}
			return nil
		},
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			var files []rolefile.File
			for _, path := range args {
				found, err := rolefile.Read(path, rolefile.Options{Scope: role.Project, Distance: spelling.Distance, CheckRule: permission.CheckBound})
				if err != nil {
					return wrong(err, "name a role file, or a folder of them")
				}
				files = append(files, found...)
			}
			done, failures := importAll(files, user, force, dry)
			if asJSON {
				err := json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{"imported": done, "errors": failures})
				if err != nil {
					return err
				}
			} else {
				printImported(cmd, done, failures, dry)
			}
			if len(failures) > 0 {
				return &ended{code: exitFailed} // all has been said
			}
			if len(done) == 0 {
				return failed(errors.New("there are no role files at "+strings.Join(args, ", ")), "")
			}
			return nil
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&user, "user", false, "into your configuration folder")
	f.BoolVar(&force, "force", false, "replace files that exist")
	f.BoolVar(&dry, "dry-run", false, "write nothing")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// importAll writes each role to a file of its own.
func importAll(files []rolefile.File, user, force, dry bool) (done []imported, failures []role.Warning) {
	done, failures = []imported{}, []role.Warning{}
	written := map[string]string{}
	for _, file := range files {
		failures = append(failures, file.Errors...)
		for _, r := range file.Roles {
			tools, _ := r.Stated()
			x := imported{
				Name: r.Name, From: r.Source.String(), Format: r.Source.Format, Tools: append([]string{}, tools...),
				AllTools: r.AllTools, Model: r.Model, Warnings: append([]role.Warning{}, r.Warnings...),
			}
			path, err := targetFile(user, r.Name)
			if other, twice := written[path]; err == nil && twice {
				err = fmt.Errorf("%s has a role of that name, too", shownPath(other))
			}
			if err == nil {
				err = importRole(r, path, force, dry)
			}
			if err != nil {
				failures = append(failures, role.Warning{File: r.Source.File, Line: r.Source.Line, Text: fmt.Sprintf("the role %s was not imported: %v", r.Name, err)})
				x.Error = err.Error()
			} else {
				written[path], x.To = r.Source.File, path
			}
			done = append(done, x)
		}
	}
	return done, failures
}

func importRole(r role.Role, path string, force, dry bool) error {
	text, err := rolefile.Encode(r)
	if err != nil {
		return err
	}
	if !dry {
		return writeNew(path, text, force)
	}
	if _, err := os.Lstat(path); err == nil && !force {
		return fmt.Errorf("%s exists already", shownPath(path))
	}
	return nil
}

func printImported(cmd *cobra.Command, done []imported, failures []role.Warning, dry bool) {
	out := cmd.OutOrStdout()
	verb := "imported"
	if dry {
		verb = "would import"
	}
	n := 0
	for _, x := range done {
		if x.To == "" {
			continue
		}
		n++
		tools := strings.Join(x.Tools, ", ")
		if x.AllTools {
			tools = "all that the parent may delegate"
		}
		fmt.Fprintf(out, "%s %s (%s) to %s\n  tools: %s; model: %s\n", verb, x.Name, x.Format, shownPath(x.To), orElse(tools, "none"), orElse(x.Model, "the parent's"))
		for _, w := range x.Warnings {
			fmt.Fprintf(out, "  warning: %s\n", shownWarning(w))
		}
	}
	for _, f := range failures {
		fmt.Fprintf(cmd.ErrOrStderr(), "error: %s\n", shownWarning(f))
	}
	fmt.Fprintf(out, "%s %s\n", verb, counted(n, "role"))
}
