// Tests of inbox items as they are listed.

package view

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/store"
)

func TestItemLine(t *testing.T) {
	t.Parallel()
	for want, i := range map[string]store.Item{
		"Write a/b.txt":          {Kind: "approval", Action: "--- /dev/null\n+++ b/a/b.txt", Detail: json.RawMessage(`{"tool":"Write","action":{"paths":["a/b.txt"]}}`)},
		"Bash: make all":         {Kind: "approval", Action: "make all", Detail: json.RawMessage(`{"tool":"Bash","action":{"command":"\n make all\nmake more"}}`)},
		"MCP server x: y":        {Kind: "approval", Action: "MCP server x: y\n{}", Detail: json.RawMessage(`{"tool":"mcp__x__y","action":{}}`)},
		"2 files, +1 -3: a, b":   {Kind: "worktree", Action: "diff --git a/a b/a", Detail: json.RawMessage(`{"stat":"2 files, +1 -3","files":["a","b"]}`)},
		"the worktree is locked": {Kind: "worktree", Action: "the worktree is locked"},
		"(1) Which?":             {Kind: "question", Action: `{"questions":[{"question":"Which?"},{"question":"Who?"}]}`},
	} {
		if got := ItemLine(i); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestItemDeadline(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	for want, i := range map[string]store.Item{
		"without an answer in 1m0s: deny":                        {Kind: "approval", Status: "open", Default: "deny", Deadline: 1_060_000},
		"without an answer: kept until decided":                  {Kind: "worktree", Status: "open", Default: "kept until decided"},
		"it waits until it is answered, or its agent is stopped": {Kind: "question", Status: "open", Default: "go on without an answer"},
		"": {Kind: "approval", Status: "closed", Default: "deny", Deadline: 1_060_000},
	} {
		if got := ItemDeadline(i, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
