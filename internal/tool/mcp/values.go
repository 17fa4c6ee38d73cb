// Values that are written in more than one form.

package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// words is a text or a list of texts.
type words []string

func (w *words) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*w = words{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(b, &many); err != nil {
		return errors.New("command must be a text or a list of texts")
	}
	*w = many
	return nil
}

// scalar is a text; numbers and booleans, which people write without quotes,
// are taken as they are written.
type scalar string

func (s *scalar) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*s = scalar(text)
		return nil
	}
	if len(b) == 0 || b[0] == '{' || b[0] == '[' || string(b) == "null" {
		return errors.New("the values of env and headers must be texts")
	}
	*s = scalar(b)
	return nil
}

// patience is a duration: "30s", or a number, which some clients mean in
// seconds and others in milliseconds. No one waits a thousand seconds nor less
// than one for a call, so that the size tells.
type patience time.Duration

func (p *patience) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return fmt.Errorf("timeout %q is not a duration such as 30s", text)
		}
		*p = patience(d)
		return nil
	}
	var n float64
	if err := json.Unmarshal(b, &n); err != nil || n <= 0 || n > 1e9 {
		return errors.New("timeout must be a positive number, or a duration such as 30s")
	}
	unit := time.Second
	if n >= 1000 {
		unit = time.Millisecond
	}
	*p = patience(n * float64(unit))
	return nil
}

// sandboxEntry is false, or an object.
type sandboxEntry struct {
	off     bool
	Network *bool    `json:"network"`
	Write   []string `json:"write"`
}

func (s *sandboxEntry) UnmarshalJSON(b []byte) error {
	var on bool
	if json.Unmarshal(b, &on) == nil {
		s.off = !on
		return nil
	}
	type plain sandboxEntry
	if err := json.Unmarshal(b, (*plain)(s)); err != nil {
		return errors.New(`sandbox must be false, or an object such as {"network": false, "write": ["/var/cache/x"]}`)
	}
	return nil
}
