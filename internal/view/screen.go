// The screen: a region at the end of a terminal that is redrawn in place, with
// lines above it that stay.

package view

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Screen redraws lines in place. The lines it is given must not be wider than
// the terminal nor more than its height: what has scrolled away cannot be
// redrawn. It is for one goroutine.
type Screen struct {
	w      *bufio.Writer
	height int // rows that the region takes at present
	widths []int
	hidden bool // the cursor is
}

// NewScreen makes a screen on a terminal.
func NewScreen(w io.Writer) *Screen { return &Screen{w: bufio.NewWriter(w)} }

// ShowCursor gives a terminal its cursor back, for one who cannot wait for
// Close.
const ShowCursor = "\x1b[?25h"

const (
	hideCursor = "\x1b[?25l"
	beginFrame = "\x1b[?2026h" // terminals that know it show a frame at once
	endFrame   = "\x1b[?2026l"
	clearBelow = "\x1b[J"
	clearLine  = "\x1b[K"
)

// Draw shows lines in place of those drawn before; width is that of the
// terminal now. above is printed before the region and stays.
func (s *Screen) Draw(above string, lines []string, width int) error {
	s.w.WriteString(beginFrame)
	if !s.hidden {
		s.w.WriteString(hideCursor)
		s.hidden = true
	}
	s.home(width)
	if above != "" {
		s.w.WriteString(clearBelow)
		s.w.WriteString(strings.TrimSuffix(above, "\n") + "\n")
	}
	s.widths = s.widths[:0]
	for i, line := range lines {
		s.w.WriteString(line + clearLine)
		if i < len(lines)-1 {
			s.w.WriteString("\n")
		}
		s.widths = append(s.widths, Cells(strip(line)))
	}
	s.w.WriteString(clearBelow + endFrame)
	s.height = len(lines)
	return s.w.Flush()
}

// home goes to the first column of the region. A terminal that was made
// narrower has wrapped the lines of the last frame.
func (s *Screen) home(width int) {
	up := -1
	for _, w := range s.widths {
		up++
		if width > 0 && w > width {
			up += (w - 1) / width
		}
	}
	s.w.WriteString("\r")
	if up > 0 {
		fmt.Fprintf(s.w, "\x1b[%dA", up)
	}
}

// Close takes the region away, prints what stays and gives the cursor back.
func (s *Screen) Close(stays string, width int) error {
	if s.height > 0 || s.hidden {
		s.home(width)
		s.w.WriteString(clearBelow)
	}
	s.w.WriteString(stays)
	if s.hidden {
		s.w.WriteString(ShowCursor)
		s.hidden = false
	}
	s.height, s.widths = 0, nil
	return s.w.Flush()
}
