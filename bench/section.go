// What was found about one bar: tables, and which conditions hold.

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// section is the report of one bar.
type section struct {
	text   []string // paragraphs and tables
	checks []check
}

// check is one condition of a bar.
type check struct {
	what  string
	found float64
	most  float64 // or the least, if least
	unit  string
	least bool
	holds bool
}

// table adds a table; the first row is its head.
func (s *section) table(rows [][]string) {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	s.text = append(s.text, strings.TrimSuffix(b.String(), "\n"))
}

func (s *section) say(format string, args ...any) {
	s.text = append(s.text, fmt.Sprintf(format, args...))
}

// atMost notes a condition.
func (s *section) atMost(what string, found, most float64, unit string) {
	s.checks = append(s.checks, check{what: what, found: found, most: most, unit: unit, holds: found <= most})
}

// atLeast notes a condition.
func (s *section) atLeast(what string, found, least float64, unit string) {
	s.checks = append(s.checks, check{what: what, found: found, most: least, unit: unit, least: true, holds: found >= least})
}

func (c check) String() string {
	verdict, sign := "holds", "≤"
	if !c.holds {
		verdict = "MISSED"
	}
	if c.least {
		sign = "≥"
	}
	return fmt.Sprintf("%s: %s %s (%s %s %s)", verdict, c.what, number(c.found, c.unit), sign, number(c.most, c.unit), c.unit)
}

func number(v float64, unit string) string {
	switch {
	case unit == "×" || unit == "s" && v < 10:
		return fmt.Sprintf("%.2f", v)
	case v != float64(int64(v)) && v < 100:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// print writes the section for people and for the report.
func (s *section) print(w io.Writer) {
	for _, t := range s.text {
		_, _ = fmt.Fprintf(w, "%s\n\n", t) // the caller's file tells at its end
	}
	for _, c := range s.checks {
		_, _ = fmt.Fprintf(w, "- %s\n", c)
	}
	_, _ = fmt.Fprintln(w)
}

// median of values, which it sorts.
func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile of values, which it sorts: the value that a share q is not above.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}
