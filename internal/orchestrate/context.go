package orchestrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// How a history that no longer fits is shortened: old tool results are cleared
// when that saves enough to be worth the broken cache, else the older part is
// summarised. Numbers are hundredths of the model's window.
const (
	clearTurns   = 3  // results of the newest turns are never cleared
	clearLeast   = 20 // what clearing must save
	clearLeaves  = 70 // what may be left after it
	keepTail     = 30 // how much of the newest part a summary leaves as it is
	unknown      = 128_000
	verbatim     = 25     // what the user's own words may take in a summary
	mostRecord   = 80_000 // characters of the record that a summary is made of
	mostOutlined = 20_000 // characters of the record where no model summarises it
	summaryRoom  = 2_000  // tokens
)

// visible is what a model is sent of a history.
func visible(history []message.Message, v agent.View) []message.Message {
	if v == (agent.View{}) {
		return history
	}
	out := make([]message.Message, 0, len(history)-v.Keep+1)
	if v.Summary > 0 && v.Summary < len(history) {
		out = append(out, history[v.Summary])
	}
	for i := v.Keep; i < len(history); i++ {
		switch {
		case i == v.Summary && v.Summary > 0:
		case i < v.Clear && history[i].Role == message.Tool:
			out = append(out, stub(history[i]))
		default:
			out = append(out, history[i])
		}
	}
	return out
}

// stub stands for a tool result that was cleared.
func stub(m message.Message) message.Message {
	parts := make([]message.Part, len(m.Parts))
	for i, p := range m.Parts {
		if r, ok := p.(message.ToolResult); ok && m.Size() > len(clearedText) {
			r.Parts = []message.Part{message.TextPart{Text: clearedText}}
			p = r
		}
		parts[i] = p
	}
	m.Parts = parts
	return m
}

const clearedText = "[This result was cleared to save room. Use the tool again if you need it.]"

// Compact implements engine.Performer. What an orchestrator is sent changes
// anyway, so that it gets the tools that have come since it was made.
func (p *Performer) Compact(ctx context.Context, job *engine.Job, c agent.Compact) agent.Event {
	ev := p.compact(ctx, job, c)
	if r, ok := p.roles.Get(job.Spec.Role); ok && ev.OK && job.Spec.Orchestrator() {
		now := p.spec(r, 0, job.Spec.MaxDepth)
		if !sameTools(now, job.Spec) {
			ev.Fit = &agent.Toolset{Tools: now.Tools, Delegable: now.Delegable, Bounds: now.Bounds, Passed: now.Passed}
		}
	}
	return ev
}

func sameTools(a, b agent.Spec) bool {
	same := slices.Equal[[]string]
	return same(a.Tools, b.Tools) && same(a.Delegable, b.Delegable) && slices.EqualFunc(a.Bounds, b.Bounds, same) && slices.EqualFunc(a.Passed, b.Passed, same)
}

func (p *Performer) compact(ctx context.Context, job *engine.Job, c agent.Compact) agent.Compacted {
	window := job.Spec.Window
	if window == 0 {
		window = unknown
	}
	if c.Refused { // the vendor knows better
		window = min(window, tokensOf(visible(job.History, job.View)))
	}
	if v, left, ok := clearing(job.History, job.View, window); ok {
		return agent.Compacted{Turn: c.Turn, OK: true, View: v, Tokens: left}
	}
	keep := cutAt(job.History, job.View, window*keepTail/100)
	newestResults := ""
	if keep <= job.View.Keep+1 { // the newest turn alone is too large: it goes into the summary, too
		keep, newestResults = len(job.History), shortened(job.History, int(window*keepTail/100*4))
		if newestResults == "" {
			return agent.Compacted{Turn: c.Turn, Message: "its newest message alone is too large; use a model with a larger context window"}
		}
	}
	ev := p.summarise(ctx, job, keep, window, newestResults)
	ev.Turn, ev.OK, ev.Summary = c.Turn, true, true
	ev.View = agent.View{Keep: keep, Clear: job.View.Clear}
	ev.Tokens = tokensOf(visible(job.History, ev.View)) + engine.Tokens(ev.Body)
	return ev
}

