// This file tests what an owner in another process leaves when it is killed.

package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
)

// ownerEnv names the folder that a process of this test binary is to own.
const ownerEnv = "CADRE_TEST_OWNER"

// own is the whole life of such a process: it commits chats, tells of each one
// that is acknowledged, and waits to be killed.
func own(dir string) {
	s, err := Open(dir, Options{})
	if err != nil {
		fmt.Fprintln(os.Stdout, err)
		os.Exit(1)
	}
	for i := range 50 {
		id := fmt.Sprintf("c%d", i)
		if err := s.Commit(context.Background(), chatBatch(id)); err != nil {
			fmt.Fprintln(os.Stdout, err)
			os.Exit(1)
		}
		fmt.Fprintln(os.Stdout, "committed", id)
	}
	fmt.Fprintln(os.Stdout, "waiting")
	select {}
}

func TestOwnerIsKilled(t *testing.T) {
	dir := t.TempDir()
	cmd := osexec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var acknowledged []string
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "waiting"; {
		id, ok := strings.CutPrefix(lines.Text(), "committed ")
		if !ok {
			t.Fatalf("the owner says %q", lines.Text())
		}
		acknowledged = append(acknowledged, id)
	}

	_, err = Open(dir, Options{})
	if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", cmd.Process.Pid)) {
		t.Errorf("beside the owner, process %d, opening gave %v", cmd.Process.Pid, err)
	}
	check := func(s *Store, who string) {
		t.Helper()
		if len(acknowledged) != 50 {
			t.Errorf("%d commits were acknowledged, want 50", len(acknowledged))
		}
		for _, id := range acknowledged {
			if _, err := s.Chat(t.Context(), id); err != nil {
				t.Errorf("%s: %v", who, err)
			}
		}
		mustClose(t, s)
	}
	beside, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	check(beside, "the reader beside the owner")

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed: there is always an error
	after, err := OpenReadOnly(dir)
	if err != nil {
		t.Fatal(err)
	}
	check(after, "the reader after the owner")
	check(open(t, dir), "the next owner")
}
