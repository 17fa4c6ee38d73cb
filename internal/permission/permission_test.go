// Grants, proposals, merging, the hash, and what always holds.

package permission

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cadre-dev/cadre/internal/tool"
)

func rank(e Effect) int { return slices.Index([]Effect{Deny, Ask, Allow}, e) }

func TestGrantReaches(t *testing.T) {
	t.Parallel()
	asked := request("Bash go test ./...")
	others := map[string]func(*Request){
		"same":       func(*Request) {},
		"other line": func(r *Request) { *r = request("Bash go test -v") },
		"child":      func(r *Request) { r.Agent = "k3.1.2.7" },
		"sibling":    func(r *Request) { r.Agent = "k3.1.20" },
		"parent":     func(r *Request) { r.Agent = "k3.1"; r.Role = "main" },
		"other chat": func(r *Request) { r.Agent = "k4.1"; r.Chat = "k4" },
		"other tool": func(r *Request) { r.Tool = "mcp__x__bash" },
	}
	want := map[Scope]string{
		Once:    "same",
		Agent:   "other line, same",
		Role:    "child, other line, same, sibling",
		Subtree: "child, other line, same",
		Chat:    "child, other line, parent, same, sibling",
	}
	for scope, expected := range want {
		grants := asked.Grants(scope, "k3-i4", "alice")
		var reached []string
		for name, change := range others {
			req := asked
			change(&req)
			d := (&Policy{}).Decide(req, grants)
			if d.Effect == Allow {
				reached = append(reached, name)
				if !strings.HasPrefix(d.By, "grant k3-i4 by alice") || !strings.Contains(d.By, string(scope)) {
					t.Errorf("%s: by %q", scope, d.By)
				}
			}
		}
		slices.Sort(reached)
		if got := strings.Join(reached, ", "); got != expected {
			t.Errorf("%s reaches %s, want %s", scope, got, expected)
		}
	}
	if _, err := ParseScope("forever"); err == nil {
		t.Error("the scope forever was accepted")
	}
	if s, err := ParseScope(" Subtree"); err != nil || s != Subtree {
		t.Error(s, err)
	}
}

func TestGrantAgainstRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules, asked, then string
		scope              Scope
		want               Effect
	}{
		{"deny Bash(rm *)", "Bash rm x", "Bash rm x", Once, Deny},
		{"deny Bash(rm *)", "Bash rm x", "Bash rm x", Chat, Deny},
		{"deny Bash(rm *)", "Bash $X a", "Bash $X a", Once, Allow},
		{"deny Bash(rm *)", "Bash $X a", "Bash $X a", Chat, Allow},
		{"deny Bash(rm *)", "Bash $X a", "Bash $X b", Chat, Ask},
		{"ask Bash(git push *)", "Bash git push a", "Bash git push a", Chat, Allow},
		{"ask Bash(git push *)", "Bash git push a", "Bash git push b", Chat, Ask},
		{"ask Edit(*.sql)", "Edit db/a.sql", "Edit db/b.sql", Chat, Allow},
		{"ask Edit(*.sql)", "Edit db/a.sql", "Edit c.sql", Chat, Ask},
		{"-", "Read .env", "Read .env", Chat, Allow},
		{"-", "Read .env", "Read a/.env", Chat, Ask},
		{"-", "net:Bash npm install x", "Bash npm install x", Chat, Allow},
		{"-", "Bash npm install x", "net:Bash npm install x", Chat, Ask},
		{"allow Bash(cd *)", "Bash go test", "Bash cd x && go test", Chat, Allow},
	} {
		p := Policy{Rules: rules(t, c.rules)}
		if got := p.Decide(request(c.then), request(c.asked).Grants(c.scope, "i", "a")); got.Effect != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	wide := []Grant{{Scope: Chat, Chat: "k3", Rule: Rule{Effect: Allow, Tool: "Bash"}}}
	noPush := Policy{Rules: rules(t, "deny Bash(git push *)")}
	for text, want := range map[string]Effect{"Bash git pull": Allow, "Bash git $X": Ask, "Bash git -C x push": Ask, "Bash git push": Deny} {
		if got := noPush.Decide(request(text), wide); got.Effect != want {
			t.Errorf("a wide grant: %s: %+v", text, got)
		}
	}
	download := request("web_fetch example.com")
	download.Action.Paths = []string{"a.zip"}
	hostOnly := Policy{Rules: rules(t, "allow web_fetch(example.com)")}
	if got := hostOnly.Decide(download, nil); got.Effect != Ask {
		t.Errorf("a rule for a host allowed to write a file: %+v", got)
	}
	if got := (&Policy{}).Decide(download, download.Grants(Chat, "i", "a")); got.Effect != Allow {
		t.Errorf("the proposal does not cover its own request: %+v", got)
	}
	readOnly := Policy{Preset: ReadOnly, Rules: rules(t, "allow Edit")}
	if got := readOnly.Decide(request("Edit a"), request("Edit a").Grants(Once, "i", "a")); got.Effect != Deny || got.By != "preset read-only" {
		t.Errorf("read-only was overridden: %+v", got)
	}
	bad := Grant{Scope: Chat, Chat: "k3", Rule: Rule{Effect: Deny, Tool: "Bash"}}
	if got := (&Policy{}).Decide(request("Bash ls"), []Grant{bad, {Scope: "always"}, {Scope: Chat}}); got.Effect != Ask {
		t.Errorf("a grant that grants nothing: %+v", got)
	}
}

