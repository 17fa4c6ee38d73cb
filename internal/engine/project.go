package engine

import (
	"encoding/json"
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// projection turns the effects of one step into documents of its entry, into
// deliveries to other agents of the same batch, and into acts for later.
type projection struct {
	tx    *tx
	s     *staged
	d     delivery
	entry *store.Entry
	turn  int // before the step
}

func (p *projection) doc(d ...store.Doc) { p.entry.Docs = append(p.entry.Docs, d...) }

func (p *projection) spec() agent.Spec { return p.s.state.Spec }

// created writes the rows that a new agent begins with.
func (p *projection) created(d delivery) {
	spec := p.spec()
	at := p.entry.At
	p.s.history = []message.Message{}
	if c := d.chat; c != nil {
		p.doc(store.PutUser{User: c.User}, store.NewChat{Chat: store.Chat{
			ID: spec.ID, UserID: c.User.ID, Title: c.Title, Role: spec.Role, Model: first(spec.Models), Dir: spec.Dir,
			CreatedAt: at, UpdatedAt: at,
		}})
		p.prompt(spec.Prompt, c.Prompt)
		p.tx.chats = append(p.tx.chats, spec.Chat)
		p.tx.names[named{spec.Chat, spec.Role}] = 1
	} else {
		text, _ := p.tx.e.cfg.Performer.Prompt(spec.Prompt)
		p.prompt(spec.Prompt, text)
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		p.tx.fail(fmt.Errorf("encoding the spec of %s: %w", spec.ID, err))
	}
	row := store.Agent{
		ID: spec.ID, ChatID: spec.Chat, UserID: spec.User, Parent: spec.Parent,
		Role: spec.Role, Name: spec.Name, Path: spec.Path, Depth: spec.Depth, Model: first(spec.Models),
		Prompt: spec.Prompt, Dir: spec.Dir, Cause: spec.Cause,
		ContextMode: spec.Context, ContextTokens: spec.ContextTokens,
		MaxTurns: spec.Limits.Turns, MaxDuration: spec.Limits.Active, MaxTokens: spec.Limits.Tokens, MaxCost: spec.Limits.Cost,
		Continues: spec.Continues, CreatedAt: at, Spec: raw,
	}
	if d.start == nil {
		p.doc(store.NewAgent{Agent: row})
		return
	}
	row.TaskID = spec.ID
	kind, name, instruction := "agent", spec.Role, d.start.Body.Text()
	if spec.ToolRun() {
		kind, name = "tool", spec.Tool
		for _, c := range d.start.Body.Calls() {
			instruction = string(c.Input)
		}
	}
	p.s.was.Task = "running"
	p.doc(store.NewAgent{Agent: row}, store.NewTask{Task: store.Task{
		ID: spec.ID, ChatID: spec.Chat, UserID: spec.User, Agent: spec.Parent, Number: spec.Number,
		Type: kind, Name: kind + ":" + name, Instruction: instruction, SubAgentID: spec.ID,
		Turn: d.start.Turn, Call: d.start.Call, Status: "running", Cause: spec.Cause, CreatedAt: at, UpdatedAt: at,
	}})
}

func (p *projection) prompt(id, text string) {
	if id == "" || p.tx.e.prompts[id] || p.tx.prompts[id] {
		return
	}
	p.tx.prompts[id] = true
	p.doc(store.PutPrompt{ID: id, Text: text})
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

// effect performs one effect as far as it belongs into the commit.
func (p *projection) effect(f agent.Effect) error {
	spec := p.spec()
	at := p.entry.At
	switch f := f.(type) {
	case agent.AddMessage:
		return p.add(f.Pos, f.Call, f.Body)
	case agent.Enqueue:
		return p.enqueue(f)
	case agent.Place:
		p.place(f)
	case agent.AddResults:
		return p.addResults(f)
	case agent.RepeatResult:
		return p.repeatResult(f)
	case agent.Adopt:
		p.doc(store.AdoptMessages{Agent: spec.ID, From: f.From, Count: f.Count})
		p.s.history = nil // it is read when it is needed
	case agent.AddWaiting:
		return p.addWaiting(f)
	case agent.SetModel:
		p.doc(store.SetModel{Chat: spec.Chat, Model: f.Model})
	case agent.TellRoot:
		p.tx.todo = append(p.tx.todo, delivery{agent: spec.Chat, ev: agent.TaskAsks{Item: f.Item, Over: f.Over, For: f.For}})
	case agent.ExtendParent:
		p.tx.todo = append(p.tx.todo, delivery{agent: spec.Parent, ev: agent.Extended{Amount: f.Amount}})
	case agent.OpenCall:
		p.openCall(f)
	case agent.SetCall:
		p.setCall(f)
	case agent.RecordModel:
		p.recordModel(f)
	case agent.OpenItem:
		p.openItem(f)
	case agent.ShowItem:
		p.doc(store.SetItem{ID: f.ID, Status: "open", Deadline: f.Deadline, At: at})
	case agent.CloseItem:
		p.doc(store.SetItem{ID: f.ID, Status: "closed", How: f.How, By: f.By, Scope: f.Scope, Answer: f.Answer, At: at})
	case agent.Conclude:
		return p.conclude(f)
	case agent.StartChild:
		p.startChild(f)
	case agent.CancelChild:
		p.tx.todo = append(p.tx.todo, delivery{
			agent: fmt.Sprintf("%s.%d", spec.ID, f.Task),
			ev:    agent.Cancel{Reason: f.Reason, Force: f.Force, By: spec.ID},
		})
	case agent.Report:
		return p.report(f)
	case agent.RunTool:
		for _, ev := range p.d.ahead {
			if ev.Turn == f.Turn && ev.Call == f.Call {
				p.tx.todo = append(p.tx.todo, delivery{agent: spec.ID, ev: ev})
				return nil
			}
		}
		p.tx.acts = append(p.tx.acts, act{spec.ID, f})
	case agent.CallModel, agent.Compact, agent.TellTool, agent.Consult, agent.RunAcceptance, agent.InspectWork, agent.StopWork, agent.Done:
		p.tx.acts = append(p.tx.acts, act{spec.ID, f})
	}
	return nil
}

func (p *projection) add(pos, call int, m message.Message) error {
	row, err := store.EncodeMessage(p.spec().ID, pos, m)
	if err != nil {
		return fmt.Errorf("placing message %d: %w", pos, err)
	}
	row.CreatedAt, row.Turn = p.entry.At, p.s.state.Turn
	if call >= 0 || m.Role == message.Assistant {
		row.Turn = p.turn // the step may have begun the next one
	}
	if call >= 0 {
		row.Call = store.ToolCallID(row.Agent, row.Turn, call)
	}
	p.doc(store.NewMessage{Message: row, Said: m.Parts})
	p.remember(pos, m)
	return nil
}

// remember keeps a placed message in the agent's cached history. Results of
// parallel calls come in any order, each at its own position.
func (p *projection) remember(pos int, m message.Message) {
	if p.s.history == nil {
		return
	}
	for len(p.s.history) <= pos {
		p.s.history = append(p.s.history, message.Message{})
	}
	p.s.history[pos] = m
}

func (p *projection) enqueue(f agent.Enqueue) error {
	row, err := store.EncodeMessage(p.spec().ID, -1, f.Body)
	if err != nil {
		return fmt.Errorf("storing user message %s: %w", f.ID, err)
	}
	row.ID, row.CreatedAt = f.ID, p.entry.At
	p.doc(store.NewMessage{Message: row})
	if p.s.queued == nil {
		p.s.queued = map[string]message.Message{}
	}
	p.s.queued[f.ID] = f.Body
	return nil
}

func (p *projection) place(f agent.Place) {
	p.doc(store.PlaceMessage{Agent: p.spec().ID, ID: f.ID, Pos: f.Pos})
	body, ok := p.s.queued[f.ID]
	if !ok { // it waited longer than the agent was in memory: the next call reads the history anew
		p.s.history, p.s.memo = nil, nil
		return
	}
	delete(p.s.queued, f.ID)
	p.remember(f.Pos, body)
}

// addResults renders the results of children from their tasks. What ended in
// this same batch is not in the store yet.
func (p *projection) addResults(f agent.AddResults) error {
	var tasks []store.Task
	for _, g := range f.Groups {
		rows, err := p.tx.e.cfg.Store.Results(p.tx.e.base, p.spec().ID, g.First, g.Size)
		if err != nil {
			return fmt.Errorf("reading the results of tasks %d to %d: %w", g.First, g.First+g.Size-1, err)
		}
		for i := range rows {
			if end, ok := p.tx.ends[rows[i].ID]; ok {
				rows[i].Result, rows[i].Error, rows[i].ErrorKind, rows[i].Reason = end.Result, end.Error, end.ErrorKind, end.Reason
				rows[i].Metadata = end.Metadata
			}
			if rows[i].Reason == "" || g.Late.Has(i) { // what it still reported is recorded, not delivered
				rows[i].Result, rows[i].Error, rows[i].ErrorKind, rows[i].Reason = "", endText(g.Rest), "", string(g.Rest)
			}
		}
		tasks = append(tasks, rows...)
	}
	text := p.tx.e.cfg.Performer.Results(tasks)
	parts := []message.Part{message.TextPart{Text: text}}
	m := message.Message{Role: message.User, Kind: message.KindResults, Parts: parts}
	if f.Call >= 0 {
		m = message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
			message.ToolResult{CallID: f.CallID, Name: f.Name, Parts: parts},
		}}
	}
	return p.add(f.Pos, f.Call, m)
}

