// Questions of sub-agents: answered for the user from what the chat holds, or
// by the user, in the chat or in the inbox.

package scenario_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/orchestrate"
)

// asking is a script in which an agent asks one question and, once it has its
// answer, goes on when it is let.
func asking(consult string) string {
	return `
agents:
  - match: {role: consult}
    turns:
      - ` + consult + `
  - match: {role: main}
    turns:
      - when: {user: It is 2024}
        calls: [{tool: reply_to_agent, input: {agent: general, answer: It is 2024, confidence: 0.9}}]
      - when: {result: has the answer}
        text: Thanks, I've updated the agent.
      - when: {user: weather}
        text: It is sunny.
      - when: {user: actually}
        calls: [{tool: message_agent, input: {agent: general, message: "The user says: {{user}}"}}]
      - when: {user: at work}
        calls: [{tool: list_agents, input: {}}, {tool: check_agent, input: {agent: general}}, {tool: reply_to_agent, input: {agent: general, answer: perhaps, confidence: 0.3}}]
      - when: {result: too low to answer for the user}
        text: One asks.
      - when: {result: pass that on}
        text: It waits for your answer.
      - when: {result: will read it}
        text: I've told the agent.
      - when: {result: sub_agent_results}
        text: "Done: {{last_result}}"
      - calls: [{tool: delegate_to_agent, input: {role: general, task: Find the papers of the year, background: true}}]
      - text: The agent is on it.
  - match: {role: general}
    turns:
      - calls: [{tool: ask_user, input: {question: Which year?}}]
      - calls: [{tool: mcp__test__hold, input: {name: "papers of: {{last_result}}"}}]
      - calls: [{tool: submit_result, input: {result: "{{last_result}}"}}]
`
}

// asked begins a story in which one question is asked.
func asked(consult string, live func(*world, *gates)) (setup, func(*world)) {
	g := &gates{}
	return setup{Script: asking(consult), Tools: tools(g.tool())}, func(w *world) {
		w.say("Find me papers")
		w.reads("The agent is on it.")
		live(w, g)
	}
}

const cannotSay = `calls: [{tool: ask_user, input: {}}]`

// TestUserAnswers is scenario A: the user answers in the main chat, and the
// orchestrator routes it and says so. It survives a kill at each step.
func TestUserAnswers(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		return asked(cannotSay, func(w *world, g *gates) {
			i := w.item("question", "k.1")
			if a := w.agent("k.1"); a.SubAgent != "waiting_for_user" || w.task("k.1").Status != "waiting" {
				w.Errorf("the agent is %s, its task %s", a.SubAgent, w.task("k.1").Status)
			}
			if !strings.Contains(i.Action, "Which year?") || i.Path != "main/general" || i.Role != "general" || i.Deadline == 0 || i.Default == "" {
				w.Errorf("the item is %+v", i)
			}
			w.say("It is 2024")
			w.reads("Thanks, I've updated the agent")
			g.let("papers of: It is 2024")
			w.reads("reply: Done")
			w.wants("These agents wait for an answer of the user", "main/general (agent k.1, item k.1-i1) asks: Which year?",
				"user: It is 2024", "call reply_to_agent", "main/general has the answer and goes on", "Thanks, I've updated the agent", "papers of: It is 2024")
			if got := w.closed("k.1-i1"); got.How != "answered" || got.By != "ann" || got.Answer != "It is 2024" {
				w.Errorf("the item was %s by %s: %s", got.How, got.By, got.Answer)
			}
		})
	})
}

const sure = `calls: [{tool: reply_to_agent, input: {answer: It is 2023, confidence: 0.8}}]`

// TestOrchestratorAnswers is scenario B: the chat holds the answer, the user
// is not asked, is shown it, and can correct it while the agent works. It
// survives a kill at each step.
func TestOrchestratorAnswers(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		return asked(sure, func(w *world, g *gates) {
			w.until("it is answered", func() bool { return strings.Contains(w.transcript(), "answered_for_user") })
			if i := w.closed("k.1-i1"); i.How != "answered_for_user" || i.By != "k" || i.Answer != "It is 2023" {
				w.Errorf("the item was %s by %s: %s", i.How, i.By, i.Answer)
			}
			w.until("it works", func() bool { return strings.Contains(w.transcript(), "call mcp__test__hold") })
			w.say("actually, I meant 2022")
			w.reads("I've told the agent")
			g.let("papers of: It is 2023")
			w.reads("reply: Done")
			w.wants("These questions were answered on the user's behalf", "main/general (agent k.1) asked: Which year?. It was told: It is 2023", "user: actually, I meant 2022",
				"call message_agent", "== main/general", "result of ask_user: It is 2023", "user: The user says: actually, I meant 2022", "call submit_result")
		})
	})
}