func TestProposal(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"Bash go test ./...":          "Bash(go test *)",
		"Bash go test && go test -v":  "Bash(go test *)",
		"Bash cd x && go vet | tail":  "Bash(cd *), Bash(go vet *), Bash(tail *)",
		"Bash npm run build -- --x":   "Bash(npm run build *)",
		"Bash make check":             "Bash(make check *)",
		"Bash uv run python x":        "Bash(=uv run python x)",
		"Bash npm install":            "Bash(=npm install)",
		"Bash git status -s":          "Bash(git status *)",
		"Bash git push origin":        "Bash(=git push origin)",
		"Bash git -C x status":        "Bash(=git -C x status)",
		"Bash rm -rf *.o":             "Bash(=rm -rf *.o)",
		"Bash go test && rm x":        "Bash(=go test && rm x)",
		"Bash sudo ls":                "Bash(=sudo ls)",
		"Bash curl -s x":              "Bash(=curl -s x)",
		"Bash $X":                     "Bash(=$X)",
		"Bash echo x > f":             "Bash(=echo x > f)",
		"Bash A=1 go test":            "Bash(=A=1 go test)",
		"Bash ./x":                    "Bash(=./x)",
		"net:Bash go list -m":         "Bash(go list *) host *",
		"Edit src/a.go src/b.go":      "Edit(src/**)",
		"Write src/x/a.go b.go":       "Write(src/x/**), Write(./b.go)",
		"Edit we[i]rd/a.go":           `Edit(we\[i\]rd/**)`,
		"Edit .cadre/agents/a.md":     "Edit(./.cadre/agents/a.md)",
		"Read conf/.env":              "Read(./conf/.env)",
		"web_fetch Example.com b.org": "web_fetch(example.com), web_fetch(b.org)",
		"mcp__github__list":           "mcp__github__list",
	} {
		var texts []string
		for _, r := range request(asked).Proposal() {
			if err := r.Check(); err != nil {
				t.Errorf("%s: %v", asked, err)
			}
			texts = append(texts, r.String())
		}
		if got := strings.Join(texts, ", "); got != want {
			t.Errorf("%s: %s, want %s", asked, got, want)
		}
	}
	only := request("Bash x")
	only.Action.Command, only.Action.Commands = "", []string{"rm x"}
	if got := only.Proposal(); len(got) != 0 {
		t.Errorf("a dangerous command without its line: %v", got)
	}
}

func TestRuleErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "names no tool",
		"(x)":                    "names no tool",
		"Bash(":                  "not closed",
		"Bash(x) y":              "not closed",
		"Bash()":                 "empty",
		"Bash(a; b)":             `contains ";"`,
		"Bash(echo \"x\")":       "without quotes",
		"Bash(* *)":              "", // one word, then any
		"Bash(=)":                "without a line",
		"Edit(/etc/x)":           "relative",
		"Edit(~/x)":              "relative",
		"Edit(a/../b)":           "..",
		"Edit([a)":               "valid pattern",
		"web_fetch(https://a.b)": "more than a host",
		"web_fetch(a.b:80)":      "port",
		"web_fetch(a.*.b)":       "*",
		"mcp__x__y(z)":           "fields",
		"Agent(coder)":           "fields",
		"Two Words":              "name of a tool",
		"Read(" + strings.Repeat("{a,b}", 9) + ")": "too many",
	} {
		_, err := ParseRule(Allow, text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want something with %q", text, err, want)
		}
	}
	for _, c := range []struct {
		fields map[string]string
		want   string
	}{
		{map[string]string{"tool": "Bash"}, "does not say"},
		{map[string]string{"effect": "forbid", "tool": "Bash"}, "must be allow"},
		{map[string]string{"deny": "Bash", "allow": "Edit"}, "both"},
		{map[string]string{"deny": "Bash", "effect": "allow"}, "no field"},
		{map[string]string{"deny": "Bash(a)", "command": "b"}, "both"},
		{map[string]string{"deny": "Bash", "depth": "=>2"}, "depth"},
		{map[string]string{"deny": "Bash", "depth": "x"}, "depth"},
		{map[string]string{"deny": "Bash", "role": ""}, "empty"},
		{map[string]string{"deny": "Bash", "folder": "x"}, "no field"},
	} {
		if _, err := ParseFields("f", c.fields); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want something with %q", c.fields, err, c.want)
		}
	}
	list, err := ParseRules(Deny, "config.yaml", []string{"Bash(rm *)", "Bash(", "Edit(/x)"})
	if len(list) != 1 || err == nil || strings.Count(err.Error(), "rule ") != 2 {
		t.Errorf("%v %v", list, err)
	}
	p := Policy{Preset: Trusted, Rules: list}
	if got := p.Decide(request("Bash rm x"), nil).By; got != "rule deny Bash(rm *) from config.yaml" {
		t.Errorf("by %q", got)
	}
	long, err := ParseFields("f", map[string]string{"effect": "deny", "path": "x/**", "depth": ">=2"})
	if err != nil || long != (Rule{Effect: Deny, Path: "x/**", Depth: ">=2", Source: "f"}) {
		t.Errorf("%+v %v", long, err)
	}
	if _, err := ParsePreset("yolo"); err == nil {
		t.Error("the preset yolo was accepted")
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	user := Policy{Preset: Edits, Rules: rules(t, "allow Bash(go *)")}
	project := Policy{Preset: Trusted, Rules: rules(t, "allow Bash + deny Bash(go get *) + ask Bash(go mod *)")}
	merged, notes := Merge(user, project, false)
	for text, want := range map[string]Effect{
		"Bash go test": Allow, "Bash go get x": Deny, "Bash go mod tidy": Ask, "Bash ls": Ask, "Edit a": Allow,
	} {
		if got := merged.Decide(request(text), nil); got.Effect != want {
			t.Errorf("untrusted: %s: %+v", text, got)
		}
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "trusted") || !strings.Contains(notes[1], "allow Bash") {
		t.Errorf("notes %q", notes)
	}
	narrower, notes := Merge(user, Policy{Preset: ReadOnly}, false)
	if narrower.Preset != ReadOnly || notes != nil {
		t.Errorf("%v %q", narrower, notes)
	}
	unsaid, notes := Merge(user, Policy{}, false)
	if unsaid.Preset != Edits || notes != nil {
		t.Errorf("%v %q", unsaid, notes)
	}
	whole, notes := Merge(user, project, true)
	if got := whole.Decide(request("Bash ls"), nil); got.Effect != Allow || notes != nil {
		t.Errorf("trusted: %+v %q", got, notes)
	}
}

