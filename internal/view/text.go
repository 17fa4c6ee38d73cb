// The text renderer: rows as lines of a terminal.

package view

import (
	"fmt"
	"strings"
	"time"
)

// Style is how lines are written.
type Style struct {
	Colour bool
	ASCII  bool // no characters beyond ASCII for icons and guides
	Moving bool // animate the icons of those that think
}

// Least widths of the parts of a row; what does not fit is left out, the least
// important first.
const (
	leastText = 16
	mostName  = 32
	leastWord = 9 // completed: so that columns keep their place when an agent ends
)

// frames animate an icon, one every frameTime.
const (
	frames    = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	framesRaw = `|/-\`
	frameTime = 100 * time.Millisecond
)

// Lines writes rows in lines of at most width columns (0: any width).
func (s Style) Lines(rows []Row, width int, now time.Time) []string {
	l := s.layout(rows, width)
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = s.plain(s.line(r, l, now))
	}
	return lines
}

// layout is how wide the parts of all rows are.
type layout struct {
	width   int
	name    int
	word    int
	columns [4]int // elapsed, turns, tokens, cost; 0: left out
	right   int
}

func (r Row) meters() [4]string { return [4]string{r.Elapsed, r.Turns, r.Tokens, r.Cost} }

func (s Style) layout(rows []Row, width int) layout {
	l := layout{width: width, word: leastWord}
	for _, r := range rows {
		name := 2*r.Depth + 2 + Cells(r.Name)
		if r.state.word != "" { // a group needs no column for a word
			l.name = max(l.name, min(name, mostName))
			l.word = max(l.word, Cells(r.state.word))
		}
		for i, m := range r.meters() {
			l.columns[i] = max(l.columns[i], Cells(m))
		}
	}
	for _, drop := range []int{1, 2, 3, 0, -1} { // turns go first, the time last
		l.right = 0
		for _, c := range l.columns {
			if c > 0 {
				l.right += 2 + c
			}
		}
		if width <= 0 || drop < 0 || l.name+2+l.word+2+leastText+l.right <= width {
			break
		}
		l.columns[drop] = 0
	}
	return l
}

func (s Style) line(r Row, l layout, now time.Time) string {
	left := pad(Cut(r.Name, max(l.name-2*r.Depth-2, 4)), l.name-2*r.Depth-2)
	if r.state.word == "" {
		left = r.Name
	} else {
		left += "  " + s.paint(pad(r.state.word, l.word), r.state.colour)
	}
	head := s.paint(s.guide(r), Grey) + s.paint(s.icon(r.state, now), r.state.colour) + " " + left
	used := 2*r.Depth + 2 + Cells(strip(left))
	text := r.Text
	if l.width > 0 {
		text = Cut(text, l.width-used-2-l.right)
		if l.width < used {
			return s.tight(r, l, now)
		}
	}
	if text != "" {
		head += "  " + s.dim(text)
		used += 2 + Cells(text)
	}
	var b strings.Builder
	b.WriteString(head)
	if l.width > 0 {
		b.WriteString(strings.Repeat(" ", max(l.width-used-l.right, 0)))
	}
	for i, m := range r.meters() {
		if l.columns[i] > 0 {
			b.WriteString("  " + padLeft(m, l.columns[i]))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// tight is a row on a terminal too narrow for its parts.
func (s Style) tight(r Row, l layout, now time.Time) string {
	return Cut(strings.Repeat(" ", 2*r.Depth)+s.icon(r.state, now)+" "+strings.TrimSpace(r.Name+" "+r.state.word), l.width)
}

// guide draws the thin lines that tell a row's depth.
func (s Style) guide(r Row) string {
	through, corner, branch := "│ ", "└ ", "├ "
	if s.ASCII {
		through, corner, branch = "| ", "`-", "|-"
	}
	var b strings.Builder
	for i, last := range r.Last {
		switch {
		case i == len(r.Last)-1 && last:
			b.WriteString(corner)
		case i == len(r.Last)-1:
			b.WriteString(branch)
		case last:
			b.WriteString("  ")
		default:
			b.WriteString(through)
		}
	}
	return b.String()
}

func (s Style) icon(st state, now time.Time) string {
	all, still := []rune(frames), st.icon
	if s.ASCII {
		all, still = []rune(framesRaw), st.ascii
	}
	if !st.moves || !s.Moving {
		return still
	}
	return string(all[int(now.UnixMilli()/frameTime.Milliseconds())%len(all)])
}

// codes are the colours of a terminal with sixteen of them, which its owner
// has chosen to be readable.
var codes = map[Colour]string{Grey: "90", Blue: "94", Amber: "33", Green: "32", Teal: "36", Red: "31"}

