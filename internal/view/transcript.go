// The transcript of an agent: its messages, and between them what a message does
// not tell: tries of model calls that failed, and what the model is no longer
// sent of the history.

package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// Transcript is what is on record of an agent's conversation.
type Transcript struct {
	Messages    []store.Message   `json:"messages"` // all of them, cleared and summarised ones too
	ModelCalls  []store.ModelCall `json:"model_calls"`
	ToolCalls   []store.ToolCall  `json:"tool_calls"` // with the record of what each did and who decided
	Compactions []Compaction      `json:"compactions"`
}

// Compaction is a time at which the history was shortened for the model.
type Compaction struct {
	At     int64 `json:"at"`
	Turn   int   `json:"turn"`
	Failed bool  `json:"failed,omitempty"` // it could not be shortened
	Tokens int64 `json:"tokens,omitempty"` // that the model is sent afterwards, as estimated
	// Cleared are the results that are sent as a stub from here on.
	Cleared []Cleared `json:"cleared,omitempty"`
	// Summary is the position of the message that stands for those before
	// position Before, of which there are Replaced; 0 if there is none.
	Summary  int `json:"summary,omitempty"`
	Before   int `json:"before,omitempty"`
	Replaced int `json:"replaced,omitempty"`
}

// Cleared is a tool result that the model is no longer sent.
type Cleared struct {
	Pos        int    `json:"pos"`
	Tool       string `json:"tool"`
	Characters int    `json:"characters"`
}

// LoadTranscript reads the transcript of an agent.
func LoadTranscript(ctx context.Context, st store.Store, id string) (*Transcript, error) {
	t := &Transcript{Compactions: []Compaction{}}
	var err error
	if t.Messages, err = st.Messages(ctx, id, store.Page{}); err != nil {
		return nil, fmt.Errorf("reading the messages of %s: %w", id, err)
	}
	if t.ModelCalls, err = st.ModelCalls(ctx, id); err != nil {
		return nil, fmt.Errorf("reading the model calls of %s: %w", id, err)
	}
	if t.ToolCalls, err = st.ToolCalls(ctx, id); err != nil {
		return nil, fmt.Errorf("reading the tool calls of %s: %w", id, err)
	}
	log, err := st.Log(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("reading the log of %s: %w", id, err)
	}
	var before agent.View
	compacted := agent.EventType(agent.Compacted{})
	for _, row := range log {
		if row.Verdict != store.Applied || row.Type != compacted {
			continue
		}
		ev, err := agent.DecodeEvent(row.Type, row.Body)
		if err != nil {
			return nil, fmt.Errorf("reading event %d of %s: %w", row.Seq, id, err)
		}
		if c, ok := ev.(agent.Compacted); ok {
			shown, err := t.compaction(c, row.At, before)
			if err != nil {
				return nil, err
			}
			t.Compactions = append(t.Compactions, shown)
			if c.OK {
				before = c.View
			}
		}
	}
	return t, nil
}

// compaction tells what a compaction changed of the view before it.
func (t *Transcript) compaction(c agent.Compacted, at int64, before agent.View) (Compaction, error) {
	out := Compaction{At: at, Turn: c.Turn, Failed: !c.OK, Tokens: c.Tokens}
	if !c.OK {
		return out, nil
	}
	for _, row := range t.Messages {
		switch {
		case c.Summary && out.Summary == 0 && row.Kind == string(message.KindSummary) && row.Pos >= c.View.Keep:
			out.Summary, out.Before = row.Pos, c.View.Keep
		case c.Summary && row.Pos >= before.Keep && row.Pos < c.View.Keep:
			out.Replaced++
		case row.Pos >= before.Clear && row.Pos < c.View.Clear && row.Role == string(message.Tool):
			m, err := row.Decode()
			if err != nil {
				return out, fmt.Errorf("reading message %s: %w", row.ID, err)
			}
			out.Cleared = append(out.Cleared, clearedOf(row.Pos, m)...)
		}
	}
	return out, nil
}

// stubbed is the length up to which a result is left as it is: a stub would be
// no shorter.
const stubbed = 80

func clearedOf(pos int, m message.Message) []Cleared {
	var out []Cleared
	for _, p := range m.Parts {
		if r, ok := p.(message.ToolResult); ok && m.Size() > stubbed {
			out = append(out, Cleared{Pos: pos, Tool: r.Name, Characters: len([]rune(message.Text(r.Parts)))})
		}
	}
	return out
}

// Incident is something that happened between two messages.
type Incident struct {
	At         int64
	Call       *store.ModelCall // a try that failed or was lost
	Next       time.Duration    // how long after it the next try began, 0 if there was none
	Compaction *Compaction
}

// Incidents are what happened between messages, in order of time.
func (t *Transcript) Incidents() []Incident {
	var out []Incident
	for i := range t.ModelCalls {
		c := &t.ModelCalls[i]
		if c.Status != "failed" && c.Status != "lost" {
			continue
		}
		in := Incident{At: c.EndedAt, Call: c}
		for _, next := range t.ModelCalls[i+1:] {
			if next.Turn == c.Turn && next.Try > c.Try && next.StartedAt >= c.EndedAt {
				in.Next = time.Duration(next.StartedAt-c.EndedAt) * time.Millisecond
				break
			}
		}
		out = append(out, in)
	}
	for i := range t.Compactions {
		out = append(out, Incident{At: t.Compactions[i].At, Compaction: &t.Compactions[i]})
	}
	slices.SortStableFunc(out, func(a, b Incident) int { return int(a.At - b.At) })
	return out
}
