// Matching lines for Grep: Go's regexp, kept from taking long without being
// asked whether it should.

package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

const (
	// maxProgram bounds a compiled pattern, in instructions: each rune of a
	// text can cost a step for each of them.
	maxProgram = 5000
	// maxSteps is how much may be matched without asking the context, in
	// instructions times bytes: about a tenth of a second.
	maxSteps = 10_000_000
)

// matcher is a pattern of Grep.
type matcher struct {
	re      *regexp.Regexp
	program int    // instructions
	needle  []byte // bytes that every match contains
}

func newMatcher(expr string, ignoreCase bool) (*matcher, error) {
	if ignoreCase {
		expr = "(?i)" + expr
	}
	invalid := func(err error) error {
		return fmt.Errorf("the pattern is not valid in Go's RE2 syntax: %w", err)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, invalid(err)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, invalid(err)
	}
	tree = tree.Simplify()
	program, err := syntax.Compile(tree)
	if err != nil {
		return nil, invalid(err)
	}
	if len(program.Inst) > maxProgram {
		return nil, errors.New("the pattern is too complex: repeat less in { }")
	}
	return &matcher{re, len(program.Inst), needleOf(tree)}, nil
}

// find returns where the first match in line begins and ends, or nil. It
// fails only when ctx ends.
func (m *matcher) find(ctx context.Context, line []byte) ([]int, error) {
	if len(line)*m.program <= maxSteps {
		return m.re.FindIndex(line), nil
	}
	at := m.re.FindReaderIndex(&runeReader{ctx: ctx, rest: line, every: max(1, maxSteps/m.program)})
	return at, ctx.Err()
}

// runeReader gives the runes of a text to a regexp, and ends early when its
// context does.
type runeReader struct {
	ctx   context.Context
	rest  []byte
	every int // runes between two looks at the context
	n     int
}

func (r *runeReader) ReadRune() (rune, int, error) {
	if r.n++; r.n%r.every == 0 && r.ctx.Err() != nil || len(r.rest) == 0 {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRune(r.rest)
	r.rest = r.rest[size:]
	return c, size, nil
}

// needleOf returns bytes that every match contains, as many as are easily
// found; none if there are none.
func needleOf(tree *syntax.Regexp) []byte {
	switch tree.Op {
	case syntax.OpLiteral:
		// In a pattern, U+FFFD also stands for bytes that are not UTF-8.
		if tree.Flags&syntax.FoldCase == 0 && !slices.Contains(tree.Rune, utf8.RuneError) {
			return []byte(string(tree.Rune))
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needleOf(tree.Sub[0])
	case syntax.OpConcat:
		var longest []byte
		for _, part := range tree.Sub {
			if n := needleOf(part); len(n) > len(longest) {
				longest = n
			}
		}
		return longest
	default: // nothing that must occur, or nothing that is easily found
	}
	return nil
}