func (s Style) paint(text string, c Colour) string {
	code, ok := codes[c]
	if !ok || !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// plain replaces the marks of our own that are not ASCII, where those are not
// wanted. None becomes wider.
func (s Style) plain(line string) string {
	if !s.ASCII {
		return line
	}
	return strings.NewReplacer("…", "~", "·", "-", "‖", "=").Replace(line)
}

func (s Style) dim(text string) string { return s.paint(text, Grey) }

// strip takes the colours out again.
func strip(text string) string {
	for {
		i := strings.Index(text, "\x1b[")
		if i < 0 {
			return text
		}
		j := strings.IndexByte(text[i:], 'm')
		if j < 0 {
			return text
		}
		text = text[:i] + text[i+j+1:]
	}
}

// Status is one line on the whole tree: is it working, who needs a person, what
// did it cost so far, which model answers.
func (s Style) Status(t *Tree, width int, now time.Time) string {
	if t.Root == nil {
		return ""
	}
	if t.Paused != nil {
		return s.paint(s.plain(cutTo("‖ "+t.whyPaused(), width)), Amber)
	}
	c := t.Counts()
	sum := t.Root.Sum()
	var parts []string
	add := func(n int, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, n))
		}
	}
	working := c.Working
	if t.Root.Working() {
		working++
	}
	add(working, "%d working")
	add(c.Waiting, "%d waiting for you")
	add(c.Completed, "%d done")
	add(c.Failed, "%d failed")
	add(c.Cancelled, "%d cancelled")
	parts = append(parts, Duration(t.Elapsed(t.Root, now)), Tokens(sum.Tokens)+" tokens", Money(sum.Cost, !sum.Unpriced), modelName(t.Root.Model))
	return s.dim(s.plain(cutTo(strings.Join(parts, " · "), width)))
}

// whyPaused says why the tree stands still. Of an error of the store, which
// ends with what a person can do about it, that is what is told.
func (t *Tree) whyPaused() string {
	why := oneLine(t.Paused.Error())
	if i := strings.LastIndex(why, "): "); i >= 0 {
		why = why[i+3:]
	}
	return "paused, nothing can be written: " + why
}

func cutTo(text string, width int) string {
	if width <= 0 {
		return text
	}
	return Cut(text, width)
}

// modelName is how a model is told to a person: above all whether it is a real
// one.
func modelName(model string) string {
	switch {
	case model == "offline":
		return "offline model"
	case strings.HasPrefix(model, "scripted:"):
		return "scripted model"
	}
	return Clean(model)
}

// Frame is a picture of the tree at work, of at most height lines: the rows,
// the end of what the orchestrator is saying, and the status.
func (s Style) Frame(t *Tree, width, height int, now time.Time) []string {
	if t.Root == nil || height < 1 {
		return nil
	}
	var said []string
	if text := strings.TrimSpace(Clean(t.Streaming())); text != "" && height > 6 {
		said = Wrap(text, width)
		said = said[max(len(said)-height/3, 0):]
		said = append([]string{""}, said...)
	}
	rows := max(height-len(said)-2, 1)
	lines := s.Lines(t.Rows(RowOptions{Now: now, Height: rows}), width, now)
	lines = append(lines, said...)
	if len(lines)+2 <= height {
		lines = append(lines, "", s.Status(t, width, now))
	}
	return lines[:min(len(lines), height)]
}

// Summary is one line on how a run ended and what it took, with less in it
// where width does not suffice (0: any width).
func (s Style) Summary(t *Tree, d Done, width int, now time.Time) string {
	st := stateOf(d.Outcome)
	icon := st.icon
	if s.ASCII {
		icon = st.ascii
	}
	cost := "cost unknown"
	if d.Cost != nil {
		cost = Money(*d.Cost, true)
	}
	head, model := icon+" "+st.word, ""
	if t.Root != nil {
		model = modelName(t.Root.Model)
		head += " in " + Duration(t.Elapsed(t.Root, now))
	}
	agents, tokens, chat := Count(d.Agents, "agent"), Tokens(d.Usage.Total())+" tokens", "chat "+d.Chat
	rest := ""
	for _, parts := range [][]string{{agents, tokens, cost, model, chat}, {agents, tokens, cost, chat}, {cost, chat}, {chat}} {
		rest = join(append([]string{""}, parts...)...)
		if width <= 0 || Cells(head)+3+Cells(rest) <= width {
			break
		}
	}
	return s.paint(head, st.colour) + s.dim(s.plain(" · "+rest))
}