func TestHashChangesWithEveryField(t *testing.T) {
	t.Parallel()
	full := tool.Action{
		Class: tool.Executes, Paths: []string{"a", "b"}, Command: "c", Commands: []string{"d"},
		Hosts: []string{"e"}, Shown: "f", Digest: "g", Reason: "h",
	}
	seen := map[string]string{Hash("x", full): "full", Hash("y", full): "tool"}
	kind := reflect.TypeFor[tool.Action]()
	for i := range kind.NumField() {
		changed := full
		switch v := reflect.ValueOf(&changed).Elem().Field(i); v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "\xff")
		case reflect.Slice:
			v.Set(reflect.ValueOf(append(slices.Clone(v.Interface().([]string)), "")))
		case reflect.Bool:
			v.SetBool(!v.Bool())
		default:
			t.Fatalf("Hash does not know fields such as %s", kind.Field(i).Name)
		}
		seen[Hash("x", changed)] = kind.Field(i).Name
	}
	for name, a := range map[string]tool.Action{
		"moved":  {Paths: []string{"ab"}},
		"split":  {Paths: []string{"a", "b"}},
		"other":  {Commands: []string{"ab"}},
		"next 1": {Paths: []string{"x"}, Command: "y", Commands: []string{"z"}},
		"next 2": {Paths: []string{"x", "y"}, Command: "z"},
		"byte 1": {Shown: "\xfe"},
		"byte 2": {Shown: "\xff"},
	} {
		seen[Hash("x", a)] = name
	}
	if want := 2 + kind.NumField() + 7; len(seen) != want {
		t.Errorf("%d hashes of %d actions: %v", len(seen), want, seen)
	}
	if again := full; Hash("x", full) != Hash("x", again) {
		t.Error("not the same twice")
	}
}

