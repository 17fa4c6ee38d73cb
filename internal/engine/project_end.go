// The end of an agent as documents: its outcome, its result, its report.

package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// conclude records the decided outcome in the agent's task.
func (p *projection) conclude(f agent.Conclude) error {
	result, err := p.resultText(f.Outcome.Result)
	if err != nil {
		return fmt.Errorf("recording the outcome: %w", err)
	}
	if p.spec().Orchestrator() { // its run has ended, not the agent
		text := f.Text
		if text == "" {
			text = endText(f.Outcome.Reason)
		}
		p.doc(store.EndAgent{ID: p.spec().ID, Summary: summary(result), Error: text})
		return nil
	}
	end := store.EndTask{ID: p.spec().ID, Result: result, Error: f.Text, ErrorKind: string(f.Outcome.Kind), Reason: string(f.Outcome.Reason), At: p.entry.At}
	if k := f.Outcome.Kind; (k == agent.KindSubAgent || k == agent.KindTool) && end.Error == "" {
		end.Result, end.Error = "", result // what was submitted by submit_error, or what the tool says, is the error
	}
	if end.Error == "" && !f.Outcome.Success() {
		end.Error = endText(f.Outcome.Reason)
	}
	if n := p.s.state.Unread; n > 0 { // whoever sent them is told with the result
		end.Error = fmt.Sprintf("%s; %d of the messages to it had not been read", end.Error, n)
	}
	if !f.Outcome.Success() && end.ErrorKind == "" {
		end.ErrorKind = string(f.Outcome.Reason)
	}
	var records []json.RawMessage
	if p.s.state.Records > 0 {
		if records, err = p.tx.e.cfg.Store.Records(p.tx.e.base, end.ID); err != nil {
			return fmt.Errorf("reading what %s did: %w", end.ID, err)
		}
	}
	end.Metadata = p.tx.e.cfg.Performer.Report(p.s.state, records, end.Result)
	p.tx.ends[end.ID] = end
	p.doc(end)
	return nil
}

func endText(r agent.Reason) string {
	switch r {
	case agent.ReasonCompleted:
		return ""
	case agent.ReasonPartial:
		return "the result is incomplete"
	case agent.ReasonFailed:
		return "failed"
	case agent.ReasonCancelled:
		return "cancelled"
	case agent.ReasonTimeout:
		return "the time limit was reached"
	case agent.ReasonMaxTurns:
		return "the turn limit was reached"
	case agent.ReasonBudget:
		return "the budget was spent"
	case agent.ReasonSuperseded:
		return "a sibling's result made it unnecessary"
	case agent.ReasonInterrupted:
		return "interrupted"
	}
	return string(r)
}

// resultText reads what a Ref points at.
func (p *projection) resultText(r agent.Ref) (string, error) {
	if r.None() {
		return "", nil
	}
	var texts []string
	for pos := r.From; pos <= r.To; pos++ {
		m, err := p.message(pos)
		if err != nil {
			return "", err
		}
		if m.Role == message.Tool { // of a tool run
			for _, part := range m.Parts {
				if res, ok := part.(message.ToolResult); ok {
					texts = append(texts, message.Text(res.Parts))
				}
			}
			continue
		}
		if m.Role != message.Assistant {
			continue
		}
		if r.Call > 0 {
			calls := m.Calls()
			if r.Call > len(calls) {
				return "", fmt.Errorf("the reply at %d has %d calls, not %d", pos, len(calls), r.Call)
			}
			return submitted(calls[r.Call-1].Input), nil
		}
		texts = append(texts, m.Text())
	}
	return strings.Join(texts, ""), nil
}

func (p *projection) message(pos int) (message.Message, error) {
	if pos < len(p.s.history) {
		return p.s.history[pos], nil
	}
	for _, d := range p.entry.Docs { // placed in this very step
		if m, ok := d.(store.NewMessage); ok && m.Pos == pos {
			return m.Decode()
		}
	}
	rows, err := p.tx.e.cfg.Store.History(p.tx.e.base, p.spec().ID, pos)
	if err != nil {
		return message.Message{}, fmt.Errorf("reading message %d: %w", pos, err)
	}
	if len(rows) == 0 || rows[0].Pos != pos {
		return message.Message{}, fmt.Errorf("reading message %d: it is not there", pos)
	}
	return rows[0].Decode()
}

// submitted takes the result or the error out of the input of submit_result
// or submit_error; input of another shape is kept whole.
func submitted(input json.RawMessage) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) == nil && len(in) == 1 {
		for _, key := range []string{"result", "error"} {
			var s string
			if json.Unmarshal(in[key], &s) == nil {
				return s
			}
		}
	}
	return string(input)
}

// report delivers the end of a child to its parent, in the same commit.
func (p *projection) report(f agent.Report) error {
	spec := p.spec()
	end, ok := p.tx.ends[spec.ID]
	if !ok { // it was decided in an earlier batch: children had to end first, or a worktree was looked at
		task, err := p.tx.e.cfg.Store.Task(p.tx.e.base, spec.ID)
		if err != nil {
			return fmt.Errorf("reading task %s: %w", spec.ID, err)
		}
		end.Result, end.Error = task.Result, task.Error
	}
	p.doc(store.EndAgent{ID: spec.ID, Summary: summary(end.Result), Error: end.Error, EndedAt: p.entry.At})
	p.tx.todo = append(p.tx.todo, delivery{agent: spec.Parent, ev: agent.ChildEnded{
		Task: f.Task, Reason: f.Outcome.Reason,
		Spent: f.Spent, Held: f.Held, Unpriced: f.Unpriced, Tokens: int64(len(end.Result)+len(end.Error))/4 + 16,
	}})
	return nil
}

// summary is the first lines of a result, for lists.
func summary(result string) string {
	const most = 280
	s := strings.TrimSpace(result)
	if strings.HasPrefix(s, "{") {
		var in struct {
			Summary string `json:"summary"`
		}
		if json.Unmarshal([]byte(s), &in) == nil && in.Summary != "" {
			s = strings.TrimSpace(in.Summary)
		}
	}
	if i := strings.Index(s, "\n\n"); i > 0 {
		s = s[:i]
	}
	r := []rune(s)
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
