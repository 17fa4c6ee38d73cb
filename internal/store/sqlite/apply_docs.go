// This file writes each kind of document. The order of the parameters is that
// of statements.go.

package sqlite

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

func (w *writer) putUser(d store.PutUser) error {
	p := bind(w.st.putUser)
	p.texts(d.ID, d.Name)
	p.int(d.CreatedAt)
	return failure("writing user "+d.ID, exec(w.st.putUser))
}

// putPrompt writes a prompt the first time it is seen: a thousand agents of
// one role bring the same one.
func (w *writer) putPrompt(d store.PutPrompt) error {
	if _, ok := w.prompts.get(d.ID); ok {
		return nil
	}
	p := bind(w.st.putPrompt)
	p.texts(d.ID, d.Text)
	if err := exec(w.st.putPrompt); err != nil {
		return failure("writing prompt "+d.ID, err)
	}
	w.prompts.put(d.ID, struct{}{})
	return nil
}

func (w *writer) newChat(d store.NewChat, seq int64) error {
	p := bind(w.st.insertChat)
	p.texts(d.ID, d.UserID, d.Title, d.Role, d.Model, d.Dir, d.Status)
	p.bool(d.Archived)
	p.ints(d.CreatedAt, d.UpdatedAt, seq)
	n, err := w.insert(w.st.insertChat, "chat", d.ID)
	if err != nil {
		return err
	}
	w.chats.put(d.ID, n)
	w.touch(touchedChat, n)
	return nil
}

func (w *writer) setChat(d store.SetChat) error {
	n, err := w.chat(d.ID)
	if err != nil {
		return err
	}
	p := bind(w.st.setChat)
	for _, v := range []*string{d.Title, d.Status} {
		if v == nil {
			p.null()
		} else {
			p.text(*v)
		}
	}
	if d.Archived == nil {
		p.null()
	} else {
		p.bool(*d.Archived)
	}
	p.int(n)
	w.touch(touchedChat, n)
	return failure("changing chat "+d.ID, exec(w.st.setChat))
}

func (w *writer) setModel(d store.SetModel) error {
	a, err := w.agent(d.Chat) // the orchestrator has the chat's id
	if err != nil {
		return err
	}
	for _, row := range []struct {
		s    *sqlite.Stmt
		kind byte
		n    int64
	}{{w.st.chatModel, touchedChat, a.chat}, {w.st.agentModel, touchedAgent, a.n}} {
		p := bind(row.s)
		p.text(d.Model)
		p.int(row.n)
		if err := exec(row.s); err != nil {
			return failure("changing the model of chat "+d.Chat, err)
		}
		w.touch(row.kind, row.n)
	}
	return nil
}

// deleteChat takes the whole tree of a chat away. Everything remembered is
// forgotten: any of it may have been of that chat.
func (w *writer) deleteChat(d store.DeleteChat) error {
	n, err := w.chat(d.ID)
	if err != nil {
		return err
	}
	gone := deletion{chat: d.ID}
	p := bind(w.st.chatOwner)
	p.int(n)
	if _, err := w.st.chatOwner.Step(); err != nil {
		return failure("deleting chat "+d.ID, err)
	}
	gone.user = w.st.chatOwner.ColumnText(0)
	if err := w.st.chatOwner.Reset(); err != nil {
		return failure("deleting chat "+d.ID, err)
	}
	for i, sql := range deleteChat {
		s, err := w.conn.Prepare(sql)
		if err != nil {
			return failure("deleting chat "+d.ID, err)
		}
		p := bind(s)
		p.int(n)
		if err := exec(s); err != nil {
			return failure("deleting chat "+d.ID, err)
		}
		if i < deleteChatEvents {
			gone.events += int64(w.conn.Changes())
		}
	}
	w.agents.forgetAll()
	w.chats.forgetAll()
	w.tasks.forgetAll()
	w.calls.forgetAll()
	w.touchDeleted(gone)
	return nil
}

func waits(h store.Head) bool { return h.Busy || h.WakeAt > 0 }

func bindHead(p *params, h store.Head) {
	p.texts(h.Status, h.SubAgent, h.Recorded, h.Bailout, h.Why)
	p.ints(h.Until, int64(h.Turns), h.ActiveMS, h.Tokens, h.Cost)
	p.bool(h.Unpriced)
	p.ints(h.ExtraTokens, h.ExtraCost, h.ChildTokens, h.ChildCost, int64(h.Children), int64(h.Live))
	p.bool(h.Busy)
	p.ints(h.WakeAt, h.UpdatedAt)
}

