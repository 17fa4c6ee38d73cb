// Tests of the event reader: the same events, however the bytes arrive.

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

type plainEvent struct{ Name, Data string }

func readAll(src io.Reader) ([]plainEvent, error) {
	r := NewReader(src)
	var all []plainEvent
	for {
		ev, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, plainEvent{string(ev.Name), string(ev.Data)})
	}
}

var sseCases = []struct {
	name, in string
	want     []plainEvent
}{
	{"empty", "", nil},
	{"one", "data: a\n\n", []plainEvent{{"", "a"}}},
	{"named", "event: ping\ndata: {}\n\n", []plainEvent{{"ping", "{}"}}},
	{"name after data", "data: x\nevent: late\n\n", []plainEvent{{"late", "x"}}},
	{"no space after the colon", "event:e\ndata:x\n\n", []plainEvent{{"e", "x"}}},
	{"only one space is dropped", "data:  x\n\n", []plainEvent{{"", " x"}}},
	{"many lines of data", "data: a\ndata: bcd\ndata:\ndata: e\n\n", []plainEvent{{"", "a\nbcd\n\ne"}}},
	{"fields between lines of data", "data: a\nevent: name-that-is-long\n: comment\ndata: a line that is longer than the name\n\ndata: b\n\n", []plainEvent{{"name-that-is-long", "a\na line that is longer than the name"}, {"", "b"}}},
	{"the name does not last", "event: e\ndata: 1\n\ndata: 2\n\n", []plainEvent{{"e", "1"}, {"", "2"}}},
	{"no data, no event", "event: e\n\ndata: 2\n\n", []plainEvent{{"", "2"}}},
	{"field without colon", "data\n\n", []plainEvent{{"", ""}}},
	{"empty data", "event: e\ndata:\n\n", []plainEvent{{"e", ""}}},
	{"comments", ": OPENROUTER PROCESSING\n\n:\n\ndata: x\n: y\n\n", []plainEvent{{"", "x"}}},
	{"unknown fields", "id: 7\nretry: 10\nfoo: bar\ndata: x\n\n", []plainEvent{{"", "x"}}},
	{"colons in data", "data: {\"a\": \"b:c\"}\n\n", []plainEvent{{"", `{"a": "b:c"}`}}},
	{"CRLF", "event: e\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []plainEvent{{"e", "a\nb"}, {"", "c"}}},
	{"CR", "event: e\rdata: a\rdata: b\r\rdata: c\r\r", []plainEvent{{"e", "a\nb"}, {"", "c"}}},
	{"mixed ends", "data: a\r\ndata: b\ndata: c\r\n\ndata: d\r\r\n\n\n", []plainEvent{{"", "a\nb\nc"}, {"", "d"}}},
	{"byte order mark", "\xef\xbb\xbfdata: a\n\ndata: b\n\n", []plainEvent{{"", "a"}, {"", "b"}}},
	{"byte order mark alone", "\xef\xbb\xbf", nil},
	{"no last empty line", "data: a\n\ndata: b\n", []plainEvent{{"", "a"}, {"", "b"}}},
	{"no last newline", "data: a\n\nevent: e\ndata: b", []plainEvent{{"", "a"}, {"e", "b"}}},
	{"byte order mark and no newline", "\xef\xbb\xbfdata: a", []plainEvent{{"", "a"}}},
	{"ends in CR", "data: a\r", []plainEvent{{"", "a"}}},
	{"many empty lines", "\n\n\n\ndata: a\n\n\n\n\n", []plainEvent{{"", "a"}}},
	{"long", "data: " + strings.Repeat("x", 3<<20) + "\n\ndata: y\n\n", []plainEvent{{"", strings.Repeat("x", 3<<20)}, {"", "y"}}},
	{"long in lines", strings.Repeat("data: "+strings.Repeat("z", 999)+"\n", 100) + "\n", []plainEvent{{"", strings.TrimSuffix(strings.Repeat(strings.Repeat("z", 999)+"\n", 100), "\n")}}},
	{"many", strings.Repeat("event: e\ndata: 0123456789\n\n", 2000), repeat(plainEvent{"e", "0123456789"}, 2000)},
}

func repeat(e plainEvent, n int) []plainEvent {
	all := make([]plainEvent, n)
	for i := range all {
		all[i] = e
	}
	return all
}

func TestReader(t *testing.T) {
	t.Parallel()
	for _, tt := range sseCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for how, wrap := range map[string]func(io.Reader) io.Reader{
				"whole":           func(r io.Reader) io.Reader { return r },
				"single bytes":    iotest.OneByteReader,
				"halves":          iotest.HalfReader,
				"end with data":   iotest.DataErrReader,
				"thirteen":        func(r io.Reader) io.Reader { return atMost{r, 13} },
				"with no-op read": func(r io.Reader) io.Reader { return &hesitant{r: r} },
			} {
				got, err := readAll(wrap(strings.NewReader(tt.in)))
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: ended with %v", how, err)
				}
				if !reflect.DeepEqual(got, tt.want) {
					t.Errorf("%s: got %.200q, want %.200q", how, fmt.Sprint(got), fmt.Sprint(tt.want))
				}
			}
		})
	}
}

