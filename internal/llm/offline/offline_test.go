// Tests of the offline model in conversation.

package offline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

func ask(text string) message.Message { return message.Of(message.User, message.KindUser, text) }

// conversations are requests with the calls they lead to (each a part of
// "depth tool input"; all in order) and what the answer must say.
var conversations = []struct {
	name, ask string
	calls     []string
	want      []string
	never     []string
}{
	{name: "greeting", ask: "Hello!", want: []string{"Hello.", "What I can do without a model"}},
	{name: "about itself", ask: "What can you do?", want: []string{"fixed rules", "summarise a file"}},
	{name: "thanks", ask: "thanks a lot", want: []string{"nothing in this for me to look up"}},
	{name: "a joke", ask: "Tell me a joke.", want: []string{"I cannot answer this", "What I can do"}},
	{
		name: "a change", ask: "Please fix the price parser in cart/price.go.",
		want: []string{"I cannot do this", "Nothing was changed", `"plan how to fix the price parser in cart/price.go"`},
	},
	{name: "running", ask: "run the tests", want: []string{"I cannot do this"}},
	{
		name: "where a type is", ask: "Where is Cart defined?",
		calls: []string{
			`0 Grep {"ignore_case":true,"max":300,"pattern":"Cart"}`, `0 Glob {"pattern":"**/*cart*"}`,
			`0 Read {"limit":42,"offset":1,"path":"cart/cart.go"}`,
		},
		want: []string{"`Cart`: declared at `cart/cart.go:5`", "// Cart is a list of items.\ntype Cart struct {\n\titems []string\n}\n```", "Files with such a name (2)"},
	},
	{
		name: "how something works", ask: "explain how delivery works",
		calls: []string{`0 Grep`, `0 Glob`, `0 Read`},
		want:  []string{"`delivery`: 1 match in 1 file", "`docs/delivery.md:1`", "Delivery takes three days."},
	},
	{
		name: "a quoted text", ask: `find "connection refused"`,
		calls: []string{`"pattern":"connection refused"`, `0 Read {"limit":42,"offset":1,"path":"docs/delivery.md"}`},
		want:  []string{"docs/delivery.md:2", "means that the shop is closed"},
	},
	{
		name: "a name written differently", ask: "where is parsePrice?",
		calls: []string{`"pattern":"\\bparsePrice\\b"`, `0 Glob`, `"pattern":"parse[\\W_]{0,3}Price"`, `0 Read`},
		want:  []string{"no exact match for `parsePrice`", "cart/price.go:3"},
	},
	{
		name: "in a folder", ask: "find tea in docs/img",
		calls: []string{`0 Grep {"ignore_case":true,"max":300,"path":"docs/img","pattern":"tea"}`, `0 Glob`, `0 Read`},
		want:  []string{"docs/img/logo.txt:1"}, never: []string{"README.md:"},
	},
	{
		name: "in a folder that is not there", ask: "find tea in no/where",
		calls: []string{`"path":"no/where"`, `0 Glob`, `0 Grep {"ignore_case":true,"max":300,"pattern":"tea"}`, `0 Read`, `0 Read`, `0 Read`},
		want:  []string{"`tea`: 4 matches in 4 files"},
	},
	{
		name: "nothing found", ask: "where is the zeppelin?",
		calls: []string{`0 Grep`, `0 Glob`}, want: []string{"I found no `zeppelin`"}, never: []string{"declared"},
	},
	{
		name: "listing", ask: "list the files in docs",
		calls: []string{`0 LS {"path":"docs"}`}, want: []string{"`docs` has 1 folder and 1 file", "- `img/`", "- `delivery.md`"},
	},
	{
		name: "listing here", ask: "What's in this folder?",
		calls: []string{`0 LS {"path":"."}`}, want: []string{"The working folder has 3 folders and 2 files"},
	},
	{
		name: "listing a kind", ask: "list all Go files in cart",
		calls: []string{`0 Glob {"path":"cart","pattern":"**/*.go"}`}, want: []string{"3 files matching `**/*.go` in cart", "`cart/price.go`"},
	},
	{
		name: "listing what is not there", ask: "list the files in nowhere",
		calls: []string{`0 LS {"path":"nowhere"}`}, want: []string{"`nowhere` could not be listed: nowhere does not exist"},
	},
	{
		name: "counting files", ask: "How many markdown files are there?",
		calls: []string{`0 Glob {"pattern":"**/*.md"}`}, want: []string{"There are 2 files here that match `**/*.md`"},
	},
	{
		name: "counting lines", ask: "how many lines are in cart/cart.go?",
		calls: []string{`0 Read {"limit":1,"path":"cart/cart.go"}`}, want: []string{"`cart/cart.go` has 17 lines."},
	},
	{
		name: "counting lines of a kind", ask: "count the lines of Go code in cart",
		calls: []string{`0 Glob {"path":"cart","pattern":"**/*.go"}`, `cart/cart.go`, `cart/cart_test.go`, `cart/price.go`},
		want:  []string{"28 lines in 3 files.", "- `cart/cart_test.go`: 7"},
	},
	{
		name: "counting occurrences", ask: `how often does "tea" occur?`,
		calls: []string{`0 Grep {"max":1000,"pattern":"tea"}`}, want: []string{"`tea`: 4 lines in 4 files", "- `README.md`: 1"},
	},
	{
		name: "counting tests", ask: "how many tests are in cart/cart_test.go",
		calls: []string{`"path":"cart/cart_test.go"`}, want: []string{"Tests, by the form of their declaration: 1 line in 1 file"},
	},
	{
		name: "counting folders", ask: "how many folders are in docs",
		calls: []string{`0 LS {"path":"docs"}`}, want: []string{"`docs` has 1 folder:\n\n- `img/`\n"}, never: []string{"delivery"},
	},
	{
		name: "listing folders", ask: "list the top-level folders",
		calls: []string{`0 LS {"path":"."}`}, want: []string{"The working folder has 3 folders:"}, never: []string{"go.mod"},
	},
	{
		name: "listing a folder", ask: "list what is in the docs folder",
		calls: []string{`0 LS {"path":"docs"}`}, want: []string{"`docs` has 1 folder and 1 file"},
	},
	{
		name: "a file of prose", ask: "Summarise README.md",
		calls: []string{`0 Read {"path":"README.md"}`},
		want:  []string{"**README.md**: 11 lines of Markdown.", "> A shop that sells tea.", "- line 1: Shop", "- line 5:   Install", "- line 9:   Use"},
	},
	{
		name: "a file of code", ask: "what does cart/cart.go do?",
		calls: []string{`0 Read {"path":"cart/cart.go"}`},
		want:  []string{"17 lines of Go", "> Package cart holds what a customer wants to buy.", "- line 5: `type Cart struct`", "- line 15: `func (c *Cart) Add(item string)`"},
	},
	{
		name: "a file of neither", ask: "show docs/img/logo.txt",
		calls: []string{`0 Read`}, want: []string{"1 line of text", "> tea"},
	},
	{
		name: "an empty file", ask: "summarise docs/img/empty.txt",
		calls: []string{`0 Read`}, want: []string{"docs/img/empty.txt is empty (0 bytes)."},
	},
	{
		name: "a file elsewhere", ask: "summarise price.go",
		calls: []string{`0 Read {"path":"price.go"}`, `0 Glob {"pattern":"**/price.go"}`, `0 Read {"path":"cart/price.go"}`},
		want:  []string{"**cart/price.go**: 4 lines of Go"},
	},
	{
		name: "a file that is not there", ask: "summarise nothing.go",
		calls: []string{`0 Read`, `0 Glob`}, want: []string{"`nothing.go` could not be read: nothing.go does not exist"},
	},
	{
		name: "a folder", ask: "summarise cmd/shop",
		calls: []string{`0 LS {"path":"cmd/shop"}`, `0 Read {"limit":60,"path":"cmd/shop/main.go"}`},
		want:  []string{"`cmd/shop` has 0 folders and 1 file", "Command shop runs the shop."},
	},
	{
		name: "the project", ask: "What is this project about?",
		calls: []string{`0 LS {"path":"."}`, `"path":"README.md"`, `"path":"go.mod"`}, want: []string{"A shop that sells tea."},
	},
	{
		name: "a plan", ask: "Plan how to add discounts to the cart",
		calls: []string{`0 LS {"path":"."}`, `0 Grep {"ignore_case":true,"max":300,"pattern":"discount|cart"}`, `0 Read`, `0 Read`, `0 Read`, `0 Read`},
		want:  []string{"A plan to add discounts to the cart:", "1. Read `cart/cart.go` (17 lines)", "cart_test.go", "`go vet ./... && go test ./...`", "judgement I do not have"},
	},
	{
		name: "a plan for something new", ask: "make a plan for zeppelins",
		calls: []string{`0 LS`, `0 Grep`}, want: []string{"Nothing here mentions `zeppelins`", "`cart`, `cmd`, `docs`"},
	},
	{
		name: "clauses", ask: "List the files in docs and count the lines in go.mod.",
		calls: []string{
			`0 spawn_agents {"tasks":[{"task":"List the files in docs"},{"task":"count the lines in go.mod"}],"wait":"all"}`,
			`1 LS {"path":"docs"}`, `1 Read {"limit":1,"path":"go.mod"}`,
		},
		want: []string{"Both sub-agents are done.", "### List the files in docs\n\n`docs` has", "### count the lines in go.mod\n\n`go.mod` has 3 lines."},
	},
	{
		name: "several files", ask: "summarise README.md, go.mod and cart/cart.go",
		calls: []string{`0 spawn_agents`, `1 Read {"path":"README.md"}`, `1 Read {"path":"go.mod"}`, `1 Read {"path":"cart/cart.go"}`},
		want:  []string{"All 3 sub-agents are done.", "### summarise go.mod"},
	},
	{
		name: "every file of a kind", ask: "summarise every Go file in cart",
		calls: []string{
			`0 Glob {"path":"cart","pattern":"**/*.go"}`,
			`0 spawn_agents {"tasks":[{"task":"summarise cart/cart.go"},{"task":"summarise cart/cart_test.go"},{"task":"summarise cart/price.go"}],"wait":"all"}`,
			`1 Read`, `1 Read`, `1 Read`,
		},
		want: []string{"All 3 sub-agents are done.", "**cart/price.go**"},
	},
	{
		name: "one file of a kind", ask: "summarise every Go file in cmd",
		calls: []string{`0 Glob`, `0 Read {"limit":60,"path":"cmd/shop/main.go"}`}, want: []string{"Command shop runs the shop."},
	},
}

