// What a status page can say about a lane.

package schedule

import (
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
)

// Stats is a snapshot of a lane.
type Stats struct {
	Lane     string
	InFlight int // can be above Limit for a while after a cut
	Limit    int

	Waiting int
	Chats   map[string]int // the waiting calls of each chat that has any
	Oldest  time.Time      // since when the one waits that has waited longest; zero if none

	CoolingUntil time.Time     // zero: not cooling
	CoolingFor   llm.ErrorKind // rate_limit or overloaded, if cooling

	// Refusals within the last minute.
	RateLimited int
	Overloaded  int
}

func (l *lane) stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	s := Stats{Lane: l.name, InFlight: l.pace.inFlight, Limit: l.pace.limit, Waiting: l.queue.len(), Chats: map[string]int{}}
	for id, c := range l.queue.chats {
		s.Chats[id] = c.byAge.len
		if since := c.byAge.front.value.since; s.Oldest.IsZero() || since.Before(s.Oldest) {
			s.Oldest = since
		}
	}
	if l.pace.cooling(now) {
		s.CoolingUntil, s.CoolingFor = l.pace.coolUntil, l.pace.coolKind
	}
	s.RateLimited, s.Overloaded = l.seen.count(now)
	return s
}

// refusals counts refusals by the second, for a minute.
type refusals [60]struct {
	second                  int64 // Unix; an older one means that the slot is out of date
	rateLimited, overloaded int
}

func (r *refusals) add(now time.Time, kind llm.ErrorKind) {
	second := now.Unix()
	slot := &r[second%int64(len(r))]
	if slot.second != second {
		slot.second, slot.rateLimited, slot.overloaded = second, 0, 0
	}
	if kind == llm.ErrOverloaded {
		slot.overloaded++
		return
	}
	slot.rateLimited++
}

func (r *refusals) count(now time.Time) (rateLimited, overloaded int) {
	oldest := now.Unix() - int64(len(r))
	for _, slot := range r {
		if slot.second > oldest {
			rateLimited += slot.rateLimited
			overloaded += slot.overloaded
		}
	}
	return rateLimited, overloaded
}
