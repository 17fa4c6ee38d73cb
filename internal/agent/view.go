package agent

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