func TestConversations(t *testing.T) {
	t.Parallel()
	for _, tt := range conversations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			got := w.run(0, ask(tt.ask))
			if len(w.calls) != len(tt.calls) {
				t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(w.calls, "\n"), strings.Join(tt.calls, "\n"))
			}
			for i := range min(len(w.calls), len(tt.calls)) {
				if !strings.Contains(w.calls[i], tt.calls[i]) {
					t.Errorf("call %d is %s, want %s", i, w.calls[i], tt.calls[i])
				}
			}
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("the answer lacks %q:\n%s", want, got)
				}
			}
			for _, never := range tt.never {
				if strings.Contains(got, never) {
					t.Errorf("the answer contains %q:\n%s", never, got)
				}
			}
		})
	}
}

// TestFewerTools has every conversation with fewer tools, as orchestrator and
// as sub-agent: world.run checks that it ends, and calls only what is offered.
func TestFewerTools(t *testing.T) {
	t.Parallel()
	sets := map[string][]string{
		"none": nil, "no delegation": allTools[:4], "only delegation": {toolSpawn},
	}
	for i, tool := range allTools {
		sets["only "+tool] = []string{tool}
		sets["all but "+tool] = append(append([]string{}, allTools[:i]...), allTools[i+1:]...)
	}
	for name, tools := range sets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, tt := range conversations {
				for depth := range 2 {
					w := newWorld(t)
					w.tools = tools
					w.run(depth, ask(tt.ask))
				}
			}
		})
	}
}

func TestMissingTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tools = []string{toolLS}
	if got := w.run(0, ask("summarise README.md")); !strings.Contains(got, "a tool that I am not given: Read") {
		t.Errorf("got %s", got)
	}
}

// TestPartsWithoutDelegation: without spawn_agents, or when it is refused, the
// agent works on all parts itself, side by side.
func TestPartsWithoutDelegation(t *testing.T) {
	t.Parallel()
	const request = "list the files in docs and count the lines in go.mod"
	want := []string{"### list the files in docs\n\n`docs` has", "### count the lines in go.mod\n\n`go.mod` has 3 lines."}
	check := func(w *world, got string, calls ...string) {
		t.Helper()
		for _, s := range want {
			if !strings.Contains(got, s) {
				t.Errorf("the answer lacks %q:\n%s", s, got)
			}
		}
		if strings.Join(w.calls, "\n") != strings.Join(calls, "\n") {
			t.Errorf("calls:\n%s", strings.Join(w.calls, "\n"))
		}
	}
	w := newWorld(t)
	w.tools = allTools[:4]
	check(w, w.run(0, ask(request)), `0 LS {"path":"docs"}`, `0 Read {"limit":1,"path":"go.mod"}`)

	w = newWorld(t)
	w.spawn = func([]string) (string, bool) { return "no budget is left for sub-agents", true }
	got := w.run(0, ask(request))
	check(w, got, `0 spawn_agents {"tasks":[{"task":"list the files in docs"},{"task":"count the lines in go.mod"}],"wait":"all"}`,
		`0 LS {"path":"docs"}`, `0 Read {"limit":1,"path":"go.mod"}`)
	if !strings.Contains(got, "could not be delegated, so I worked on them myself: no budget is left") {
		t.Errorf("the answer does not say why: %s", got)
	}
}

func TestFailuresOfSubAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.spawn = func([]string) (string, bool) {
		return `{"sub_agent_results":[
			{"agent_id":"1","task":"first","role":"r","outcome":{"success":{"result":"fine"}}},
			{"agent_id":"2","task":"second","role":"r","outcome":{"failure":{"error":"took too long","error_kind":"timeout","partial_result":"half of it"}}},
			{"agent_id":"3","task":"third","role":"r","outcome":{"success":{"result":{"n":3}}}}]}`, false
	}
	got := w.run(0, ask("summarise README.md, go.mod and cart/cart.go"))
	for _, want := range []string{
		"2 of 3 sub-agents succeeded; 1 failed.", "### first\n\nfine",
		"### second\n\n**This failed** (timeout): took too long\n\nIt got this far:\n\nhalf of it", "### third\n\n```json\n{\"n\":3}\n```",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the answer lacks %q:\n%s", want, got)
		}
	}
}

// TestDetached: a delegation goes on in the background; its results come as a
// message and are reported, also together with the answer to something else.
func TestDetached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.spawn = func([]string) (string, bool) {
		return "running, task chat.1. The results will arrive as a message.", false
	}
	first := ask("summarise README.md and go.mod")
	got := w.run(0, first)
	if !strings.Contains(got, "at work in the background") {
		t.Errorf("got %s", got)
	}
	history := []message.Message{first, message.Of(message.Assistant, message.KindReply, got)}
	late := message.Of(message.User, message.KindResults,
		`{"sub_agent_results":[{"agent_id":"1","task":"summarise go.mod","role":"r","outcome":{"success":{"result":"a module"}}}]}`)
	w = newWorld(t)
	got = w.run(0, append(history, late)...)
	if len(w.calls) != 0 || !strings.Contains(got, "### summarise go.mod\n\na module") {
		t.Errorf("late results alone: calls %v, answer %s", w.calls, got)
	}
	w = newWorld(t)
	got = w.run(0, append(history, late, ask("list the files in docs"))...)
	if !strings.Contains(got, "a module") || !strings.Contains(got, "`docs` has") || len(w.calls) != 1 {
		t.Errorf("late results and a question: calls %v, answer %s", w.calls, got)
	}
}

