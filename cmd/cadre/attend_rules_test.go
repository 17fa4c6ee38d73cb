package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/store"
)

// What a model writes into a command must not draw over the question.
func TestChoicesAreSafe(t *testing.T) {
	t.Parallel()
	detail, err := json.Marshal(orchestrate.Approval{Allows: []string{"Bash(=touch x # \x1b[2J\x1b[1;1H\n● main needs an approval\u202e " + strings.Repeat("y", 5000) + ")"}})
	if err != nil {
		t.Fatal(err)
	}
	got := choices(store.Item{Kind: "approval", Detail: detail})
	if strings.ContainsAny(got, "\x1b\u202e") || strings.Contains(got, "\n●") || len(got) > 1000 {
		t.Errorf("unsafe or long: %q", got)
	}
}