// shortened are the results that a history ends with, each without its middle,
// in most characters; empty if it ends with something else.
func shortened(history []message.Message, most int) string {
	at := len(history)
	for at > 0 && (history[at-1].Role == message.Tool || history[at-1].Kind == message.KindResults) {
		at--
	}
	var b strings.Builder
	for _, m := range history[at:] {
		text := m.Text()
		for _, part := range m.Parts {
			if r, ok := part.(message.ToolResult); ok {
				text += "[" + r.Name + "] " + message.Text(r.Parts)
			}
		}
		b.WriteString("\n\n" + middle(text, most/len(history[at:])))
	}
	return b.String()
}

// clearing tells whether clearing old tool results is enough.
func clearing(history []message.Message, v agent.View, window int64) (agent.View, int64, bool) {
	turns, at := 0, len(history)
	for at > 0 && turns < clearTurns {
		at--
		if history[at].Role == message.Assistant {
			turns++
		}
	}
	next := v
	next.Clear = max(v.Clear, at)
	before, after := tokensOf(visible(history, v)), tokensOf(visible(history, next))
	ok := before-after >= window*clearLeast/100 && after <= window*clearLeaves/100
	return next, after, ok
}

// cutAt finds the position from which the newest part has at most most tokens
// and begins with a message that needs nothing before it.
func cutAt(history []message.Message, v agent.View, most int64) int {
	n := int64(0)
	cut := len(history)
	for i := len(history) - 1; i >= 0; i-- {
		m := history[i]
		if i < v.Clear && m.Role == message.Tool {
			m = stub(m)
		}
		if n += engine.Tokens(m); n > most {
			break
		}
		if history[i].Role != message.Tool {
			cut = i
		}
	}
	if cut < len(history) {
		return cut
	}
	for cut--; cut > 0 && history[cut].Role == message.Tool; cut-- {
	}
	return cut // the newest turn alone has more
}

func tokensOf(messages []message.Message) int64 {
	n := int64(0)
	for _, m := range messages {
		n += engine.Tokens(m)
	}
	return n
}

// summarise words the part of the history before keep: the user's own words
// as they are, the rest by a model, or, if that fails, as a list of what was
// done. An earlier summary goes in whole: what it says stands nowhere else.
// Results that could not be kept as they are follow it.
func (p *Performer) summarise(ctx context.Context, job *engine.Job, keep int, window int64, results string) agent.Compacted {
	words := int(window * verbatim / 100 * 4) // characters, at four to a token
	var said []string
	for _, m := range job.History[:keep] { // of the whole life, not only since the last summary
		if m.Kind == message.KindUser || m.Kind == message.KindTask {
			said = append(said, "- "+m.Text())
		}
	}
	var done []string
	if s := job.View.Summary; s > 0 && s < len(job.History) {
		_, told, _ := strings.Cut(job.History[s].Text(), happened)
		done = append(done, told)
	}
	for i := job.View.Keep; i < keep; i++ {
		m := job.History[i]
		if m.Kind == message.KindUser || m.Kind == message.KindTask || m.Kind == message.KindSummary {
			continue
		}
		if i < job.View.Clear && m.Role == message.Tool {
			m = stub(m)
		}
		done = append(done, outline(m))
	}
	var ev agent.Compacted
	summary, err := p.askSummary(ctx, job, newest(done, mostRecord, mostRecord/4), &ev)
	if err != nil {
		p.log.Warn("the summary could not be made by a model", "chat", job.Spec.Chat, "agent", job.Spec.ID, "path", job.Spec.Path, "err", err)
		summary = newest(done, mostOutlined, mostOutlined/4)
	}
	text := "This conversation was shortened; the earlier part is summarised here.\n\n"
	if len(said) > 0 {
		text += "What the user said, verbatim:\n" + newest(said, words, words-words/8) + "\n\n"
	}
	if results != "" {
		summary += "\n\nThe newest results, shortened because they do not fit:" + results
	}
	ev.Body = message.Of(message.User, message.KindSummary, text+happened+summary)
	return ev
}

