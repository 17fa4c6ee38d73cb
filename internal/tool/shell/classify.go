// Classification: whether a command line can only read. The line is parsed
// and walked; everything that is not known to be harmless counts as writing.

package shell

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Verdict is what can be told about a command line before it runs.
type Verdict struct {
	// Reads: by its own words it can neither write, nor execute anything but
	// commands that only read, nor reach the network. Programs that the
	// configuration of a repository makes git run are not in its words; the
	// sandbox holds them.
	Reads bool
	// Why not, for a person.
	Why string
	// Commands are the simple commands of the line, words joined by spaces,
	// with "> file" for each redirection that writes. None if they cannot be
	// told.
	Commands []string
}

// maxLine is the longest line that is looked at, in bytes.
const maxLine = 100_000

// Classify judges a command line for bash with GNU tools. It is pure.
func Classify(line string) Verdict {
	c := &classifier{}
	if err := readableText(line); err != nil {
		return Verdict{Why: err.Error()}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return Verdict{Why: "it cannot be parsed"}
	}
	c.stmts(file.Stmts)
	if len(file.Stmts) == 0 {
		c.refuse("it is empty")
	}
	v := Verdict{Reads: c.why == "", Why: c.why}
	if !c.dynamic {
		v.Commands = c.commands
	}
	return v
}

// readableText refuses what bash and the parser could take differently.
func readableText(line string) error {
	if len(line) > maxLine {
		return fmt.Errorf("it is longer than %d bytes", maxLine)
	}
	if !utf8.ValidString(line) {
		return errors.New("it is not valid UTF-8")
	}
	for _, r := range line {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return fmt.Errorf("it contains the control character %U", r)
		}
	}
	return nil
}

type classifier struct {
	why      string // the first reason why it does not only read
	dynamic  bool   // what it runs cannot be told
	commands []string
}

func (c *classifier) refuse(format string, args ...any) {
	if c.why == "" {
		c.why = fmt.Sprintf(format, args...)
	}
}

func (c *classifier) unknown(format string, args ...any) {
	c.dynamic = true
	c.refuse(format, args...)
}

func (c *classifier) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		c.stmt(s)
	}
}

func (c *classifier) stmt(s *syntax.Stmt) {
	if s.Background || s.Coprocess || s.Disown {
		c.refuse("it starts something in the background")
	}
	for _, r := range s.Redirs {
		c.redirect(r)
	}
	switch cmd := s.Cmd.(type) {
	case nil: // only redirections
	case *syntax.CallExpr:
		c.call(cmd)
	case *syntax.BinaryCmd:
		c.stmt(cmd.X)
		c.stmt(cmd.Y)
	case *syntax.Block:
		c.stmts(cmd.Stmts)
	case *syntax.Subshell:
		c.stmts(cmd.Stmts)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			c.stmt(cmd.Stmt)
		}
	case *syntax.IfClause:
		for clause := cmd; clause != nil; clause = clause.Else {
			c.stmts(clause.Cond)
			c.stmts(clause.Then)
		}
	case *syntax.WhileClause:
		c.stmts(cmd.Cond)
		c.stmts(cmd.Do)
	case *syntax.ForClause:
		c.loop(cmd)
	case *syntax.CaseClause:
		c.word(cmd.Word)
		for _, item := range cmd.Items {
			for _, p := range item.Patterns {
				c.word(p)
			}
			c.stmts(item.Stmts)
		}
	case *syntax.TestClause:
		c.test(cmd.X)
	case *syntax.DeclClause:
		c.commands = append(c.commands, source(cmd))
		c.refuse("%s changes variables", cmd.Variant.Value)
		c.inside(cmd)
	case *syntax.FuncDecl:
		c.unknown("it declares a function")
	default: // arithmetic, let, coproc, and what the parser may learn yet
		c.unknown("it uses a construct that can have side effects")
	}
}

// inside looks for commands in the words of something that is refused anyway,
// so that the list of commands is complete.
func (c *classifier) inside(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			c.stmts(n.Stmts)
			return false
		case *syntax.ProcSubst:
			c.stmts(n.Stmts)
			return false
		}
		return true
	})
}

func (c *classifier) loop(cmd *syntax.ForClause) {
	iter, ok := cmd.Loop.(*syntax.WordIter)
	if !ok || cmd.Select {
		c.unknown("it uses a loop that can have side effects")
		return
	}
	c.variable(iter.Name.Value)
	for _, w := range iter.Items {
		c.word(w)
	}
	c.stmts(cmd.Do)
}

