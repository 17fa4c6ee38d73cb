// Titles: chats that are named by the beginning of their first message get a
// better name once their first exchange is over.

package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/view"
)

// titleWithin is up to which of the user's messages a chat may get its name.
const titleWithin = 2

// NameChats names chats until ctx ends. What it misses while the process is
// down is caught up with at the chat's next exchange.
func (a *App) NameChats(ctx context.Context, log *slog.Logger) {
	since, err := a.Store.LastSeq(ctx)
	for err == nil {
		since, err = a.nameSince(ctx, since, log)
	}
	if ctx.Err() == nil && !errors.Is(err, feed.ErrClosed) {
		log.Warn("chats are no longer named", "err", err)
	}
}

// nameSince follows the changes after a number; nil tells that it was too slow
// and has to go on from the number it returns.
func (a *App) nameSince(ctx context.Context, since int64, log *slog.Logger) (int64, error) {
	sub := a.Feed.Subscribe(ctx, since, store.Filter{Collections: []string{"orchestrator"}}, feed.Options{})
	defer sub.Close()
	for {
		item, err := sub.Next(ctx)
		if slow, ok := errors.AsType[*feed.SlowError](err); ok {
			return slow.Last, nil
		}
		if err != nil {
			return 0, err
		}
		if item.Change == nil || !rests(item.Change) {
			continue
		}
		if err := a.name(ctx, item.Change.Chat); err != nil {
			log.Info("a chat was not named", "chat", item.Change.Chat, "err", err)
		}
	}
}

// rests tells that a change left the orchestrator at rest with an answer.
func rests(c *store.Change) bool {
	for _, d := range c.Docs {
		if a, ok := d.Data.(store.Agent); ok && d.ID == c.Chat {
			return a.Status == "idle" && a.Recorded == "completed"
		}
	}
	return false
}

// name gives a chat its name, unless a person or an earlier exchange did.
func (a *App) name(ctx context.Context, id string) error {
	chat, err := a.Store.Chat(ctx, id)
	if err != nil {
		return err
	}
	rows, err := a.Store.History(ctx, id, 0)
	if err != nil {
		return err
	}
	asked, begins := 0, ""
	for _, row := range rows {
		if row.Kind != string(message.KindUser) {
			continue
		}
		if asked++; asked == 1 {
			m, err := row.Decode()
			if err != nil {
				return err
			}
			begins = view.Title(m.Text())
		}
	}
	if asked == 0 || asked > titleWithin || chat.Title != begins {
		return nil
	}
	title, err := a.Performer.Title(ctx, id)
	if title = view.Title(title); err != nil || title == "" {
		return err
	}
	return a.Engine.SetChat(ctx, store.SetChat{ID: id, Title: &title})
}
