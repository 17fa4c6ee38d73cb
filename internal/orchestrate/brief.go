// The first message of a sub-agent: its task, and what it is given of its
// parent's conversation.

package orchestrate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/tool"
)

// Bounds of what a sub-agent is given, in characters.
const (
	mostFile    = 20_000
	mostContext = 60_000
)

// brief words the task, and records which context mode it was given and how
// many tokens that was.
func (pl *planner) brief(r role.Role, spec *agent.Spec, planned *agent.Planned, w wish) (string, error) {
	var b strings.Builder
	b.WriteString(w.Task)
	if w.Criteria != "" {
		fmt.Fprintf(&b, "\n\nDone when: %s", w.Criteria)
	}
	mode := w.Context
	if mode == "" {
		mode = r.Context
	}
	if mode == "" {
		mode = role.ContextNone
	}
	if len(w.Files) > 0 && mode != role.ContextSelective {
		fmt.Fprintf(&b, "\n\nLook at first: %s", strings.Join(w.Files, ", "))
	}
	given := ""
	switch mode {
	case role.ContextNone:
	case role.ContextSelective:
		given = pl.selected(w)
	case role.ContextSummary:
		text, err := pl.summary()
		if err != nil {
			return "", fmt.Errorf("context: the conversation could not be summarised: %w", err)
		}
		given = "What led to this task, in short:\n" + text
	case role.ContextFull:
		spec.Adopts, planned.Prior = pl.job.Spec.ID, len(pl.job.History)
		spec.ContextTokens = tokensOf(pl.job.History)
		if planned.Prior > 0 {
			task := b.String()
			b.Reset()
			fmt.Fprintf(&b, "What came before is the conversation of the agent that gives you this task; it is not your own work. Your task:\n\n%s", task)
		}
	default:
		return "", fmt.Errorf("context is %q; it can be none, summary, selective or full", mode)
	}
	spec.Context = string(mode)
	if given != "" {
		spec.ContextTokens = int64(len(given)) / 4
		b.WriteString("\n\n" + given)
	}
	return b.String(), nil
}

// selected puts the files and messages that a call names into words. A file
// that may not be read without asking is named, not shown.
func (pl *planner) selected(w wish) string {
	var parts []string
	left := mostContext
	add := func(head, text string) {
		text = cut(text, min(mostFile, max(left, 1)), "")
		left -= len(text)
		parts = append(parts, head+"\n"+text)
	}
	for _, i := range w.Messages {
		if i < len(pl.job.History) {
			add(fmt.Sprintf("Message %d of the agent that gives you the task:", i), outline(pl.job.History[i]))
		}
	}
	for _, name := range w.Files {
		text, err := pl.readFile(name)
		if err != nil {
			parts = append(parts, fmt.Sprintf("File %s could not be given to you (%v); look at it yourself.", name, err))
			continue
		}
		add(fmt.Sprintf("File %s:", name), text)
	}
	return strings.Join(parts, "\n\n")
}

// readFile reads a file as the parent would.
func (pl *planner) readFile(name string) (string, error) {
	const read = "Read"
	input, err := json.Marshal(map[string]string{"path": name})
	if err != nil {
		return "", err
	}
	if !pl.entitled(read) {
		return "", fmt.Errorf("you may neither read files nor have them read")
	}
	env := pl.env(pl.job)
	env.Dir, env.Ledger = pl.dir, nil
	if ok, why := pl.allowed(pl.ctx, &pl.job.Spec, env, read, input); !ok {
		return "", fmt.Errorf("%s", why)
	}
	res, err := pl.tools.Run(pl.ctx, read, env, input)
	if err != nil {
		return "", err
	}
	if res.IsError {
		return "", fmt.Errorf("%s", message.Text(res.Parts))
	}
	return message.Text(res.Parts), nil
}

// summary has the parent's conversation summarised by the fast model, at the
// parent's cost, once for all tasks of the call.
func (pl *planner) summary() (string, error) {
	if pl.gist != nil {
		return *pl.gist, nil
	}
	var ev agent.Compacted
	var said []string
	for _, m := range visible(pl.job.History, pl.job.View) {
		said = append(said, outline(m))
	}
	if len(said) == 0 {
		return "", nil
	}
	text, err := pl.askSummary(pl.ctx, pl.job, newest(said, mostRecord, mostRecord/4), &ev)
	if ev.Info.EndedAt > 0 { // it was paid for, whatever came of it
		pl.job.Tell(agent.Charged{Spent: ev.Spent, Priced: ev.Priced, Info: ev.Info})
	}
	if err != nil {
		return "", err
	}
	pl.gist = &text
	return text, nil
}

// env is what a tool may know of the agent.
func (p *Performer) env(job *engine.Job) tool.Env {
	s := job.Spec
	return tool.Env{Chat: s.Chat, Agent: s.ID, Path: s.Path, Role: s.Role, Dir: s.Dir, Task: s.ToolRun(), Ledger: p.ledger}
}