// TestLowConfidence: what the orchestrator is not sure of, the user is asked.
// A message that answers nothing leaves the question open; the first answer
// wins, and who comes second is told so. It survives a kill at each step.
func TestLowConfidence(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		return asked(`calls: [{tool: reply_to_agent, input: {answer: It is 2023, confidence: 0.6}}]`, func(w *world, g *gates) {
			i := w.item("question", "k.1")
			w.say("actually, I meant something else")
			w.reads("It waits for your answer.")
			w.say("who is at work?")
			w.reads("One asks.")
			w.say("what is the weather like?")
			w.reads("It is sunny")
			if got := w.closed(i.ID); got.Status != "open" {
				w.Errorf("a message that answers nothing has closed the question: %+v", got)
			}
			w.answer(i, orchestrate.Answer{Text: "1999"})
			if _, err := w.app.Inbox.Answer(w.Context(), i.ID, orchestrate.Answer{Text: "2000", By: "bob"}); !errors.Is(err, orchestrate.ErrAnswered) || !strings.Contains(err.Error(), "answered by ann") {
				w.Errorf("the second answer: %v", err)
			}
			g.let("papers of: 1999")
			w.reads("reply: Done")
			w.rest()
			w.wants("waits for the user's answer to \"Which year?\": pass that on with reply_to_agent", "- waits for the user (question, item k.1-i1): Which year?", "papers of: 1999")
		})
	})
}

// TestSameQuestion: the third time the same question is asked, the user is,
// also if the process was killed between the times.
func TestSameQuestion(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		s, live := asked(sure, func(w *world, g *gates) {
			i := w.item("question", "k.1")
			if i.ID != "k.1-i3" {
				w.Errorf("the user is asked with %s", i.ID)
			}
			g.let("papers of: 1999")
			w.answer(i, orchestrate.Answer{Text: "1999"})
			w.reads("reply: Done")
			w.rest()
			w.wants("result of ask_user: It is 2023", "result of ask_user: It is 2023", "result of ask_user: 1999")
		})
		ask := "      - calls: [{tool: ask_user, input: {question: Which year?}}]\n"
		s.Script = strings.Replace(s.Script, ask, ask+ask+ask, 1)
		return s, live
	})
}

// TestDeclined: a question that is declined does not hold its agent, whenever
// the process is killed.
func TestDeclined(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		return asked(cannotSay, func(w *world, g *gates) {
			g.let("papers of: The user declined to answer. Go on without it, or say why you cannot.")
			i := w.item("question", "k.1")
			for _, bad := range []orchestrate.Answer{{}, {How: "accept"}} {
				if _, err := w.app.Inbox.Answer(w.Context(), i.ID, bad); !errors.Is(err, orchestrate.ErrAnswer) {
					w.Errorf("%+v is an answer: %v", bad, err)
				}
			}
			w.answer(i, orchestrate.Answer{Refuse: true})
			w.reads("reply: Done")
			w.rest()
			w.wants("failure of ask_user: The user declined to answer")
		})
	})
}

// TestQuestionTimesOut: nor does one that nobody answers, though the process
// was down when its time was over.
func TestQuestionTimesOut(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		s, live := asked(cannotSay, func(w *world, _ *gates) {
			w.ended("k.1")
			i := w.closed("k.1-i1")
			if i.How != "expired" {
				w.Errorf("the item was closed as %q", i.How)
			}
			if _, err := w.app.Inbox.Answer(w.Context(), i.ID, orchestrate.Answer{Text: "2000"}); !errors.Is(err, orchestrate.ErrAnswered) {
				w.Errorf("a late answer: %v", err)
			}
		})
		s.Config = "questions:\n  timeout: 100ms\n"
		s.Script = strings.ReplaceAll(s.Script, `      - calls: [{tool: mcp__test__hold, input: {name: "papers of: {{last_result}}"}}]`+"\n", "")
		return s, live
	})
}

