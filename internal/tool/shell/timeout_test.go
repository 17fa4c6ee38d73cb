// How long a command may take.

package shell

import (
	"testing"
	"time"
)

func TestTimeout(t *testing.T) {
	t.Parallel()
	for given, want := range map[float64]struct{ waitedFor, task time.Duration }{
		0:         {2 * time.Minute, time.Hour},
		30:        {30 * time.Second, 30 * time.Second}, // seconds are meant
		5_000:     {5 * time.Second, 5 * time.Second},
		1_800_000: {10 * time.Minute, 30 * time.Minute},
		1e12:      {10 * time.Minute, 12 * time.Hour},
	} {
		in := bashInput{Timeout: given}
		if got := in.timeout(false); got != want.waitedFor {
			t.Errorf("%v: %v, want %v", given, got, want.waitedFor)
		}
		if got := in.timeout(true); got != want.task {
			t.Errorf("%v as a task: %v, want %v", given, got, want.task)
		}
	}
}
