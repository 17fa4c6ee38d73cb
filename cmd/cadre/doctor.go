// cadre doctor: is everything set up, and if not, what to do.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
	"github.com/cadre-dev/cadre/internal/store"
)

func newDoctor(g *globals) *cobra.Command {
	var deep, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the set-up and say what to do",
		Long: `Checks the configuration, the models that the tiers lead to, which providers
have a key, which local servers run, what confines commands, the roles, and the
data folder. With --deep each
provider that has a key is asked for its list of models, which costs nothing and
shows whether the key is good.

Exits with 1 if something is wrong. That no provider is configured is not wrong:
the offline model answers then.`,
		Example: "  cadre doctor\n  cadre doctor --deep\n  cadre doctor --json",
		Args:    cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return fmt.Errorf("finding the current folder: %w", err)
			}
			// A broken configuration is one of the findings.
			c, conf, _ := app.Catalogue(app.Options{Dir: dir})
			findings := append(c.Doctor(cmd.Context(), deep), checkSandbox(cmd.Context(), conf), checkRoles(dir), g.checkData(cmd.Context()))
			return printFindings(cmd, findings, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "ask each provider that has a key")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// checkSandbox looks what keeps commands in bounds here.
func checkSandbox(ctx context.Context, c *config.Config) catalogue.Finding {
	box, notes := app.Sandbox(ctx, c)
	f := catalogue.Finding{Subject: "sandbox", OK: box.Confines(), Text: box.Name() + " confines commands"}
	if !box.Confines() {
		f.Text = "commands are not confined, so that each one asks"
		f.Hint = "install bubblewrap (the command bwrap), or use Linux 6.2 or later with Landlock"
	}
	for _, g := range box.Gaps() {
		f.Text += "; " + g
	}
	if len(notes) > 0 && box.Confines() {
		f.Text += " (" + strings.Join(notes, "; ") + ")"
	}
	return f
}

// checkRoles reads the role files.
func checkRoles(dir string) catalogue.Finding {
	const hint = "`cadre agents lint` says more"
	roles, set, err := app.Roles(app.Options{Dir: dir}, depthIn(dir))
	if err != nil {
		return catalogue.Finding{Subject: "roles", Text: err.Error(), Hint: hint}
	}
	f := catalogue.Finding{Subject: "roles", OK: len(set.Errors) == 0, Text: fmt.Sprintf("%d roles", len(roles.All()))}
	if n := len(set.Errors) + len(set.Warnings); n > 0 {
		f.Text += fmt.Sprintf(", %d errors, %d warnings", len(set.Errors), len(set.Warnings))
		f.Hint = hint
	}
	return f
}

// checkData looks at the data folder and the database in it.
func (g *globals) checkData(ctx context.Context) catalogue.Finding {
	const subject = "database"
	dir, err := g.folder()
	if err != nil {
		return catalogue.Finding{Subject: subject, Text: err.Error(), Hint: "name a folder with --data or CADRE_HOME"}
	}
	st, err := g.look()
	if errors.Is(err, store.ErrNotFound) {
		return catalogue.Finding{Subject: subject, OK: true, Text: dir + " will be made by the first `cadre run`"}
	}
	if err != nil {
		return catalogue.Finding{Subject: subject, Text: err.Error(), Hint: "look with `cadre db check`"}
	}
	defer func() { _ = st.Close() }() // it only reads
	problems, err := st.Check(ctx)
	switch {
	case err != nil:
		return catalogue.Finding{Subject: subject, Text: err.Error(), Hint: salvage}
	case len(problems) > 0:
		return catalogue.Finding{Subject: subject, Text: problems[0], Hint: salvage}
	}
	return catalogue.Finding{Subject: subject, OK: true, Text: dir + " is sound"}
}

func printFindings(cmd *cobra.Command, findings []catalogue.Finding, asJSON bool) error {
	wrongs := 0
	for _, f := range findings {
		if !f.OK {
			wrongs++
		}
	}
	out := cmd.OutOrStdout()
	if asJSON {
		if err := json.NewEncoder(out).Encode(map[string]any{"ok": wrongs == 0, "findings": findings}); err != nil {
			return err
		}
	} else {
		hinted := map[string]bool{} // the same advice once
		for _, f := range findings {
			mark := "ok   "
			if !f.OK {
				mark = "wrong"
			}
			fmt.Fprintf(out, "%s  %s: %s\n", mark, f.Subject, f.Text)
			if f.Hint != "" && !hinted[f.Hint] {
				hinted[f.Hint] = true
				fmt.Fprintf(out, "       → %s\n", f.Hint)
			}
		}
	}
	if wrongs > 0 {
		return failed(fmt.Errorf("%s found", counted(wrongs, "problem")), "")
	}
	return nil
}
