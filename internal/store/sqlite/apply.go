// This file writes an entry: its documents, then its event.

package sqlite

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/cadre-dev/cadre/internal/store"
)

// entry writes e as change number seq. The documents come first: the event
// tells which rows they became, and may be of an agent they create.
func (w *writer) entry(e *store.Entry, seq int64) error {
	w.touched, w.snapped = w.touched[:0], false
	for _, d := range e.Docs {
		if err := w.doc(e, seq, d); err != nil {
			return err
		}
	}
	agent, chat, err := w.whose(e)
	if err != nil {
		return err
	}
	if len(e.Snapshot) > 0 && !w.snapped && agent != 0 {
		p := bind(w.st.setSnapshot)
		p.ints(seq, agent)
		if err := exec(w.st.setSnapshot); err != nil {
			return failure("noting the snapshot of agent "+e.Agent, err)
		}
	}
	p := bind(w.st.insertEvent)
	p.int(seq)
	p.ref(agent)
	p.ref(chat)
	p.ints(e.At, int64(e.Version))
	p.texts(e.Type, string(e.Verdict), string(w.touched))
	p.blob(e.Body)
	p.blob(e.Snapshot)
	if err := exec(w.st.insertEvent); err != nil {
		return failure("writing event "+e.Type+" of agent "+e.Agent, err)
	}
	return nil
}

// whose returns the rows of the entry's agent and chat, 0 for none. The chat
// that the entry itself has just deleted is none.
func (w *writer) whose(e *store.Entry) (agent, chat int64, err error) {
	for _, d := range e.Docs {
		if gone, ok := d.(store.DeleteChat); ok && gone.ID == e.Chat {
			return 0, 0, nil
		}
	}
	if e.Agent != "" {
		a, err := w.agent(e.Agent)
		return a.n, a.chat, err
	}
	if e.Chat != "" {
		chat, err = w.chat(e.Chat)
	}
	return 0, chat, err
}

// doc writes one document.
func (w *writer) doc(e *store.Entry, seq int64, d store.Doc) error {
	switch d := d.(type) {
	case store.PutUser:
		return w.putUser(d)
	case store.PutPrompt:
		return w.putPrompt(d)
	case store.NewChat:
		return w.newChat(d, seq)
	case store.SetChat:
		return w.setChat(d)
	case store.SetModel:
		return w.setModel(d)
	case store.DeleteChat:
		return w.deleteChat(d)
	case store.NewAgent:
		return w.newAgent(d)
	case store.SetHead:
		return w.setHead(e, seq, d)
	case store.EndAgent:
		return w.endAgent(d)
	case store.NewTask:
		return w.newTask(d)
	case store.SetTask:
		return w.setTask(d)
	case store.EndTask:
		return w.endTask(d)
	case store.NewMessage:
		return w.newMessage(d)
	case store.PlaceMessage:
		return w.placeMessage(d)
	case store.AdoptMessages:
		return w.adopt(d)
	case store.NewToolCall:
		return w.newToolCall(d)
	case store.SetToolCall:
		return w.setToolCall(d)
	case store.NewModelCall:
		return w.newModelCall(d)
	case store.NewItem:
		return w.newItem(d)
	case store.SetItem:
		return w.setItem(d)
	case store.NewArtifact:
		return w.newArtifact(d)
	case store.PutReadMark:
		return w.putReadMark(d)
	case store.PutSettings:
		return w.putSettings(d)
	}
	return fmt.Errorf("writing a document: unknown kind %T", d)
}

// find returns the first column of the row that a bound statement finds.
func find(s *sqlite.Stmt, what, id string) (int64, error) {
	ok, err := s.Step()
	if err != nil {
		return 0, failure("looking for "+what+" "+id, err)
	}
	n := int64(0)
	if ok {
		n = s.ColumnInt64(0)
	}
	if err := s.Reset(); err != nil {
		return 0, failure("looking for "+what+" "+id, err)
	}
	if !ok {
		return 0, missing(what, id)
	}
	return n, nil
}

func missing(what, id string) error { return fmt.Errorf("%s %s: %w", what, id, store.ErrNotFound) }

// insert runs a bound insert and returns the number of the new row.
func (w *writer) insert(s *sqlite.Stmt, what, id string) (int64, error) {
	if err := exec(s); err != nil {
		return 0, failure("adding "+what+" "+id, err)
	}
	return w.conn.LastInsertRowID(), nil
}

func (w *writer) agent(id string) (agentRow, error) {
	if a, ok := w.agents.get(id); ok {
		return a, nil
	}
	s := w.st.findAgent
	p := bind(s)
	p.text(id)
	ok, err := s.Step()
	if err != nil {
		return agentRow{}, failure("looking for agent "+id, err)
	}
	var a agentRow
	if ok {
		c := columns{s: s}
		a = agentRow{n: c.int64(), chat: c.int64(), root: c.bool(), waits: c.bool()}
	}
	if err := s.Reset(); err != nil {
		return agentRow{}, failure("looking for agent "+id, err)
	}
	if !ok {
		return agentRow{}, missing("agent", id)
	}
	w.agents.put(id, a)
	return a, nil
}

func (w *writer) chat(id string) (int64, error) {
	return w.row(w.chats, w.st.findChat, "chat", id)
}

func (w *writer) task(id string) (int64, error) {
	return w.row(w.tasks, w.st.findTask, "task", id)
}

// row returns the number of the row with an id, from memory or by a search.
func (w *writer) row(known *rows[string, int64], search *sqlite.Stmt, what, id string) (int64, error) {
	if n, ok := known.get(id); ok {
		return n, nil
	}
	p := bind(search)
	p.text(id)
	n, err := find(search, what, id)
	if err != nil {
		return 0, err
	}
	known.put(id, n)
	return n, nil
}

func (w *writer) toolCall(agent string, turn, call int) (key callKey, n int64, err error) {
	a, err := w.agent(agent)
	if err != nil {
		return callKey{}, 0, err
	}
	key = callKey{a.n, turn, call}
	if n, ok := w.calls.get(key); ok {
		return key, n, nil
	}
	p := bind(w.st.findCall)
	p.ints(a.n, int64(turn), int64(call))
	n, err = find(w.st.findCall, "tool call", store.ToolCallID(agent, turn, call))
	if err == nil {
		w.calls.put(key, n)
	}
	return key, n, err
}

// parseMessageID tells the place that an id made of it names.
func parseMessageID(id, agent string) (pos int, ok bool) {
	rest, ok := strings.CutPrefix(id, agent)
	if !ok {
		return 0, false
	}
	rest, ok = strings.CutPrefix(rest, "-m")
	if !ok {
		return 0, false
	}
	pos, err := strconv.Atoi(rest)
	return pos, err == nil && pos >= 0
}

var errNoID = errors.New("a queued message needs an id")
