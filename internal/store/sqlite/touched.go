// This file writes and reads what an event touched: for each document a letter
// and the number of its row. A deleted chat has no row any more and is written
// out, and so is the user whose settings changed.

package sqlite

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The letters of documents.
const (
	touchedChat      = 'C'
	touchedAgent     = 'A'
	touchedTask      = 'T'
	touchedMessage   = 'M'
	touchedToolCall  = 'X'
	touchedModelCall = 'R'
	touchedItem      = 'I'
	touchedDeleted   = 'D'
	touchedReadMark  = 'S' // the row is that of the chat
	touchedSettings  = 'U' // with the user
	touchedGap       = 'G' // left by a restore
)

// touch notes that the entry in hand changed the row n.
func (w *writer) touch(letter byte, n int64) {
	if len(w.touched) > 0 {
		w.touched = append(w.touched, ' ')
	}
	w.touched = append(w.touched, letter)
	w.touched = strconv.AppendInt(w.touched, n, 10)
}

// deletion is what stays of a chat that was deleted.
type deletion struct {
	chat, user string
	events     int64 // how many numbers went with it
}

func (w *writer) touchDeleted(d deletion) {
	if len(w.touched) > 0 {
		w.touched = append(w.touched, ' ')
	}
	w.touched = fmt.Appendf(w.touched, "%c%s,%s,%d", touchedDeleted, url.QueryEscape(d.chat), url.QueryEscape(d.user), d.events)
}

func (w *writer) touchSettings(user string) {
	if len(w.touched) > 0 {
		w.touched = append(w.touched, ' ')
	}
	w.touched = fmt.Appendf(w.touched, "%c%s", touchedSettings, url.QueryEscape(user))
}

// code is one document in the column touched.
type code struct {
	letter byte
	n      int64
	gone   deletion // for touchedDeleted
	user   string   // for touchedSettings
	gap    gap      // for touchedGap
}

// parseTouched reads the column, each document once.
func parseTouched(s string) ([]code, error) {
	var codes []code
	for field := range strings.FieldsSeq(s) {
		c := code{letter: field[0]}
		var err error
		switch c.letter {
		case touchedDeleted:
			c.gone, err = parseDeletion(field[1:])
		case touchedSettings:
			c.user, err = url.QueryUnescape(field[1:])
		case touchedGap:
			_, err = fmt.Sscanf(field[1:], "%d,%d", &c.gap.skipped, &c.gap.void)
		default:
			c.n, err = strconv.ParseInt(field[1:], 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("reading what an event touched, %q: %w", s, err)
		}
		if !slices.Contains(codes, c) {
			codes = append(codes, c)
		}
	}
	return codes, nil
}

func parseDeletion(s string) (d deletion, err error) {
	parts := strings.Split(s, ",")
	if len(parts) != 3 {
		return d, fmt.Errorf("a deleted chat has 3 parts, not %d", len(parts))
	}
	if d.chat, err = url.QueryUnescape(parts[0]); err != nil {
		return d, err
	}
	if d.user, err = url.QueryUnescape(parts[1]); err != nil {
		return d, err
	}
	d.events, err = strconv.ParseInt(parts[2], 10, 64)
	return d, err
}
