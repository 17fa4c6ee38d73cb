// Tests of faults: each kind of failure, when it strikes and when it passes.

package scripted

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

func TestFaultErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault string
		want  llm.Error
	}{
		{"{status: 400}", llm.Error{Kind: llm.ErrBadRequest, Status: 400, Message: "Bad Request"}},
		{"{status: 401}", llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "Unauthorized"}},
		{"{status: 402}", llm.Error{Kind: llm.ErrQuota, Status: 402, Message: "Payment Required"}},
		{"{status: 403}", llm.Error{Kind: llm.ErrPermission, Status: 403, Message: "Forbidden"}},
		{"{status: 404}", llm.Error{Kind: llm.ErrNotFound, Status: 404, Message: "Not Found"}},
		{"{status: 408}", llm.Error{Kind: llm.ErrTimeout, Status: 408, Message: "Request Timeout"}},
		{"{status: 409}", llm.Error{Kind: llm.ErrServer, Status: 409, Message: "Conflict"}},
		{"{status: 413}", llm.Error{Kind: llm.ErrOverflow, Status: 413, Message: "Request Entity Too Large"}},
		{"{status: 422}", llm.Error{Kind: llm.ErrBadRequest, Status: 422, Message: "Unprocessable Entity"}},
		{"{status: 429, retry_after: 2s}", llm.Error{Kind: llm.ErrRateLimit, Status: 429, RetryAfter: 2 * time.Second, Message: "Too Many Requests"}},
		{"{status: 429, kind: quota, message: no more money}", llm.Error{Kind: llm.ErrQuota, Status: 429, Message: "no more money"}},
		{"{status: 500}", llm.Error{Kind: llm.ErrServer, Status: 500, Message: "Internal Server Error"}},
		{"{status: 502}", llm.Error{Kind: llm.ErrServer, Status: 502, Message: "Bad Gateway"}},
		{"{status: 503}", llm.Error{Kind: llm.ErrOverloaded, Status: 503, Message: "Service Unavailable"}},
		{"{status: 504}", llm.Error{Kind: llm.ErrTimeout, Status: 504, Message: "Gateway Timeout"}},
		{"{status: 529}", llm.Error{Kind: llm.ErrOverloaded, Status: 529, Message: "overloaded"}},
		{"{overflow: true}", llm.Error{Kind: llm.ErrOverflow, Status: 400, Message: "prompt is too long: 200001 tokens > 200000 maximum"}},
		{"{kind: auth}", llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "auth"}},
		{"{kind: quota}", llm.Error{Kind: llm.ErrQuota, Status: 429, Message: "quota"}},
		{"{kind: content_filter}", llm.Error{Kind: llm.ErrFilter, Status: 400, Message: "content_filter"}},
		{"{kind: network}", llm.Error{Kind: llm.ErrNetwork, Message: "network"}},
		{"{kind: timeout, message: slow}", llm.Error{Kind: llm.ErrTimeout, Message: "slow"}},
		{"{cut: true}", llm.Error{Kind: llm.ErrNetwork, Message: "the stream ended before the reply was complete"}},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, "agents:\n- turns:\n  - fault: "+tt.fault+"\n").Call(t.Context(), &llm.Request{}, nil)
			var got *llm.Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want an *llm.Error", err)
			}
			if !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
		})
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	m := parse(t, "agents:\n- turns: [{text: fine, fault: {status: 500, times: 2}}, {text: never, fault: {status: 500}}]\n")
	for try, fails := range []bool{true, true, true, false, false} { // try 0: a caller that does not count
		got := ask(t, m, llm.Caller{Try: try})
		if failed := strings.HasPrefix(got, "error: server (HTTP 500)"); failed != fails {
			t.Errorf("try %d gives %q, want a failure: %v", try, got, fails)
		}
	}
	if got := ask(t, m, llm.Caller{Try: 99}, said("x")); !strings.HasPrefix(got, "error") {
		t.Errorf("a fault without times passes at try 99: %q", got)
	}
}