// atMost reads at most n bytes at a time.
type atMost struct {
	r io.Reader
	n int
}

func (a atMost) Read(p []byte) (int, error) { return a.r.Read(p[:min(len(p), a.n)]) }

// hesitant returns nothing every other time.
type hesitant struct {
	r     io.Reader
	ready bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.ready = !h.ready; h.ready {
		return 0, nil
	}
	return h.r.Read(p)
}

func TestReaderReturnsAnEventAtOnce(t *testing.T) {
	t.Parallel()
	// The source has the event and nothing more: a reader that wanted another
	// byte before returning it would fail.
	for _, in := range []string{"data: a\n\n", "data: a\r\n\r\n", "data: a\r\r"} {
		r := NewReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(errors.New("asked for more"))))
		if in == "data: a\r\n\r\n" {
			r = NewReader(io.MultiReader(strings.NewReader(in[:len(in)-1]), iotest.ErrReader(errors.New("asked for more"))))
		}
		ev, err := r.Next()
		if err != nil || string(ev.Data) != "a" {
			t.Errorf("%q: got %q, %v", in, ev.Data, err)
		}
	}
}

func TestReaderDropsWhatAnErrorCut(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: half"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestReaderRefusesEndlessEvents(t *testing.T) {
	t.Parallel()
	_, err := readAll(endless{})
	if !errors.Is(err, errTooLong) {
		t.Errorf("got %v", err)
	}
	_, err = readAll(stuck{})
	if !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that gives nothing: got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func FuzzReader(f *testing.F) {
	for _, tt := range sseCases {
		if len(tt.in) < 1<<10 {
			f.Add(tt.in)
		}
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err1 := readAll(strings.NewReader(in))
		bytewise, err2 := readAll(iotest.OneByteReader(strings.NewReader(in)))
		if !reflect.DeepEqual(whole, bytewise) || !errors.Is(err1, io.EOF) || !errors.Is(err2, io.EOF) {
			t.Errorf("%q: whole %q, %v; bytewise %q, %v", in, whole, err1, bytewise, err2)
		}
	})
}

// BenchmarkReader measures one event of a usual size, without decoding it.
func BenchmarkReader(b *testing.B) {
	event := []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello there\"}}\n\n")
	src := &loop{event: event}
	r := NewReader(src)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// loop gives the same event for ever, one a read.
type loop struct{ event []byte }

func (l *loop) Read(p []byte) (int, error) { return copy(p, l.event), nil }

func BenchmarkReaderLongLine(b *testing.B) {
	in := append(append([]byte("data: "), bytes.Repeat([]byte("x"), 4<<20)...), "\n\n"...)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, err := NewReader(atMost{bytes.NewReader(in), 16 << 10}).Next(); err != nil {
			b.Fatal(err)
		}
	}
}
