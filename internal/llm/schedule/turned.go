// Turns that a vendor turned away: how long they have been waiting in all.

package schedule

import (
	"errors"
	"time"
)

// turned is the turn of an agent whose calls are refused, and since when. What
// it waits between its tries counts as a wait for this lane.
type turned struct {
	turn  int
	since time.Time
}

// keepTurned bounds how long a turn is remembered that never came back.
const keepTurned = time.Hour

// orElse makes the refusal of a call that has another model to turn to into one
// by which it gives up, if its turn has waited long enough or is sure to: the
// vendor alone knows how long, and nothing is gained by waiting it out.
func (l *lane) orElse(agent string, turn int, err error) error {
	e := refusal(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if e == nil {
		if err == nil {
			delete(l.turned, agent)
		}
		return err
	}
	now := time.Now()
	first, ok := l.turned[agent]
	if !ok || first.turn != turn {
		first = turned{turn, now}
		l.remember(agent, first)
	}
	if !l.hopeless(first.since, now) {
		return err
	}
	delete(l.turned, agent)
	out := *e
	out.Err = errors.Join(ErrGaveUp, e)
	return &out
}

func (l *lane) remember(agent string, t turned) {
	if l.turned == nil {
		l.turned = map[string]turned{}
	}
	const many = 4096
	if len(l.turned) >= many {
		for a, x := range l.turned {
			if t.since.Sub(x.since) > keepTurned {
				delete(l.turned, a)
			}
		}
	}
	l.turned[agent] = t
}