// TestMessagesOnTheWay: what the user says while work is under way.
func TestMessagesOnTheWay(t *testing.T) {
	t.Parallel()
	step := func(depth int, history []message.Message, w *world) []message.Message {
		reply := w.reply(depth, history)
		return append(history, message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: reply.Parts})
	}
	answerAll := func(history []message.Message, text string) []message.Message {
		for _, c := range history[len(history)-1].Calls() {
			history = append(history, message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
				message.ToolResult{CallID: c.ID, Name: c.Name, Parts: []message.Part{message.TextPart{Text: text}}},
			}})
		}
		return history
	}
	t.Run("during a search, both are worked on", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		h := answerAll(step(0, []message.Message{ask("list the files in docs")}, w), "x.md (3 bytes)\n")
		got := w.run(0, append(h, ask("count the lines in go.mod"))...)
		if !strings.Contains(got, "### list the files in docs") || !strings.Contains(got, "`go.mod` has 3 lines.") {
			t.Errorf("calls %v, answer %s", w.calls, got)
		}
	})
	t.Run("after delegating, only the new is worked on", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		h := answerAll(step(0, []message.Message{ask("summarise README.md and go.mod")}, w), "running, task 1")
		got := w.run(0, append(h, ask("count the lines in go.mod"))...)
		if strings.Contains(got, "README") || !strings.Contains(got, "`go.mod` has 3 lines.") {
			t.Errorf("calls %v, answer %s", w.calls, got)
		}
	})
	t.Run("two at once are two parts", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		got := w.run(0, ask("list the files in docs"), ask("count the lines in go.mod"))
		if !strings.Contains(got, "Both sub-agents are done.") {
			t.Errorf("calls %v, answer %s", w.calls, got)
		}
	})
	t.Run("a note asks for nothing", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		note := message.Of(message.User, message.KindNote, "find Cart and count the lines in go.mod")
		got := w.run(0, ask("list the files in docs"), note)
		if len(w.calls) != 1 || !strings.Contains(got, "`docs` has") {
			t.Errorf("calls %v, answer %s", w.calls, got)
		}
	})
	t.Run("an answered request is over", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.run(0, ask("find Cart"), message.Of(message.Assistant, message.KindReply, "here"), ask("list the files in docs"))
		if len(w.calls) != 1 || !strings.Contains(w.calls[0], "LS") {
			t.Errorf("calls %v", w.calls)
		}
	})
}

// TestTaskOfASubAgent: the task counts, not how its message dresses it up.
func TestTaskOfASubAgent(t *testing.T) {
	t.Parallel()
	dressed := message.Of(message.User, message.KindTask, "Your task, given by main:\n\nlist the files in docs\n\nReport back.")
	req := &llm.Request{
		Caller:   llm.Caller{Depth: 1, Task: "list the files in docs"},
		Tools:    []llm.Tool{{Name: toolLS}},
		Messages: []message.Message{dressed},
	}
	reply, err := New().Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if calls := (message.Message{Parts: reply.Parts}).Calls(); len(calls) != 1 || string(calls[0].Input) != `{"path":"docs"}` {
		t.Errorf("got %v", reply.Parts)
	}
}

