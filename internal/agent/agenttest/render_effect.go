// How an effect reads in a script: one line, its verb first.

package agenttest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
)

// effect renders f in one line.
func (c clock) effect(f agent.Effect) string {
	switch f := f.(type) {
	case agent.AddMessage, agent.Enqueue, agent.Place, agent.AddResults, agent.RepeatResult, agent.Adopt, agent.SetModel, agent.AddWaiting,
		agent.SetCall, agent.OpenCall, agent.RecordModel, agent.OpenItem, agent.ShowItem, agent.CloseItem, agent.Conclude:
		return c.document(f)
	case agent.StartChild:
		return startChild(f)
	case agent.CancelChild:
		return fmt.Sprintf("cancel-child %d %s%s", f.Task, f.Reason, when(f.Force, " force"))
	case agent.TellRoot:
		return "tell-root " + short(f.Item) + when(!f.Over, " asks") + when(f.Over, " over") + when(f.For, " answered for the user")
	case agent.ExtendParent:
		return "extend-parent " + amount(f.Amount)
	case agent.Report:
		return "report " + outcome(f.Outcome) + when(f.Spent != agent.Amount{}, " spent "+amount(f.Spent)) +
			when(f.Held != agent.Amount{}, " held "+amount(f.Held)) + when(f.Unpriced, " unpriced")
	case agent.CallModel:
		return fmt.Sprintf("call-model %d.%d %s out %d%s", f.Turn, f.Try, f.Model, f.MaxOutput, when(f.Last, " last"))
	case agent.Compact:
		return fmt.Sprintf("compact %d", f.Turn)
	case agent.RunTool:
		return fmt.Sprintf("run %d.%d %s%s", f.Turn, f.Call, f.Name, when(f.Grant != "", " granted "+f.Grant))
	case agent.TellTool:
		return fmt.Sprintf("tell %d.%d%s%s", f.Turn, f.Call, when(f.Declined, " declined"), when(f.Answer != "", " "+quote(f.Answer)))
	case agent.InspectWork:
		return "inspect-work"
	case agent.Consult:
		return "consult " + short(f.Item)
	case agent.RunAcceptance:
		return "run-acceptance"
	case agent.StopWork:
		return "stop-work"
	case agent.Done:
		return "done " + outcome(f.Outcome)
	}
	return fmt.Sprintf("unknown effect %T", f)
}

func (c clock) document(f agent.Effect) string {
	switch f := any(f).(type) {
	case agent.AddMessage:
		return addMessage(f)
	case agent.Enqueue:
		return "enqueue " + f.ID
	case agent.SetModel:
		return "model " + f.Model
	case agent.Place:
		return fmt.Sprintf("place @%d %s", f.Pos, f.ID)
	case agent.AddResults:
		return addResults(f)
	case agent.RepeatResult:
		return fmt.Sprintf("repeat @%d of call %d from @%d %s", f.Pos, f.Call, f.From, quote(f.Text))
	case agent.Adopt:
		return fmt.Sprintf("adopt %d of %s", f.Count, f.From)
	case agent.AddWaiting:
		return fmt.Sprintf("waiting @%d%s%s", f.Pos, when(len(f.Waiting) > 0, " wait "+strings.Join(f.Waiting, " ")),
			when(len(f.Answered) > 0, " answered "+strings.Join(f.Answered, " ")))
	case agent.SetCall:
		return fmt.Sprintf("call %d.%d %s%s%s", f.Turn, f.Call, f.Phase, when(f.IsError, " error"), when(f.Record != nil, " recorded"))
	case agent.OpenCall:
		return fmt.Sprintf("open %d.%d %s=%s", f.Turn, f.Call, f.ID, f.Name) + when(f.Class != "", " "+string(f.Class))
	case agent.RecordModel:
		return fmt.Sprintf("record %d.%d %s%s%s", f.Turn, f.Try, f.Outcome, when(f.Kind != "", " "+string(f.Kind)),
			when(f.Spent != agent.Amount{}, " spent "+amount(f.Spent)))
	case agent.OpenItem:
		return fmt.Sprintf("inbox %s %s for %d.%d%s%s%s%s", short(f.ID), f.Kind, f.Turn, f.Call, when(f.Call < 0, " "+quote(cmp.Or(f.Action, f.Reason))),
			when(f.Grant != "", " shows "+f.Grant), when(f.Hidden, " hidden"), when(f.Deadline > 0, " by "+c.at(f.Deadline)))
	case agent.ShowItem:
		return fmt.Sprintf("inbox %s shown%s", short(f.ID), when(f.Deadline > 0, " by "+c.at(f.Deadline)))
	case agent.CloseItem:
		return fmt.Sprintf("inbox %s %s", short(f.ID), f.How)
	case agent.Conclude:
		return "conclude " + outcome(f.Outcome) + when(f.Text != "", " "+quote(f.Text))
	}
	return fmt.Sprintf("unknown document %T", f)
}

func addMessage(f agent.AddMessage) string {
	if f.Call >= 0 {
		text, isError := "", false
		for _, p := range f.Body.Parts {
			if r, ok := p.(message.ToolResult); ok {
				text, isError = message.Text(r.Parts), r.IsError
			}
		}
		return fmt.Sprintf("result @%d of call %d%s %s", f.Pos, f.Call, when(isError, " error"), quote(text))
	}
	if f.Body.Kind == message.KindNote {
		return fmt.Sprintf("note @%d %s", f.Pos, quote(f.Body.Text()))
	}
	return fmt.Sprintf("message @%d %s", f.Pos, f.Body.Kind)
}

func addResults(f agent.AddResults) string {
	out := fmt.Sprintf("results @%d", f.Pos)
	if f.Call >= 0 {
		out += fmt.Sprintf(" of call %d", f.Call)
	}
	for i, g := range f.Groups {
		out += when(i > 0, " and") + " " + tasks(g.First, g.Size) + " (rest " + string(g.Rest)
		for t := range g.Size {
			out += when(g.Late.Has(t), fmt.Sprintf(", %d late", g.First+t))
		}
		out += ")"
	}
	return out
}

func startChild(f agent.StartChild) string {
	s := f.Spec
	return fmt.Sprintf("start %d %s %s depth %d for call %d of %s%s%s%s%s%s%s", f.Task, s.ID, s.Role, s.Depth, f.Call, s.Cause,
		when(s.ToolRun(), " runs "+s.Tool),
		when(f.Prior > 0, fmt.Sprintf(" after %d of %s", f.Prior, s.Adopts)), when(s.Worktree, " worktree"),
		when(s.Limits.Tokens > 0 || s.Limits.Cost > 0, " budget "+amount(agent.Amount{Tokens: s.Limits.Tokens, Cost: s.Limits.Cost})),
		when(len(s.Tools) > 0, " tools "+strings.Join(s.Tools, ",")),
		when(len(s.Delegable) > 0, " delegable "+strings.Join(s.Delegable, ",")))
}

func when(cond bool, text string) string {
	if cond {
		return text
	}
	return ""
}

// short is the id of an inbox item without its agent.
func short(item string) string { return item[strings.LastIndex(item, "-")+1:] }

// quote shows the beginning of a text on one line.
func quote(s string) string {
	const most = 72
	r := []rune(s)
	if len(r) > most {
		return fmt.Sprintf("%q...", string(r[:most]))
	}
	return fmt.Sprintf("%q", s)
}
