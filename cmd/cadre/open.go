// cadre open: the web page of a server that runs already.

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/client"
)

func newOpen(g *globals) *cobra.Command {
	var only bool
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the web page of the server that runs",
		Long: `Asks the server of the data folder for an address that signs in once, within
ten minutes, prints it and opens it in the browser.`,
		Example: "  cadre open\n  cadre open --print",
		Args:    cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			dir, err := g.folder()
			if err != nil {
				return err
			}
			none := failed(fmt.Errorf("no server runs for %s", dir), fmt.Sprintf("start one with `%s`", g.command("serve --open")))
			found, err := access.FindServer(dir)
			if err != nil {
				return none
			}
			c, err := g.dial(ctx, dir)
			if errors.Is(err, client.ErrUnreachable) {
				return none // it died and left its file
			}
			if err != nil {
				return err
			}
			defer c.Close()
			code, err := c.CreateCode(ctx)
			if err != nil {
				return err
			}
			link := found.Address + "/?code=" + code.Code
			fmt.Fprintln(cmd.OutOrStdout(), link)
			if !only {
				openPage(ctx, link)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&only, "print", false, "only print the address")
	return cmd
}
