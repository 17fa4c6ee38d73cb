// Words: what of a word of the command line is known before it runs. A word
// that is not known could turn out to be an option, or several words.

package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is what is known of one.
type word struct {
	static   bool   // it is text, whole
	text     string // if static
	prefix   string // what it begins with, known even if it is not static
	oneField bool   // it stands for exactly one word
}

// operand: it is one or more words none of which can be an option.
func (w word) operand() bool { return w.prefix != "" && w.prefix[0] != '-' }

// word looks at every part of w, and refuses expansions with side effects.
func (c *classifier) word(w *syntax.Word) word {
	if w == nil {
		return word{static: true, oneField: true}
	}
	out := word{static: true, oneField: true}
	if w.Lit() == "[" { // the command, and no pattern
		out.text, out.prefix = "[", "["
		return out
	}
	if syntax.SplitBraces(w) {
		out.oneField = false
	}
	var b strings.Builder
	for _, part := range w.Parts {
		c.part(part, false, &out, &b)
	}
	if out.static {
		out.text, out.prefix = b.String(), b.String()
	}
	return out
}

// vary notes that from here on the word is not known.
func (w *word) vary(known *strings.Builder) {
	if w.static {
		w.static, w.prefix = false, known.String()
	}
}

func (c *classifier) part(p syntax.WordPart, quoted bool, out *word, b *strings.Builder) {
	switch p := p.(type) {
	case *syntax.Lit:
		c.literal(p.Value, quoted, out, b)
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			out.vary(b) // escapes that are not worked out here
		}
		b.WriteString(p.Value)
	case *syntax.DblQuoted:
		for _, inner := range p.Parts {
			c.part(inner, true, out, b)
		}
	case *syntax.ParamExp:
		out.vary(b)
		out.oneField = out.oneField && quoted && !manyFields(p)
		c.param(p)
	case *syntax.CmdSubst:
		out.vary(b)
		out.oneField = out.oneField && quoted
		c.stmts(p.Stmts)
		if p.TempFile || p.ReplyVar {
			c.unknown("it uses a construct that can have side effects")
		}
	case *syntax.ArithmExp:
		out.vary(b)
		c.arithmetic(p.X)
	case *syntax.ProcSubst:
		// The word is the name of an open file, such as /dev/fd/63.
		if b.Len() == 0 {
			b.WriteString("/dev/fd/")
		}
		out.vary(b)
		c.stmts(p.Stmts)
		if p.Op != syntax.CmdIn {
			c.refuse("it writes to a process")
		}
	case *syntax.BraceExp:
		out.vary(b)
		for _, e := range p.Elems {
			c.word(e)
		}
	case *syntax.ExtGlob:
		out.vary(b)
		out.oneField = false
	default:
		out.vary(b)
		c.unknown("it contains an unknown kind of word")
	}
}

// literal takes the backslashes out of text as the shell would, and finds
// patterns that stand for file names.
func (c *classifier) literal(text string, quoted bool, out *word, b *strings.Builder) {
	if !quoted && b.Len() == 0 && strings.HasPrefix(text, "~") {
		b.WriteString("/") // a folder, whichever
		out.vary(b)
		return
	}
	for i := 0; i < len(text); i++ {
		ch := text[i]
		switch {
		case ch == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0):
			i++
			if text[i] != '\n' {
				b.WriteByte(text[i])
			}
			continue
		case !quoted && strings.IndexByte("*?[", ch) >= 0:
			out.vary(b)
			out.oneField = false
		}
		b.WriteByte(ch)
	}
}

func manyFields(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Param.Value == "@" || p.Index != nil
}

var (
	safeExpansions = []syntax.ParExpOperator{
		syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull,
		syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll,
	}
	safeArithmetic = []syntax.BinAritOperator{syntax.Add, syntax.Sub, syntax.Mul, syntax.Quo, syntax.Rem, syntax.Pow}
)

// param refuses expansions that assign or evaluate what a variable holds.
func (c *classifier) param(p *syntax.ParamExp) {
	bad := p.Excl || p.Names != 0 || p.Width || p.IsSet || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0
	if p.Index != nil {
		all, ok := p.Index.(*syntax.Word)
		bad = bad || !ok || all.Lit() != "@" && all.Lit() != "*" && !isNumber(all.Lit())
	}
	if p.Slice != nil {
		c.arithmetic(p.Slice.Offset)
		c.arithmetic(p.Slice.Length)
	}
	if p.Repl != nil {
		c.word(p.Repl.Orig)
		c.word(p.Repl.With)
	}
	if p.Exp != nil {
		bad = bad || !slices.Contains(safeExpansions, p.Exp.Op)
		c.word(p.Exp.Word)
	}
	if bad {
		c.unknown("it expands a variable in a way that can have side effects")
	}
}

// arithmetic allows numbers only: a variable may hold an expression, which
// may hold a command.
func (c *classifier) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		if !isNumber(x.Lit()) {
			c.unknown("it calculates with something that could hold a command")
		}
	case *syntax.BinaryArithm:
		if !slices.Contains(safeArithmetic, x.Op) {
			c.unknown("it calculates in a way that can have side effects")
		}
		c.arithmetic(x.X)
		c.arithmetic(x.Y)
	case *syntax.ParenArithm:
		c.arithmetic(x.X)
	case *syntax.UnaryArithm:
		if x.Op != syntax.Minus && x.Op != syntax.Plus {
			c.unknown("it calculates in a way that can have side effects")
		}
		c.arithmetic(x.X)
	default:
		c.unknown("it calculates in a way that can have side effects")
	}
}

func isNumber(s string) bool {
	return s != "" && len(s) < 10 && strings.Trim(s, "0123456789") == ""
}