// TestChunksBefore: what is streamed before a fault strikes.
func TestChunksBefore(t *testing.T) {
	t.Parallel()
	tests := []struct{ turn, want string }{
		{"{text: abcdef, chunk: 2, fault: {status: 500}}", ""},
		{"{text: abcdef, chunk: 2, fault: {status: 529, after: 1}}", "ab"},
		{"{text: abcdef, chunk: 2, fault: {cut: true}}", "abcd"},
		{"{text: abcdef, chunk: 2, fault: {cut: true, after: 0}}", ""},
		{"{text: abcdef, chunk: 2, fault: {cut: true, after: 9}}", "abcdef"},
		{"{text: 0123456789abcdefghij, fault: {cut: true}}", "0123456789abcdef"},
		{"{text: short, fault: {cut: true}}", "short"},
		{"{fault: {cut: true}}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.turn, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			m := parse(t, "agents:\n- turns:\n  - "+tt.turn+"\n")
			r, err := m.Call(t.Context(), &llm.Request{}, func(d llm.Delta) { got.WriteString(d.Text) })
			if err == nil || r != nil {
				t.Fatalf("got reply %v and error %v, want only an error", r, err)
			}
			if got.String() != tt.want {
				t.Errorf("streamed %q before the fault, want %q", got.String(), tt.want)
			}
		})
	}
}

func TestStall(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, fault string
		lasts       time.Duration
		check       func(error) bool
	}{
		{
			"until the context ends", "{stall: true}", time.Hour,
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) },
		},
		{
			"until the idle limit", "{stall: true, idle: 30s}", 30 * time.Second,
			func(err error) bool { return llm.KindOf(err) == llm.ErrTimeout && strings.Contains(err.Error(), "30s") },
		},
		{
			"a context that ends before the limit", "{stall: true, idle: 2h}", time.Hour,
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := parse(t, "agents:\n- turns: [{text: abcd, chunk: 1, fault: "+tt.fault+"}]\n")
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				start, got := time.Now(), ""
				r, err := m.Call(ctx, &llm.Request{}, func(d llm.Delta) { got += d.Text })
				if r != nil || !tt.check(err) {
					t.Errorf("ended with %v, %v", r, err)
				}
				if lasted := time.Since(start); lasted != tt.lasts || got != "ab" {
					t.Errorf("stalled for %v after %q, want %v after ab", lasted, got, tt.lasts)
				}
			})
		})
	}
}

// TestTake: the reply is known before it is played, faults included.
func TestTake(t *testing.T) {
	t.Parallel()
	m := parse(t, "agents:\n- turns: [{text: abcd, fault: {cut: true}}]\n")
	take, err := m.Take(&llm.Request{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if message.Text(take.Reply.Parts) != "abcd" || take.Reply.Model != "m" {
		t.Errorf("the take's reply is %+v", take.Reply)
	}
	if _, err := take.Play(t.Context(), nil); llm.KindOf(err) != llm.ErrNetwork {
		t.Errorf("playing it gives %v, want a network error", err)
	}
}

// FuzzParse: no text makes Parse panic, and what it accepts can be played.
func FuzzParse(f *testing.F) {
	f.Add("agents: [{turns: [{text: a}]}]")
	f.Add("agents:\n- match: {task_re: '(a)'}\n  turns: &t\n  - calls: [{tool: S, repeat: {count: 2}}]\n- turns: *t\n")
	f.Add("defaults: {delay: 1s}\nagents: [{turns: [{fault: {status: 500}}]}]")
	f.Add("a: &a [*a]")
	f.Add("agents:\n- turns: !0 ") // the YAML library panics on such a tag
	f.Add("agents: [{turns: [{<<: 1, text: {{i}}}]}]")
	f.Fuzz(func(t *testing.T, src string) {
		m, err := Parse("fuzz", []byte(src))
		if err != nil {
			return
		}
		if _, err := m.Take(&llm.Request{}); err != nil && llm.KindOf(err) != llm.ErrBadRequest {
			t.Errorf("Take fails with %v", err)
		}
	})
}