func TestRolesOfTasks(t *testing.T) {
	t.Parallel()
	const prompt = "Role: main\n\n- You may delegate to:\n  - planner: plans.\n  - researcher: searches.\n  - general: the rest.\n"
	req := &llm.Request{
		System: prompt, Tools: []llm.Tool{{Name: toolSpawn}},
		Messages: []message.Message{ask("1. plan how to add taxes\n2. find Cart\n3. count the lines in go.mod")},
	}
	reply, err := New().Call(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"tasks":[{"task":"plan how to add taxes","role":"planner"},{"task":"find Cart","role":"researcher"},` +
		`{"task":"count the lines in go.mod","role":"general"}],"wait":"all"}`
	if calls := (message.Message{Parts: reply.Parts}).Calls(); len(calls) != 1 || string(calls[0].Input) != want {
		t.Errorf("got %v", reply.Parts)
	}
}

func TestPlannerPlans(t *testing.T) {
	t.Parallel()
	s := &situation{request: "find Cart", role: "planner", tools: map[string]llm.Tool{toolLS: {}, toolGrep: {}}, turn: 1}
	if st := decide(s); len(st.calls) != 2 || st.calls[0].tool != toolLS {
		t.Errorf("a planner begins with %+v", st)
	}
}

// TestBound: past the last round no call is made.
func TestBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	history := []message.Message{ask("find Cart")}
	for i := range maxRounds {
		id := callID(i+1, 9, 1) // of a part that does not exist, so that nothing comes of it
		history = append(history,
			message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: []message.Part{
				message.ToolCall{ID: id, Name: toolGrep, Input: []byte("{}")},
			}},
			message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
				message.ToolResult{CallID: id, Name: toolGrep},
			}})
	}
	before := w.reply(0, history[:len(history)-2])
	if len((message.Message{Parts: before.Parts}).Calls()) == 0 {
		t.Error("the last round is not used")
	}
	reply := w.reply(0, history)
	if reply.Stop != llm.StopEnd || !strings.Contains(message.Text(reply.Parts), "I stopped here") {
		t.Errorf("got %v", reply.Parts)
	}
	if got := w.run(0, append(history, ask("count the lines in go.mod"))...); !strings.Contains(got, "`go.mod` has 3 lines") {
		t.Errorf("a new request has no rounds of its own: %s", got)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	var pieces []string
	req := &llm.Request{Messages: []message.Message{ask("thanks")}}
	if _, err := New().Call(t.Context(), req, func(d llm.Delta) { pieces = append(pieces, d.Text) }); err != nil {
		t.Fatal(err)
	}
	for i, p := range pieces {
		if strings.Contains(strings.TrimSuffix(p, " "), " ") || i < len(pieces)-1 && !strings.HasSuffix(p, " ") {
			t.Errorf("piece %d is %q, want a word", i, p)
		}
	}
	if len(pieces) < 10 {
		t.Errorf("the text came in %d pieces", len(pieces))
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	req := &llm.Request{Messages: []message.Message{ask("hello")}}
	n := 0
	_, err := New().Call(ctx, req, func(llm.Delta) {
		n++
		cancel()
	})
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("cancelled while streaming: %v after %d pieces", err, n)
	}
	if _, err := New().Call(ctx, req, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

// TestLongRequests: patterns stay within what Grep takes.
func TestLongRequests(t *testing.T) {
	t.Parallel()
	var words []string
	for i := range 500 {
		words = append(words, fmt.Sprintf("word%dx", i))
	}
	for _, request := range []string{
		"find " + strings.Join(words, " "), `find "` + strings.Repeat("long ", 400) + `"`, "find some_" + strings.Repeat("name", 60),
	} {
		w := newWorld(t)
		w.run(0, ask(request))
		for _, c := range w.calls {
			if len(c) > 1000 {
				t.Errorf("a call of %d bytes: %s", len(c), c)
			}
		}
		if len(w.calls) == 0 {
			t.Errorf("nothing is searched for %.40s", request)
		}
	}
}

func TestEmptyHistory(t *testing.T) {
	t.Parallel()
	for _, msgs := range [][]message.Message{nil, {ask("")}, {ask("  \n ")}} {
		reply, err := New().Call(t.Context(), &llm.Request{Messages: msgs}, nil)
		if err != nil || !strings.Contains(message.Text(reply.Parts), "nothing to answer") {
			t.Errorf("%v: %v, %v", msgs, reply, err)
		}
	}
}

// FuzzRequest: whatever is asked, the conversation ends within its bounds.
func FuzzRequest(f *testing.F) {
	for _, tt := range conversations {
		f.Add(tt.ask)
	}
	f.Add("1. a\n2. find b\n- `c")
	f.Add("for each of: all files in find , and ; count")
	f.Fuzz(func(t *testing.T, request string) {
		if len(request) > 500 || strings.TrimSpace(request) == "" {
			return
		}
		w := newWorld(t)
		w.spawn = func(tasks []string) (string, bool) {
			for _, task := range tasks {
				if strings.TrimSpace(task) == "" {
					t.Errorf("an empty task among %q", tasks)
				}
			}
			return fmt.Sprint(len(tasks)), len(tasks)%2 == 0
		}
		w.run(0, ask(request))
	})
}
