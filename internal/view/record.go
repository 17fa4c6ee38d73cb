// What a tool call did, as the system recorded it, in one line.

package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/store"
)

// Did tells which files a call changed, how its command ended and who let it
// run or kept it from running; empty if there is nothing to tell.
func Did(c store.ToolCall) string {
	var r struct {
		Files []struct {
			Path string `json:"path"`
			Op   string `json:"op"`
		} `json:"files"`
		Exit  *int `json:"exit"`
		Tests *struct {
			Run    int `json:"run"`
			Passed int `json:"passed"`
		} `json:"tests"`
		Decision *struct {
			Effect string `json:"effect"`
			By     string `json:"by"`
		} `json:"decision"`
	}
	if json.Unmarshal(c.Record, &r) != nil {
		return ""
	}
	var parts []string
	for i, f := range r.Files {
		if i == 8 {
			parts = append(parts, fmt.Sprintf("and %d more files", len(r.Files)-i))
			break
		}
		parts = append(parts, Clean(f.Op+" "+f.Path))
	}
	if r.Exit != nil {
		parts = append(parts, fmt.Sprintf("exit code %d", *r.Exit))
	}
	if r.Tests != nil {
		parts = append(parts, fmt.Sprintf("%d of %d tests passed", r.Tests.Passed, r.Tests.Run))
	}
	if r.Decision != nil {
		word := map[string]string{"allow": "allowed", "deny": "denied", "ask": "asked"}[r.Decision.Effect]
		parts = append(parts, Clean(word+" by "+r.Decision.By))
	}
	return strings.Join(parts, "; ")
}