func (w *writer) newAgent(d store.NewAgent) error {
	chat, err := w.chat(d.ChatID)
	if err != nil {
		return fmt.Errorf("adding agent %s: %w", d.ID, err)
	}
	var parent agentRow
	if d.Parent != "" {
		if parent, err = w.agent(d.Parent); err != nil {
			return fmt.Errorf("adding agent %s: its parent: %w", d.ID, err)
		}
	}
	p := bind(w.st.insertAgent)
	p.text(d.ID)
	p.int(chat)
	p.ref(parent.n)
	p.int(int64(d.Depth))
	bindHead(&p, d.Head)
	p.bool(waits(d.Head))
	n, err := w.insert(w.st.insertAgent, "agent", d.ID)
	if err != nil {
		return err
	}
	p = bind(w.st.insertDetails)
	p.int(n)
	p.texts(d.TaskID, d.Role, d.Name, d.Path, d.Model, d.Prompt, d.Dir, d.Cause, d.ContextMode)
	p.ints(d.ContextTokens, int64(d.MaxTurns), d.MaxDuration, d.MaxTokens, d.MaxCost)
	p.text(d.Continues)
	p.ints(d.CreatedAt, d.EndedAt)
	p.texts(d.Summary, d.Error)
	p.blob(d.Metadata)
	p.blob(d.Spec)
	if err := exec(w.st.insertDetails); err != nil {
		return failure("adding agent "+d.ID, err)
	}
	w.agents.put(d.ID, agentRow{n: n, chat: chat, root: parent.n == 0, waits: waits(d.Head)})
	w.touch(touchedAgent, n)
	return nil
}

func (w *writer) setHead(e *store.Entry, seq int64, d store.SetHead) error {
	a, err := w.agent(d.ID)
	if err != nil {
		return err
	}
	snapshot := int64(0)
	if len(e.Snapshot) > 0 && d.ID == e.Agent {
		snapshot, w.snapped = seq, true
	}
	p := bind(w.st.setHead)
	bindHead(&p, d.Head)
	p.ref(snapshot)
	p.int(a.n)
	if err := exec(w.st.setHead); err != nil {
		return failure("writing the head of agent "+d.ID, err)
	}
	if now := waits(d.Head); now != a.waits {
		p := bind(w.st.setWaits)
		p.bool(now)
		p.int(a.n)
		if err := exec(w.st.setWaits); err != nil {
			return failure("writing the head of agent "+d.ID, err)
		}
		a.waits = now
		w.agents.put(d.ID, a)
	}
	if at := max(e.At, d.UpdatedAt); a.root && (!d.Busy || at-a.moved >= moveEvery) {
		w.active = append(w.active, activity{a.chat, at})
		a.moved = at
		w.agents.put(d.ID, a)
	}
	w.touch(touchedAgent, a.n)
	return nil
}

func (w *writer) endAgent(d store.EndAgent) error {
	a, err := w.agent(d.ID)
	if err != nil {
		return err
	}
	p := bind(w.st.endAgent)
	p.texts(d.Summary, d.Error)
	p.ints(d.EndedAt, a.n)
	if err := exec(w.st.endAgent); err != nil {
		return failure("ending agent "+d.ID, err)
	}
	w.agents.forgetLater(d.ID)
	w.touch(touchedAgent, a.n)
	return nil
}

func (w *writer) newTask(d store.NewTask) error {
	a, err := w.agent(d.Agent)
	if err != nil {
		return fmt.Errorf("adding task %s: its parent: %w", d.ID, err)
	}
	p := bind(w.st.insertTask)
	p.text(d.ID)
	p.ints(a.n, int64(d.Number))
	p.texts(d.Type, d.Name, d.SubAgentID)
	p.ints(int64(d.Turn), int64(d.Call))
	p.texts(d.Status, d.ErrorKind, d.Reason, d.Cause)
	p.ints(d.CreatedAt, d.UpdatedAt)
	p.text(d.Instruction)
	p.blob(d.Metadata)
	p.texts(d.Error, d.Result)
	n, err := w.insert(w.st.insertTask, "task", d.ID)
	if err != nil {
		return err
	}
	w.tasks.put(d.ID, n)
	w.touch(touchedTask, n)
	return nil
}

func (w *writer) setTask(d store.SetTask) error {
	n, err := w.task(d.ID)
	if err != nil {
		return err
	}
	p := bind(w.st.setTask)
	p.text(d.Status)
	p.ints(d.At, n)
	w.touch(touchedTask, n)
	return failure("changing task "+d.ID, exec(w.st.setTask))
}

