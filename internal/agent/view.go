package agent

// Waits tells why the agent waits at the model, and until when if that is
// known: for a place, or for the next try after a failure.
func (s State) Waits() (why string, until int64) {
	switch p := s.Phase.(type) {
	case Thinking:
		return p.Why, p.Until
	case Backoff:
		return string(p.Why), p.Until
	case Idle, Compacting, Extending, Acting, Accepting, Cancelling, Settling, Completed, Failed:
	}
	return "", 0
}

// View is which part of the history a model is sent. The history itself is
// never changed: a shorter view opens a new epoch, and everything stays on
// record.
type View struct {
	// Summary is the position of the message that stands, first of all, for
	// everything before Keep; 0 if nothing was summarised.
	Summary int `json:"summary,omitempty"`
	Keep    int `json:"keep,omitempty"`
	// Clear: tool results before this position are sent as stubs.
	Clear int `json:"clear,omitempty"`
}
