// cadre dev: for those who develop Cadre, or against it.

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/api"
	"github.com/cadre-dev/cadre/internal/llm/modelserver"
	"github.com/cadre-dev/cadre/internal/llm/scripted"
)

func newDev() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dev",
		Short:   "For developers",
		Long:    "Commands for those who develop Cadre, or something that talks to models.",
		Example: "  cadre dev model-server script.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return usage("say what to do: model-server or openapi") },
	}
	cmd.AddCommand(newModelServer(), newOpenAPI())
	return cmd
}

func newModelServer() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "model-server SCRIPT",
		Short: "Serve a scripted model over HTTP",
		Long: `Plays a script as a model behind the HTTP interfaces of Anthropic
(/v1/messages), OpenAI (/v1/chat/completions, /v1/responses) and Google
(/v1beta/models/MODEL:generateContent), until it is interrupted. Prints the
base URL. Any API key will do.`,
		Example: `  cadre dev model-server script.yaml
  cadre dev model-server script.yaml --addr 127.0.0.1:8080`,
		Args: exactly("SCRIPT"),
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			model, err := scripted.Load(args[0])
			if err != nil {
				return wrong(err, "")
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return serveModel(ctx, cmd, model, addr)
		}),
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "the address to listen on; port 0 takes a free one")
	return cmd
}

func newOpenAPI() *cobra.Command {
	return &cobra.Command{
		Use:   "openapi [FILE]",
		Short: "Write the OpenAPI document of the HTTP API",
		Long: `Writes the document that cadre serve has at /openapi.json, to a file or to
standard output. It is the same for every server.`,
		Example: "  cadre dev openapi | jq .paths\n  cadre dev openapi openapi.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			doc, err := api.Document()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				_, err = cmd.OutOrStdout().Write(doc)
				return err
			}
			if err := os.WriteFile(args[0], doc, 0o644); err != nil { //nolint:gosec // a document for all to read
				return fmt.Errorf("writing the document: %w", err)
			}
			return nil
		}),
	}
}

func serveModel(ctx context.Context, cmd *cobra.Command, model *scripted.Model, addr string) error {
	return modelserver.New(model, modelserver.Options{}).Listen(ctx, addr, func(at string) {
		fmt.Fprintf(cmd.OutOrStdout(), "http://%s\n", at)
	})
}
