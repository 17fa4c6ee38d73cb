// cadre db: looks after the database.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

func newDB(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "db",
		Short:   "Look after the database",
		Long:    "Commands that look after the database in the data folder.",
		Example: "  cadre db check\n  cadre db backup cadre-backup.db",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return usage("say what to do: check, backup or restore") },
	}
	cmd.AddCommand(newDBCheck(g), newDBBackup(g), newDBRestore(g))
	return cmd
}

// salvage is what to do about a damaged database.
const salvage = "if something is damaged, copy the data folder before anything else; then restore a copy (`cadre db restore FILE`), or salvage it with sqlite3's .recover"

func newDBCheck(g *globals) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Look for damage",
		Long: `Checks the database file and that its rows fit together, also while a process
works with it. Exits with 1 and names what is damaged.`,
		Example: "  cadre db check\n  cadre db check --json",
		Args:    cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error {
			st, err := g.look()
			if errors.Is(err, store.ErrCorrupt) {
				return failed(err, salvage) // so much that it cannot be opened
			}
			if err != nil {
				return err
			}
			defer func() { _ = st.Close() }() // it only reads
			problems, err := st.Check(cmd.Context())
			if err != nil {
				return err
			}
			problems = append(problems, g.unwritable()...)
			out := cmd.OutOrStdout()
			switch {
			case asJSON:
				if err := json.NewEncoder(out).Encode(map[string]any{"sound": len(problems) == 0, "problems": append([]string{}, problems...)}); err != nil {
					return err
				}
			case len(problems) == 0:
				fmt.Fprintln(out, "the database is sound")
			default:
				for _, p := range problems {
					fmt.Fprintln(out, p)
				}
			}
			if len(problems) > 0 {
				return failed(fmt.Errorf("%s found", counted(len(problems), "problem")), salvage)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// leastSpace is how much room a disk needs so that anything can be stored.
const leastSpace = 1 << 20 // bytes

// unwritable says why nothing could be stored now: a full disk, or another
// program that holds the database. A process of Cadre that owns the folder
// knows best itself whether it can write.
func (g *globals) unwritable() []string {
	dir, err := g.folder()
	if err != nil {
		return nil
	}
	var out []string
	if free, ok := freeSpace(dir); ok && free < leastSpace {
		out = append(out, fmt.Sprintf("the disk is full: %d kB are left for %s; make room, agents that wait then go on by themselves", free>>10, dir))
	}
	st, err := sqlite.Open(dir, sqlite.Options{Readers: 1, BusyTimeout: time.Second})
	switch {
	case errors.Is(err, store.ErrInUse):
	case errors.Is(err, store.ErrUnavailable):
		out = append(out, fmt.Sprintf("the database cannot be written now: %v", err))
	case err == nil:
		_ = st.Close() // it wrote nothing
	}
	return out
}
