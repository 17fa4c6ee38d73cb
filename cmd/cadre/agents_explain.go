// cadre agents explain: each value of a role and where it came from, what its
// agents can really use, and the prompt as the model sees it.

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/role/rolefile"
	"github.com/cadre-dev/cadre/internal/spelling"
)

func newAgentsExplain() *cobra.Command {
	var asJSON bool
	var depth int
	var parent string
	cmd := &cobra.Command{
		Use:   "explain NAME",
		Short: "Show what a role comes down to, and why",
		Long: `Shows each value of a role with the file and line that it came from, the tools
that its agents can use at a depth and under a parent, and the prompt as the
model sees it.`,
		Example: `  cadre agents explain coder
  cadre agents explain tester --depth 2 --parent coder --json`,
		Args:              exactly("NAME"),
		ValidArgsFunction: completeAgents,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			set, err := rolesHere()
			if err != nil {
				return err
			}
			e, err := explain(set, args[0], parent, depth, cmd.Flags().Changed("depth"))
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(e)
			}
			return e.print(cmd)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	f.IntVar(&depth, "depth", 0, "how deep in the tree (default: 0 for a role that only the user starts, else 1)")
	f.StringVar(&parent, "parent", "", "the role of the agent that delegates to it (default: main)")
	must(cmd.RegisterFlagCompletionFunc("parent", completeAgents))
	return cmd
}

// stated is a value of a role with where it came from.
type stated struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	From  string `json:"from"`
}

// explained is what a role comes down to.
type explained struct {
	Name     string         `json:"name"`
	Source   string         `json:"source"`
	Format   string         `json:"format"`
	Depth    int            `json:"depth"`
	Parent   string         `json:"parent,omitempty"`
	Values   []stated       `json:"values"`
	Models   []resolved     `json:"models"`
	Tools    []string       `json:"tools"`
	Shadows  []string       `json:"shadows"`
	Warnings []role.Warning `json:"warnings"`
	Notes    []string       `json:"notes"`
	Prompt   string         `json:"prompt"`
}

// resolved is a name of a model with what it stands for.
type resolved struct {
	Name  string `json:"name"`
	Model string `json:"model,omitempty"`
	Error string `json:"error,omitempty"`
}

// explain works a role out at its place. A depth that is not given follows
// from the role.
func explain(set *rolefile.Set, name, parent string, depth int, given bool) (*explained, error) {
	registry, err := set.Registry()
	if err != nil {
		return nil, err
	}
	r, ok := registry.Get(name)
	if !ok {
		return nil, noRole(set, name)
	}
	maxDepth := set.MaxDepth
	if !given && (r.Mode != role.ModePrimary || parent != "") {
		depth = 1
	}
	if depth < 0 || depth > maxDepth {
		return nil, usage("--depth is %d, but a tree has the depths 0 to %d", depth, maxDepth)
	}
	if depth == 0 && parent != "" {
		return nil, usage("at depth 0 there is no parent: leave --parent out, or give a depth from 1 on")
	}
	e := &explained{
		Name: r.Name, Source: shownSource(r.Source), Format: r.Source.Format, Depth: depth,
		Values: valuesOf(r), Models: resolveModels(r), Shadows: []string{}, Warnings: append([]role.Warning{}, r.Warnings...), Notes: []string{},
	}
	for _, s := range set.Shadowed {
		if role.Key(s.Role.Name) == role.Key(r.Name) {
			e.Shadows = append(e.Shadows, shownSource(s.Role.Source))
		}
	}
	var above *role.Role
	if depth > 0 {
		p, ok := registry.Get(orElse(parent, role.Main))
		if !ok {
			return nil, noRole(set, parent)
		}
		above, e.Parent = &p, p.Name
		if !slices.Contains(p.Delegates, r.Name) {
			e.Notes = append(e.Notes, fmt.Sprintf("%s may not delegate to %s", p.Name, r.Name))
		}
	}
	e.Tools, e.Prompt, err = atPlace(r, above, registry, depth, maxDepth)
	return e, err
}

// noRole says that there is no such role, and what was probably meant.
func noRole(set *rolefile.Set, name string) error {
	best, at := "", 3
	var names []string
	for _, r := range set.Roles {
		names = append(names, r.Name)
		if d := spelling.Distance(role.Key(name), role.Key(r.Name)); d < at {
			best, at = r.Name, d
		}
	}
	err := fmt.Errorf("there is no role %q; there are %s", name, strings.Join(names, ", "))
	if best != "" {
		return wrong(err, fmt.Sprintf("did you mean %s?", best))
	}
	return wrong(err, "`cadre agents list` shows where they come from, `cadre agents lint` what could not be read")
}

