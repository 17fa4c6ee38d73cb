// Tests of walking over JSON: it must see what encoding/json sees.

package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// rebuilt reads text by walking over it, as encoding/json reads it into any.
// Numbers stay as they are written.
func rebuilt(text []byte) (any, bool) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil, false
	}
	switch text[0] {
	case '{':
		m := map[string]any{}
		f := Object(text)
		for f.Next() {
			key, ok := String([]byte(`"` + string(f.Key) + `"`))
			v, ok2 := rebuilt(f.Value)
			if !ok || !ok2 {
				return nil, false
			}
			m[key] = v
		}
		return m, f.Err() == nil
	case '[':
		list := []any{}
		it := Array(text)
		for it.Next() {
			v, ok := rebuilt(it.Value)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, it.Err() == nil
	case '"':
		return String(text)
	}
	switch s := string(text); s {
	case "null":
		return nil, true
	case "true", "false":
		return s == "true", true
	default:
		return json.Number(s), true
	}
}

func compare(t *testing.T, text string) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var want any
	if !json.Valid([]byte(text)) || !utf8.ValidString(text) || dec.Decode(&want) != nil {
		_, _ = rebuilt([]byte(text)) // must come to an end
		return
	}
	got, ok := rebuilt([]byte(text))
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %#v, %v, want %#v", text, got, ok, want)
	}
}

var scanSeeds = []string{
	`{}`, `[]`, ` { "a" : [ 1 , -2.5e3 , true , null , "x" ] , "b" : { } } `, `"\"\\\/\b\f\n\r\té€😀"`,
	`"\ud83d"`, `"\ud83dx"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`, `{"a\"}":{"b]":"[{\\"}}`, `"\\"`, `"\\\""`, `["\\\\",{"\\":"]"}]`,
	`{"a":1,"a":2}`, `0`, `""`, `{"":""}`, `[[[[]]],[{}]]`, "\"\xff\xfe\"", `{"a":`, `{"a"}`, `{"a":1`, `[1,`, `[1 2]`, `{"a":1,}`, `"\x"`, `"\u12"`, `"abc`, `{,}`, `[,]`, `{"a" 1}`, ``,
}

func TestScan(t *testing.T) {
	t.Parallel()
	for _, text := range scanSeeds {
		compare(t, text)
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range scanSeeds {
		f.Add(text)
	}
	f.Fuzz(compare)
}

// TestScanRefuses: what is not there or has another shape is no object.
func TestScanRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[1]`, `7`, `{"a":1`, `{"a":1 "b":2}`, `{"a" 1}`, `{"a":}`, `{1:2}`, `{"a":"b}`, `{`} {
		f := Object([]byte(text))
		for f.Next() {
		}
		if f.Err() == nil {
			t.Errorf("%s passes for an object", text)
		}
	}
	for _, text := range []string{`{}`, `7`, `[1`, `[1 2]`, `[`, `[1,]`} {
		it := Array([]byte(text))
		for it.Next() {
		}
		if it.Err() == nil {
			t.Errorf("%s passes for an array", text)
		}
	}
	for _, text := range []string{``, `null`} {
		if f, it := Object([]byte(text)), Array([]byte(text)); f.Next() || it.Next() || f.Err() != nil || it.Err() != nil {
			t.Errorf("%q is not empty", text)
		}
	}
	for text, want := range map[string]int64{`7`: 7, `-1`: -1, `1e3`: 1000, `2.9`: 2, `null`: 0, `"7"`: 0, ``: 0, `{}`: 0} {
		if got := Int([]byte(text)); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}

// TestScanAllocatesNothing but the strings it is asked for.
func TestScanAllocatesNothing(t *testing.T) {
	text := []byte(`{"id":"x","choices":[{"index":0,"delta":{"content":"a \"b\""}}],"usage":null}`)
	n := testing.AllocsPerRun(100, func() {
		f := Object(text)
		for f.Next() {
			if string(f.Key) == "choices" {
				it := Array(f.Value)
				for it.Next() {
					_ = IsNull(it.Value)
				}
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 65)
	if CacheKey("chat") != "chat" || len(CacheKey(long)) != 64 || CacheKey(long) == CacheKey(long+"y") {
		t.Error(CacheKey("chat"), CacheKey(long))
	}
	if a, b := HashID("x", 100), HashID("x", 100); a != b || len(a) != 100 || a[:32] == a[32:64] || HashID("y", 9) == HashID("x", 9) {
		t.Error(a, b)
	}
}
