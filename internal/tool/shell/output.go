// Output of a command: taken in as it comes, shown live, and told in the end
// within bounds.

package shell

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxShown = 30_000   // characters of a result, half of them from the end
	maxWhole = 10 << 20 // bytes that are kept, half of them from the end
	maxLive  = 1 << 20  // bytes that are shown live

	liveEvery = 50 * time.Millisecond // between two pieces that are shown live
	maxHeld   = 256                   // bytes held back from the live view, as they may be a part of something
)

// output takes in what a command prints, both its streams in order. Its
// methods may be used from several goroutines. While show is at work the
// command waits: who shows slowly slows it down, and nothing is dropped.
type output struct {
	show func(string) // nil: nobody looks

	mu     sync.Mutex
	head   []byte // the first half of maxWhole
	tail   []byte // the last bytes after that, at most twice the other half
	total  int64
	looked int64 // up to where news has told it

	pending []byte // not shown live yet
	live    int
	timer   *time.Timer
	last    time.Time
	ended   bool
}

func newOutput(show func(string)) *output { return &output{show: show} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(len(p))
	rest := p
	if room := maxWhole/2 - len(o.head); room > 0 {
		n := min(room, len(rest))
		o.head = append(o.head, rest[:n]...)
		rest = rest[n:]
	}
	o.tail = append(o.tail, rest...)
	if len(o.tail) > maxWhole {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-maxWhole/2:]...)
	}
	if o.show != nil && !o.ended {
		o.pending = append(o.pending, p...)
		o.schedule()
	}
	return len(p), nil
}

// schedule shows what is pending now, or a moment after the last time.
func (o *output) schedule() {
	if wait := liveEvery - time.Since(o.last); wait <= 0 {
		o.flush(false)
	} else if o.timer == nil {
		o.timer = time.AfterFunc(wait, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			if !o.ended {
				o.flush(false)
			}
		})
	}
}

// flush shows what is pending. Until the end it holds back a character or an
// escape sequence of which only a part has come.
func (o *output) flush(all bool) {
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	n := len(o.pending)
	if !all {
		n = complete(o.pending)
	}
	text := printable(o.pending[:n])
	o.pending = append(o.pending[:0], o.pending[n:]...)
	if text == "" || o.live > maxLive {
		return
	}
	o.last = time.Now()
	if o.live += len(text); o.live > maxLive {
		text += "\n[there is more output; it is not shown live]\n"
	}
	o.show(text)
}

// complete is how much of b ends with a whole character and outside of an
// escape sequence.
func complete(b []byte) int {
	n := len(b)
	for i := 1; i <= min(utf8.UTFMax-1, n); i++ {
		if c := b[n-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[n-i:]) {
				n -= i
			}
			break
		}
	}
	if esc := bytes.LastIndexByte(b[:n], 0x1b); esc >= 0 && n-esc < maxHeld && escape.FindIndex(b[esc:n]) == nil {
		n = esc
	}
	if n > 0 && b[n-1] == '\r' { // a line feed may follow
		n--
	}
	return n
}

// finish shows the rest; nothing is shown after it.
func (o *output) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.show != nil && !o.ended {
		o.flush(true)
	}
	o.ended = true
}

// result returns what a model is shown, and the whole of it if that is more.
func (o *output) result() (shown string, whole []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.between(0)
}

// news is like result, of what has come since the last news.
func (o *output) news() (shown string, whole []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := o.looked
	o.looked = o.total
	return o.between(from)
}

// between words what has come from that offset on.
func (o *output) between(from int64) (shown string, whole []byte) {
	var head []byte
	if from < int64(len(o.head)) {
		head = o.head[from:]
	}
	tail := o.tail
	begin := o.total - int64(len(tail)) // where tail begins in all that came
	if from > begin {
		tail = tail[min(from-begin, int64(len(tail))):]
		begin = from
	}
	missing := begin - max(from, int64(len(o.head)))
	var all string
	if missing > 0 {
		all = printable(head) + fmt.Sprintf("\n[%d bytes are not kept]\n", missing) + printable(tail)
	} else {
		all = printable(slices.Concat(head, tail)) // a character may lie on the border
	}
	shown, cut := middleOut(all)
	if cut {
		return shown, []byte(all)
	}
	return shown, nil
}

// middleOut keeps the head and the tail of a text, cut at line ends if they
// are near.
func middleOut(s string) (string, bool) {
	if len(s) <= maxShown || utf8.RuneCountInString(s) <= maxShown {
		return s, false
	}
	runes := []rune(s)
	head, tail := string(runes[:maxShown/2]), string(runes[len(runes)-maxShown/2:])
	if i := strings.LastIndexByte(head, '\n'); i > len(head)*3/4 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/4 {
		tail = tail[i+1:]
	}
	middle := s[len(head) : len(s)-len(tail)]
	if !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	return fmt.Sprintf("%s[… %d characters in %d lines left out here; the whole output is kept as an artifact …]\n%s",
		head, utf8.RuneCountInString(middle), strings.Count(middle, "\n"), tail), true
}

// escape is a sequence that moves the cursor, sets a colour or a title.
var escape = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(\x07|\x1b\\)|[ -/]+[0-~]|[0-OQ-WYZ\\a-~])`)

// printable makes valid text without escape sequences of b: of a line that a
// carriage return has overwritten the last state remains, and what cannot be
// printed becomes a replacement character.
func printable(b []byte) string {
	b = escape.ReplaceAll(b, nil)
	text := strings.ReplaceAll(strings.ToValidUTF8(string(b), "\ufffd"), "\r\n", "\n")
	if strings.ContainsRune(text, '\r') {
		lines := strings.Split(text, "\n")
		for i, l := range lines {
			l = strings.TrimRight(l, "\r")
			lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
		}
		text = strings.Join(lines, "\n")
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
