// What a provider keeps of one agent between turns.

package llm

import "sync"

// Memo lets a provider keep what it has encoded of one agent's history, so
// that a turn encodes only what is new. The caller makes one per agent, passes
// it with every request of that agent and drops it with the agent; it is never
// stored. What is inside belongs to the provider: a memo that was used for
// another history, model or provider is noticed and begun anew, never wrong.
//
// The zero Memo is ready for use, and a nil one keeps nothing. A Memo holds
// about as many bytes as one request of the agent.
type Memo struct {
	mu   sync.Mutex
	key  string
	kept any
}

// Use calls f with what was kept under key, nil if nothing was, and keeps what
// f returns in its place. There is room for one key: another one pushes it
// out. Uses of a memo exclude each other.
func (m *Memo) Use(key string, f func(kept any) any) {
	if m == nil {
		f(nil)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key != key {
		m.key, m.kept = key, nil
	}
	m.kept = f(m.kept)
}
