// A program that cannot be its own helper must not start itself, without end.

package sandbox

import (
	"os"
	"strings"
	"testing"
)

func TestFindInAnUnwiredProgram(t *testing.T) {
	if !wired.Swap(false) {
		t.Fatal("TestMain does not call Main")
	}
	t.Cleanup(func() { wired.Store(true) })
	s, notes := Find(t.Context(), Options{Helper: Self})
	if s.Name() != None || !strings.Contains(strings.Join(notes, "\n"), "does not call sandbox.Main") {
		t.Errorf("%s: %q", s.Name(), notes)
	}
	if none, ok := s.(none); !ok || none.helper != "" {
		t.Errorf("it would start itself: %+v", s)
	}
}

// belowEnv makes the test below the process that runs below a helper.
const belowEnv = "CADRE_TEST_BELOW"

func TestFindBelowAHelper(t *testing.T) {
	if os.Getenv(belowEnv) != "" {
		s, notes := Find(t.Context(), Options{Helper: Self})
		if s.Name() != None || !strings.Contains(strings.Join(notes, "\n"), "below a helper") {
			t.Errorf("%s: %q", s.Name(), notes)
		}
		return
	}
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := none{helper: Self}.Command(t.Context(), Policy{Dir: dir, Temp: dir}, []string{self, "-test.run=^TestFindBelowAHelper$"}, []string{belowEnv + "=1"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
