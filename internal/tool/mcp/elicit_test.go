// Questions of servers: whom they reach, and what becomes of the answers.

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/tool"
)

// asking is an agent whose user answers each question by the next answer.
func asking(chat string, asked *[]tool.Question, answers ...tool.Answer) tool.Env {
	return tool.Env{Chat: chat, Ask: func(_ context.Context, q tool.Question) (tool.Answer, error) {
		*asked = append(*asked, q)
		if len(*asked) > len(answers) {
			return tool.Answer{}, errors.New("nobody is there")
		}
		return answers[len(*asked)-1], nil
	}}
}

func fields(s string) tool.Answer { return tool.Answer{Fields: json.RawMessage(s)} }

func TestElicitation(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, config ServerConfig) {
		c := started(t, config)
		for name, test := range map[string]struct {
			answers []tool.Answer
			asked   int
			want    string
		}{
			"accepted":      {[]tool.Answer{fields(`{"name":"Ada"}`)}, 1, "accept Ada"},
			"in words":      {[]tool.Answer{{Text: "Ada"}}, 1, "accept Ada"},
			"declined":      {[]tool.Answer{{Declined: true}}, 1, "decline <nil>"},
			"not answered":  {nil, 1, "cancel <nil>"},
			"does not fit":  {[]tool.Answer{fields(`{"name":"A"}`), fields(`{}`), fields(`{"name":"Bob"}`)}, 3, "accept Bob"},
			"never fits":    {[]tool.Answer{fields(`{}`), fields(`{}`), fields(`{}`), fields(`{"name":"Bob"}`)}, 3, "cancel <nil>"},
			"nobody to ask": {nil, 0, "decline <nil>"},
		} {
			var asked []tool.Question
			env := asking("chat", &asked, test.answers...)
			if test.asked == 0 {
				env = tool.Env{}
			}
			if got := answer(t, c, env, "ask", in{}); got != test.want {
				t.Errorf("%s: the server got %q, want %q", name, got, test.want)
			}
			if len(asked) != test.asked {
				t.Errorf("%s: asked %d times, want %d", name, len(asked), test.asked)
			}
			if len(asked) > 0 && (asked[0].From != "s" || asked[0].Text != "Who are you?") {
				t.Errorf("%s: asked %+v", name, asked[0])
			}
			if name == "does not fit" {
				has(t, asked[1].Text, "Who are you?", "The answer did not fit", "/name: has 1 characters")
			}
		}
	})
}

func TestTimeStandsStillWhileTheUserThinks(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"old", "new"} {
		config := stdio(kind)
		config.Timeout = 200 * time.Millisecond
		c := started(t, config)
		env := tool.Env{Ask: func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			select {
			case <-time.After(3 * config.Timeout):
			case <-ctx.Done():
			}
			return fields(`{"name":"Ada"}`), ctx.Err()
		}}
		if got := answer(t, c, env, "ask", in{}); got != "accept Ada" {
			t.Errorf("%s: the server got %q", kind, got)
		}
	}
}

func TestQuestionEndsWithItsCall(t *testing.T) {
	t.Parallel()
	for kind, name := range map[string]string{"old": "ask", "new": "ask", "raw": "none"} {
		c := started(t, stdio(kind), func(g *timing) { g.discover = 500 * time.Millisecond })
		ctx, cancel := context.WithCancel(t.Context())
		withdrawn := make(chan struct{})
		env := tool.Env{Ask: func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
			cancel()
			<-ctx.Done()
			close(withdrawn)
			return tool.Answer{}, ctx.Err()
		}}
		if _, err := use(ctx, c, env, "mcp__s__"+name, in{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the call answers %v", kind, err)
		}
		select {
		case <-withdrawn:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the question stays", kind)
		}
	}
}

func TestVisit(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"old", "new"} {
		var asked []tool.Question
		if got := answer(t, started(t, stdio(kind)), asking("chat", &asked, tool.Answer{}), "visit", in{}); got != "welcome" {
			t.Errorf("%s: %q", kind, got)
		}
		if len(asked) != 1 || asked[0].URL != "https://example.com/login" || asked[0].Text != "Log in" {
			t.Errorf("%s: asked %+v", kind, asked)
		}
		_, err := use(t.Context(), started(t, stdio(kind)), asking("chat", &asked, tool.Answer{}, tool.Answer{Declined: true}), "mcp__s__visit", in{})
		if err == nil {
			t.Fatalf("%s: declined, and all the same let in", kind)
		}
		has(t, err.Error(), "the user did not open the address")
	}
}

// TestQuestionsOfSeveralCalls: a server of the older protocol does not say for
// which call it asks.
func TestQuestionsOfSeveralCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind, other string // the chat of the call that hangs
		want        string
	}{
		{"old", "chat", "accept Ada"},
		{"old", "other chat", "cancel <nil>"},
		{"new", "other chat", "accept Ada"},
	} {
		c := started(t, stdio(test.kind))
		file := tempFile(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		var wronglyAsked []tool.Question
		go func() {
			defer close(done)
			_, _ = use(ctx, c, asking(test.other, &wronglyAsked), "mcp__s__hang", in{"file": file})
		}()
		eventually(t, "a call is under way", func() bool { return exists(file + ".begun") })
		var asked []tool.Question
		if got := answer(t, c, asking("chat", &asked, fields(`{"name":"Ada"}`)), "ask", in{}); got != test.want {
			t.Errorf("%+v: the server got %q", test, got)
		}
		cancel()
		<-done
		if len(wronglyAsked) > 0 {
			t.Errorf("%+v: the wrong user was asked", test)
		}
	}
}

func TestServerThatAsksGetsOneCallAtATime(t *testing.T) {
	t.Parallel()
	c := started(t, stdio("old"), func(g *timing) { g.call = 300 * time.Millisecond })
	var asked []tool.Question
	answer(t, c, asking("chat", &asked, fields(`{"name":"Ada"}`)), "ask", in{})

	thinking, think := make(chan struct{}), make(chan struct{})
	thought := sync.OnceFunc(func() { close(think) })
	defer thought()
	var busy atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		env := tool.Env{Chat: "other", Ask: func(context.Context, tool.Question) (tool.Answer, error) {
			busy.Store(true)
			close(thinking)
			<-think
			busy.Store(false)
			return fields(`{"name":"Bob"}`), nil
		}}
		if result, err := use(t.Context(), c, env, "mcp__s__ask", in{}); err != nil || result.IsError {
			t.Errorf("the first call: %+v, %v", result, err)
		}
	}()
	<-thinking
	_, err := use(t.Context(), c, tool.Env{Chat: "chat"}, "mcp__s__echo", in{"text": "x"})
	if err == nil {
		t.Fatal("a second call came in between")
	}
	has(t, err.Error(), "the MCP server s is busy with another call")
	thought()
	if got := answer(t, c, tool.Env{Chat: "chat"}, "echo", in{"text": "x"}); got != "x" || busy.Load() {
		t.Errorf("after its turn: %q", got)
	}
	<-done
}
