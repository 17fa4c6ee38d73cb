// Reading shell lines: which commands a line runs, with which words, and
// whether that is all it does. The tool has read the line already; what it
// gives as commands has lost its quotes, so the line is read again here. If the
// tool has seen more commands than are found here, or could not tell them, the
// line is not taken for what it seems.

package permission

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cadre-dev/cadre/internal/tool"
)

const maxNesting = 4 // of sh -c within sh -c

// word is one word of a command.
type word struct {
	text   string // without quotes; if it is not plain, about what was written
	plain  bool   // text is what the command gets
	glob   bool   // not plain, but only because of wildcards and braces
	assign bool   // NAME=value before the command
}

// call is a simple command: assignments, then its name, then what it is given.
type call struct {
	words []word
	name  int // where the name stands; len(words) if there is none
}

// sight is what can be seen of an action: its paths and its command.
type sight struct {
	paths    []string // and the folders above them
	command  bool     // there is one
	simple   bool     // calls are all it does
	unclear  bool     // there may be commands that cannot be seen
	calls    []call   // that it certainly consists of
	nested   []call   // in texts given to sh -c, eval, sudo and the like
	mentions []word   // whatever could be the name of a file
}

// look reads the paths and the command of an action.
func look(a tool.Action) sight {
	s := sight{command: a.Command != "" || len(a.Commands) > 0}
	for _, name := range a.Paths {
		s.paths = appendUpwards(s.paths, name)
	}
	if !s.command {
		return s
	}
	lines := a.Commands
	if a.Command != "" {
		lines = []string{a.Command}
	}
	s.simple = true
	for _, text := range lines {
		var l line
		l.read(text)
		s.simple = s.simple && l.simple && len(l.calls) > 0
		s.unclear = s.unclear || l.broken
		s.calls = append(s.calls, l.calls...)
		s.mentions = append(s.mentions, l.targets...)
	}
	s.unclear = s.unclear || len(a.Commands) == 0
	s.simple = s.simple && len(a.Commands) > 0 && len(a.Commands) <= len(s.calls)
	for _, c := range s.calls {
		s.descend(c, 1)
		s.mentions = append(s.mentions, c.words...)
	}
	return s
}

// descend reads the texts that c gives to a program which runs them.
func (s *sight) descend(c call, depth int) {
	if !c.runsOthers() {
		return
	}
	for _, w := range c.words[c.name+1:] {
		if strings.ContainsAny(w.text, " \t\n;|&") {
			s.nest(w.text, depth)
		}
	}
}

func (s *sight) nest(text string, depth int) {
	if depth > maxNesting {
		s.unclear = true
		return
	}
	var l line
	l.read(text)
	s.unclear = s.unclear || l.broken
	s.nested = append(s.nested, l.calls...)
	s.mentions = append(s.mentions, l.targets...)
	for _, c := range l.calls {
		s.descend(c, depth+1)
		s.mentions = append(s.mentions, c.words...)
	}
}

// runsOthers tells whether c runs what its words say: any of them may be the
// name of a command or, with spaces in it, a line.
func (c call) runsOthers() bool {
	if c.name >= len(c.words) {
		return false
	}
	switch base(c.words[c.name].text) {
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "eval", "source", ".", "trap", "su",
		"sudo", "doas", "env", "nohup", "nice", "ionice", "time", "timeout", "command", "builtin", "exec",
		"xargs", "parallel", "find", "fd", "stdbuf", "setsid", "chroot", "unshare", "nsenter", "watch",
		"strace", "busybox", "toybox", "ssh", "flock", "script", "alias", "taskset", "chrt", "setarch", "entr":
		return true
	}
	return false
}

func base(name string) string { return strings.ToLower(path.Base(name)) }

// line is what one text says to the shell.
type line struct {
	calls   []call
	targets []word // of redirections
	simple  bool   // nothing but calls, joined by ; & | && || and brackets
	broken  bool   // not a shell line
}

