// The situation: what a history says about where the work stands. Everything
// the rules know comes from here.

package offline

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// situation is what is asked for and what has been found out so far.
type situation struct {
	request string // what the user, or the task, asks for; may be empty
	root    bool   // this is the orchestrator
	role    string
	prompt  string // the system prompt
	tools   map[string]llm.Tool
	turn    int           // of the reply to be made, counted over the whole history
	rounds  int           // replies with calls already made for this request
	seen    []observation // calls of this request that have their result
	late    []string      // results of detached tasks not yet reported
}

// observation is a call and what came of it.
type observation struct {
	part   int // of the request the call was made for
	tool   string
	input  map[string]any
	result string
	failed bool
}

// Ids of calls say which part of the request they serve: a compound request
// that cannot be delegated works on all its parts at once.
func callID(turn, part, n int) string { return fmt.Sprintf("off_%d_%d_%d", turn, part, n) }

func partOf(id string) int {
	var turn, part, n int
	if _, err := fmt.Sscanf(id, "off_%d_%d_%d", &turn, &part, &n); err != nil {
		return 0
	}
	return part
}

// observe reads the history of req.
func observe(req *llm.Request) *situation {
	s := &situation{
		root: req.Caller.Depth == 0, role: strings.ToLower(req.Caller.Role), prompt: req.System,
		tools: map[string]llm.Tool{}, turn: 1,
	}
	for _, t := range req.Tools {
		s.tools[t.Name] = t
	}
	answered := 0 // the messages before this one are dealt with
	for i, m := range req.Messages {
		if m.Role == message.Assistant {
			s.turn++
			if len(m.Calls()) == 0 {
				answered = i + 1
			}
		}
	}
	open := req.Messages[answered:]
	for _, m := range open {
		if m.Kind == message.KindResults {
			s.late = append(s.late, m.Text())
		}
	}
	from := currentRequest(open)
	var asked []string
	for _, m := range open[from:] {
		if isRequest(m) {
			asked = append(asked, m.Text())
		}
	}
	s.request = strings.TrimSpace(strings.Join(asked, "\n"))
	if !s.root && len(asked) == 1 && onlyTask(req.Messages) && req.Caller.Task != "" {
		s.request = req.Caller.Task // the message may dress the task up
	}
	s.collect(open[from:])
	return s
}

// isRequest tells what asks for something from what only informs.
func isRequest(m message.Message) bool {
	return m.Role == message.User && m.Kind != message.KindResults && m.Kind != message.KindNote && m.Text() != ""
}

// onlyTask reports whether nothing but its task was ever asked of the agent.
func onlyTask(msgs []message.Message) bool {
	n := 0
	for _, m := range msgs {
		if isRequest(m) {
			n++
		}
	}
	return n == 1
}

// currentRequest finds where the request begins that is to be worked on among
// the messages since the last answer. A message that arrives after the work
// was delegated is a request of its own: the results of the delegation come
// by themselves. One that arrives during a search is taken together with what
// was asked before, so that nothing asked is forgotten.
func currentRequest(open []message.Message) int {
	from, delegated := 0, false
	for i, m := range open {
		for _, c := range m.Calls() {
			delegated = delegated || c.Name == toolSpawn
		}
		if delegated && isRequest(m) {
			from, delegated = i, false
		}
	}
	return from
}

// collect pairs the calls in msgs with their results. Calls made before a part
// of the request arrived are not counted as its own: their ids point at parts
// of what was asked then.
func (s *situation) collect(msgs []message.Message) {
	last := 0 // after the last request
	for i, m := range msgs {
		if isRequest(m) {
			last = i + 1
		}
	}
	results := map[string]message.ToolResult{}
	for _, m := range msgs[last:] {
		for _, p := range m.Parts {
			if r, ok := p.(message.ToolResult); ok {
				results[r.CallID] = r
			}
		}
	}
	for _, m := range msgs[last:] {
		calls := m.Calls()
		if len(calls) > 0 {
			s.rounds++
		}
		for _, c := range calls {
			r, ok := results[c.ID]
			if !ok {
				continue
			}
			o := observation{part: partOf(c.ID), tool: c.Name, result: message.Text(r.Parts), failed: r.IsError}
			_ = json.Unmarshal(c.Input, &o.input) // our own input, an object
			s.seen = append(s.seen, o)
		}
	}
}

// offers reports whether the tool may be called.
func (s *situation) offers(tool string) bool {
	_, ok := s.tools[tool]
	return ok
}
