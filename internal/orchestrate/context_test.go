package orchestrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// talk is a history of n turns, each a reply of words bytes with one call and
// its result of size bytes, after one user message.
func talk(n, words, size int) []message.Message {
	h := []message.Message{message.Of(message.User, message.KindUser, "please find the bug")}
	for i := range n {
		id := fmt.Sprintf("c%d", i)
		h = append(h,
			message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: []message.Part{
				message.TextPart{Text: fmt.Sprintf("step %d", i) + strings.Repeat(".", words)}, message.ToolCall{ID: id, Name: "Read", Input: json.RawMessage(`{}`)},
			}},
			message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
				message.ToolResult{CallID: id, Name: "Read", Parts: []message.Part{message.TextPart{Text: strings.Repeat("x", size)}}},
			}},
		)
	}
	return h
}

// wellFormed fails if a result stands without its call, or a call without its
// result.
func wellFormed(t *testing.T, messages []message.Message) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case message.ToolCall:
				open[p.ID] = true
			case message.ToolResult:
				if !open[p.CallID] {
					t.Errorf("message %d answers %s, which was not called", i, p.CallID)
				}
				delete(open, p.CallID)
			case message.TextPart, message.ThinkingPart, message.ImagePart:
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without result: %v", open)
	}
}

func TestClearingOldResults(t *testing.T) {
	p := newPerformer(t, &models{})
	h := talk(10, 0, 40_000) // about 100,000 tokens
	job := &engine.Job{Spec: agent.Spec{Choice: agent.Choice{Window: 110_000}}, History: h, Now: time.Now}
	ev := p.Compact(t.Context(), job, agent.Compact{Turn: 11}).(agent.Compacted)
	if !ev.OK || ev.Summary || ev.View.Clear == 0 || ev.Tokens > 77_000 {
		t.Fatalf("%+v", ev)
	}
	got := visible(h, ev.View)
	wellFormed(t, got)
	if len(got) != len(h) || tokensOf(got) != ev.Tokens {
		t.Errorf("%d messages of %d tokens", len(got), tokensOf(got))
	}
	if last := got[len(got)-1].Size(); last != 40_000 {
		t.Errorf("the newest result was cleared too: %d bytes", last)
	}
	if message.Text(got[2].Parts[0].(message.ToolResult).Parts) != clearedText || h[2].Size() != 40_000 {
		t.Error("the old result is not a stub, or the history itself was changed")
	}
}

func TestSummarising(t *testing.T) {
	m := &models{reply: &llm.Reply{Parts: []message.Part{message.TextPart{Text: "looked at 30 files"}}, Usage: message.Usage{Input: 7, Output: 3}}}
	p := newPerformer(t, m)
	h := talk(30, 4_000, 100)
	h[0] = message.Of(message.User, message.KindUser, "please find the bug in “späti.go”")
	job := &engine.Job{Spec: agent.Spec{Choice: agent.Choice{Window: 40_000, Models: []string{"test/one"}}}, History: h, Now: time.Now}
	ev := p.Compact(t.Context(), job, agent.Compact{Turn: 31}).(agent.Compacted)
	if !ev.OK || !ev.Summary || ev.View.Keep == 0 || ev.Spent.Tokens != 10 {
		t.Fatalf("%+v", ev)
	}
	text := ev.Body.Text()
	if !strings.Contains(text, "- please find the bug in “späti.go”") || !strings.Contains(text, "looked at 30 files") {
		t.Errorf("summary %q", text)
	}
	h = append(h, ev.Body) // the machine places it behind the history
	v := ev.View
	v.Summary = len(h) - 1
	got := visible(h, v)
	wellFormed(t, got)
	if got[0].Kind != message.KindSummary || got[1].Role == message.Tool || tokensOf(got) > 14_000 {
		t.Errorf("%d messages, %d tokens, first %s, then %s", len(got), tokensOf(got), got[0].Kind, got[1].Role)
	}
	if strings.Count(fmt.Sprint(got), "shortened") != 1 {
		t.Error("the summary is sent twice")
	}
}