func (l *line) read(text string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		l.broken = true
		return
	}
	l.simple = true
	syntax.Walk(file, l.visit)
}

// visit takes in one node of the syntax. Whatever is not known to do nothing
// but run the calls in it makes the line not simple.
func (l *line) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case nil, *syntax.File, *syntax.Comment, *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell, *syntax.TimeClause,
		*syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
	case *syntax.Stmt:
		l.simple = l.simple && !n.Coprocess && !n.Disown && n.Cmd != nil
	case *syntax.CmdSubst:
		l.simple = l.simple && !n.TempFile && !n.ReplyVar
	case *syntax.ParamExp:
		l.simple = l.simple && readsOnly(n)
	case *syntax.Redirect:
		if n.Word != nil {
			l.targets = append(l.targets, readWord(n.Word))
		}
		l.simple = l.simple && harmless(n)
	case *syntax.Assign:
		l.simple = l.simple && n.Index == nil && n.Array == nil && !n.Append
	case *syntax.CallExpr:
		l.calls = append(l.calls, readCall(n))
	case *syntax.DeclClause: // export and the like; its words are not words to the parser
		l.simple = false
		l.calls = append(l.calls, call{words: []word{{text: n.Variant.Value, plain: true}}})
	default:
		l.simple = false
	}
	return true
}

// readsOnly holds for $x and ${x}: the other forms can assign and run.
func readsOnly(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil &&
		p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil && len(p.Modifiers) == 0
}

// harmless holds for a redirection that touches no file: 2>&1, >/dev/null.
func harmless(r *syntax.Redirect) bool {
	if r.Word == nil || r.Hdoc != nil || r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		return false
	}
	w := readWord(r.Word)
	switch {
	case !w.plain:
		return false
	case r.Op == syntax.DplOut || r.Op == syntax.DplIn:
		return w.text == "-" || w.text != "" && strings.Trim(w.text, "0123456789") == ""
	case r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.RdrAll || r.Op == syntax.RdrIn:
		return w.text == "/dev/null"
	}
	return false
}

func readCall(n *syntax.CallExpr) call {
	c := call{name: len(n.Assigns)}
	for _, a := range n.Assigns {
		w := word{assign: true, plain: true}
		if a.Value != nil {
			w = readWord(a.Value)
			w.assign = true
		}
		if a.Name != nil {
			w.text = a.Name.Value + "=" + w.text
		}
		c.words = append(c.words, w)
	}
	for _, a := range n.Args {
		c.words = append(c.words, readWord(a))
	}
	return c
}

func readWord(w *syntax.Word) word {
	var b strings.Builder
	result := word{plain: true}
	unknown := false
	for i, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			result.glob = result.glob || expands(p.Value) || i == 0 && strings.HasPrefix(p.Value, "~")
			b.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			unknown = unknown || p.Dollar && strings.Contains(p.Value, `\`)
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					unknown = true
					continue
				}
				b.WriteString(unescape(lit.Value, "\"\\$`"))
			}
			unknown = unknown || p.Dollar
		default:
			unknown = true
		}
	}
	result.text = b.String()
	result.plain = !unknown && !result.glob
	result.glob = result.glob && !unknown
	return result
}

// expands tells whether the shell makes other words of an unquoted text.
func expands(text string) bool {
	text = strings.NewReplacer(`\\`, "", `\*`, "", `\?`, "", `\[`, "", `\{`, "").Replace(text)
	if strings.ContainsAny(text, "*?") {
		return true
	}
	if _, class, ok := strings.Cut(text, "["); ok && strings.Contains(class, "]") {
		return true
	}
	_, braces, ok := strings.Cut(text, "{")
	return ok && (strings.Contains(braces, ",") || strings.Contains(braces, ".."))
}

// unescape takes the backslashes away that the shell takes away: all, or those
// before one of only.
func unescape(text, only string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (only == "" || strings.IndexByte(only, text[i+1]) >= 0) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
