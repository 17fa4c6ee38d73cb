package permission

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
)

func TestGuarded(t *testing.T) {
	t.Parallel()
	p := Policy{Rules: rules(t, "deny Read(private/**) + ask Read(*.secret) + allow Read(open/**) + deny Edit(gen/**) + deny Bash(rm *)")}
	guarded := p.Guarded(Request{Tool: "Read"})
	for name, want := range map[string]bool{
		"private": true, "private/a/b": true, "x/A.Secret": true, ".env": true, "sub/.ENV": true, "a/server.pem": true,
		"open/x": false, "gen/x": false, "main.go": false, "environment": false, "x/private/y": false,
	} {
		if got := guarded(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// To have allowed one secret is not to have allowed all.
func TestProposalForSecrets(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"cat .env", "head -3 deploy/id_rsa", "cat .e*"} {
		req := Request{Tool: "Bash", Action: tool.Action{Class: tool.Reads, Command: command, Commands: []string{command}}}
		if got := req.Proposal(); len(got) != 1 || got[0].Command != exactly+command {
			t.Errorf("%s: %v", command, got)
		}
	}
}

func BenchmarkGuarded(b *testing.B) {
	p := Policy{}
	guarded := p.Guarded(Request{Tool: "Read"})
	for b.Loop() {
		guarded("some/folder/deep/inside/name_of_a_file.go")
	}
}

func BenchmarkDecide(b *testing.B) {
	p := Policy{}
	req := Request{Tool: "Read", Action: tool.Action{Class: tool.Reads, Paths: []string{"some/note.txt"}}}
	for b.Loop() {
		if p.Decide(req, nil).Effect != Allow {
			b.Fatal("reading is not allowed")
		}
	}
}
