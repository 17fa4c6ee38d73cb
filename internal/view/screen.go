// The screen: a region at the end of a terminal that is redrawn in place, with
// lines above it that stay.

package view

import (
	"fmt"
	"io"
	"strings"
)

// Screen redraws lines in place. The lines it is given must not be wider than
// the terminal nor more than its height: what has scrolled away cannot be
// redrawn. It is for one goroutine.
type Screen struct {
	w      io.Writer
	widths []int // of the lines of the region
	hidden bool  // the cursor is
}

// NewScreen makes a screen on a terminal.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

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
	var b strings.Builder
	b.WriteString(beginFrame)
	if !s.hidden {
		b.WriteString(hideCursor)
		s.hidden = true
	}
	b.WriteString(s.home(width))
	if above != "" {
		b.WriteString(clearBelow + strings.TrimSuffix(above, "\n") + "\n")
	}
	s.widths = s.widths[:0]
	for i, line := range lines {
		b.WriteString(line + clearLine)
		if i < len(lines)-1 {
			b.WriteString("\n")
		}
		s.widths = append(s.widths, Cells(strip(line)))
	}
	b.WriteString(clearBelow + endFrame)
	return s.write(b.String())
}

// home goes to the first column of the region. A terminal that was made
// narrower has wrapped the lines of the last frame.
func (s *Screen) home(width int) string {
	up := -1
	for _, w := range s.widths {
		up++
		if width > 0 && w > width {
			up += (w - 1) / width
		}
	}
	if up <= 0 {
		return "\r"
	}
	return fmt.Sprintf("\r\x1b[%dA", up)
}

// Close takes the region away, prints what stays and gives the cursor back.
func (s *Screen) Close(stays string, width int) error {
	if s.hidden {
		stays = s.home(width) + clearBelow + stays + ShowCursor
	}
	s.hidden, s.widths = false, nil
	return s.write(stays)
}

// write writes a frame at once.
func (s *Screen) write(text string) error {
	if _, err := io.WriteString(s.w, text); err != nil {
		return fmt.Errorf("drawing on the terminal: %w", err)
	}
	return nil
}
