// Reading JSON without building it: vendors' stream chunks are mostly fields
// that nobody asked for, so the clients walk over them instead of decoding
// them whole. A walk allocates nothing; the slices it hands out point into the
// text it walks over.

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// errJSON says that a text is no JSON, or has another shape than expected.
var errJSON = errors.New("malformed JSON")

// Fields walks over the members of a JSON object:
//
//	for f := wire.Object(text); f.Next(); {
//		switch string(f.Key) { ... f.Value ... }
//	}
//
// Key is the name as it is written, without quotes; Value the text of the
// value. What a caller skips is not checked beyond its brackets and quotes.
type Fields struct {
	Key, Value []byte
	walk
}

// Object begins a walk over text. Null counts as an object without members.
func Object(text []byte) *Fields {
	f := &Fields{}
	f.begin(text, '{', '}')
	return f
}

// Next goes to the next member; it returns false at the end and on an error.
func (f *Fields) Next() bool {
	if !f.more() {
		return false
	}
	n := skipString(f.rest)
	if n < 0 {
		return f.fail()
	}
	f.Key = f.rest[1 : n-1]
	f.rest = space(f.rest[n:])
	if len(f.rest) == 0 || f.rest[0] != ':' {
		return f.fail()
	}
	f.rest = space(f.rest[1:])
	f.Value = f.take()
	return f.err == nil
}

// Items walks over the elements of a JSON array, like Fields.
type Items struct {
	Value []byte
	walk
}

// Array begins a walk over text. Null counts as an empty array.
func Array(text []byte) *Items {
	it := &Items{}
	it.begin(text, '[', ']')
	return it
}

// Next goes to the next element; it returns false at the end and on an error.
func (it *Items) Next() bool {
	if !it.more() {
		return false
	}
	it.Value = it.take()
	return it.err == nil
}

// walk is what walks over objects and arrays have in common.
type walk struct {
	rest   []byte
	closer byte
	inside bool // at least one member has been read
	err    error
}

// Err says why the walk ended before its end.
func (w *walk) Err() error { return w.err }

func (w *walk) fail() bool {
	w.err, w.rest = errJSON, nil
	return false
}

func (w *walk) begin(text []byte, opener, closer byte) {
	text = space(text)
	switch {
	case IsNull(text):
	case text[0] == opener:
		w.rest, w.closer = space(text[1:]), closer
		if len(w.rest) == 0 {
			w.err = errJSON
		}
	default:
		w.err = errJSON
	}
}

// more goes to the beginning of the next member.
func (w *walk) more() bool {
	if w.err != nil || len(w.rest) == 0 {
		return false
	}
	if w.rest[0] == w.closer {
		w.rest = nil
		return false
	}
	if w.inside {
		if w.rest[0] != ',' {
			return w.fail()
		}
		w.rest = space(w.rest[1:])
	}
	w.inside = true
	return true
}

// take cuts the next value off. What follows it may not be the end: a comma
// or a bracket is still to come.
func (w *walk) take() []byte {
	n := skipValue(w.rest)
	if n <= 0 {
		w.fail()
		return nil
	}
	value := w.rest[:n]
	w.rest = space(w.rest[n:])
	if len(w.rest) == 0 {
		w.fail()
	}
	return value
}

func space(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// skipString returns the length of the string at the start of b, quotes
// included, or -1.
func skipString(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return -1
		}
		end, i2 := i+n, i+n+1
		slashes := 0
		for j := end - 1; j > 0 && b[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i2
		}
		i = i2
	}
	return -1
}

// skipValue returns the length of the value at the start of b, or -1.
func skipValue(b []byte) int {
	if len(b) == 0 {
		return -1
	}
	switch b[0] {
	case '"':
		return skipString(b)
	case '{', '[':
		depth := 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				n := skipString(b[i:])
				if n < 0 {
					return -1
				}
				i += n - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return -1
	}
	for i, c := range b {
		switch c {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return i
		case '"', ':', '{', '[':
			return -1
		}
	}
	return len(b)
}

// IsNull reports whether a value is null or not there at all.
func IsNull(value []byte) bool {
	return len(value) == 0 || string(value) == "null"
}

// String gives the text of a JSON string; null is the empty text. Where the
// value is neither, ok is false.
func String(value []byte) (s string, ok bool) {
	if IsNull(value) {
		return "", true
	}
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return "", false
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return strings.ToValidUTF8(string(inner), "\uFFFD"), true
	}
	return unescape(inner)
}

// escapes are the short escapes of JSON.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func unescape(in []byte) (string, bool) {
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		n := bytes.IndexByte(in[i:], '\\')
		if n < 0 {
			out = append(out, in[i:]...)
			break
		}
		out = append(out, in[i:i+n]...)
		i += n + 1
		if i == len(in) {
			return "", false
		}
		if in[i] != 'u' {
			c := escapes[in[i]]
			if c == 0 {
				return "", false
			}
			out = append(out, c)
			i++
			continue
		}
		r, ok := hex4(in[i+1:])
		if !ok {
			return "", false
		}
		i += 5
		if utf16.IsSurrogate(r) {
			low, ok := rune(0), false
			if len(in) > i+1 && in[i] == '\\' && in[i+1] == 'u' {
				low, ok = hex4(in[i+2:])
			}
			if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
				i += 6
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), true
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// Int gives a whole number; whatever else it finds counts as 0, as a vendor's
// odd count of tokens is no reason to lose a reply.
func Int(value []byte) int64 {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err == nil {
		return n
	}
	var f float64
	if json.Unmarshal(value, &f) == nil {
		return int64(f)
	}
	return 0
}
