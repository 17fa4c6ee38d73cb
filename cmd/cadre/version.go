// cadre version: what this binary is.

package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/agent"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = ""

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Step     int    `json:"step_version"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version",
		Long: `Shows the version of cadre, of Go, the platform, and the version of the agents'
machine, which the stored events carry.`,
		Example: "  cadre version\n  cadre version --json",
		Args:    cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			v := thisVersion()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			text := "cadre " + v.Version
			if v.Revision != "" {
				text += " (" + v.Revision + ")"
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s %s/%s, step version %d\n", text, v.Go, v.OS, v.Arch, v.Step)
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

func thisVersion() versionInfo {
	v := versionInfo{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Step: agent.Version}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v.Version == "" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	if v.Version == "" || v.Version == "(devel)" {
		v.Version = "development"
	}
	return v
}
