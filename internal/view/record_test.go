// Tests of the line about what a tool call did.

package view

import (
	"encoding/json"
	"testing"

	"github.com/cadre-dev/cadre/internal/store"
)

func TestDid(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		``: "",
		`{"files":[{"path":"a.go","op":"created"}],"decision":{"effect":"allow","by":"preset edits"}}`: "created a.go; allowed by preset edits",
		`{"command":"go test","exit":1,"tests":{"run":3,"passed":2}}`:                                  "exit code 1; 2 of 3 tests passed",
		`{"decision":{"effect":"deny","by":"rule deny Bash(rm *)"}}`:                                   "denied by rule deny Bash(rm *)",
	} {
		if got := Did(store.ToolCall{Record: json.RawMessage(record)}); got != want {
			t.Errorf("%s: %q, want %q", record, got, want)
		}
	}
}
