// The data folder: where it is, its log file, and how commands that only look
// open it.

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/view"
)

// folder finds the data folder. It need not exist.
func (g *globals) folder() (string, error) {
	dir := g.data
	if dir == "" {
		dir = os.Getenv("CADRE_HOME")
	}
	if dir == "" {
		// The XDG specification: a relative path in it is to be ignored.
		if xdg := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(xdg) {
			dir = filepath.Join(xdg, "cadre")
		}
	}
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil || home == "" {
			return "", usage("there is no home folder to keep data in: name a folder with --data DIR or $CADRE_HOME")
		}
		dir = filepath.Join(home, ".local", "share", "cadre")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the data folder %s: %w", dir, err)
	}
	return abs, nil
}

// command is a command line that a person can type to go on.
func (g *globals) command(words ...string) string {
	line := "cadre " + strings.Join(words, " ")
	if g.data != "" {
		line += " --data " + shellWord(g.data)
	}
	return line
}

// shellWord quotes s if a shell would take it for something else.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// errNoData tells that nothing was ever kept in a folder.
var errNoData = errors.New("there is no data")

// look opens the data folder for reading, whether another process owns it or
// not.
func (g *globals) look() (*sqlite.Store, error) {
	dir, err := g.folder()
	if err != nil {
		return nil, err
	}
	st, err := sqlite.OpenReadOnly(dir)
	if errors.Is(err, store.ErrNotFound) {
		return nil, failed(fmt.Errorf("%w in %s yet: %w", errNoData, dir, store.ErrNotFound),
			"start a chat with `cadre run \"...\"`, or name another folder with --data")
	}
	return st, err
}

// findChat makes sure that a chat exists.
func (g *globals) findChat(ctx context.Context, st view.Source, id string) (*store.Chat, error) {
	c, err := st.Chat(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, wrong(fmt.Errorf("there is no chat %q", id), fmt.Sprintf("`%s` lists the chats", g.command("show")))
	}
	if err != nil {
		return nil, fmt.Errorf("reading chat %s: %w", id, err)
	}
	return c, nil
}

const (
	logName = "cadre.log"
	logSize = 16 << 20 // bytes from which on a new file is begun
)

// logLevel is what is logged: $CADRE_LOG.
func logLevel() (level slog.Level, err error) {
	if name := os.Getenv("CADRE_LOG"); name != "" {
		if err := level.UnmarshalText([]byte(name)); err != nil {
			return level, usage("CADRE_LOG is %q; it can be debug, info, warn or error", name)
		}
	}
	return level, nil
}

// openLog makes the folder and opens its log file, so that the terminal stays
// clean. The file before the last is dropped.
func openLog(dir string) (*slog.Logger, func() error, error) {
	level, err := logLevel()
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, failed(fmt.Errorf("creating the data folder: %w", err), "name another folder with --data")
	}
	name := filepath.Join(dir, logName)
	if info, err := os.Stat(name); err == nil && info.Size() > logSize {
		if err := os.Rename(name, name+".1"); err != nil {
			return nil, nil, fmt.Errorf("putting the old log aside: %w", err)
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, failed(fmt.Errorf("opening the log: %w", err), "name another folder with --data")
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: level})), f.Close, nil
}
