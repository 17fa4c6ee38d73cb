// Reading server-sent events.

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	firstBuffer = 4 << 10
	minRoom     = 512
	maxEvent    = 64 << 20
)

// errTooLong means that an event is larger than any reply can be.
var errTooLong = errors.New("an event of the stream is too long")

// Event is one server-sent event. Its bytes are valid until the next one is
// read.
type Event struct {
	Name []byte // the event's type, empty if it has none
	Data []byte // its data, lines joined by \n
}

// Reader reads events from a stream as it arrives: an event is returned as
// soon as the line that ends it is there. Lines may end in LF, CRLF or CR; a
// byte order mark, comments and unknown fields are skipped, and so are events
// without data. One buffer serves all events and grows to the largest of them.
//
// What stands at the end of the stream without an empty line after it counts
// as an event: some servers leave the line out.
type Reader struct {
	src io.Reader
	err error // of src, told when the buffer is used up

	buf  []byte
	from int // where the pending event begins: what is before it can go
	line int // where the current line begins
	scan int // how far the current line was searched for its end

	skipLF  bool // the last line ended in CR: an LF right after belongs to it
	started bool // the first line is over, and with it the place of a byte order mark

	name       []byte
	hasData    bool
	data, dEnd int // the data so far, as a range of buf
}

// NewReader returns a Reader of src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// buffers are those of streams that have ended. A thousand agents open a
// stream each turn, and most replies fit into the first buffer.
var buffers = sync.Pool{New: func() any { return new([firstBuffer]byte) }}

// release gives the buffer back. No event may be looked at after it.
func (r *Reader) release() {
	if cap(r.buf) == firstBuffer {
		buffers.Put((*[firstBuffer]byte)(r.buf[:firstBuffer]))
	}
	r.buf, r.err = nil, io.EOF
	r.from, r.line, r.scan, r.hasData = 0, 0, 0, false
}

// Next returns the next event; io.EOF at the end of the stream, or the error
// that reading ended with.
func (r *Reader) Next() (Event, error) {
	r.begin()
	for {
		line, ok := r.nextLine()
		if !ok {
			if r.err == nil {
				r.fill()
				continue
			}
			return r.finish()
		}
		if len(line) > 0 {
			r.field(line)
			continue
		}
		if r.hasData {
			return r.event(), nil
		}
		r.begin()
	}
}

// begin forgets the event before and all bytes up to the current line.
func (r *Reader) begin() {
	if r.line == len(r.buf) { // the usual case: all that came was an event
		r.buf, r.line, r.scan = r.buf[:0], 0, 0
	}
	r.from = r.line
	r.name = r.name[:0]
	r.hasData, r.data, r.dEnd = false, 0, 0
}

func (r *Reader) event() Event {
	return Event{Name: r.name, Data: r.buf[r.data:r.dEnd:r.dEnd]}
}

// finish is called when the stream has ended: a last line without its end, and
// an event without its empty line, still count.
func (r *Reader) finish() (Event, error) {
	if r.err != io.EOF { //nolint:errorlint // readers return io.EOF itself
		return Event{}, r.err
	}
	if r.line < len(r.buf) {
		line := r.buf[r.line:]
		r.line, r.scan = len(r.buf), len(r.buf)
		r.field(r.withoutBOM(line))
	}
	if r.hasData {
		return r.event(), nil
	}
	return Event{}, io.EOF
}

// nextLine returns the next whole line in the buffer without its end.
func (r *Reader) nextLine() ([]byte, bool) {
	if r.skipLF && r.line < len(r.buf) {
		r.skipLF = false
		if r.buf[r.line] == '\n' {
			r.line++
			r.scan = r.line
		}
	}
	rest := r.buf[r.scan:]
	end := bytes.IndexByte(rest, '\n')
	if end >= 0 {
		rest = rest[:end]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		end = cr
		r.skipLF = true
	}
	if end < 0 {
		r.scan = len(r.buf)
		return nil, false
	}
	end += r.scan
	line := r.buf[r.line:end]
	r.line, r.scan = end+1, end+1
	return r.withoutBOM(line), true
}

func (r *Reader) withoutBOM(line []byte) []byte {
	if r.started {
		return line
	}
	r.started = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}

// field takes in one line that is not empty. line lies within buf.
func (r *Reader) field(line []byte) {
	name, value := line, line[len(line):]
	if colon := bytes.IndexByte(line, ':'); colon >= 0 {
		name, value = line[:colon], line[colon+1:]
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
	}
	switch string(name) {
	case "data":
		r.addData(value)
	case "event":
		r.name = append(r.name[:0], value...)
	}
}

// addData appends a line of data. The lines are joined in place: a later line
// always lies at least a field name behind the end of those before it.
func (r *Reader) addData(value []byte) {
	if !r.hasData {
		r.hasData = true
		r.data = cap(r.buf) - cap(value) // value's place in buf
		r.dEnd = r.data + len(value)
		return
	}
	r.buf[r.dEnd] = '\n'
	r.dEnd += 1 + copy(r.buf[r.dEnd+1:], value)
}

// fill reads more bytes, making room first if there is little: the pending
// event moves to the front, and the buffer grows if that gains too little.
func (r *Reader) fill() {
	if cap(r.buf)-len(r.buf) < minRoom {
		r.makeRoom()
		if r.err != nil {
			return
		}
	}
	for empty := 0; ; empty++ {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		r.err = err
		if n > 0 || err != nil {
			return
		}
		if empty == 100 {
			r.err = io.ErrNoProgress
			return
		}
	}
}

func (r *Reader) makeRoom() {
	pending := r.buf[r.from:]
	if len(pending) > cap(r.buf)/2 || cap(r.buf) == 0 {
		if len(pending) >= maxEvent {
			r.err = fmt.Errorf("reading events: %w", errTooLong)
			return
		}
		var grown []byte
		if cap(r.buf) == 0 {
			first, _ := buffers.Get().(*[firstBuffer]byte)
			grown = first[:0]
		} else {
			grown = make([]byte, 0, 2*cap(r.buf))
		}
		r.buf = append(grown, pending...)
	} else {
		r.buf = r.buf[:copy(r.buf, pending)]
	}
	r.line -= r.from
	r.scan -= r.from
	if r.hasData {
		r.data -= r.from
		r.dEnd -= r.from
	}
	r.from = 0
}
