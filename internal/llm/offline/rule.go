// Rules: each recognises one kind of request and knows the next step. decide
// finds the rule, lets it take its step, and keeps the whole within bounds.

package offline

import (
	"strings"
)

// The tools the rules know.
const (
	toolRead  = "Read"
	toolLS    = "LS"
	toolGlob  = "Glob"
	toolGrep  = "Grep"
	toolSpawn = "spawn_agents"
)

// maxRounds bounds the replies with tool calls per request.
const maxRounds = 6

// rule is one kind of request.
type rule struct {
	name string
	// fits recognises the kind.
	fits func(q query) bool
	// next decides what to do, from what t has seen so far.
	next func(t *task) step
}

// rules in the order they are tried; the last fits everything.
func rules() []rule {
	return []rule{
		smalltalkRule, planRule, cannotRule, eachRule, countRule,
		listRule, summariseRule, findRule, unknownRule,
	}
}

// task is one part of a request on its way.
type task struct {
	query
	*situation
	part int
	seen []observation // of this part only
}

// step is the next thing to do: make calls, or say the answer.
type step struct {
	say   string
	calls []want
}

// want is a call to be made.
type want struct {
	id    string
	tool  string
	input any
}

func answer(text string) step { return step{say: text} }

// use makes a step of one call.
func use(tool string, input any) step { return step{calls: []want{{tool: tool, input: input}}} }

// and adds a call.
func (st step) and(tool string, input any) step {
	st.calls = append(st.calls, want{tool: tool, input: input})
	return st
}

// of returns what t has seen of a tool.
func (t *task) of(tool string) []observation {
	var out []observation
	for _, o := range t.seen {
		if o.tool == tool {
			out = append(out, o)
		}
	}
	return out
}

// decide finds the next step for the situation.
func decide(s *situation) step {
	if s.request == "" {
		return s.finish(reportLate(s.late))
	}
	parts := split(s.request)
	if len(parts) > 1 && s.offers(toolSpawn) {
		if st, ok := delegate(s, parts); ok {
			return s.bounded(st, 0)
		}
	}
	var calls []want
	var remarks, texts []string
	for i, text := range parts {
		st := s.work(text, i+1)
		if len(st.calls) > 0 {
			calls = append(calls, st.calls...)
			if st.say != "" {
				remarks = append(remarks, st.say)
			}
			continue
		}
		if len(parts) > 1 {
			st.say = "### " + text + "\n\n" + st.say
		}
		texts = append(texts, st.say)
	}
	if len(calls) > 0 {
		return step{say: strings.Join(remarks, " "), calls: calls}
	}
	return s.finish(strings.Join(append(reportsOf(s), texts...), "\n\n"))
}

// reportsOf are what must be said besides the answer: results that came in
// late, and why the parts were not delegated.
func reportsOf(s *situation) []string {
	var out []string
	if len(s.late) > 0 {
		out = append(out, reportLate(s.late))
	}
	for _, o := range s.seen {
		if o.part == 0 && o.tool == toolSpawn && o.failed {
			out = append(out, "The parts could not be delegated, so I worked on them myself: "+firstLine(o.result))
		}
	}
	return out
}

// work takes the next step for one part of the request.
func (s *situation) work(text string, part int) step {
	t := &task{query: parseQuery(text, s.role), situation: s, part: part}
	for _, o := range s.seen {
		if o.part == part {
			t.seen = append(t.seen, o)
		}
	}
	for _, r := range rules() {
		if r.fits(t.query) {
			return s.bounded(r.next(t), part)
		}
	}
	return step{}
}

// bounded gives the calls of st their ids, leaves out those of tools that are
// not offered, and makes an answer of a step that can or may not be taken.
func (s *situation) bounded(st step, part int) step {
	if len(st.calls) == 0 {
		return st
	}
	var calls []want
	var missing []string
	for _, c := range st.calls {
		if !s.offers(c.tool) {
			missing = append(missing, c.tool)
			continue
		}
		c.id = callID(s.turn, part, len(calls)+1)
		calls = append(calls, c)
	}
	switch {
	case len(calls) == 0:
		return answer("For this I would need a tool that I am not given: " + strings.Join(missing, ", ") + ".")
	case s.rounds >= maxRounds:
		return answer("I stopped here: after several rounds of looking there was still more to look at. A narrower request may get further.")
	}
	return step{say: st.say, calls: calls}
}

// finish makes the final answer of text: the orchestrator's says, once, what
// gave it.
func (s *situation) finish(text string) step {
	if s.root {
		text += "\n\n" + notice
	}
	return answer(text)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
