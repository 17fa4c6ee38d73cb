// Backup and restore with real processes: beside a busy run, and killed in the
// middle.

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// TestBackupOfABusyRun: a copy made in the middle of a run is sound, and a
// folder that it is restored to goes on from there.
func TestBackupOfABusyRun(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	p := f.start("run", "--json", "--model", script(t, "hundred.yaml"), "go")
	p.await("the first sub-agent", func(line string) bool { return strings.Contains(line, `"sub-agents"`) })
	file, busy := filepath.Join(f.work, "copy.db"), filepath.Join(f.work, "busy.db")
	p.signal(syscall.SIGSTOP) // so that there is something to resume
	f.run(0, "db", "backup", file).wants(t, "sound copy of 1 chat")
	f.run(1, "db", "restore", file).wants(t, "in use")
	p.signal(syscall.SIGCONT)
	f.run(0, "db", "backup", busy).wants(t, "sound copy of 1 chat")
	f.run(0, "db", "backup", "--force", busy)
	r := p.wait()
	if r.code != 0 {
		t.Fatalf("the run: %d\n%s", r.code, r.errs)
	}
	f.sound()

	other := newFolder(t)
	other.run(0, "db", "restore", file).wants(t, "has 1 chat now")
	other.run(0, "run", "--resume").wants(t, "All parts are read.")
	other.sound()

	f.run(0, "db", "restore", file).wants(t, "has 1 chat now", "What was there before")
	f.run(0, "run", "--resume").wants(t, "All parts are read.")
	f.sound()
}

func TestBackupAndRestoreRefused(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(1, "db", "backup", "copy.db").wants(t, "no data")
	f.run(0, "run", "--model", "offline", "say hello")
	rubbish := filepath.Join(f.work, "README.md")
	for _, tt := range []struct {
		code int
		args []string
		text string
	}{
		{2, []string{"backup"}, "name one file"},
		{2, []string{"backup", f.work}, "is a folder"},
		{2, []string{"backup", rubbish}, "--force replaces it"},
		{1, []string{"backup", filepath.Join(f.work, "no", "such", "folder")}, "a folder that exists"},
		{2, []string{"restore"}, "name one file"},
		{2, []string{"restore", rubbish}, "no database of cadre"},
		{2, []string{"restore", "nothing.db"}, "there is no file"},
		{1, []string{"restore", filepath.Join(f.data, "cadre.db")}, "is the database itself"},
	} {
		f.run(tt.code, append([]string{"db"}, tt.args...)...).wants(t, tt.text)
	}
	f.sound()
}

// TestCopiesKilled kills backups and restores with SIGKILL at random moments: a
// copy is whole or not there, and the folder has one sound database.
func TestCopiesKilled(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(0, "run", "--model", script(t, "crash.yaml"), "go")
	whole := filepath.Join(t.TempDir(), "whole.db")
	f.run(0, "db", "backup", whole)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	killed := 0
	kill := func(args ...string) {
		p := f.start(args...)
		select {
		case <-time.After(time.Duration(r.IntN(120)) * time.Millisecond):
			p.signal(syscall.SIGKILL)
		case <-p.exited:
		}
		if p.wait().code < 0 {
			killed++
		}
	}
	for i := range 12 {
		file := filepath.Join(f.work, fmt.Sprintf("copy%d.db", i))
		kill("db", "backup", file)
		switch st, err := sqlite.OpenFile(file); {
		case errors.Is(err, fs.ErrNotExist) || err != nil && absent(file):
		case err != nil:
			t.Errorf("a copy that is there cannot be opened: %v", err)
		default:
			if problems, err := st.Check(t.Context()); err != nil || len(problems) > 0 {
				t.Errorf("a copy that is there is damaged: %v %v", problems, err)
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}
		kill("db", "restore", whole)
		f.sound()
	}
	t.Logf("%d of 24 processes were killed", killed)
	f.run(0, "db", "restore", whole)
	f.run(0, "run", "--resume").wants(t, "Nothing is unfinished.")
}

func absent(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}
