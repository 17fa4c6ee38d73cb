package engine

import (
	"container/heap"
	"time"
)

// timers knows the next deadline of each agent that has one. Deadlines are
// durable: they are part of the agent's state and of its row, and this heap
// is only the index of those in memory.
type timers struct {
	heap alarmHeap
	at   map[string]int64 // the deadline that counts; others in the heap are old
}

type alarm struct {
	at    int64
	agent string
}

// set gives an agent its next deadline, 0 for none.
func (t *timers) set(agent string, at int64) {
	if t.at == nil {
		t.at = map[string]int64{}
	}
	if t.at[agent] == at {
		return
	}
	if at == 0 {
		delete(t.at, agent)
		return
	}
	t.at[agent] = at
	heap.Push(&t.heap, alarm{at, agent})
	if len(t.heap) > 2*len(t.at)+1024 {
		t.rebuild()
	}
}

// rebuild drops the alarms that no longer count: deadlines move with most
// events, and most lie minutes ahead.
func (t *timers) rebuild() {
	t.heap = t.heap[:0]
	for agent, at := range t.at {
		t.heap = append(t.heap, alarm{at, agent})
	}
	heap.Init(&t.heap)
}

// due removes and returns the agents whose deadline has come.
func (t *timers) due(now int64) []string {
	var out []string
	for len(t.heap) > 0 && t.heap[0].at <= now {
		a := heap.Pop(&t.heap).(alarm)
		if t.at[a.agent] == a.at {
			delete(t.at, a.agent)
			out = append(out, a.agent)
		}
	}
	return out
}

// wait is how long to sleep until the next deadline.
func (t *timers) wait(now time.Time) time.Duration {
	for len(t.heap) > 0 && t.at[t.heap[0].agent] != t.heap[0].at {
		heap.Pop(&t.heap)
	}
	if len(t.heap) == 0 {
		return time.Hour
	}
	return max(time.UnixMilli(t.heap[0].at).Sub(now), 0)
}

type alarmHeap []alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h alarmHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *alarmHeap) Push(x any)        { *h = append(*h, x.(alarm)) }
func (h *alarmHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
