// Names, whatever servers call themselves and their tools.

package mcp

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cadre-dev/cadre/internal/tool"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 30)
	ids := serverIDs(map[string]ServerConfig{"github": {}, "my server": {}, "my.server": {}, "my_server": {}, "a__b": {}, "_": {}, "日本": {}, long: {}})
	for name, want := range map[string]string{"github": "github", "my_server": "my_server", "a__b": "a_b"} {
		if ids[name] != want {
			t.Errorf("%q is called %q, want %q", name, ids[name], want)
		}
	}
	names := toolNames("s", []string{"get", "get.user", "a b", "a/b", "a_b", long + "1", long + "2"})
	for name, want := range map[string]string{"get": "mcp__s__get", "get.user": "mcp__s__get_user", "a_b": "mcp__s__a_b"} {
		if names[name] != want {
			t.Errorf("%q is called %q, want %q", name, names[name], want)
		}
	}
	if got := names["a b"]; !regexp.MustCompile(`^mcp__s__a_b_[0-9a-f]{6}$`).MatchString(got) {
		t.Errorf("a name that would be given twice is %q", got)
	}
}

// TestNamesAreGood: whatever servers and tools are called, the names are
// accepted everywhere, different, tell the server, and do not depend on order.
func TestNamesAreGood(t *testing.T) {
	t.Parallel()
	accepted := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	name := rapid.OneOf(rapid.StringMatching(`[a-c_./ -]{0,4}`), rapid.StringN(0, 100, -1), rapid.StringMatching(`[a_]{60,70}`))
	rapid.Check(t, func(t *rapid.T) {
		servers := map[string]ServerConfig{}
		for _, s := range rapid.SliceOfN(name, 1, 4).Draw(t, "servers") {
			servers[s] = ServerConfig{}
		}
		tools := rapid.SliceOfNDistinct(name, 1, 6, rapid.ID).Draw(t, "tools")
		seen := map[string]string{}
		for server, id := range serverIDs(servers) {
			names := toolNames(id, tools)
			reversed := slices.Clone(tools)
			slices.Reverse(reversed)
			if !maps.Equal(names, toolNames(id, reversed)) {
				t.Fatal("the names depend on the order")
			}
			for remote, n := range names {
				if !accepted.MatchString(n) {
					t.Fatalf("%q", n)
				}
				if other, ok := seen[n]; ok {
					t.Fatalf("%q stands for %s and for %s/%s", n, other, server, remote)
				}
				seen[n] = server + "/" + remote
				if got, _, _ := strings.Cut(strings.TrimPrefix(n, prefix), separator); got != id {
					t.Fatalf("%q seems to be of the server %q, not %q", n, got, id)
				}
			}
		}
	})
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, tool string
		want          bool
	}{
		{"mcp__gh__get", "mcp__gh__get", true},
		{"mcp__gh__get", "mcp__gh__get_all", false},
		{"mcp__gh", "mcp__gh__get", true},
		{"mcp__gh", "mcp__gh2__get", false},
		{"mcp__gh__*", "mcp__gh__get", true},
		{"mcp__gh__get*", "mcp__gh__get_all", true},
		{"mcp__gh__*", "mcp__gh2__get", false},
		{"mcp__*", "mcp__gh__get", true},
		{"mcp__*", "Read", false},
		{"gh/*", "mcp__gh__get", true},
		{"gh/get", "mcp__gh__get", true},
		{"my server/*", "mcp__my_server__get", true},
		{"gh/get", "mcp__gh__set", false},
		{"*", "mcp__gh__get", false},
		{"Read", "Read", true},
		{"mcp__", "mcp__gh__get", false},
	} {
		if got := Match(test.pattern, test.tool); got != test.want {
			t.Errorf("Match(%q, %q) is %v", test.pattern, test.tool, got)
		}
	}
}

func TestBadTools(t *testing.T) {
	t.Parallel()
	c, log := newTestClient(t, Options{Servers: map[string]ServerConfig{"s": stdio("raw")}})
	c.timing.discover = 50_000_000
	c.Start(t.Context())
	if state(c) != Running {
		t.Fatalf("%+v\n%s", c.Status(), log)
	}
	r, err := tool.New(c.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Join(r.Names(), "\n")
	has(t, names, "mcp__s__a_b\n", "mcp__s__untyped", "mcp__s__none", "mcp__s__resources\n", "mcp__s__resources_")
	hasNot(t, names, "text", "list", "outside")
	if n := len(r.Names()); n != 9 { // a.b, a/b, a_b, two long ones, untyped, none, resources, and ours
		t.Errorf("%d tools:\n%s", n, names)
	}
	has(t, strings.Join(c.Status()[0].Warnings, "\n"),
		`the tool "a_b" is listed twice`, `the tool "text" is left out`, `the tool "list" is left out`, `the tool "outside" is left out`, "leads out of the schema")

	// It asks without saying what, which is an error and no more.
	if got := answer(t, c, tool.Env{}, "a_b", in{}); got != "survived" {
		t.Errorf("it says %q", got)
	}
	own := r.Names()[slices.IndexFunc(r.Names(), func(n string) bool { return strings.HasPrefix(n, "mcp__s__resources_") })]
	has(t, answer(t, c, tool.Env{}, strings.TrimPrefix(own, "mcp__s__"), in{"action": "list_resources"}), "x://y (y)", "[there is more; cursor: page2]")
}
