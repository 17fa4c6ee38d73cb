// How often somebody may ask.

package api

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxLimiters bounds how many callers are remembered. Who is forgotten begins
// with a full allowance.
const maxLimiters = 10_000

// limits holds an allowance for each key, and each address that has none.
type limits struct {
	rate  rate.Limit
	burst int
	now   func() time.Time

	mu  sync.Mutex
	all map[string]*rate.Limiter
}

func newLimits(r rate.Limit, burst int, now func() time.Time) *limits {
	return &limits{rate: r, burst: burst, now: now, all: map[string]*rate.Limiter{}}
}

func (l *limits) allow(who string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.all[who]
	if one == nil {
		if len(l.all) >= maxLimiters {
			clear(l.all)
		}
		one = rate.NewLimiter(l.rate, l.burst)
		l.all[who] = one
	}
	return one.AllowN(l.now(), 1)
}
