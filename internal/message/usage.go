package message

// Usage counts the tokens of model calls by kind. Input does not contain the
// cached tokens: what a model read is Input + CacheRead + CacheWrite.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"` // contains Reasoning
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
	}
}

// Total is every token read or written.
func (u Usage) Total() int64 { return u.Prompt() + u.Output }

// Prompt is every token the model read.
func (u Usage) Prompt() int64 { return u.Input + u.CacheRead + u.CacheWrite }
