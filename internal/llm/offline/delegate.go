// Delegating: the parts of a compound request go to sub-agents, all at once,
// and their results become one answer.

package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// delegate takes the next step of a request in several parts. It is not ok if
// the delegation was refused: then the parts are left to the agent itself.
func delegate(s *situation, parts []string) (step, bool) {
	for _, o := range s.seen {
		if o.part != 0 || o.tool != toolSpawn {
			continue
		}
		if o.failed {
			return step{}, false
		}
		text := mergeSpawned(o.result)
		if len(s.late) > 0 {
			text = reportLate(s.late) + "\n\n" + text
		}
		return s.finish(text), true
	}
	return spawn(s, parts), true
}

// spawn is the step that starts a sub-agent for each part.
func spawn(s *situation, parts []string) step {
	type spawnTask struct {
		Task string `json:"task"`
		Role string `json:"role,omitempty"`
	}
	roles := offeredRoles(s.prompt)
	var tasks []spawnTask
	for _, p := range parts {
		tasks = append(tasks, spawnTask{p, roleFor(p, roles)})
	}
	st := use(toolSpawn, map[string]any{"tasks": tasks, "wait": "all"})
	st.say = fmt.Sprintf("I split this into %s and give each to a sub-agent.", plural(len(parts), "part"))
	return st
}

var (
	delegates = regexp.MustCompile(`(?m)^- You may delegate to:\n((?:  - .*\n?)+)`)
	roleEntry = regexp.MustCompile(`(?m)^  - (\S+):`)
)

// offeredRoles reads the roles an agent may delegate to off its prompt. Where
// it does not list them, tasks name no role and get the usual one.
func offeredRoles(prompt string) []string {
	m := delegates.FindStringSubmatch(prompt)
	if m == nil {
		return nil
	}
	var names []string
	for _, entry := range roleEntry.FindAllStringSubmatch(m[1], -1) {
		names = append(names, entry[1])
	}
	return names
}

// roleFor picks the role that suits a part, none if it is not offered.
func roleFor(part string, offered []string) string {
	want := []string{"general", "researcher"}
	q := parseQuery(part, "")
	switch {
	case planRule.fits(q):
		want = []string{"planner", "general"}
	case verbs[q.verb] == asksFind || verbs[q.verb] == asksSummary:
		want = []string{"researcher", "general"}
	}
	for _, w := range want {
		if slices.Contains(offered, w) {
			return w
		}
	}
	return ""
}

// outcomes is the form in which results of sub-agents come back.
type outcomes struct {
	Results []struct {
		AgentID string `json:"agent_id"`
		Task    string `json:"task"`
		Role    string `json:"role"`
		Outcome struct {
			Success *struct {
				Result json.RawMessage `json:"result"`
			} `json:"success"`
			Failure *struct {
				Error   string          `json:"error"`
				Kind    string          `json:"error_kind"`
				Partial json.RawMessage `json:"partial_result"`
			} `json:"failure"`
		} `json:"outcome"`
	} `json:"sub_agent_results"`
}

// readOutcomes finds the results in text, which may have words around them.
func readOutcomes(text string) (outcomes, bool) {
	var o outcomes
	start := strings.IndexByte(text, '{')
	if start < 0 {
		return o, false
	}
	err := json.NewDecoder(strings.NewReader(text[start:])).Decode(&o)
	return o, err == nil && len(o.Results) > 0
}

// mergeSpawned words what a call of spawn_agents gave.
func mergeSpawned(result string) string {
	if o, ok := readOutcomes(result); ok {
		return merge(o)
	}
	return "The sub-agents are at work in the background; I report when they are done."
}

// reportLate words results that arrived after the agent had gone on.
func reportLate(late []string) string {
	var texts []string
	for _, l := range late {
		if o, ok := readOutcomes(l); ok {
			texts = append(texts, merge(o))
		} else {
			texts = append(texts, l)
		}
	}
	if len(texts) == 0 {
		return "There is nothing to answer."
	}
	return strings.Join(texts, "\n\n")
}

// merge makes one text of the results, in the order of the tasks.
func merge(o outcomes) string {
	var b strings.Builder
	done := 0
	for _, r := range o.Results {
		if r.Outcome.Success != nil {
			done++
		}
	}
	switch n := len(o.Results); {
	case done == n && n == 1:
		b.WriteString("The sub-agent is done.")
	case done == n && n == 2:
		b.WriteString("Both sub-agents are done.")
	case done == n:
		fmt.Fprintf(&b, "All %d sub-agents are done.", n)
	default:
		fmt.Fprintf(&b, "%d of %s succeeded; %d failed.", done, plural(n, "sub-agent"), n-done)
	}
	for _, r := range o.Results {
		fmt.Fprintf(&b, "\n\n### %s\n\n", r.Task)
		switch {
		case r.Outcome.Success != nil:
			b.WriteString(resultText(r.Outcome.Success.Result))
		case r.Outcome.Failure != nil:
			f := r.Outcome.Failure
			fmt.Fprintf(&b, "**This failed** (%s): %s", f.Kind, f.Error)
			if partial := resultText(f.Partial); partial != "" {
				b.WriteString("\n\nIt got this far:\n\n" + partial)
			}
		default:
			b.WriteString("It gave no result.")
		}
	}
	return b.String()
}

// resultText shows a result that is a text, or a structure as it is.
func resultText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}
	if len(raw) == 0 {
		return ""
	}
	return "```json\n" + string(raw) + "\n```"
}
