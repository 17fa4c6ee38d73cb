// Values that are never shown.

package config

import "log/slog"

const redacted = "[redacted]"

// Secret is a text that prints as [redacted], whichever way it is printed,
// logged or encoded. The text sits behind a function because reflection, which
// fmt uses for the fields of other types, sees no further than that.
type Secret struct {
	reveal func() string
}

// NewSecret hides a text. Hiding an empty one gives the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return text }}
}

// Reveal returns the text.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Set tells whether there is a text.
func (s Secret) Set() bool { return s.reveal != nil }

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s.reveal == nil {
		return ""
	}
	return redacted
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// MarshalText keeps the text out of JSON, YAML and their like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