// repeatResult answers a call with what an earlier one gave.
func (p *projection) repeatResult(f agent.RepeatResult) error {
	before, err := p.message(f.From)
	if err != nil {
		return fmt.Errorf("repeating an earlier result: %w", err)
	}
	parts := []message.Part{message.TextPart{Text: f.Text}}
	for _, part := range before.Parts {
		if r, ok := part.(message.ToolResult); ok {
			parts = append(parts, r.Parts...)
			continue
		}
		parts = append(parts, part)
	}
	return p.add(f.Pos, f.Call, message.Message{Role: message.Tool, Kind: message.KindResult, Parts: []message.Part{
		message.ToolResult{CallID: f.CallID, Name: f.Name, IsError: true, Parts: parts},
	}})
}

// addWaiting tells the orchestrator's model who waits for the user.
func (p *projection) addWaiting(f agent.AddWaiting) error {
	read := func(ids []string) ([]store.Item, error) {
		var items []store.Item
		for _, id := range ids {
			item, err := p.item(id)
			if err != nil {
				return nil, fmt.Errorf("reading inbox item %s: %w", id, err)
			}
			items = append(items, item)
		}
		return items, nil
	}
	waiting, err := read(f.Waiting)
	if err != nil {
		return err
	}
	answered, err := read(f.Answered)
	if err != nil {
		return err
	}
	text := p.tx.e.cfg.Performer.Waiting(waiting, answered)
	return p.add(f.Pos, -1, message.Of(message.User, message.KindNote, text))
}