// TestAddressed: a message can name the agent that it is for. It answers the
// question of an agent that waits, without a model in between. It survives a
// kill at each step.
func TestAddressed(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		return asked(cannotSay, func(w *world, g *gates) {
			w.item("question", "k.1")
			for text, want := range map[string]string{
				"@nobody hello": `there is no agent "@nobody"; there are main (k), general (k.1)`,
				"@general":      "nothing was sent to general",
			} {
				if _, _, ok, err := orchestrate.Addressed(w.tree(), text); !ok || err == nil || !strings.Contains(err.Error(), want) {
					w.Errorf("%s: %v %v", text, ok, err)
				}
			}
			for _, text := range []string{"hello", "@nobody", "mail@example.com is mine", "@ x"} {
				if _, _, ok, err := orchestrate.Addressed(w.tree(), text); ok || err != nil {
					w.Errorf("%s: %v %v", text, ok, err)
				}
			}
			to, rest, ok, err := orchestrate.Addressed(w.tree(), "@General: it is 2001")
			if !ok || err != nil || to.ID != "k.1" || rest != "it is 2001" {
				w.Fatalf("%s %q %v %v", to.ID, rest, ok, err)
			}
			if to, rest, ok, err := orchestrate.Addressed(w.tree(), "@main\nhello"); !ok || err != nil || to.ID != "k" || rest != "hello" {
				w.Errorf("the orchestrator: %s %q %v %v", to.ID, rest, ok, err)
			}
			turns := w.agent("k").Turns
			g.let("papers of: The user has answered in a message of their own, which follows.")
			w.tell(to.ID, rest)
			w.reads("reply: Done")
			w.rest()
			if got := w.agent("k").Turns; got != turns+1 {
				w.Errorf("the orchestrator had %d turns, then %d: it should only have read the result", turns, got)
			}
			if _, _, _, err := orchestrate.Addressed(w.tree(), "@general more"); err == nil || !strings.Contains(err.Error(), "has ended") {
				w.Errorf("a finished agent: %v", err)
			}
			w.wants("The user has answered in a message of their own", "== main/general", "user: it is 2001")
		})
	})
}

// TestChoices: several questions at once, with choices, survive a kill at each
// step.
func TestChoices(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		s, live := asked(cannotSay, func(w *world, g *gates) {
			i := w.item("question", "k.1")
			if !strings.Contains(i.Action, `"2024"`) || !strings.Contains(i.Action, `"multiple":true`) {
				w.Errorf("the item shows %s", i.Action)
			}
			w.say("weather?")
			w.reads("It is sunny")
			w.wants("asks: Which year? (2023 / 2024) Which field? (physics / biology)")
			g.let("papers of: Which year? 2024\nWhich field? physics, biology")
			w.answer(i, orchestrate.Answer{Text: "Which year? 2024\nWhich field? physics, biology"})
			w.reads("reply: Done")
			w.rest()
			w.wants("papers of: Which year? 2024")
		})
		s.Script = strings.ReplaceAll(s.Script, `{question: Which year?}`,
			`{questions: [{question: Which year?, options: [{label: "2023"}, {label: "2024", description: so far}]}, {question: Which field?, options: [{label: physics}, {label: biology}], multiple: true}]}`)
		return s, live
	})
}

