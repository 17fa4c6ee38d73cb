package engine

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpool: what is read back is the beginning and the newest, however much
// came, and the file does not grow with it.
func TestSpool(t *testing.T) {
	s := spool{dir: filepath.Join(t.TempDir(), "printed"), log: slog.New(slog.DiscardHandler)}
	for _, lines := range []int{1, 100, 3_000, 40_000} {
		w, kept := spooled{spool: s, call: "k-c1.0"}, &printed{}
		for i := range lines {
			text := fmt.Sprintf("line %d of what it prints\n", i)
			kept.add(text)
			w.add(text, kept)
			if i%1000 == 0 { // killed here
				if got := s.left("k-c1.0"); !strings.HasPrefix(got, "line 0 of") || !strings.HasSuffix(got, text) {
					t.Fatalf("after %d of %d lines it begins %.20q and ends %q", i, lines, got, got[max(0, len(got)-30):])
				}
			}
		}
		w.close()
		got := s.left("k-c1.0")
		if last := fmt.Sprintf("line %d of what it prints\n", lines-1); !strings.HasPrefix(got, "line 0 of") || !strings.HasSuffix(got, last) {
			t.Errorf("%d lines begin %.20q and end %q", lines, got, got[max(0, len(got)-30):])
		}
		info, err := os.Stat(s.path("k-c1.0"))
		if err != nil || info.Size() > mostSpooled || info.Mode().Perm() != 0o600 {
			t.Errorf("%d lines: %v, %v", lines, info, err)
		}
	}
	nowhere := spool{log: s.log}
	t.Chdir(s.dir)
	nowhere.drop("k-c1.0")
	if nowhere.left("k-c1.0") != "" || s.left("k-c1.0") == "" {
		t.Error("without a folder it is not the current one")
	}
	s.sweep(func(call string) bool { return call == "k-c1.0" })
	if s.left("k-c1.0") == "" {
		t.Error("what runs was swept away")
	}
	s.sweep(func(string) bool { return false })
	if files, err := os.ReadDir(s.dir); err != nil || len(files) > 0 {
		t.Error(files, err)
	}
}

// TestSpoolFails: a folder that cannot be written keeps no tool from printing.
func TestSpoolFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	s := spool{dir: file, log: slog.New(slog.NewTextHandler(&log, nil))}
	w := spooled{spool: s, call: "k-c1.0"}
	for range 3 {
		w.add("x", &printed{})
	}
	w.close()
	if got := strings.Count(log.String(), "not kept"); got != 1 || s.left("k-c1.0") != "" {
		t.Errorf("it was told %d times: %s", got, log.String())
	}
}
