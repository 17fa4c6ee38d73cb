// Choosing: which block and which turn of a script answer a request. All of
// it follows from the request, none of it from earlier calls.

package scripted

import (
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// blockFor returns the first block that fits c, and the groups its task_re
// found.
func (m *Model) blockFor(c llm.Caller) (*block, []string, error) {
	for _, b := range m.script.Agents {
		if groups, ok := b.Match.fits(c); ok {
			return b, groups, nil
		}
	}
	return nil, nil, m.missing("has no block for %s", who(c))
}

func (m *match) fits(c llm.Caller) (groups []string, ok bool) {
	switch {
	case m.Role != "" && !strings.EqualFold(m.Role, c.Role),
		m.Agent != "" && m.Agent != c.Agent,
		m.Name != "" && !strings.EqualFold(m.Name, c.Name),
		m.Task != "" && !strings.Contains(c.Task, m.Task),
		m.Depth != nil && int(*m.Depth) != c.Depth:
		return nil, false
	}
	if m.TaskRE == nil {
		return nil, true
	}
	groups = m.TaskRE.FindStringSubmatch(c.Task)
	return groups, groups != nil
}

// turnFor returns the turn of b that is due as number n.
func (m *Model) turnFor(b *block, c llm.Caller, n int, in input) (*turn, error) {
	for _, t := range b.Turns {
		if t.When != nil && t.When.holds(n, in) {
			return t, nil
		}
	}
	count := len(b.numbered)
	if n <= count {
		return b.numbered[n-1], nil
	}
	if count > 0 {
		last := b.numbered[count-1]
		switch b.After {
		case afterLast:
			return last, nil
		case afterRepeat:
			return b.numbered[(n-1)%count], nil
		case afterDefault:
			if len(last.Calls) == 0 && last.Fault == nil {
				return last, nil
			}
		case afterError:
		}
	}
	return nil, m.missing("has no turn %d for %s", n, who(c))
}

func (w *when) holds(n int, in input) bool {
	return (w.Turn == 0 || int(w.Turn) == n) &&
		(w.User == "" || contains(in.newUser, w.User)) &&
		(w.Result == "" || contains(in.newResults, w.Result))
}

func contains(texts []string, part string) bool {
	for _, t := range texts {
		if strings.Contains(t, part) {
			return true
		}
	}
	return false
}

// missing is the error of a script that does not say what to answer. It is a
// bad request: trying again does not help.
func (m *Model) missing(format string, args ...any) *llm.Error {
	return &llm.Error{
		Kind:    llm.ErrBadRequest,
		Message: fmt.Sprintf("script %q %s", m.script.Name, fmt.Sprintf(format, args...)),
	}
}

// who describes a caller as the author of a script knows it.
func who(c llm.Caller) string {
	id := c.Agent
	if id == "" {
		id = c.Name
	}
	return fmt.Sprintf("agent %s (role %q, name %q, depth %d, task %q)", id, c.Role, c.Name, c.Depth, c.Task)
}

// input is what a script can react to in a history.
type input struct {
	turn       int      // the number of the turn that is due
	user       string   // the last user message
	results    []string // the newest tool results
	newUser    []string // user messages since the last reply
	newResults []string // results since the last reply
}

func inputOf(msgs []message.Message) input {
	in := input{turn: 1}
	fresh := true // results seen next begin a new group
	for _, m := range msgs {
		switch m.Role {
		case message.Assistant:
			in.turn++
			in.newUser, in.newResults = nil, nil
			fresh = true
		case message.User, message.Tool:
			results := resultsIn(m)
			if len(results) > 0 {
				if fresh {
					in.results, fresh = nil, false
				}
				in.results = append(in.results, results...)
				in.newResults = append(in.newResults, results...)
			}
			if t := m.Text(); m.Role == message.User && m.Kind != message.KindResults && t != "" {
				in.newUser = append(in.newUser, t)
				if m.Kind != message.KindNote {
					in.user = t
				}
			}
		}
	}
	return in
}

// resultsIn returns the texts of the results m carries. Those of detached
// tasks arrive as a message of the user's role, of a kind of its own.
func resultsIn(m message.Message) []string {
	if m.Kind == message.KindResults {
		return []string{m.Text()}
	}
	var texts []string
	for _, p := range m.Parts {
		if r, ok := p.(message.ToolResult); ok {
			texts = append(texts, message.Text(r.Parts))
		}
	}
	return texts
}
