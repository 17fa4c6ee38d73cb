// A small world for the offline model: a folder in memory, tools over it that
// answer in the form of the real ones, and sub-agents that are the model
// itself.

package offline

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// world is a folder and what happened in it.
type world struct {
	t     *testing.T
	files map[string]string
	tools []string
	// spawn answers spawn_agents; by default sub-agents run.
	spawn func(tasks []string) (string, bool)
	calls []string // as "depth tool input"
}

var allTools = []string{toolRead, toolLS, toolGlob, toolGrep, toolSpawn}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, tools: allTools, files: map[string]string{
		"README.md": "# Shop\n\nA shop that sells tea.\n\n## Install\n\nRun `go build`.\n\n## Use\n\nStart it.\n",
		"go.mod":    "module example.test/shop\n\ngo 1.26\n",
		"cmd/shop/main.go": "// Command shop runs the shop.\npackage main\n\nimport \"example.test/shop/cart\"\n\n" +
			"func main() {\n\tcart.New().Add(\"tea\")\n}\n",
		"cart/cart.go": "// Package cart holds what a customer wants to buy.\npackage cart\n\n" +
			"// Cart is a list of items.\ntype Cart struct {\n\titems []string\n}\n\n" +
			"// New makes an empty cart.\nfunc New() *Cart {\n\treturn &Cart{}\n}\n\n" +
			"// Add puts an item into the cart.\nfunc (c *Cart) Add(item string) {\n\tc.items = append(c.items, item)\n}\n",
		"cart/cart_test.go":  "package cart\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tNew().Add(\"tea\")\n}\n",
		"cart/price.go":      "package cart\n\n// parse_price reads an amount.\nfunc parse_price(s string) int { return len(s) }\n",
		"docs/delivery.md":   "Delivery takes three days.\nConnection refused means that the shop is closed.\n",
		"docs/img/logo.txt":  "tea\n",
		"docs/img/empty.txt": "",
	}}
}

// run holds a conversation until the model answers, and returns the answer.
// It checks on the way what holds in every conversation.
func (w *world) run(depth int, history ...message.Message) string {
	w.t.Helper()
	asked := history[len(history)-1].Text()
	ids := map[string]bool{}
	for round := 0; ; round++ {
		reply := w.reply(depth, history)
		history = append(history, message.Message{Role: message.Assistant, Kind: message.KindReply, Parts: reply.Parts})
		calls := history[len(history)-1].Calls()
		if len(calls) == 0 {
			answer := message.Text(reply.Parts)
			w.checkAnswer(depth, asked, answer)
			return answer
		}
		if round == maxRounds {
			w.t.Fatalf("%q: still calling tools after %d rounds: %v", asked, round, calls)
		}
		for _, c := range calls {
			if ids[c.ID] || c.ID == "" {
				w.t.Fatalf("%q: the id %q is used twice", asked, c.ID)
			}
			ids[c.ID] = true
			w.calls = append(w.calls, fmt.Sprintf("%d %s %s", depth, c.Name, c.Input))
			text, failed := w.execute(depth, c)
			history = append(history, message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
				message.ToolResult{CallID: c.ID, Name: c.Name, IsError: failed, Parts: []message.Part{message.TextPart{Text: text}}},
			}})
		}
	}
}

// reply asks the model once, and again: it must say the same.
func (w *world) reply(depth int, history []message.Message) *llm.Reply {
	w.t.Helper()
	req := &llm.Request{Caller: llm.Caller{Depth: depth, Role: "general"}, Messages: history, System: "Role: general"}
	for _, name := range w.tools {
		req.Tools = append(req.Tools, llm.Tool{Name: name})
	}
	streamed := map[int]string{}
	reply, err := New().Call(w.t.Context(), req, func(d llm.Delta) { streamed[d.Part] += d.Text })
	if err != nil {
		w.t.Fatal(err)
	}
	again, err := New().Call(w.t.Context(), req, nil)
	if err != nil || fmt.Sprint(reply.Parts) != fmt.Sprint(again.Parts) {
		w.t.Fatalf("the same request is answered differently:\n%v\n%v", reply.Parts, again.Parts)
	}
	for i, p := range reply.Parts {
		want := ""
		switch p := p.(type) {
		case message.TextPart:
			want = p.Text
		case message.ToolCall:
			want = string(p.Input)
			if !slices.Contains(w.tools, p.Name) {
				w.t.Fatalf("the model calls %s, which is not offered", p.Name)
			}
			if !json.Valid(p.Input) || p.Input[0] != '{' {
				w.t.Fatalf("the input of %s is no object: %s", p.Name, p.Input)
			}
		}
		if streamed[i] != want || want == "" {
			w.t.Fatalf("part %d was streamed as %q, but is %q", i, streamed[i], want)
		}
	}
	if reply.Usage.Input < 1 || reply.Usage.Output < 1 || reply.Model != Name {
		w.t.Fatalf("the reply has usage %+v and model %q", reply.Usage, reply.Model)
	}
	if stop := map[bool]llm.Stop{true: llm.StopTools, false: llm.StopEnd}[len((message.Message{Parts: reply.Parts}).Calls()) > 0]; reply.Stop != stop {
		w.t.Fatalf("the reply stops by %q, want %q", reply.Stop, stop)
	}
	return reply
}

