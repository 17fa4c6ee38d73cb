package orchestrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/store"
)

// Bounds of what a parent's model is given of its children's results, in
// characters: a fan-in must not flood its context. The whole results stay in
// the tasks, where read_artifact finds them. The machine counts on these bounds
// (told in package agent).
const (
	allResults = 60_000
	mostResult = 12_000
	leastShare = 120
	taskShare  = 200
)

type aggregated struct {
	Results []taskResult `json:"sub_agent_results"`
}

type taskResult struct {
	AgentID string  `json:"agent_id"`
	Role    string  `json:"role"`
	Task    string  `json:"task"`
	Outcome outcome `json:"outcome"`
	Record  *brief  `json:"record,omitempty"`
}

// brief is what a parent's model is told of the record: what its child
// changed and ran, and which of its claims the record does not bear out.
type brief struct {
	FilesModified []string `json:"files_modified,omitempty"`
	FilesCreated  []string `json:"files_created,omitempty"`
	FilesDeleted  []string `json:"files_deleted,omitempty"`
	TestsRun      *int     `json:"tests_run,omitempty"`
	TestsPassed   *int     `json:"tests_passed,omitempty"`
	Unverified    []string `json:"unverified,omitempty"`
	Worktree      string   `json:"worktree,omitempty"`
}

type outcome struct {
	Success *success `json:"success,omitempty"`
	Failure *failure `json:"failure,omitempty"`
}

type success struct {
	Result json.RawMessage `json:"result"` // a text, or the object that was submitted
}

type failure struct {
	Error   string `json:"error"`
	Kind    string `json:"error_kind"`
	Partial string `json:"partial_result,omitempty"`
}

// Results implements engine.Performer: the aggregated form, in the order in
// which the tasks were spawned.
func (p *Performer) Results(tasks []store.Task) string {
	share := min(max(allResults/max(len(tasks), 1), leastShare), mostResult)
	var out aggregated
	for _, t := range tasks {
		_, name, _ := strings.Cut(t.Name, ":") // agent:coder, tool:Bash
		r := taskResult{AgentID: t.ID, Role: name, Task: cut(t.Instruction, min(taskShare, share/2), "")}
		if t.Reason == string(agent.ReasonCompleted) {
			r.Outcome.Success = &success{resultOf(t, share)}
		} else {
			kind := t.ErrorKind
			if kind == "" {
				kind = t.Reason
			}
			text := t.Error
			if text == "" {
				text = t.Reason
			}
			r.Outcome.Failure = &failure{cut(text, share/2, t.ID), kind, cut(t.Result, share/2, t.ID)}
		}
		r.Record = briefly(t.Metadata, share)
		out.Results = append(out.Results, r)
	}
	b, err := encode(out)
	if err != nil {
		return fmt.Sprintf("the results could not be written: %v", err)
	}
	return string(b)
}

// resultOf is a result within its share: an object that was submitted as it
// is, anything else as text.
func resultOf(t store.Task, share int) json.RawMessage {
	if text := strings.TrimSpace(t.Result); len(text) <= share && strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	b, err := encode(cut(t.Result, share, t.ID))
	if err != nil {
		return json.RawMessage(`""`) // a text can always be encoded
	}
	return b
}

// encode is json.Marshal without the escapes that HTML would need: models read
// code better as it is.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// briefly takes out of a report what a parent's model needs, nil if there is
// nothing to tell. It has at most half of the room that its result has.
func briefly(report json.RawMessage, share int) *brief {
	var r Report
	if json.Unmarshal(report, &r) != nil {
		return nil
	}
	b := &brief{r.FilesModified, r.FilesCreated, r.FilesDeleted, r.TestsRun, r.TestsPassed, r.Unverified, r.Worktree}
	if len(b.FilesModified)+len(b.FilesCreated)+len(b.FilesDeleted)+len(b.Unverified) == 0 && b.TestsRun == nil {
		return nil
	}
	for _, list := range []*[]string{&b.FilesModified, &b.FilesCreated, &b.FilesDeleted, &b.Unverified} {
		room := share / 8
		for i, s := range *list {
			if room -= len(s) + 4; room < 0 {
				*list = append((*list)[:i:i], fmt.Sprintf("and %d more", len(*list)-i))
				break
			}
		}
	}
	return b
}

// cut shortens s to at most n runes, and says so.
func cut(s string, n int, task string) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	if task == "" {
		return string(r[:n-1]) + "…"
	}
	return fmt.Sprintf("%s… [%d more characters: %s %s]", string(r[:n]), len(r)-n, ReadArtifact, task)
}

// ending is the end of s, of at most n runes.
func ending(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "…" + string(r[len(r)-n+1:])
}