// resolveModels tells what the names of models stand for.
func resolveModels(r role.Role) []resolved {
	out := []resolved{}
	c, err := catalogueHere()
	for _, name := range r.Models() {
		x := resolved{Name: name}
		if err != nil {
			x.Error = err.Error()
		} else if m, err := c.Resolve(name); err != nil {
			x.Error = fmt.Sprintf("%v; the parent's model is used", err)
		} else {
			x.Model = m.Ref()
		}
		out = append(out, x)
	}
	return out
}

// valuesOf lists the values of a role with where each came from.
func valuesOf(r role.Role) []stated {
	named, denied := r.Stated()
	var tools any = append([]string{}, named...)
	if r.AllTools {
		tools = "*"
	}
	var delegates any = append([]string{}, r.Delegates...)
	var temperature any
	if r.Temperature != nil {
		temperature = *r.Temperature
	}
	var face any
	if r.AsTool != nil {
		face = r.AsTool.Name
	}
	var out []stated
	for _, v := range []struct {
		key   string
		value any
	}{
		{"name", r.Name},
		{"display_name", r.Label()},
		{"description", r.Description},
		{"icon", r.Icon},
		{"when", append([]string{}, r.When...)},
		{"model", shownModel(r)},
		{"temperature", temperature},
		{"effort", r.Effort},
		{"tools", tools},
		{"denied_tools", append([]string{}, denied...)},
		{"tool_rules", append([]string{}, r.ToolRules...)},
		{"delegates", delegates},
		{"max_turns", r.MaxTurns},
		{"max_duration", r.MaxDuration.String()},
		{"max_tokens", r.MaxTokens},
		{"max_cost", float64(r.MaxCost) / 1e6},
		{"max_parallel", r.MaxParallel},
		{"context", string(orElse(r.Context, role.ContextNone))},
		{"summary", r.Summary},
		{"input_schema", r.InputSchema},
		{"output_schema", r.OutputSchema},
		{"acceptance", r.Acceptance},
		{"background", r.Background},
		{"isolation", r.Isolation},
		{"mode", string(orElse(r.Mode, role.ModeAll))},
		{"as_tool", face},
	} {
		from := r.Origin(v.key)
		from.File = shownPath(from.File)
		out = append(out, stated{v.key, v.value, from.String()})
	}
	return out
}

func (e *explained) print(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s, from %s", e.Name, e.Source)
	for _, s := range e.Shadows {
		fmt.Fprintf(out, ", which goes before %s", s)
	}
	fmt.Fprint(out, "\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tVALUE\tFROM")
	for _, v := range e.Values {
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, shownValue(v.Value), v.From)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, m := range e.Models {
		if m.Error != "" {
			fmt.Fprintf(out, "\nmodel %s: %s", m.Name, m.Error)
		} else {
			fmt.Fprintf(out, "\nmodel %s is %s", m.Name, m.Model)
		}
	}
	place := fmt.Sprintf("depth %d", e.Depth)
	if e.Parent != "" {
		place += " under " + e.Parent
	}
	fmt.Fprintf(out, "\nTools at %s: %s\n", place, strings.Join(e.Tools, ", "))
	for _, n := range e.Notes {
		fmt.Fprintf(out, "note: %s\n", n)
	}
	for _, warning := range e.Warnings {
		fmt.Fprintf(out, "warning: %s\n", shownWarning(warning))
	}
	fmt.Fprintf(out, "\nThe prompt at %s:\n\n%s\n", place, strings.TrimSpace(e.Prompt))
	return nil
}

// shownValue is a value on one line; a dash if there is none.
func shownValue(v any) string {
	s := ""
	switch v := v.(type) {
	case nil:
	case []string:
		s = strings.Join(v, ", ")
	case json.RawMessage:
		s = string(v)
	case int64:
		if v != 0 {
			s = fmt.Sprint(v)
		}
	case int:
		if v != 0 {
			s = fmt.Sprint(v)
		}
	case float64:
		if v != 0 {
			s = fmt.Sprint(v)
		}
	default:
		s = fmt.Sprint(v)
	}
	return orElse(oneLine(s, 100), "-")
}
