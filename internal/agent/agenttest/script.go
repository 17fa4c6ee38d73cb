// Scripts: scenarios as text, in the manner of data-driven tests.
//
//	# What the scenario holds, by rule.
//
//	> created depth=1
//	thinking 1.1; deadline +600000
//	  message @0 task
//	  call-model 1.1 m1 out 8192
//
// A line that begins with ">" is an event; +N in it lets N milliseconds pass
// first. The line after it is the state, the indented ones are the effects in
// order; an event that is refused shows why instead. Lines that begin with "#"
// and empty lines are kept as they are.

package agenttest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
)

// scriptStart is the time at which every script begins. It is not 0, which
// the machine takes for "never".
const scriptStart = 1_000_000

// Scenario is a script under way.
type Scenario struct {
	Trace Trace
	now   int64
	lent  map[int]agent.Amount // what children were given beyond their budgets
}

// RunScript runs the events of a script. It returns the script with the states
// and effects that came of them in place of those it had, and the life that
// it told. A broken rule is an error.
func RunScript(text string) (string, *Trace, error) {
	sc := &Scenario{now: scriptStart}
	var out strings.Builder
	skip := false // the expected part of an event
	for n, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, ">"):
			skip = true
			out.WriteString(line + "\n")
			got, err := sc.Do(strings.TrimSpace(line[1:]))
			if err != nil {
				return "", nil, fmt.Errorf("line %d (%s): %w", n+1, line, err)
			}
			out.WriteString(got)
		case line == "" || strings.HasPrefix(line, "#"):
			skip = false
			out.WriteString(line + "\n")
		case !skip:
			return "", nil, fmt.Errorf("line %d: %q belongs to no event", n+1, line)
		}
	}
	return out.String(), &sc.Trace, nil
}

// Do delivers the event that a line describes and tells what came of it.
func (sc *Scenario) Do(line string) (string, error) {
	a, err := parse(line)
	if err != nil {
		return "", err
	}
	sc.now += a.pass
	verb, ok := verbs[a.verb]
	if !ok {
		return "", fmt.Errorf("unknown verb %q", a.verb)
	}
	ev, err := verb(sc, a)
	if err != nil {
		return "", err
	}
	if err := a.done(); err != nil {
		return "", err
	}
	if err := sc.Trace.Step(ev); err != nil {
		return "", err
	}
	if sc.Trace.Refused != nil {
		return "refused: " + sc.Trace.Refused.Error() + "\n", nil
	}
	c := clock(scriptStart)
	out := c.state(sc.Trace.State) + "\n"
	for _, f := range sc.Trace.Effects {
		out += "  " + c.effect(f) + "\n"
	}
	return out, nil
}

func (sc *Scenario) at() agent.At { return agent.At(sc.now) }

// args is one line of a script, taken apart: bare words in order, key=value
// pairs, and what follows "calls:". Each is taken out by who uses it; what is
// left over is a mistake in the script.
type args struct {
	verb  string
	pass  int64
	words []string
	opts  map[string]string
	calls []string
}

func parse(line string) (*args, error) {
	a := &args{opts: map[string]string{}}
	calls := false
	for i, f := range fields(line) {
		key, value, pair := strings.Cut(f, "=")
		switch {
		case calls:
			a.calls = append(a.calls, f)
		case f == "calls:":
			calls = true
		case strings.HasPrefix(f, "+"):
			n, err := strconv.ParseInt(f[1:], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("bad time %q", f)
			}
			a.pass += n
		case i == 0 || a.verb == "":
			a.verb = f
		case pair:
			a.opts[key] = value
		default:
			a.words = append(a.words, f)
		}
	}
	return a, nil
}

// fields splits at spaces that are not between parentheses.
func fields(line string) []string {
	var out []string
	depth, start := 0, -1
	for i, r := range line + " " {
		switch {
		case r == ' ' && depth == 0:
			if start >= 0 {
				out = append(out, line[start:i])
			}
			start = -1
			continue
		case r == '(':
			depth++
		case r == ')':
			depth--
		}
		if start < 0 {
			start = i
		}
	}
	return out
}

// word takes the next bare word.
func (a *args) word() string {
	if len(a.words) == 0 {
		return ""
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w
}

// flag takes a bare word if it is there.
func (a *args) flag(name string) bool {
	for i, w := range a.words {
		if w == name {
			a.words = append(a.words[:i:i], a.words[i+1:]...)
			return true
		}
	}
	return false
}

func (a *args) text(key, otherwise string) string {
	v, ok := a.opts[key]
	delete(a.opts, key)
	if !ok {
		return otherwise
	}
	return v
}

func (a *args) list(key string, otherwise []string) []string {
	v, ok := a.opts[key]
	delete(a.opts, key)
	switch {
	case !ok:
		return otherwise
	case v == "":
		return nil
	}
	return strings.Split(v, ",")
}

// num takes a number; one that cannot be read stays, and done tells of it.
func (a *args) num(key string) int64 {
	n, err := strconv.ParseInt(a.opts[key], 10, 64)
	if err == nil {
		delete(a.opts, key)
	}
	return n
}

// index takes a bare word that is a number.
func (a *args) index() (int, error) {
	w := a.word()
	n, err := strconv.Atoi(w)
	if err != nil {
		return 0, fmt.Errorf("%q is no number", w)
	}
	return n, nil
}

// when takes a time: +N from now.
func (sc *Scenario) when(a *args, key string) int64 {
	v, ok := a.opts[key]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(v, "+"), 10, 64)
	if err == nil {
		delete(a.opts, key)
	}
	return sc.now + n
}

func (a *args) done() error {
	if len(a.words) > 0 || len(a.opts) > 0 || len(a.calls) > 0 {
		return fmt.Errorf("not understood: %v %v %v", a.words, a.opts, a.calls)
	}
	return nil
}