func (w *writer) endTask(d store.EndTask) error {
	n, err := w.task(d.ID)
	if err != nil {
		return err
	}
	p := bind(w.st.endTask)
	p.texts(d.Result, d.Error, d.ErrorKind, d.Reason)
	p.blob(d.Metadata)
	p.ints(d.At, n)
	if err := exec(w.st.endTask); err != nil {
		return failure("ending task "+d.ID, err)
	}
	w.tasks.forgetLater(d.ID)
	w.touch(touchedTask, n)
	return nil
}

// newMessage stores the id only of messages that were given one of their own;
// that of the others follows from their place.
func (w *writer) newMessage(d store.NewMessage) error {
	a, err := w.agent(d.Agent)
	if err != nil {
		return fmt.Errorf("adding a message: %w", err)
	}
	if d.Pos < 0 && d.ID == "" {
		return fmt.Errorf("adding a message of agent %s: %w", d.Agent, errNoID)
	}
	pos, derived := parseMessageID(d.ID, d.Agent)
	own := d.ID != "" && (!derived || pos != d.Pos)
	p := bind(w.st.insertMessage)
	p.int(a.n)
	if d.Pos < 0 {
		p.null()
	} else {
		p.int(int64(d.Pos))
	}
	p.ints(int64(d.Turn), d.CreatedAt)
	if own {
		p.text(d.ID)
	} else {
		p.null()
	}
	p.texts(d.Role, d.Kind, d.Call)
	p.blob(d.Parts)
	if err := exec(w.st.insertMessage); err != nil {
		return failure("adding message "+d.ID+" of agent "+d.Agent, err)
	}
	if d.Kind == string(message.KindUser) {
		w.active = append(w.active, activity{a.chat, d.CreatedAt})
	}
	w.touch(touchedMessage, w.conn.LastInsertRowID())
	return nil
}

func (w *writer) placeMessage(d store.PlaceMessage) error {
	a, err := w.agent(d.Agent)
	if err != nil {
		return fmt.Errorf("placing message %s: %w", d.ID, err)
	}
	p := bind(w.st.placeMessage)
	p.int(int64(d.Pos))
	p.text(d.ID)
	p.int(a.n)
	n, err := find(w.st.placeMessage, "queued message", d.ID)
	if err != nil {
		return err
	}
	w.touch(touchedMessage, n)
	return nil
}

func (w *writer) newToolCall(d store.NewToolCall) error {
	a, err := w.agent(d.Agent)
	if err != nil {
		return fmt.Errorf("adding a tool call: %w", err)
	}
	p := bind(w.st.insertCall)
	p.ints(a.n, int64(d.Turn), int64(d.Call), int64(d.Pos), d.CreatedAt, d.StartedAt, d.EndedAt)
	p.texts(d.Phase, d.Status, d.Class, d.Name, d.CallID)
	if err := exec(w.st.insertCall); err != nil {
		return failure("adding tool call "+store.ToolCallID(d.Agent, d.Turn, d.Call), err)
	}
	n := w.conn.LastInsertRowID()
	p = bind(w.st.insertInput)
	p.int(n)
	p.blob(d.Args)
	if err := exec(w.st.insertInput); err != nil {
		return failure("adding tool call "+store.ToolCallID(d.Agent, d.Turn, d.Call), err)
	}
	if err := w.record(n, d.Record); err != nil {
		return failure("adding tool call "+store.ToolCallID(d.Agent, d.Turn, d.Call), err)
	}
	w.calls.put(callKey{a.n, d.Turn, d.Call}, n)
	w.touch(touchedToolCall, n)
	return nil
}

func (w *writer) setToolCall(d store.SetToolCall) error {
	key, n, err := w.toolCall(d.Agent, d.Turn, d.Call)
	if err != nil {
		return err
	}
	p := bind(w.st.setCall)
	p.texts(d.Phase, d.Status)
	p.ints(d.StartedAt, d.EndedAt, n)
	if err := exec(w.st.setCall); err != nil {
		return failure("changing tool call "+store.ToolCallID(d.Agent, d.Turn, d.Call), err)
	}
	if err := w.record(n, d.Record); err != nil {
		return failure("recording tool call "+store.ToolCallID(d.Agent, d.Turn, d.Call), err)
	}
	if d.EndedAt != 0 {
		w.calls.forgetLater(key)
	}
	w.touch(touchedToolCall, n)
	return nil
}

// record stores what the tool call in row n did, if there is anything to store.
func (w *writer) record(n int64, record []byte) error {
	if record == nil {
		return nil
	}
	p := bind(w.st.putRecord)
	p.int(n)
	p.blob(record)
	return exec(w.st.putRecord)
}