// checkAnswer: the orchestrator says once, at the end, what it is; a sub-agent
// never does.
func (w *world) checkAnswer(depth int, asked, answer string) {
	w.t.Helper()
	n := strings.Count(answer, "not a language model")
	if depth == 0 && (n != 1 || !strings.HasSuffix(answer, notice)) || depth > 0 && n != 0 {
		w.t.Errorf("%q at depth %d: the answer says %d times what gave it:\n%s", asked, depth, n, answer)
	}
	if strings.TrimSpace(strings.TrimSuffix(answer, notice)) == "" {
		w.t.Errorf("%q: the answer is empty", asked)
	}
}

func (w *world) execute(depth int, c message.ToolCall) (text string, failed bool) {
	var in struct {
		Path, Pattern string
		Offset, Limit int
		IgnoreCase    bool `json:"ignore_case"`
		Max           int
		Tasks         []struct{ Task string }
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		w.t.Fatal(err)
	}
	var err error
	switch c.Name {
	case toolRead:
		text, err = w.read(in.Path, max(in.Offset, 1), in.Limit)
	case toolLS:
		text, err = w.ls(in.Path)
	case toolGlob:
		text, err = w.glob(in.Pattern, in.Path)
	case toolGrep:
		text, err = w.grep(in.Pattern, in.Path, in.IgnoreCase, in.Max)
	case toolSpawn:
		var tasks []string
		for _, t := range in.Tasks {
			tasks = append(tasks, t.Task)
		}
		if w.spawn != nil {
			return w.spawn(tasks)
		}
		return w.runTasks(depth, tasks), false
	}
	if err != nil {
		return err.Error(), true
	}
	return text, false
}

// runTasks has sub-agents do the tasks, in the aggregated form of results.
func (w *world) runTasks(depth int, tasks []string) string {
	var results []any
	for i, task := range tasks {
		result := w.run(depth+1, message.Of(message.User, message.KindTask, task))
		results = append(results, map[string]any{
			"agent_id": fmt.Sprint("a", i), "task": task, "role": "general",
			"outcome": map[string]any{"success": map[string]any{"result": result}},
		})
	}
	b, err := json.Marshal(map[string]any{"sub_agent_results": results})
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func (w *world) isFolder(p string) bool {
	for f := range w.files {
		if p == "." || strings.HasPrefix(f, p+"/") {
			return true
		}
	}
	return false
}

func (w *world) read(p string, offset, limit int) (string, error) {
	text, ok := w.files[p]
	switch {
	case !ok && w.isFolder(p):
		return "", fmt.Errorf("%s is a folder: list it with LS", p)
	case !ok:
		return "", fmt.Errorf("%s does not exist; nearest in the working folder: cart/", p)
	case text == "":
		return p + " is empty (0 bytes).", nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if limit == 0 {
		limit = 2000
	}
	last := min(offset+limit-1, len(lines))
	var b strings.Builder
	for n := offset; n <= last; n++ {
		fmt.Fprintf(&b, "%6d\t%s\n", n, lines[n-1])
	}
	if last < len(lines) {
		fmt.Fprintf(&b, "[lines %d-%d of %d shown; read on with offset %d]\n", offset, last, len(lines), last+1)
	}
	return b.String(), nil
}

func (w *world) ls(p string) (string, error) {
	if _, ok := w.files[p]; ok {
		return "", fmt.Errorf("%s is a file, not a folder", p)
	}
	if !w.isFolder(p) {
		return "", fmt.Errorf("%s does not exist", p)
	}
	seen := map[string]bool{}
	var entries []string
	for f, text := range w.files {
		rest, ok := strings.CutPrefix(f, p+"/")
		if p == "." {
			rest, ok = f, true
		}
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		entry := fmt.Sprintf("%s (%d bytes)", name, len(text))
		if deeper {
			entry = name + "/"
		}
		if !seen[entry] {
			seen[entry] = true
			entries = append(entries, entry)
		}
	}
	sort.Strings(entries)
	return strings.Join(entries, "\n") + "\n", nil
}

var globParts = strings.NewReplacer(`\*\*/`, `(?:.*/)?`, `\*`, `[^/]*`, `\{`, `(?:`, `\}`, `)`, `,`, `|`)

func (w *world) glob(pattern, in string) (string, error) {
	if in != "" && !w.isFolder(in) {
		return "", fmt.Errorf("%s does not exist", in)
	}
	re, err := regexp.Compile("^" + globParts.Replace(regexp.QuoteMeta(path.Join(in, pattern))) + "$")
	if err != nil {
		return "", fmt.Errorf("%q is no pattern: %w", pattern, err) // braces that do not match, as the real tool says
	}
	var found []string
	for f := range w.files {
		if re.MatchString(f) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf("No file matches %q. Ignored files are left out.\n", pattern), nil
	}
	sort.Strings(found)
	return strings.Join(found, "\n") + "\n", nil
}

func (w *world) grep(pattern, in string, fold bool, most int) (string, error) {
	if fold {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	if _, ok := w.files[in]; in != "" && !ok && !w.isFolder(in) {
		return "", fmt.Errorf("%s does not exist", in)
	}
	var names []string
	for f := range w.files {
		if in == "" || f == in || strings.HasPrefix(f, in+"/") {
			names = append(names, f)
		}
	}
	sort.Strings(names)
	var b strings.Builder
	n := 0
	for _, f := range names {
		for i, line := range strings.Split(w.files[f], "\n") {
			if n < most && re.MatchString(line) {
				fmt.Fprintf(&b, "%s:%d: %s\n", f, i+1, line)
				n++
			}
		}
	}
	if n == 0 {
		return fmt.Sprintf("No match in %d files.\n", len(names)), nil
	}
	if n == most {
		fmt.Fprintf(&b, "[stopped at %d matches; there may be more]\n", n)
	}
	return b.String(), nil
}
