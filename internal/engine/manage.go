// Managing chats: changes that no agent makes, in the order of all others. What
// a user sets for themselves goes the same way.

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/store"
)

// ErrBusy: a chat with agents at work is not deleted unless it is forced.
var ErrBusy = errors.New("agents of the chat are at work")

// managed is a change of a chat as a whole, or of what a user has set.
type managed struct {
	chat   string // empty: of no chat
	kind   string
	docs   []store.Doc
	delete bool
	force  bool
}

// SetChat renames a chat or puts it into the archive; it returns when that is
// durable.
func (e *Engine) SetChat(ctx context.Context, set store.SetChat) error {
	kind := "chat_renamed"
	if set.Archived != nil {
		kind = "chat_archived"
	}
	return e.manage(ctx, managed{chat: set.ID, kind: kind, docs: []store.Doc{set}})
}

// DeleteChat deletes a chat with its whole tree. While agents of it are at
// work it returns ErrBusy; with force they are stopped, and what they had
// under way is dropped.
func (e *Engine) DeleteChat(ctx context.Context, chat string, force bool) error {
	return e.manage(ctx, managed{chat: chat, kind: "chat_deleted", docs: []store.Doc{store.DeleteChat{ID: chat}}, delete: true, force: force})
}

// MarkRead notes up to which change the owner of a chat has read it. A mark
// only moves on.
func (e *Engine) MarkRead(ctx context.Context, mark store.ReadMark) error {
	return e.manage(ctx, managed{chat: mark.ChatID, kind: "chat_read", docs: []store.Doc{store.PutReadMark{ReadMark: mark}}})
}

// PutSettings keeps what a user has set for themselves.
func (e *Engine) PutSettings(ctx context.Context, user string, body json.RawMessage) error {
	return e.manage(ctx, managed{kind: "settings_changed", docs: []store.Doc{store.PutSettings{User: user, Body: body}}})
}

func (e *Engine) manage(ctx context.Context, m managed) error {
	if m.chat != "" {
		if _, err := e.cfg.Store.Chat(ctx, m.chat); err != nil {
			return fmt.Errorf("chat %s: %w", m.chat, err)
		}
	}
	return e.deliver(ctx, delivery{agent: m.chat, managed: &m})
}

// manage stages such a change.
func (t *tx) manage(d delivery) {
	m := d.managed
	if m.delete && !m.force {
		busy, err := t.busy(m.chat)
		if err != nil {
			t.fail(err)
			return
		}
		if busy {
			t.reply(d, ErrBusy)
			return
		}
	}
	t.entries = append(t.entries, &store.Entry{Chat: m.chat, At: t.at, Type: m.kind, Version: agent.Version, Docs: m.docs})
	if m.delete {
		t.gone = append(t.gone, m.chat)
	}
	t.reply(d, nil)
}

// busy tells whether agents of a chat are at work.
func (t *tx) busy(chat string) (bool, error) {
	waiting, err := t.e.cfg.Store.Unfinished(t.e.base, chat)
	if err != nil {
		return false, fmt.Errorf("looking for agents at work: %w", err)
	}
	return len(waiting) > 0, nil
}

// forget drops what is in memory of a chat that was deleted.
func (e *Engine) forget(chat string) {
	for id, l := range e.live {
		if id != chat && !strings.HasPrefix(id, chat+".") {
			continue
		}
		for _, cancel := range l.running {
			cancel()
		}
		e.timers.set(id, 0)
		delete(e.live, id)
	}
	for key := range e.names {
		if key.chat == chat {
			delete(e.names, key)
		}
	}
	delete(e.counted, chat)
	delete(e.totals, chat)
}

// apart takes the deletions of chats out of a batch: each is committed by
// itself, after what came with it, so that nothing in its batch is about rows
// that are gone.
func apart(batch []delivery) (rest, deletions []delivery) {
	for _, d := range batch {
		if d.managed != nil && d.managed.delete {
			deletions = append(deletions, d)
		} else {
			rest = append(rest, d)
		}
	}
	return rest, deletions
}