// item reads an inbox item, which may have been opened in this same batch.
func (p *projection) item(id string) (store.Item, error) {
	var item *store.Item
	var later []store.SetItem
	for _, e := range append(p.tx.entries, p.entry) {
		for _, d := range e.Docs {
			if opened, ok := d.(store.NewItem); ok && opened.ID == id {
				item = &opened.Item
			}
			if set, ok := d.(store.SetItem); ok && set.ID == id {
				later = append(later, set)
			}
		}
	}
	if item == nil {
		var err error
		if item, err = p.tx.e.cfg.Store.Item(p.tx.e.base, id); err != nil {
			return store.Item{}, err
		}
	}
	for _, set := range later {
		item.Status, item.How, item.By, item.Answer = set.Status, set.How, set.By, set.Answer
	}
	return *item, nil
}

func (p *projection) artifact(a *agent.Artifact) {
	p.doc(store.NewArtifact{Artifact: store.Artifact{
		ID: a.ID, ChatID: p.spec().Chat, Agent: p.spec().ID, Name: a.Name, MediaType: a.MediaType,
		Size: int64(len(a.Data)), Data: a.Data, CreatedAt: p.entry.At,
	}})
}

func (p *projection) openCall(f agent.OpenCall) {
	call := store.ToolCall{
		Agent: p.spec().ID, Turn: f.Turn, Call: f.Call, CallID: f.ID, Name: f.Name, Class: string(f.Class),
		Phase: string(agent.CallQueued), Status: "pending", CreatedAt: p.entry.At, Args: json.RawMessage("{}"),
	}
	var body message.Message
	switch ev := any(p.d.ev).(type) {
	case agent.ModelReplied:
		body = ev.Body
	case agent.Created:
		body = ev.Task
	}
	if calls := body.Calls(); f.Call < len(calls) && len(calls[f.Call].Input) > 0 {
		call.Args = calls[f.Call].Input
	}
	if a, ok := p.s.state.Phase.(agent.Acting); ok {
		call.Pos = a.Pos + 1 + f.Call
	} else {
		call.Pos = p.replyPos() + 1 + f.Call
	}
	p.doc(store.NewToolCall{ToolCall: call})
}

// replyPos is where the reply of this step was placed.
func (p *projection) replyPos() int {
	for _, d := range p.entry.Docs {
		if m, ok := d.(store.NewMessage); ok && m.Role == string(message.Assistant) {
			return m.Pos
		}
	}
	return 0
}

