// Writing JSON by hand.

package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only what must be escaped is: the
// bytes count as tokens. What is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = appendEscaped(dst, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			start = i + 1
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// AppendRaw appends a JSON value without the spaces in it; an empty one as {}.
// The order of keys is kept.
func AppendRaw(dst []byte, raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return append(dst, "{}"...), nil
	}
	b := bytes.NewBuffer(dst)
	if err := json.Compact(b, raw); err != nil {
		return dst, fmt.Errorf("writing a JSON value: %w", err)
	}
	return b.Bytes(), nil
}

// AppendBase64 appends data as a JSON string in base64.
func AppendBase64(dst, data []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, '"')
}

// AppendDataURL appends data as a JSON string that is a data URL.
func AppendDataURL(dst []byte, mediaType string, data []byte) []byte {
	dst = AppendString(dst, "data:"+mediaType+";base64,")
	dst = base64.StdEncoding.AppendEncode(dst[:len(dst)-1], data)
	return append(dst, '"')
}

// Input gives the input of a tool call as the object it must be. A call
// without input has {}. What is no JSON object is wrapped in one, under
// INVALID_JSON: the tool will refuse it and the model see what it wrote.
func Input(raw []byte) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	if raw[0] == '{' && json.Valid(raw) {
		return bytes.Clone(raw)
	}
	out := append([]byte(nil), `{"INVALID_JSON":`...)
	out = AppendString(out, string(raw))
	return append(out, '}')
}