const happened = "What happened:\n"

// newest joins texts in order within most characters. One that is longer than
// each is shortened in its middle; if all together are too long, the oldest go.
func newest(texts []string, most, each int) string {
	var kept []string
	left := most
	for i := len(texts) - 1; i >= 0; i-- {
		t := middle(texts[i], each)
		if left -= utf8.RuneCountInString(t) + 1; left < 0 {
			kept = append(kept, fmt.Sprintf("[%d older entries are left out]", i+1))
			break
		}
		kept = append(kept, t)
	}
	slices.Reverse(kept)
	return strings.Join(kept, "\n")
}

// middle shortens s to about n runes by leaving out its middle.
func middle(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s", string(r[:n/2]), len(r)-n, string(r[len(r)-n/2:]))
}

// outline is a message in a few lines.
func outline(m message.Message) string {
	const most = 600
	var b strings.Builder
	fmt.Fprintf(&b, "[%s] %s", m.Kind, cut(m.Text(), most, ""))
	for _, part := range m.Parts {
		switch part := part.(type) {
		case message.ToolCall:
			fmt.Fprintf(&b, " → %s %s", part.Name, cut(string(part.Input), most/2, ""))
		case message.ToolResult:
			fmt.Fprintf(&b, "%s: %s", part.Name, cut(message.Text(part.Parts), most, ""))
		case message.TextPart, message.ThinkingPart, message.ImagePart:
		}
	}
	return b.String()
}

const summaryPrompt = "You shorten the record of an agent's work so that it can go on with it. Keep what later steps need: " +
	"decisions and their reasons, facts found with paths and line numbers, what was changed, what failed, what is open. " +
	"Leave out how it was found. Write short lines, no introduction."

func (p *Performer) askSummary(ctx context.Context, job *engine.Job, record string, ev *agent.Compacted) (string, error) {
	model, err := p.models.Tier("fast", first(job.Spec.Models))
	if err != nil {
		return "", err
	}
	info := agent.CallInfo{Model: model.Ref, StartedAt: job.Now().UnixMilli()}
	reply, err := p.placed(job, agent.CallModel{Turn: job.Turn}, model, func() {}).Call(ctx, &llm.Request{
		Caller: llm.Caller{Chat: job.Spec.Chat, Agent: job.Spec.ID, Name: job.Spec.Name, Role: "summary", Depth: job.Spec.Depth, Dir: job.Spec.Dir},
		Model:  model.Name, System: summaryPrompt, MaxOutput: summaryRoom,
		Messages: []message.Message{message.Of(message.User, message.KindUser, record)},
	}, nil)
	info.EndedAt = job.Now().UnixMilli()
	if err != nil {
		var e *llm.Error
		if errors.As(err, &e) && e.Usage.Total() > 0 { // a try that failed is charged, too
			info.Usage, info.RequestID = e.Usage, e.RequestID
			ev.Info = info
			ev.Spent, ev.Priced = model.spent(e.Usage, 0, 0)
		}
		return "", err
	}
	info.Usage, info.RequestID, info.Answered = reply.Usage, reply.RequestID, reply.Model
	ev.Info = info
	ev.Spent, ev.Priced = model.spent(reply.Usage, len(record), message.Message{Parts: reply.Parts}.Size())
	text := message.Text(reply.Parts)
	switch {
	case reply.Stop == llm.StopRefusal || reply.Stop == llm.StopFilter:
		return "", fmt.Errorf("the summary ended with a %s", reply.Stop)
	case strings.TrimSpace(text) == "":
		return "", fmt.Errorf("the summary was empty")
	}
	return text, nil
}