// TestSecondSummary: the user's words and what an earlier summary told are
// still there after the next one, and the newest words are never the ones to
// go.
func TestSecondSummary(t *testing.T) {
	m := &models{err: errors.New("down")}
	p := newPerformer(t, m)
	h := talk(12, 4_000, 100)
	h[0] = message.Of(message.User, message.KindUser, "FIRST-ORDER "+strings.Repeat("log ", 10_000))
	job := &engine.Job{Spec: agent.Spec{Choice: agent.Choice{Window: 14_000, Models: []string{"test/one"}}}, History: h, Now: time.Now}
	first := p.Compact(t.Context(), job, agent.Compact{Turn: 13}).(agent.Compacted)
	if !first.OK || !first.Summary {
		t.Fatalf("%+v", first)
	}
	job.View = first.View
	job.View.Summary = len(h)
	h = append(h, message.Of(message.User, message.KindSummary, first.Body.Text()+"\nthe secret is 42"))
	h = append(h, message.Of(message.User, message.KindUser, "NEW-ORDER: stop after the tests"))
	job.History = append(h, talk(12, 4_000, 100)[1:]...)
	second := p.Compact(t.Context(), job, agent.Compact{Turn: 26}).(agent.Compacted)
	text := second.Body.Text()
	for _, want := range []string{"FIRST-ORDER", "NEW-ORDER: stop after the tests", "the secret is 42"} {
		if !strings.Contains(text, want) {
			t.Errorf("after the second summary %q is gone", want)
		}
	}
	job.History = append(job.History, second.Body)
	v := second.View
	v.Summary = len(job.History) - 1
	wellFormed(t, visible(job.History, v))
}

// TestVendorKnowsTheWindow: a history that the vendor refuses is shortened
// even if, by what is known of the window, it would fit.
func TestVendorKnowsTheWindow(t *testing.T) {
	p := newPerformer(t, &models{err: errors.New("down")})
	job := &engine.Job{Spec: agent.Spec{Choice: agent.Choice{Models: []string{"test/one"}}}, History: talk(26, 3_500, 100), Now: time.Now}
	before := tokensOf(job.History)
	ev := p.Compact(t.Context(), job, agent.Compact{Turn: 27, Refused: true}).(agent.Compacted)
	if !ev.OK || ev.Tokens > before*2/3 {
		t.Errorf("%d tokens became %d, %v: %s", before, ev.Tokens, ev.OK, ev.Message)
	}
}

func TestSummaryWithoutModel(t *testing.T) {
	p := newPerformer(t, &models{err: errors.New("down")})
	job := &engine.Job{Spec: agent.Spec{Choice: agent.Choice{Window: 40_000, Models: []string{"test/one"}}}, History: talk(30, 4_000, 100), Now: time.Now}
	ev := p.Compact(t.Context(), job, agent.Compact{Turn: 31}).(agent.Compacted)
	if !ev.OK || !strings.Contains(ev.Body.Text(), " → Read {}") {
		t.Errorf("%+v", ev)
	}
}

// TestResultsThatDoNotFit: results that alone are larger than the window are
// told without their middle, whichever way they came.
func TestResultsThatDoNotFit(t *testing.T) {
	t.Parallel()
	late := append(talk(0, 0, 0), message.Of(message.User, message.KindResults, "BEGIN"+strings.Repeat("x", 400_000)+"END"))
	called := talk(1, 0, 0)
	called[2].Parts[0] = message.ToolResult{CallID: "c0", Name: "spawn_agents", Parts: late[1].Parts}
	for name, h := range map[string][]message.Message{"late": late, "called": called} {
		p := newPerformer(t, &models{err: errors.New("down")})
		job := &engine.Job{Spec: agent.Spec{Choice: agent.Choice{Window: 32_000, Models: []string{"test/one"}}}, History: h, Now: time.Now}
		ev := p.Compact(t.Context(), job, agent.Compact{Turn: 2}).(agent.Compacted)
		text := ev.Body.Text()
		if !ev.OK || !ev.Summary || ev.Tokens > 32_000/2 || !strings.Contains(text, "BEGINx") || !strings.Contains(text, "xEND") || !strings.Contains(text, "please find the bug") {
			t.Errorf("%s: %d tokens, %s %.200s", name, ev.Tokens, ev.Message, text)
		}
		v := ev.View
		v.Summary = len(h)
		if got := visible(append(h, ev.Body), v); len(got) != 1 || got[0].Kind != message.KindSummary {
			t.Errorf("%s: %d messages are sent", name, len(got))
		}
	}
}

func TestNothingLeftToShorten(t *testing.T) {
	p := newPerformer(t, &models{})
	h := []message.Message{message.Of(message.User, message.KindUser, strings.Repeat("x", 40_000))}
	job := &engine.Job{Spec: agent.Spec{Choice: agent.Choice{Window: 1_000}}, History: h, Now: time.Now}
	ev := p.Compact(t.Context(), job, agent.Compact{Turn: 2}).(agent.Compacted)
	if ev.OK || ev.Message == "" {
		t.Errorf("%+v", ev)
	}
}
