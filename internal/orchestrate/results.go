package orchestrate

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/store"
)

// Bounds of what a parent's model is given of its children's results, in
// characters: a fan-in must not flood its context. The whole results stay in
// the tasks.
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
}

type outcome struct {
	Success *success `json:"success,omitempty"`
	Failure *failure `json:"failure,omitempty"`
}

type success struct {
	Result string `json:"result"`
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
		r := taskResult{AgentID: t.ID, Role: t.Name[len("agent:"):], Task: cut(t.Instruction, min(taskShare, share), "")}
		if t.Reason == string(agent.ReasonCompleted) {
			r.Outcome.Success = &success{cut(t.Result, share, t.ID)}
		} else {
			kind := t.ErrorKind
			if kind == "" {
				kind = t.Reason
			}
			text := t.Error
			if text == "" {
				text = t.Reason
			}
			r.Outcome.Failure = &failure{cut(text, share, t.ID), kind, cut(t.Result, share, t.ID)}
		}
		out.Results = append(out.Results, r)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return fmt.Sprintf("the results could not be written: %v", err)
	}
	return string(bytes.TrimSpace(b.Bytes()))
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
	return fmt.Sprintf("%s… [%d of %d characters; the whole is kept in task %s]", string(r[:n]), n, len(r), task)
}
