// Text in files: reading it line by line in bounded memory, telling it from
// binary data, and cutting it to a length.

package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// headSize is how much of a file decides whether it is text.
const headSize = 8000

// contextReader fails as soon as its context has ended, so that reading a
// large file can be stopped.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// lines reads a text line by line and never holds more than one line, of
// which it keeps a bounded part.
type lines struct {
	r    *bufio.Reader
	keep int    // bytes kept of a line
	buf  []byte // the line last read
	read int64  // bytes consumed

	lf, crlf int // lines that ended so
}

// bufferSize is enough to read files quickly.
const bufferSize = 64 << 10

func newLines(keep int) *lines { return newLinesOf(keep, bufferSize) }

// newLinesOf is for one text of a known size: most are small, and a thousand
// agents may read at once.
func newLinesOf(keep int, size int64) *lines {
	return &lines{r: bufio.NewReaderSize(nil, int(min(max(size+1, 512), bufferSize))), keep: keep}
}

// reset starts over with another text; the buffers are used again.
func (l *lines) reset(ctx context.Context, r io.Reader) {
	l.r.Reset(contextReader{ctx, r})
	l.read, l.lf, l.crlf = 0, 0, 0
}

// head returns the start of the text without consuming it.
func (l *lines) head() ([]byte, error) {
	head, err := l.r.Peek(min(headSize, l.r.Size()))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// skipBOM consumes the mark that some editors put before UTF-8.
func (l *lines) skipBOM() {
	if mark, _ := l.r.Peek(3); string(mark) == "\xef\xbb\xbf" {
		n, _ := l.r.Discard(len(mark)) // buffered by Peek
		l.read += int64(n)
	}
}

// next returns the next line without its end, and how many bytes of it were
// left out. The line is valid until the next call. After the last line it
// returns io.EOF.
func (l *lines) next() (line []byte, cut int64, err error) {
	l.buf = l.buf[:0]
	var length int64 // of the line with its end
	var tail [2]byte // its last two bytes
	for {
		chunk, err := l.r.ReadSlice('\n')
		length += int64(len(chunk))
		for _, b := range chunk[max(0, len(chunk)-2):] {
			tail[0], tail[1] = tail[1], b
		}
		room := l.keep - len(l.buf)
		l.buf = append(l.buf, chunk[:min(room, len(chunk))]...)
		if err == nil || errors.Is(err, io.EOF) && length > 0 {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, 0, err
		}
	}
	l.read += length
	switch {
	case tail == [2]byte{'\r', '\n'}:
		length -= 2
		l.crlf++
	case tail[1] == '\n':
		length--
		l.lf++
	}
	if int64(len(l.buf)) > length {
		l.buf = l.buf[:length]
	}
	return l.buf, length - int64(len(l.buf)), nil
}

// isBinary says whether a file that starts with head is no text.
func isBinary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 || bytes.HasPrefix(head, []byte("%PDF-")) {
		return true
	}
	if utf8.Valid(head) {
		return false
	}
	// Text in an old encoding has some bytes that are not UTF-8; compressed
	// data has hardly anything else.
	odd, n := 0, 0
	for rest := head; len(rest) > 0; n++ {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 && utf8.FullRune(rest) || r < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\x1b", r) {
			odd++
		}
		rest = rest[size:]
	}
	return odd*10 > n*3
}

// mediaType names what head looks like, for a file that is not shown.
func mediaType(head []byte) string {
	switch kind := http.DetectContentType(head); kind {
	case "application/octet-stream", "text/plain; charset=utf-8":
		return "unknown type"
	default:
		return kind
	}
}

// shorten gives the first limit runes of line as UTF-8 that every store and
// provider takes, and how many bytes of it are missing.
func shorten(line []byte, limit int) (text string, cut int64) {
	end := 0
	for n := 0; n < limit && end < len(line); n++ {
		_, size := utf8.DecodeRune(line[end:])
		end += size
	}
	text = strings.ToValidUTF8(string(line[:end]), "\ufffd")
	return strings.ReplaceAll(text, "\x00", "\ufffd"), int64(len(line) - end)
}

// excerpt gives at most limit runes of line, so chosen that what starts at
// byte from is among them, with marks where something is left out.
func excerpt(line []byte, from, limit int) string {
	start := 0
	if from > limit/2 && utf8.RuneCount(line) > limit {
		start = from
		for range limit / 4 {
			_, size := utf8.DecodeLastRune(line[:start])
			start -= size
		}
	}
	text, cut := shorten(line[start:], limit)
	if start > 0 {
		text = "…" + text
	}
	if cut > 0 {
		text += "…"
	}
	return text
}