func TestRuleJSON(t *testing.T) {
	t.Parallel()
	for _, r := range slices.Concat(rules(t, "allow Bash(go test *) where role coder and depth >=2 + deny Edit(src/**) + ask web_fetch(*.a.b)"), builtInRules()) {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Rule
		if err := json.Unmarshal(data, &back); err != nil || back != r {
			t.Errorf("%s: %+v %v", data, back, err)
		}
	}
	var r Rule
	for _, bad := range []string{`{"effect":"allow","path":"/etc"}`, `{"effect":"maybe"}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), &r); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	d := Decision{Effect: Ask, By: "preset ask"}
	data, _ := json.Marshal(d)
	var back Decision
	if err := json.Unmarshal(data, &back); err != nil || back != d {
		t.Errorf("%s: %+v %v", data, back, err)
	}
}

var (
	someRules = []string{
		"Bash", "Bash(go *)", "Bash(go test *)", "Bash(rm *)", "Bash(git push *)", "Edit", "Edit(src/**)", "Edit(*.md)", "Read(.env)", "Read",
		"web_fetch(a.com)", "web_fetch(*.com)", "mcp__x__*", "*", "Bash(ls) where depth >=2", "Edit where role coder", "Bash(*) where role tester",
	}
	someRequests = []string{
		"Bash go test", "Bash go test; rm x", "Bash $X", "Bash rm x", "Bash git push", "Bash ls", "reads:Bash cat .env", "net:Bash go get x", "Bash if",
		"Edit src/a.go", "Edit a.md", "Edit .git/x", "Edit ../x", "Read .env", "Read a", "web_fetch a.com", "web_fetch a.com b.org", "mcp__x__y", "spawn_agents",
	}
)

type world struct {
	policy Policy
	req    Request
	grants []Grant
}

func drawRule(t *rapid.T, effects ...Effect) Rule {
	return rules(t, string(rapid.SampledFrom(effects).Draw(t, "effect"))+" "+rapid.SampledFrom(someRules).Draw(t, "rule"))[0]
}

func drawWorld(t *rapid.T) world {
	var w world
	w.policy.Preset = rapid.SampledFrom(append(presets(), "")).Draw(t, "preset")
	for range rapid.IntRange(0, 5).Draw(t, "rules") {
		w.policy.Rules = append(w.policy.Rules, drawRule(t, Allow, Ask, Deny))
	}
	w.req = request(rapid.SampledFrom(someRequests).Draw(t, "request"))
	w.req.Depth = rapid.IntRange(0, 3).Draw(t, "depth")
	for range rapid.IntRange(0, 3).Draw(t, "grants") {
		asked := request(rapid.SampledFrom(someRequests).Draw(t, "asked"))
		w.grants = append(w.grants, asked.Grants(rapid.SampledFrom([]Scope{Once, Agent, Role, Subtree, Chat}).Draw(t, "scope"), "i", "a")...)
	}
	return w
}

func TestWhatAlwaysHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		before := w.policy.Decide(w.req, w.grants)
		if again := w.policy.Decide(w.req, w.grants); again != before {
			t.Fatalf("%+v, then %+v", before, again)
		}
		if before.By == "" {
			t.Fatal("nobody decided")
		}
		ungranted := w.policy.Decide(w.req, nil)
		if ungranted.Effect == Deny && before.Effect != Deny {
			t.Fatalf("a grant overrode %s", ungranted.By)
		}
		if rank(ungranted.Effect) > rank(before.Effect) {
			t.Fatalf("grants narrowed %+v to %+v", ungranted, before)
		}

		i := rapid.IntRange(0, len(w.policy.Rules)).Draw(t, "at")
		stricter := Policy{Preset: w.policy.Preset, Rules: slices.Insert(slices.Clone(w.policy.Rules), i, drawRule(t, Deny, Ask))}
		if after := stricter.Decide(w.req, w.grants); rank(after.Effect) > rank(before.Effect) {
			t.Fatalf("a deny or ask rule widened %+v to %+v", before, after)
		}
		wider := Policy{Preset: w.policy.Preset, Rules: slices.Insert(slices.Clone(w.policy.Rules), i, drawRule(t, Allow))}
		if after := wider.Decide(w.req, w.grants); rank(after.Effect) < rank(before.Effect) || before.Effect == Deny && after.Effect != Deny {
			t.Fatalf("an allow rule turned %+v into %+v", before, after)
		}
		child := w.policy.Narrow(rapid.SampledFrom(presets()).Draw(t, "narrow"), drawRule(t, Allow, Ask, Deny))
		if after := child.Decide(w.req, w.grants); rank(after.Effect) > rank(before.Effect) {
			t.Fatalf("a child may more: %+v, then %+v", before, after)
		}
		foreign := drawWorld(t).policy
		merged, _ := Merge(w.policy, foreign, false)
		if after := merged.Decide(w.req, w.grants); rank(after.Effect) > rank(before.Effect) {
			t.Fatalf("an untrusted project widened %+v to %+v", before, after)
		}

		scope := rapid.SampledFrom([]Scope{Once, Agent, Role, Subtree, Chat}).Draw(t, "answer")
		answered := w.policy.Decide(w.req, append(w.grants, w.req.Grants(scope, "i", "a")...))
		if before.Effect == Ask && scope == Once && answered.Effect != Allow {
			t.Fatalf("approved, and then %+v", answered)
		}
	})
}

// Where nothing confines commands, neither rules nor presets let one run
// unasked; only an answer to that very command does.
func TestUnconfined(t *testing.T) {
	t.Parallel()
	rules, err := ParseRules(Allow, "test", []string{"Bash", "Bash(touch *)"})
	if err != nil {
		t.Fatal(err)
	}
	for _, preset := range []Preset{PresetAsk, Edits, Trusted} {
		p := Policy{Preset: preset, Rules: rules}
		req := Request{Tool: "Bash", Agent: "c", Chat: "c", Action: tool.Action{
			Class: tool.Executes, Command: "touch x", Commands: []string{"touch x"}, Shown: "touch x", Unconfined: true,
		}}
		if d := p.Decide(req, nil); d.Effect != Ask {
			t.Errorf("%s: %v", preset, d)
		}
		other := req
		other.Action.Command, other.Action.Commands, other.Action.Shown = "touch y", []string{"touch y"}, "touch y"
		if d := p.Decide(other, req.Grants(Chat, "i", "me")); d.Effect != Ask {
			t.Errorf("%s: a grant for another: %v", preset, d)
		}
		if d := p.Decide(req, req.Grants(Once, "i", "me")); d.Effect != Allow {
			t.Errorf("%s: a grant for this one: %v", preset, d)
		}
	}
	if d := (&Policy{Preset: ReadOnly}).Decide(Request{Tool: "Bash", Action: tool.Action{Class: tool.Executes, Command: "ls", Unconfined: true}}, nil); d.Effect != Deny {
		t.Errorf("read-only: %v", d)
	}
}
