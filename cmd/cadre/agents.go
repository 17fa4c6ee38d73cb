// cadre agents: which roles there are, where they come from, and what is wrong
// with their files.

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/role/rolefile"
	"github.com/cadre-dev/cadre/internal/spelling"
)

func newAgentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "The roles that agents can have: list, check, explain, make and import them",
		Long: `A role is a Markdown file: front matter with what it may use and how far it may
go, and its prompt below. Roles are read from .cadre/agents, .claude/agents,
.opencode/agent(s), .gemini/agents, .github/agents and .codex/agents of the
project, up to the root of its repository, then from the same folders of the
user (~/.config/cadre/agents first), then come the built-in ones. Of two roles
with one name the nearer counts.`,
		Example: "  cadre agents list\n  cadre agents explain coder\n  cadre agents lint",
		Args:    cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			return usage("say what to do: list, lint, explain, new or import")
		}),
	}
	cmd.AddCommand(newAgentsList(), newAgentsLint(), newAgentsExplain(), newAgentsNew(), newAgentsImport())
	return cmd
}

// rolesHere are the roles that count in the current folder.
func rolesHere() (*rolefile.Set, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the current folder: %w", err)
	}
	return rolefile.Load(rolefile.Sources{Dir: dir, Distance: spelling.Distance, CheckRule: permission.CheckBound, Depth: depthIn(dir)})
}

// depthIn is how deep the configuration lets a tree be, 0 if it does not say. A
// broken one is for other commands to tell.
func depthIn(dir string) int {
	_, c, err := app.Catalogue(app.Options{Dir: dir})
	if err != nil {
		return 0
	}
	return c.Agents.Depth
}

// completeAgents completes the name of a role.
func completeAgents(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	set, err := rolesHere()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, r := range set.Roles {
		names = append(names, r.Name+"\t"+oneLine(r.Description, 60))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func newAgentsList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the roles, and those that another one hides",
		Long:    "Lists the roles that count in this folder: where each comes from, its model, how\nmany tools and turns it has, and what it is for.",
		Example: "  cadre agents list\n  cadre agents list --json",
		Args:    cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			set, err := rolesHere()
			if err != nil {
				return err
			}
			if asJSON {
				return listJSON(cmd, set)
			}
			return listText(cmd, set)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// listedRole is a role in a list, as JSON.
type listedRole struct {
	Name        string     `json:"name"`
	DisplayName string     `json:"display_name,omitempty"`
	Description string     `json:"description"`
	Icon        string     `json:"icon,omitempty"`
	Scope       role.Scope `json:"scope"`
	File        string     `json:"file,omitempty"`
	Line        int        `json:"line,omitempty"`
	Format      string     `json:"format"`
	Model       string     `json:"model"`
	AllTools    bool       `json:"all_tools"`
	Tools       []string   `json:"tools"`
	Delegates   []string   `json:"delegates"`
	MaxTurns    int        `json:"max_turns"`
	MaxDuration string     `json:"max_duration"`
	Mode        role.Mode  `json:"mode"`
	AsTool      string     `json:"as_tool,omitempty"`
	ShadowedBy  string     `json:"shadowed_by,omitempty"`
}

func listing(r role.Role) listedRole {
	tools, _ := r.Stated()
	out := listedRole{
		Name: r.Name, DisplayName: r.DisplayName, Description: r.Description, Icon: r.Icon,
		Scope: r.Source.Scope, File: r.Source.File, Line: r.Source.Line, Format: r.Source.Format, Model: r.Model,
		AllTools: r.AllTools, Tools: append([]string{}, tools...), Delegates: append([]string{}, r.Delegates...),
		MaxTurns: r.MaxTurns, MaxDuration: r.MaxDuration.String(), Mode: orElse(r.Mode, role.ModeAll),
	}
	if r.AsTool != nil {
		out.AsTool = r.AsTool.Name
	}
	return out
}

func orElse[T ~string](s, other T) T {
	if s == "" {
		return other
	}
	return s
}

func listJSON(cmd *cobra.Command, set *rolefile.Set) error {
	registry, err := set.Registry()
	if err != nil {
		return err
	}
	roles, shadowed := []listedRole{}, []listedRole{}
	for _, r := range registry.All() {
		roles = append(roles, listing(r))
	}
	for _, s := range set.Shadowed {
		l := listing(s.Role)
		l.ShadowedBy = s.By.String()
		shadowed = append(shadowed, l)
	}
	return json.NewEncoder(cmd.OutOrStdout()).Encode(map[string]any{
		"roles": roles, "shadowed": shadowed,
		"errors": append([]role.Warning{}, set.Errors...), "warnings": append([]role.Warning{}, set.Warnings...),
	})
}

func listText(cmd *cobra.Command, set *rolefile.Set) error {
	registry, err := set.Registry()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tFROM\tMODEL\tTOOLS\tTURNS\tDESCRIPTION")
	row := func(r role.Role, from string) {
		tools := "all"
		if !r.AllTools {
			tools = fmt.Sprint(len(ownTools(r)))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", r.Name, from, shownModel(r), tools, r.MaxTurns, oneLine(r.Description, 70))
	}
	for _, r := range registry.All() {
		row(r, shownSource(r.Source))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for i, s := range set.Shadowed {
		if i == 0 {
			fmt.Fprintln(out, "\nNot used, because a nearer one has the same name:")
		}
		fmt.Fprintf(out, "  %s of %s (%s counts)\n", s.Role.Name, shownSource(s.Role.Source), shownSource(s.By))
	}
	errs := cmd.ErrOrStderr()
	for _, e := range set.Errors {
		fmt.Fprintf(errs, "error: %s\n", shownWarning(e))
	}
	if n := len(set.Warnings); n > 0 {
		fmt.Fprintf(errs, "%s; `cadre agents lint` shows them\n", counted(n, "warning"))
	}
	return nil
}

// ownTools are the tools that a role names, without those that follow from its
// being an agent.
func ownTools(r role.Role) []string {
	tools, _ := r.Stated()
	return slices.DeleteFunc(tools, func(t string) bool {
		return slices.Contains(role.EveryAgents(), t) || slices.Contains(role.Delegation(), t)
	})
}

// shownModel is the model of a role in words.
func shownModel(r role.Role) string {
	switch {
	case r.Model != "":
		return r.Model
	case r.Mode == role.ModePrimary:
		return "the chat's"
	}
	return "the parent's"
}

// oneLine is the start of a text on one line.
func oneLine(s string, most int) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// shownSource is where a role comes from, as short as can be.
func shownSource(s role.Source) string {
	if s.File == "" {
		return s.String()
	}
	s.File = shownPath(s.File)
	return s.String()
}

func shownWarning(w role.Warning) string {
	w.File = shownPath(w.File)
	return w.String()
}

// shownPath is a path as a person would type it here.
func shownPath(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	if home := os.Getenv("HOME"); home != "" {
		if rel, err := filepath.Rel(home, path); err == nil && !strings.HasPrefix(rel, "..") {
			return "~/" + filepath.ToSlash(rel)
		}
	}
	return path
}
