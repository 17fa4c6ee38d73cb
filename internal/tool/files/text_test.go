// Tests of reading lines and telling text from binary data.

package files

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// readLinesOf reads text with lines and renders each as content+cut.
func readLinesOf(t *testing.T, text string, keep int, slow bool) []string {
	t.Helper()
	var r io.Reader = strings.NewReader(text)
	if slow {
		r = iotest.OneByteReader(r)
	}
	l := newLines(keep)
	l.reset(t.Context(), r)
	var out []string
	for {
		line, cut, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%q+%d", line, cut))
	}
	if l.read != int64(len(text)) {
		t.Errorf("%q: read %d of %d bytes", text, l.read, len(text))
	}
	return out
}

// Whatever the text and the buffers, the lines are those of strings.Split.
func TestLinesAgainstSplit(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"\n", "\r\n", "\r", "a", "bc", "ü", strings.Repeat("long", 20_000), "\r\r\n"}
	for range 300 {
		var b strings.Builder
		for range random.IntN(12) {
			piece := random.IntN(len(pieces))
			if len(pieces[piece]) > 100 && random.IntN(4) > 0 {
				continue
			}
			b.WriteString(pieces[piece])
		}
		text, keep := b.String(), 1+random.IntN(8)
		var want []string
		for _, line := range strings.SplitAfter(text, "\n") {
			if line == "" {
				continue
			}
			if ended, ok := strings.CutSuffix(line, "\n"); ok {
				line = strings.TrimSuffix(ended, "\r")
			}
			kept := line[:min(keep, len(line))]
			want = append(want, fmt.Sprintf("%q+%d", kept, len(line)-len(kept)))
		}
		got := readLinesOf(t, text, keep, len(text) < 100)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q, keep %d:\ngot  %v\nwant %v", text, keep, got, want)
		}
	}
}

func TestLinesReportErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	l := newLines(10)
	l.reset(t.Context(), io.MultiReader(strings.NewReader("one\ntw"), iotest.ErrReader(broken)))
	if line, _, err := l.next(); err != nil || string(line) != "one" {
		t.Fatalf("%q, %v", line, err)
	}
	if line, _, err := l.next(); !errors.Is(err, broken) {
		t.Fatalf("%q, %v", line, err)
	}
}

func TestIsBinary(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                           false,
		"plain\n":                    false,
		"日本語のテキスト":                   false,
		"日本語"[:7]:                    false, // cut within a character, as a head is
		"\x1b[31mred\x1b[0m\n":       false,
		"form\ffeed":                 false,
		"caf\xe9 \xe0 la cr\xe8me\n": false,
		"a\x00b":                     true,
		"%PDF-1.4\n":                 true,
		"\x1f\x8b\x08\x08\xff\xfe\x92\xa1\xb2\xc3": true,
	} {
		if got := isBinary([]byte(text)); got != want {
			t.Errorf("isBinary(%q) = %v", text, got)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"Makefile", "config.yaml", "config/", "docker-compose.yml", "main.go", "main_test.go"}
	for wanted, want := range map[string]string{
		"makefile":    "Makefile",
		"config.yml":  "config.yaml",
		"configs":     "config/",
		"mian.go":     "main.go",
		"compose.yml": "docker-compose.yml",
	} {
		if got := nearest(wanted, names); len(got) != nearestNames || got[0] != want {
			t.Errorf("nearest(%q) = %q, want %q first", wanted, got, want)
		}
	}
}
