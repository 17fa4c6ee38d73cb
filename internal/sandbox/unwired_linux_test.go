// A program that does not call Main must not start itself, without end.

package sandbox

import (
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