// adopt copies the beginning of a history. The copies have no ids of their
// own: those of users' messages stay with the originals.
func (w *writer) adopt(d store.AdoptMessages) error {
	a, err := w.agent(d.Agent)
	if err != nil {
		return fmt.Errorf("taking over the history of %s: %w", d.From, err)
	}
	from, err := w.agent(d.From)
	if err != nil {
		return fmt.Errorf("taking over the history of %s: %w", d.From, err)
	}
	p := bind(w.st.adopt)
	p.ints(a.n, from.n, int64(d.Count))
	if err := exec(w.st.adopt); err != nil {
		return failure("taking over the history of "+d.From, err)
	}
	if n := w.conn.Changes(); n != d.Count {
		return fmt.Errorf("taking over the history of %s: it has %d of %d messages: %w", d.From, n, d.Count, store.ErrNotFound)
	}
	w.touch(touchedAgent, a.n)
	return nil
}

func (w *writer) newModelCall(d store.NewModelCall) error {
	a, err := w.agent(d.Agent)
	if err != nil {
		return fmt.Errorf("adding a model call: %w", err)
	}
	p := bind(w.st.insertModelCall)
	p.ints(a.n, int64(d.Turn), int64(d.Try), int64(d.From), int64(d.Reply))
	p.ints(d.Input, d.Output, d.CacheRead, d.CacheWrite, d.Reasoning, d.Cost)
	p.bool(d.Priced)
	p.ints(d.StartedAt, d.FirstAt, d.EndedAt, d.WaitedMS)
	p.texts(d.Model, d.RequestType, d.Status, d.Stop, d.ErrorKind, d.Error, d.RequestID, d.Response, d.Answered)
	n, err := w.insert(w.st.insertModelCall, "a model call of agent", d.Agent)
	if err != nil {
		return err
	}
	w.touch(touchedModelCall, n)
	return nil
}

func (w *writer) newItem(d store.NewItem) error {
	a, err := w.agent(d.Agent)
	if err != nil {
		return fmt.Errorf("adding inbox item %s: %w", d.ID, err)
	}
	p := bind(w.st.insertItem)
	p.text(d.ID)
	p.ints(a.chat, a.n)
	p.texts(d.UserID, d.Path, d.Role)
	p.ints(int64(d.Turn), int64(d.Call))
	p.texts(d.Kind, d.Action, d.Reason, d.Grant)
	p.blob(d.Detail)
	p.int(d.Deadline)
	p.texts(d.Default, d.Status, d.How, d.By, d.Scope, d.Answer)
	p.ints(d.CreatedAt, d.ClosedAt)
	n, err := w.insert(w.st.insertItem, "inbox item", d.ID)
	if err != nil {
		return err
	}
	w.touch(touchedItem, n)
	return nil
}

func (w *writer) setItem(d store.SetItem) error {
	p := bind(w.st.setItem)
	p.text(d.Status)
	p.int(d.Deadline)
	p.texts(d.How, d.By, d.Scope, d.Answer)
	p.int(d.At)
	p.text(d.ID)
	n, err := find(w.st.setItem, "inbox item", d.ID)
	if err != nil {
		return err
	}
	w.touch(touchedItem, n)
	return nil
}

func (w *writer) newArtifact(d store.NewArtifact) error {
	chat, err := w.chat(d.ChatID)
	if err != nil {
		return fmt.Errorf("adding artifact %s: %w", d.ID, err)
	}
	var a agentRow
	if d.Agent != "" {
		if a, err = w.agent(d.Agent); err != nil {
			return fmt.Errorf("adding artifact %s: %w", d.ID, err)
		}
	}
	p := bind(w.st.insertArtifact)
	p.text(d.ID)
	p.int(chat)
	p.ref(a.n)
	p.texts(d.Name, d.MediaType)
	p.ints(d.Size, d.CreatedAt)
	p.blob(d.Data)
	_, err = w.insert(w.st.insertArtifact, "artifact", d.ID)
	return err
}

func (w *writer) putReadMark(d store.PutReadMark) error {
	n, err := w.chat(d.ChatID)
	if err != nil {
		return err
	}
	w.touch(touchedReadMark, n)
	return failure("marking chat "+d.ChatID+" as read", w.change(putReadMarkSQL, false, func(p *params) { p.ints(n, d.Seq) }))
}

func (w *writer) putSettings(d store.PutSettings) error {
	w.touchSettings(d.User)
	return failure("keeping the settings of "+d.User, w.change(putSettingsSQL, false, func(p *params) {
		p.text(d.User)
		p.blob(d.Body)
	}))
}
