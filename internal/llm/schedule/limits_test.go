package schedule

import "testing"

func TestLimitsOfOneLane(t *testing.T) {
	s := New(Config{Start: 8, Max: 16, Limits: func(lane string) (int, int) {
		switch lane {
		case "a/small":
			return 0, 2
		case "a/large":
			return 12, 0
		}
		return 0, 0
	}})
	for lane, want := range map[string]int{"a/small": 2, "a/large": 12, "b/other": 8} {
		release, err := s.Acquire(t.Context(), Ticket{Lane: lane}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Stats(lane).Limit; got != want {
			t.Errorf("%s may have %d calls under way, want %d", lane, got, want)
		}
		release(Result{})
	}
}
