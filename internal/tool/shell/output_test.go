// Tests of what is shown of output, live and in the end.

package shell

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\n":                             "plain\n",
		"\x1b[31mred\x1b[0m":                  "red",
		"\x1b[1;38;5;200mx\x1b[K\x1b[2J":      "x",
		"\x1b]0;title\x07text\x1b]8;;u\x1b\\": "text",
		"\x1b(Btext\x1b=\x1b7":                "text",
		"a\r\nb\r\n":                          "a\nb\n",
		"10%\r50%\r100%\ndone":                "100%\ndone",
		"10%\r50%\r":                          "50%",
		"nul\x00bel\x07":                      "nul\ufffdbel\ufffd",
		"bad\xff\xfeutf":                      "bad\ufffdutf",
		"é € 😀\t.":                            "é € 😀\t.",
		"cut \x1b[3":                          "cut \ufffd[3",
	} {
		if got := printable([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// However output is cut into pieces, what is shown live is the same text, and
// every piece is whole characters.
func TestLiveIsWhole(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("é€😀 plain \x1b[31mred\x1b[0m\x1b]0;t\x07 line\r\n", 50)
	want := printable([]byte(text))
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		var got strings.Builder
		synctest.Test(t, func(t *testing.T) {
			o := newOutput(func(s string) {
				if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
					t.Errorf("piece %q", s)
				}
				got.WriteString(s)
			})
			for rest := []byte(text); len(rest) > 0; {
				n := 1 + random.IntN(min(40, len(rest)))
				if _, err := o.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
				time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond) //nolint:forbidigo // fake time
			}
			o.finish()
		})
		if got.String() != want {
			t.Fatalf("seed %d: shown %q", seed, got.String())
		}
	}
}

func TestLiveIsThrottledAndBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		pieces, size := 0, 0
		o := newOutput(func(s string) {
			mu.Lock()
			defer mu.Unlock()
			pieces++
			size += len(s)
		})
		for range 1000 {
			_, _ = o.Write([]byte(strings.Repeat("x", 4000) + "\n"))
			time.Sleep(time.Millisecond) //nolint:forbidigo // fake time
		}
		o.finish()
		mu.Lock()
		defer mu.Unlock()
		if pieces > 22 {
			t.Errorf("%d pieces in a second", pieces)
		}
		if size > maxLive+300_000 {
			t.Errorf("%d bytes were shown", size)
		}
		if _, err := o.Write([]byte("late")); err != nil {
			t.Error(err)
		}
	})
}

// A quiet command's last words do not wait for the next ones.
func TestLiveComesSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shown := make(chan string, 10)
		o := newOutput(func(s string) { shown <- s })
		_, _ = o.Write([]byte("one\n"))
		_, _ = o.Write([]byte("two\n"))
		if got := <-shown; got != "one\n" {
			t.Errorf("first %q", got)
		}
		select {
		case got := <-shown:
			if got != "two\n" {
				t.Errorf("then %q", got)
			}
		case <-time.After(time.Second):
			t.Error("the second line is not shown")
		}
		o.finish()
	})
}

func TestResultIsBounded(t *testing.T) {
	t.Parallel()
	o := newOutput(nil)
	_, _ = o.Write([]byte("short\n"))
	if shown, whole := o.result(); shown != "short\n" || whole != nil {
		t.Errorf("%q, %d bytes", shown, len(whole))
	}
	var all strings.Builder
	all.WriteString("short\n")
	for i := range 10_000 {
		line := fmt.Sprintf("line %d é\n", i)
		all.WriteString(line)
		_, _ = o.Write([]byte(line))
	}
	shown, whole := o.result()
	if n := utf8.RuneCountInString(shown); n > maxShown+200 || n < maxShown-500 {
		t.Errorf("%d characters are shown", n)
	}
	if !strings.HasPrefix(shown, "short\nline 0 é\n") || !strings.HasSuffix(shown, "line 9999 é\n") || strings.Count(shown, "left out here") != 1 {
		t.Errorf("shown %q…%q", shown[:40], shown[len(shown)-40:])
	}
	if string(whole) != all.String() {
		t.Errorf("the whole has %d bytes, want %d", len(whole), all.Len())
	}
	parts := strings.SplitN(shown, "[… ", 2)
	var left, lines int
	if _, err := fmt.Sscanf(parts[1], "%d characters in %d lines", &left, &lines); err != nil {
		t.Fatal(err)
	}
	tail := parts[1][strings.Index(parts[1], "…]\n")+len("…]\n"):]
	if got := utf8.RuneCountInString(parts[0]+tail) + left; got != utf8.RuneCountInString(all.String()) {
		t.Errorf("shown and left out are %d characters, want %d", got, utf8.RuneCountInString(all.String()))
	}
}

func TestKeptIsBounded(t *testing.T) {
	t.Parallel()
	o := newOutput(nil)
	piece := []byte(strings.Repeat("0123456789abcde\n", 64<<10)) // 1 MB
	for range 40 {
		_, _ = o.Write(piece)
	}
	_, _ = o.Write([]byte("the end\n"))
	shown, whole := o.result()
	if len(whole) > maxWhole+maxWhole/2+100 || len(whole) < maxWhole-100 {
		t.Errorf("%d bytes are kept", len(whole))
	}
	if !strings.HasSuffix(shown, "the end\n") || !strings.Contains(string(whole), "bytes are not kept]") {
		t.Errorf("the end is %q", shown[len(shown)-20:])
	}
	if len(o.head)+len(o.tail) > 2*maxWhole {
		t.Errorf("%d bytes in memory", len(o.head)+len(o.tail))
	}
}

func TestNews(t *testing.T) {
	t.Parallel()
	o := newOutput(nil)
	for _, s := range []string{"one\n", "", "two\n", strings.Repeat("x", maxWhole/2) + "\n", "four\n", strings.Repeat("y\n", maxWhole), "six\n"} {
		_, _ = o.Write([]byte(s))
		shown, _ := o.news()
		if len(s) < 100 && shown != s || len(s) >= 100 && !strings.HasPrefix(shown, s[:100]) && !strings.HasSuffix(shown, s[len(s)-100:]) {
			t.Errorf("news of %.20q is %.40q", s, shown)
		}
	}
}