// TestDeepQuestion: an agent of an agent asks; the user answers in the main
// chat, and the answer reaches the one that asked. It survives a kill at each
// step.
func TestDeepQuestion(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		g := &gates{}
		return setup{Tools: tools(g.tool()), Script: `
agents:
  - match: {role: consult}
    turns:
      - ` + cannotSay + `
  - match: {role: main}
    turns:
      - when: {user: It is 2024}
        calls: [{tool: reply_to_agent, input: {agent: main/general/general-2, answer: It is 2024}}]
      - when: {result: has the answer}
        text: I've told it.
      - when: {result: sub_agent_results}
        text: "Got: {{last_result}}"
      - calls: [{tool: delegate_to_agent, input: {role: general, task: upper, background: true}}]
      - text: It is at work.
  - match: {task: upper}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: lower}}]
      - calls: [{tool: submit_result, input: {result: "{{last_result}}"}}]
  - match: {task: lower}
    turns:
      - calls: [{tool: ask_user, input: {question: Which year?}}]
      - calls: [{tool: mcp__test__hold, input: {name: "papers of {{last_result}}"}}]
      - calls: [{tool: submit_result, input: {result: "{{last_result}}"}}]
`}, func(w *world) {
				w.say("go")
				w.reads("It is at work.")
				i := w.item("question", "k.1.1")
				if i.Path != "main/general/general-2" || w.task("k.1.1").Status != "waiting" || w.task("k.1").Status != "running" {
					w.Errorf("%s asks; the tasks are %s and %s", i.Path, w.task("k.1.1").Status, w.task("k.1").Status)
				}
				w.say("It is 2024")
				w.reads("I've told it.")
				g.let("papers of It is 2024")
				w.reads("reply: Got:")
				w.rest()
				w.wants("main/general/general-2 (agent k.1.1, item k.1.1-i1) asks: Which year?", "papers of It is 2024")
			}
	})
}

// TestTwentyAsk: twenty agents that all ask at once are answered through one
// chat: one message answers several, the rest go on waiting.
func TestTwentyAsk(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, func() (setup, func(*world)) {
		g := &gates{}
		return setup{Tools: tools(g.tool()), Script: twenty}, func(w *world) {
			w.say("go")
			w.reads("Twenty are at work.")
			w.until("all ask", func() bool { return len(w.inbox()) == 20 })
			w.say("the first ten: …")
			w.until("ten have gone on", func() bool { return len(w.inbox()) == 10 && strings.Contains(w.history("k"), "Passed on to ten.") })
			for _, i := range w.inbox() {
				if strings.Count(i.Agent, ".") != 1 || len(i.Agent) < 4 {
					w.Errorf("%s waits still", i.Agent)
				}
			}
			w.say("the others: …")
			w.reads("Passed on to all.")
			for i := 1; i <= 20; i++ {
				g.let(fmt.Sprintf("%d got answer %d", i, i))
			}
			w.reads("All in.")
			w.rest()
			for i := 1; i <= 20; i++ {
				if got, want := w.task(fmt.Sprintf("k.%d", i)).Result, fmt.Sprintf("%d got answer %d", i, i); got != want {
					w.Errorf("task %d: %s", i, got)
				}
			}
		}
	})
}

const twenty = `
agents:
  - match: {role: consult}
    turns: [{calls: [{tool: ask_user, input: {}}]}]
  - match: {role: main}
    turns:
      - when: {user: the first ten}
        calls:
          - {tool: reply_to_agent, input: {agent: "k.{{i}}", answer: "answer {{i}}"}, repeat: {count: 10}}
      - when: {user: the others}
        calls:
          - {tool: reply_to_agent, input: {agent: "k.{{i}}-i1", answer: "answer {{i}}"}, repeat: {from: 11, count: 10}}
      - when: {result: general-11 has the answer}
        text: Passed on to all.
      - when: {result: has the answer}
        text: Passed on to ten.
      - when: {result: sub_agent_results}
        text: All in.
      - calls: [{tool: spawn_agents, input: {background: true}, repeat: {key: tasks, count: 20, template: {task: "part {{i}}"}}}]
      - text: Twenty are at work.
  - match: {task_re: 'part (\d+)'}
    turns:
      - calls: [{tool: ask_user, input: {question: "What about {{task.1}}?"}}]
      - calls: [{tool: mcp__test__hold, input: {name: "{{task.1}} got {{last_result}}"}}]
      - calls: [{tool: submit_result, input: {result: "{{last_result}}"}}]
`

// TestOrchestratorAsks: the orchestrator's own question is answered by the
// user's next message.
func TestOrchestratorAsks(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, always(setup{Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: ask_user, input: {question: Tea or coffee?}}]
      - text: "Here is your {{user}}."
`}, func(w *world) {
		w.say("I'm thirsty")
		w.item("question", "k")
		w.say("tea")
		w.reads("Here is your tea.")
	}))
}