func (p *projection) setCall(f agent.SetCall) {
	at := p.entry.At
	set := store.SetToolCall{Agent: p.spec().ID, Turn: f.Turn, Call: f.Call, Phase: string(f.Phase), Status: "pending", Record: f.Record}
	switch f.Phase {
	case agent.CallRunning, agent.CallStarted, agent.CallChildren, agent.CallAsked, agent.CallAsking:
		set.StartedAt = at
	case agent.CallDone:
		set.EndedAt = at
		set.Status = "success"
		if f.IsError {
			set.Status = "failed"
		}
	case agent.CallQueued, agent.CallApproval, agent.CallPaused:
	}
	for i, d := range p.entry.Docs {
		// Opened in this very step: one row instead of two.
		if n, ok := d.(store.NewToolCall); ok && n.Turn == f.Turn && n.Call == f.Call {
			n.Phase, n.Status = set.Phase, set.Status
			n.StartedAt = max(n.StartedAt, set.StartedAt)
			n.EndedAt = max(n.EndedAt, set.EndedAt)
			p.entry.Docs[i] = n
			return
		}
	}
	p.doc(set)
}

func (p *projection) recordModel(f agent.RecordModel) {
	call := store.ModelCall{
		Agent: p.spec().ID, Turn: f.Turn, Try: f.Try, Model: f.Info.Model, RequestType: p.requestType(),
		From: f.Pos - 1, Reply: f.Pos, Response: f.Reply.Text(), Status: f.Outcome, Stop: string(f.Stop),
		ErrorKind: string(f.Kind), Error: f.Message, RequestID: f.Info.RequestID, Answered: f.Info.Answered,
		Usage: f.Info.Usage, Cost: f.Spent.Cost, Priced: f.Priced,
		WaitedMS: f.Info.Waited, StartedAt: f.Info.StartedAt, FirstAt: f.Info.FirstAt, EndedAt: f.Info.EndedAt,
	}
	if f.Pos < 0 {
		call.From = p.s.state.Pos - 1
	}
	p.doc(store.NewModelCall{ModelCall: call})
	p.tx.over = append(p.tx.over, store.ModelCallID(call.Agent, f.Turn, f.Try))
}

// requestType sorts the request by what it answers.
func (p *projection) requestType() string {
	switch {
	case p.s.state.Turn > 1 && len(p.s.history) > 0 && p.s.history[len(p.s.history)-1].Role == message.Tool:
		return "tool_call"
	case p.s.state.Turn > 1:
		return "continuation"
	case p.spec().Depth > 0:
		return "delegation"
	}
	return "prompt"
}

func (p *projection) openItem(f agent.OpenItem) {
	spec := p.spec()
	item := store.Item{
		ID: f.ID, ChatID: spec.Chat, UserID: spec.User, Agent: spec.ID, Path: spec.Path, Role: spec.Role,
		Turn: f.Turn, Call: f.Call, Kind: f.Kind, Action: f.Action, Reason: f.Reason, Grant: f.Grant, Detail: f.Detail,
		Deadline: f.Deadline, Status: "open", CreatedAt: p.entry.At,
	}
	if f.Hidden {
		item.Status = "hidden"
	}
	switch f.Kind {
	case "approval":
		item.Default = "deny"
	case "elicitation":
		item.Default = "decline"
	case "budget":
		item.Default = "end with what there is"
	case "worktree":
		item.Default = "kept until decided"
	default:
		item.Default = "go on without an answer"
		for _, d := range p.entry.Docs {
			if n, ok := d.(store.NewToolCall); ok && n.Call == f.Call {
				item.Action = string(n.Args)
			}
		}
	}
	p.doc(store.NewItem{Item: item})
}

func (p *projection) startChild(f agent.StartChild) {
	spec := f.Spec
	switch {
	case spec.ToolRun():
		spec.Name = fmt.Sprintf("%s-%d", spec.Tool, f.Task)
	case spec.Continues == "" || spec.Name == "": // one that goes on keeps its name
		spec.Name = p.tx.name(spec.Chat, spec.Role)
	}
	spec.Path = p.spec().Path + "/" + spec.Name
	if spec.Dir == "" {
		spec.Dir = p.spec().Dir
	}
	p.tx.started[spec.Chat]++
	p.tx.todo = append(p.tx.todo, delivery{
		agent: spec.ID, start: &f,
		ev: agent.Created{Spec: spec, Tokens: f.Tokens, Prior: f.Prior, Task: f.Body},
	})
}
