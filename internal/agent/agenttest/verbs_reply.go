// The verb for a reply, whose calls have a notation of their own:
//
//	replied text calls: r1=Read w1=Write! s1=spawn_agents(2 general 1 coder wait=any)
//
// A "!" marks a call with bad input, "#k" gives it the key k by which loops are
// found. In parentheses are the tasks of a delegation or the question that is
// asked.

package agenttest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
)

// classes of the tools that scripts and walks know; others do not exist.
var classes = map[string]agent.Class{
	"Read": agent.ClassRead, "Grep": agent.ClassRead,
	"Write": agent.ClassWrite, "Bash": agent.ClassWrite,
	"spawn_agents": agent.ClassDelegate, "ask_user": agent.ClassAsk,
	"submit_result": agent.ClassSubmit, "submit_error": agent.ClassGiveUp,
}

// replied [text] [STOP] [spent= paid=] [tokens=] [agents=] [calls: …]
func verbReplied(sc *Scenario, a *args) (agent.Event, error) {
	turn, try, err := sc.call(a)
	if err != nil {
		return nil, err
	}
	r := agent.ModelReplied{
		At: sc.at(), Turn: turn, Try: try, Text: a.flag("text"), Spent: a.spent(), Priced: !a.flag("unpriced"), Tokens: a.num("tokens"),
		Agents: int(a.num("agents")), Stop: agent.StopEnd, Body: message.Of(message.Assistant, message.KindReply, "reply"),
	}
	for _, c := range a.calls {
		p, err := proposal(c)
		if err != nil {
			return nil, err
		}
		r.Calls = append(r.Calls, p)
		r.Stop = agent.StopTools
	}
	a.calls = nil
	if w := a.word(); w != "" && w != "nothing" {
		r.Stop = agent.Stop(w)
	}
	return r, nil
}

func proposal(text string) (agent.Proposal, error) {
	head, inner, parens := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	id, name, ok := strings.Cut(head, "=")
	if !ok {
		return agent.Proposal{}, fmt.Errorf("a call reads ID=Tool, not %q", text)
	}
	name, key, _ := strings.Cut(name, "#")
	p := agent.Proposal{ID: id, Name: strings.TrimSuffix(name, "!"), Key: key}
	if p.Refused = p.Name != name; p.Refused {
		p.Why = "bad input"
	}
	p.Class, ok = classes[p.Name]
	if !ok {
		p.Refused, p.Why = true, "unknown tool"
	}
	switch p.Class {
	case agent.ClassDelegate:
		plan, err := planOf(inner)
		if err != nil {
			return p, err
		}
		p.Plan = plan
	case agent.ClassAsk:
		p.Question = inner
	case agent.ClassRead, agent.ClassWrite, agent.ClassSubmit, agent.ClassGiveUp:
		if parens {
			return p, fmt.Errorf("%s takes nothing in parentheses", p.Name)
		}
	}
	return p, nil
}

// planOf reads "2 general 1 coder wait=any|N|first_valid background
// timeout=MS tokens=N cost=N size=N unpriced tools=a,b adopts=AGENT prior=N
// worktree", or "tool=Bash".
func planOf(text string) (*agent.Plan, error) {
	a, err := parse("plan " + text)
	if err != nil {
		return nil, err
	}
	plan := &agent.Plan{Background: a.flag("background"), Timeout: a.num("timeout")}
	switch w := a.text("wait", "all"); w {
	case "all":
	case "any":
		plan.Wait = 1
	case "first_valid":
		plan.Valid = true
	default:
		if plan.Wait, err = strconv.Atoi(w); err != nil {
			return nil, fmt.Errorf("bad wait %q", w)
		}
	}
	t := agent.Planned{Tokens: a.num("tokens"), Cost: a.num("cost"), Size: a.num("size"), Priced: !a.flag("unpriced"), Prior: int(a.num("prior"))}
	t.Spec.Adopts, t.Spec.Worktree = a.text("adopts", ""), a.flag("worktree")
	t.Spec.Tools = a.list("tools", []string{"Read", "submit_result"})
	t.Spec.Delegable = a.list("delegable", nil)
	if t.Tool = a.text("tool", ""); t.Tool != "" {
		t.Class, t.Task = classes[t.Tool], toolRun(t.Tool)
		plan.Tasks = append(plan.Tasks, t)
	}
	for len(a.words) > 0 {
		n, err := a.index()
		if err != nil {
			return nil, err
		}
		t.Role = a.word()
		for range n {
			plan.Tasks = append(plan.Tasks, t)
		}
	}
	return plan, a.done()
}
