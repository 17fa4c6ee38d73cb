// cadre db backup and cadre db restore: copies of the database, checked before
// they count.

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/tracing"
)

func newDBBackup(g *globals) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the database, also while it is in use",
		Long: `Writes everything that is stored now into one file that only you can read, also
while a server or a run is at work; they are not held up. The copy is checked as
cadre db check and cadre verify --all would, and appears when it is whole: a
backup that is killed leaves at most a file FILE.partial-…, which can be
deleted.

The file holds the conversations and the hashes of tokens, not the log file, the
configuration or the files that agents work on. cadre db restore puts it back.`,
		Example: "  cadre db backup cadre-backup.db\n  cadre db backup --force /backups/cadre.db",
		Args:    oneFile,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			st, err := g.look()
			if err != nil {
				return err
			}
			defer func() { _ = st.Close() }() // it only reads
			file, err := filepath.Abs(args[0])
			if err != nil {
				return fmt.Errorf("finding %s: %w", args[0], err)
			}
			if info, err := os.Stat(file); err == nil && info.IsDir() {
				return usage("%s is a folder: name a file in it", file)
			}
			chats := 0
			err = st.Backup(ctx, file, force, func(copied *sqlite.Store) (err error) {
				chats, err = soundCopy(ctx, copied)
				return err
			})
			switch {
			case errors.Is(err, fs.ErrExist):
				return wrong(fmt.Errorf("%s exists already", file), "--force replaces it, when the new copy is whole")
			case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
				return failed(err, "name a file in a folder that exists and that you may write")
			case ctx.Err() != nil:
				return terminated(errors.New("stopped by a signal; no copy was made"), "")
			case err != nil:
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s has a sound copy of %s\n", file, counted(chats, "chat"))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that exists")
	return cmd
}

func newDBRestore(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a copy in the place of the database",
		Long: `Puts a copy that cadre db backup wrote in the place of the database of the data
folder, after checking it. The present database is kept beside it. Nothing may
work in the data folder meanwhile: stop the server first. What was unfinished
when the copy was made is gone on with at the next start.`,
		Example: "  cadre db restore cadre-backup.db",
		Args:    oneFile,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			dir, err := g.folder()
			if err != nil {
				return err
			}
			chats := 0
			aside, err := sqlite.Restore(ctx, dir, args[0], func(copied *sqlite.Store) (err error) {
				chats, err = soundCopy(ctx, copied)
				return err
			})
			switch {
			case errors.Is(err, store.ErrInUse):
				return g.notOpened(dir, err)
			case errors.Is(err, sqlite.ErrForeign):
				return wrong(fmt.Errorf("%s cannot be restored: %w", args[0], sqlite.ErrForeign), "name a file that `cadre db backup` wrote")
			case errors.Is(err, fs.ErrNotExist):
				return wrong(fmt.Errorf("there is no file %s", args[0]), "name a file that `cadre db backup` wrote")
			case ctx.Err() != nil:
				return terminated(errors.New("stopped by a signal; nothing was changed"), "")
			case errors.Is(err, store.ErrCorrupt):
				return failed(err, "the database was not changed; try another copy")
			case err != nil:
				return err
			}
			// What was told of the replaced database is of no use for this one.
			if err := os.Remove(filepath.Join(dir, tracing.CursorName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("forgetting how far traces were sent: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s has %s now\n", dir, counted(chats, "chat"))
			if aside != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "What was there before is in %s\n", aside)
			}
			return nil
		}),
	}
}

func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return usage("name one file")
	}
	return nil
}

// soundCopy checks a copy as cadre db check and cadre verify --all would, and
// counts its chats.
func soundCopy(ctx context.Context, st *sqlite.Store) (chats int, err error) {
	problems, err := st.Check(ctx)
	if err != nil {
		return 0, err
	}
	if len(problems) > 0 {
		return 0, failed(fmt.Errorf("the copy is damaged: %s", problems[0]), "`cadre db check` tells whether the database is")
	}
	list, err := st.Chats(ctx, store.ChatQuery{Archived: true})
	if err != nil {
		return 0, err
	}
	for _, c := range list {
		_, problems, err := engine.Verify(ctx, st, c.ID)
		if err != nil {
			return 0, fmt.Errorf("verifying chat %s of the copy: %w", c.ID, err)
		}
		if len(problems) > 0 {
			return 0, failed(fmt.Errorf("the copy does not replay: %s", problems[0]), "`cadre verify --all` tells whether the database does")
		}
	}
	return len(list), nil
}