// plainVariable is a name that no program and not the shell itself gives a
// meaning to: those of the shell are in capitals.
var plainVariable = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

func (c *classifier) variable(name string) {
	if !plainVariable.MatchString(name) || strings.HasSuffix(name, "_proxy") || name == "_" {
		c.refuse("it sets the variable %s", name)
	}
}

// harmless are variables that may be set for one command.
var harmless = regexp.MustCompile(`^(LC_[A-Z]+|LANG|NO_COLOR|COLUMNS)$`)

func (c *classifier) call(cmd *syntax.CallExpr) {
	var shown []string
	for _, a := range cmd.Assigns {
		shown = append(shown, source(a))
		c.assign(a, len(cmd.Args) > 0)
	}
	words := make([]word, len(cmd.Args))
	for i, w := range cmd.Args {
		words[i] = c.word(w)
		if words[i].static {
			shown = append(shown, words[i].text)
		} else {
			shown = append(shown, source(w))
		}
	}
	c.commands = append(c.commands, strings.Join(shown, " "))
	if len(words) == 0 {
		return
	}
	if !words[0].static {
		c.unknown("which command runs is decided when it runs")
		return
	}
	c.simple(words[0].text, words[1:])
}

func (c *classifier) assign(a *syntax.Assign, forCommand bool) {
	if a.Index != nil || a.Array != nil || a.Append || a.Naked || a.Name == nil {
		c.refuse("it sets a variable in a way that can have side effects")
		c.inside(a)
		return
	}
	if !forCommand || !harmless.MatchString(a.Name.Value) {
		c.variable(a.Name.Value)
	}
	if a.Value != nil {
		c.word(a.Value)
	}
}

// redirect allows reading files and throwing output away.
func (c *classifier) redirect(r *syntax.Redirect) {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		c.refuse("a redirection sets the variable %s", r.N.Value)
	}
	var target word
	if r.Word != nil {
		target = c.word(r.Word)
	}
	if r.Hdoc != nil {
		c.word(r.Hdoc)
	}
	switch {
	case r.Hdoc != nil || r.Op == syntax.WordHdoc:
		return
	case r.Op == syntax.RdrIn && !opensFile(target):
		c.refuse("it reads from what could be a connection")
		return
	case r.Op == syntax.RdrIn:
		return
	case r.Op == syntax.DplIn || r.Op == syntax.DplOut:
		if target.static && isDescriptor(target.text) {
			return
		}
	case target.static && target.text == "/dev/null" && r.Op != syntax.RdrInOut:
		return
	}
	c.commands = append(c.commands, "> "+source(r.Word))
	c.refuse("it redirects output to %s", source(r.Word))
}

// opensFile: bash connects to a host when it is to open /dev/tcp/host/port.
func opensFile(w word) bool {
	if w.static {
		return w.text == "/dev/null" || !strings.HasPrefix(w.text, "/dev/")
	}
	return w.prefix != "" && !strings.HasPrefix(w.prefix, "/dev") && !strings.HasPrefix("/dev/", w.prefix)
}

// isDescriptor: one of the three that every command has, or none.
func isDescriptor(s string) bool { return s == "-" || s == "0" || s == "1" || s == "2" }

var safeTests = []syntax.BinTestOperator{
	syntax.TsReMatch, syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno, syntax.AndTest, syntax.OrTest,
	syntax.TsMatchShort, syntax.TsMatch, syntax.TsNoMatch, syntax.TsBefore, syntax.TsAfter,
}

// test allows those tests of [[ ]] that evaluate no arithmetic: a subscript
// in it can hold a command.
func (c *classifier) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		c.word(x)
	case *syntax.ParenTest:
		c.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			c.refuse("it tests a variable in a way that can run commands")
		}
		c.test(x.X)
	case *syntax.BinaryTest:
		if !slices.Contains(safeTests, x.Op) {
			c.refuse("it compares in a way that can run commands")
		}
		c.test(x.X)
		c.test(x.Y)
	default:
		c.unknown("it tests something unknown")
	}
}

// source is a part of the line as it was written, on one line.
func source(n syntax.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, n); err != nil {
		return "?"
	}
	return strings.TrimSpace(b.String())
}
