// cadre models: which models there are, what they can do and what they cost.

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
)

func newModels() *cobra.Command {
	var provider string
	var live, asJSON bool
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models that can be used",
		Long: `Lists the models of the providers that are configured (by an API key in the
environment, by the configuration file, or as a local server that runs), with
their context window, their prices for a million tokens, those of long requests
where they differ, what they can do and how much they can be told to think.
A price that is not known is shown as unknown, never as zero.

Local servers are looked for where they usually listen on this machine; with
CADRE_LOCAL=off only those that are configured are asked.

With --provider the models of that provider are listed, configured or not.

A provider is configured by these variables, a key and if need be an address:
` + environment() + `
What else can be said of one stands in the configuration file, under
providers.NAME: kind (anthropic, openai, openai-responses or gemini), base_url,
key_env, headers, query, effort, idle (how long it may be silent, such as 2m)
and stream (false: answers come in one piece); and under its models their
window, max_output, price and abilities.`,
		Example: `  cadre models
  cadre models --provider anthropic
  cadre models --provider ollama --live --json`,
		Args: cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			c, err := catalogueHere()
			if err != nil {
				return err
			}
			c.Discover(cmd.Context())
			models := c.List(provider)
			if live {
				if provider == "" {
					return usage("--live asks one provider for its list: name it with --provider")
				}
				if models, err = c.Fetch(cmd.Context(), provider); err != nil {
					return err
				}
			}
			if provider != "" && len(models) == 0 && !live {
				return noModels(c, provider)
			}
			return printModels(cmd, c, models, asJSON)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&provider, "provider", "", "only the models of this provider")
	f.BoolVar(&live, "live", false, "ask the provider itself for its list")
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// noModels says why there are no models of a provider, and what to do.
func noModels(c *catalogue.Catalogue, name string) error {
	p, err := c.Provider(name)
	switch {
	case err != nil:
		return usage("%v", err)
	case p.Local:
		return failed(fmt.Errorf("no %s answers at %s, or it has no model", p.Name, p.BaseURL), "start it, or name its address: see `cadre models --help`")
	case !p.Ready:
		return wrong(fmt.Errorf("the models of %s are not in the built-in list, and it cannot be asked yet", p.Name), p.Missing)
	}
	return wrong(fmt.Errorf("the models of %s are not in the built-in list", p.Name), fmt.Sprintf("ask it with `cadre models --provider %s --live`", p.Name))
}

// environment lists the variables that configure providers.
func environment() string {
	const width = 78
	var b strings.Builder
	for _, v := range catalogue.Environment() {
		line := fmt.Sprintf("  %-10s", v.Provider)
		for i, name := range slices.Concat(v.Keys, v.Bases) {
			if i > 0 {
				line += ","
			}
			if len(line)+len(name) > width {
				b.WriteString("\n" + line)
				line = strings.Repeat(" ", 12)
			}
			line += " " + name
		}
		b.WriteString("\n" + line)
	}
	return b.String() + "\n"
}

// catalogueHere is the catalogue of the configuration that counts in the
// current folder.
func catalogueHere() (*catalogue.Catalogue, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("finding the current folder: %w", err)
	}
	c, _, err := app.Catalogue(app.Options{Dir: dir})
	if err != nil {
		return nil, wrong(fmt.Errorf("reading the configuration: %w", err), "mend the file, or look with `cadre doctor`")
	}
	return c, nil
}

func printModels(cmd *cobra.Command, c *catalogue.Catalogue, models []catalogue.Model, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return json.NewEncoder(out).Encode(map[string]any{"default": c.Default(), "models": append([]catalogue.Model{}, models...)})
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tWINDOW\tINPUT\tOUTPUT\tCACHED\tLONG REQUESTS\tABILITIES")
	for _, m := range models {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Ref(), window(m.Window),
			price(m.Price, m.Price.Input), price(m.Price, m.Price.Output), price(m.Price, m.Price.CacheRead), long(m), abilities(m))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nPrices in dollars for a million tokens. Efforts are written behind the name, as in opus@high.")
	for _, t := range c.Tiers() {
		name := t.Name
		if name == "" {
			name = "if none is named"
		}
		fmt.Fprintf(out, "%s: %s (%s)\n", name, t.Model, t.Reason)
	}
	return nil
}

func window(n int64) string {
	switch {
	case n == 0:
		return "unknown"
	case n >= 1_000_000:
		return fmt.Sprintf("%.3gM", float64(n)/1e6)
	}
	return fmt.Sprintf("%dk", n/1000)
}

func price(p catalogue.Price, micros int64) string {
	switch {
	case !p.Known:
		return "unknown"
	case p == catalogue.Price{Known: true}:
		return "free"
	}
	return fmt.Sprintf("%.4g", float64(micros)/1e6)
}

// long is what requests with much input cost, if there can be any: input/output
// and from where on.
func long(m catalogue.Model) string {
	p := m.Price
	if !p.Known || p.Above == 0 || m.Window > 0 && m.Window <= p.Above {
		return "-"
	}
	return fmt.Sprintf("%s/%s above %s", price(p, p.Long.Input), price(p, p.Long.Output), window(p.Above))
}

func abilities(m catalogue.Model) string {
	text := ""
	for _, a := range []struct {
		has  bool
		name string
	}{{m.Tools, "tools"}, {m.Images, "images"}, {m.Reasoning, "reasoning"}} {
		if !a.has {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += a.name
	}
	if len(m.Efforts) > 0 {
		words := make([]string, len(m.Efforts))
		for i, e := range m.Efforts {
			words[i] = string(e)
		}
		text += " @" + strings.Join(words, "|")
	}
	if !m.Listed {
		text += " (assumed)"
	}
	return text
}
