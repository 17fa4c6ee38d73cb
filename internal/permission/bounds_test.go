// What roles say about the use of their tools.

package permission

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cadre-dev/cadre/internal/tool"
)

// TestBounds holds uses against bounds under the widest policy. Lists are
// separated by |, bounds by a comma.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bounds, use string
		want        Effect
	}{
		{"", "Bash rm -rf x", Allow},
		{"Bash(git *)", "Bash git log --oneline", Allow},
		{"Bash(git *)", "Bash git", Allow},
		{"Bash(git *)", "Bash rm x", Deny},
		{"Bash(git *)", "Bash git log && rm x", Deny},
		{"Bash(git *)", "Bash git log | tail", Deny},
		{"Bash(git *)", "Bash git log > x", Deny},
		{"Bash(git *)", "Bash $X", Deny},
		{"Bash(git *)", "Bash git log; $(rm x)", Deny},
		{"Bash(git *), Bash(tail *)", "Bash git log | tail", Allow},
		{"Bash(git:*)", "Bash git status", Allow},
		{"Bash(git *)", "Edit a.go", Allow},
		{"Edit(docs/**)", "Edit docs/a/b.md", Allow},
		{"Edit(docs/**)", "Edit a.go", Deny},
		{"Edit(docs/**)", "Write a.go", Allow}, // another tool, which the role has as a whole
		{"Read(src/**)", "Read src/a.go", Allow},
		{"Read(src/**)", "Read a.go", Deny},
		{"!Bash(git push *)", "Bash git push origin", Deny},
		{"!Bash(git push *)", "Bash git log", Allow},
		{"!Bash(git push *)", "Bash sudo git push", Deny},
		{"!Bash(git push *)", "Bash $X push", Ask},
		{"!Edit(*.sql)", "Write db/a.sql", Deny}, // to change a file is one permission
		{"Bash(git *), !Bash(git push *)", "Bash git push", Deny},
		{"Bash(git *) | Bash(git log *), Bash(go *)", "Bash git log -1", Allow},
		{"Bash(git *) | Bash(git log *), Bash(go *)", "Bash git push", Deny},
		{"Bash(git *) | Bash(git log *), Bash(go *)", "Bash go test", Deny},
		{"Bash(git *) | Edit(docs/**)", "Bash git push", Allow},
		{"Bash(a; b)", "Read a.go", Deny}, // what cannot be read allows nothing
	} {
		req := request(c.use)
		req.Bounds = bounds(c.bounds)
		policy := &Policy{Preset: Trusted}
		d := policy.Decide(req, nil)
		if d.Effect != c.want {
			t.Errorf("%s under %q: %s by %q, want %s", c.use, c.bounds, d.Effect, d.By, c.want)
		}
		if d.Effect == Deny {
			if got := policy.Decide(req, req.Grants(Chat, "k3-i1", "ann")); got.Effect != Deny {
				t.Errorf("%s under %q: a grant overrides it", c.use, c.bounds)
			}
			if !strings.Contains(d.By, "role") {
				t.Errorf("%s under %q: %q does not say whose restriction it is", c.use, c.bounds, d.By)
			}
		}
	}
}

// TestBoundsAndNetwork: a bound of commands leaves the network to the policy,
// one of hosts does not.
func TestBoundsAndNetwork(t *testing.T) {
	t.Parallel()
	req := request("Bash git fetch")
	req.Action.Hosts, req.Bounds = []string{"*"}, bounds("Bash(git *)")
	for preset, want := range map[Preset]Effect{PresetAsk: Ask, Trusted: Allow} {
		if d := (&Policy{Preset: preset}).Decide(req, nil); d.Effect != want {
			t.Errorf("%s: %s by %q, want %s", preset, d.Effect, d.By, want)
		}
	}
	fetch := Request{Tool: "web_fetch", Action: tool.Action{Class: tool.Reads, Hosts: []string{"go.dev"}}, Bounds: bounds("web_fetch(go.dev)")}
	if d := (&Policy{Preset: Trusted}).Decide(fetch, nil); d.Effect != Allow {
		t.Errorf("%s by %q", d.Effect, d.By)
	}
	fetch.Action.Hosts = []string{"example.com"}
	if d := (&Policy{Preset: Trusted}).Decide(fetch, nil); d.Effect != Deny {
		t.Errorf("%s by %q", d.Effect, d.By)
	}
}

// TestBoundsOnlyNarrow: whatever bounds there are, nothing is allowed that is
// not allowed without them.
func TestBoundsOnlyNarrow(t *testing.T) {
	t.Parallel()
	all := []string{"Bash(git *)", "Bash(go test:*)", "!Bash(git push *)", "Edit(docs/**)", "!Edit(*.sql)", "Read(src/**)", "web_fetch(go.dev)", "!Read(.env)", "Bash(broken; one)"}
	uses := []string{"Bash git log", "Bash go test && git push", "Bash rm x", "Edit docs/a.md", "Write a.sql", "Read src/a.go", "Read .env", "Bash $X"}
	rapid.Check(t, func(t *rapid.T) {
		req := request(rapid.SampledFrom(uses).Draw(t, "use"))
		policy := &Policy{Preset: rapid.SampledFrom(presets()).Draw(t, "preset")}
		free := policy.Decide(req, nil)
		list := rapid.SliceOfN(rapid.SampledFrom(all), 0, 3)
		req.Bounds = rapid.SliceOfN(list, 0, 3).Draw(t, "bounds")
		bound := policy.Decide(req, nil)
		if rank(bound.Effect) > rank(free.Effect) {
			t.Fatalf("%v: %s with %v, %s without", req.Action, bound.Effect, req.Bounds, free.Effect)
		}
		req.Bounds = append(req.Bounds, list.Draw(t, "one more"))
		if more := policy.Decide(req, nil); rank(more.Effect) > rank(bound.Effect) {
			t.Fatalf("%v: %s with %v, %s with one less", req.Action, more.Effect, req.Bounds, bound.Effect)
		}
	})
}

// TestBoundsOfFiles: a file that a bound denies is not shown by other tools
// either, while a bound of Read is about Read.
func TestBoundsOfFiles(t *testing.T) {
	t.Parallel()
	req := request("Read x")
	req.Bounds = bounds("Read(src/**), !Read(secret/**)").Forbidding()
	if !slices.Equal(slices.Concat(req.Bounds...), []string{"!Read(secret/**)"}) {
		t.Fatal(req.Bounds)
	}
	policy := &Policy{Preset: Trusted}
	guarded := policy.Guarded(req)
	if !guarded("secret/a") || guarded("other/a") {
		t.Error("the wrong files are guarded")
	}
}

func bounds(text string) Bounds {
	var out Bounds
	for list := range strings.SplitSeq(text, "|") {
		var b []string
		for x := range strings.SplitSeq(list, ",") {
			if x = strings.TrimSpace(x); x != "" {
				b = append(b, x)
			}
		}
		out = append(out, b)
	}
	return out
}
