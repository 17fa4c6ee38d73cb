// The feed: read as server-sent events, and taken up again by number wherever
// it breaks off.

package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
)

// GoneError tells that changes were deleted after the number asked for, or
// that the number is of another data folder: begin anew with Snapshot (of the
// chat followed) or Overview (of all chats), then follow from Seq.
type GoneError struct {
	Seq      int64
	Why      string
	Snapshot *wire.Snapshot
	Overview *wire.Overview
}

func (e *GoneError) Error() string { return "there is no way on from this number: " + e.Why }

const (
	silence   = 60 * time.Second // without a heartbeat: the connection is dead
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
	maxLine   = 64 << 20 // bytes
)

// Feed says what to follow.
type Feed struct {
	Chat   string // empty: all chats of the user
	Since  int64  // the last change that was seen
	Until  int64  // if not 0, the feed ends after this one
	Deltas bool

	// Paused is told why the server can store nothing, and "" when it can
	// again, from the goroutine that follows; nil: nobody wants to know.
	Paused func(why string)

	// Patience is how long to go on trying while no server answers.
	Patience time.Duration
}

// Follow yields every change after f.Since once, in order, and pieces of
// replies. A connection that breaks off is made again. It ends with the
// context, with f.Until, or with an error: a *GoneError, a problem that trying again
// does not solve, or ErrUnreachable when patience has run out.
func (c *Client) Follow(ctx context.Context, f Feed) iter.Seq2[feed.Item, error] {
	return func(yield func(feed.Item, error) bool) {
		r := &reader{c: c, f: f, last: f.Since, yield: yield}
		alive, wait := time.Now(), firstWait
		for {
			before := r.items
			err := r.connect(ctx)
			switch {
			case r.left || ctx.Err() != nil && yieldEnd(ctx, yield):
				return
			case err == nil && f.Until > 0:
				return
			case final(err):
				yield(feed.Item{}, err)
				return
			case r.connected || r.items > before:
				alive, wait = time.Now(), firstWait
			case time.Since(alive) > f.Patience:
				yield(feed.Item{}, err)
				return
			}
			r.connected = false
			select {
			case <-time.After(wait):
				wait = min(2*wait, longWait)
			case <-ctx.Done():
			}
		}
	}
}

func yieldEnd(ctx context.Context, yield func(feed.Item, error) bool) bool {
	yield(feed.Item{}, ctx.Err())
	return true
}

// final tells whether trying again is of no use.
func final(err error) bool {
	var p *wire.Problem
	if errors.As(err, &p) {
		return p.Status < http.StatusInternalServerError && p.Status != http.StatusTooManyRequests
	}
	var gone *GoneError
	return errors.As(err, &gone) || errors.Is(err, errGap)
}

// errGap tells that the server has left something out, which it never does.
var errGap = errors.New("the feed has a gap")

// reader is one who follows.
type reader struct {
	c     *Client
	f     Feed
	last  int64
	yield func(feed.Item, error) bool

	items     int
	connected bool
	left      bool // the one who reads wants no more
}

// connect makes one connection and reads until it ends.
func (r *reader) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dead := time.AfterFunc(silence, cancel)
	defer dead.Stop()
	at, query := mePath, url.Values{"deltas": {strconv.FormatBool(r.f.Deltas)}}
	if r.f.Chat != "" {
		at = chatPath(r.f.Chat)
	}
	if r.f.Until > 0 {
		query.Set("until", strconv.FormatInt(r.f.Until, 10))
	}
	header := http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {strconv.FormatInt(r.last, 10)}}
	res, err := r.c.send(ctx, http.MethodGet, at+"/changes", query, nil, header)
	var p *wire.Problem
	if errors.As(err, &p) && p.Status == http.StatusGone {
		return &GoneError{p.Seq, p.Detail, p.Snapshot, p.Overview}
	}
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it was read, or is given up
	r.connected = true
	r.paused("") // one that is, says so first
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxLine)
	var name, data string
	for lines.Scan() {
		dead.Reset(silence)
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch value = strings.TrimPrefix(value, " "); {
		case key == "event":
			name = value
		case key == "data":
			data = value
		case lines.Text() == "" && data != "":
			if err := r.take(name, data); err != nil || r.left {
				return err
			}
			name, data = "", ""
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading the feed: %w", err)
	}
	if r.f.Until > 0 {
		return nil
	}
	return fmt.Errorf("reading the feed: %w", io.ErrUnexpectedEOF)
}

// take passes one event on. A change that was seen already is left out.
func (r *reader) take(name, data string) error {
	switch name {
	case "delta":
		d := &feed.Delta{}
		if err := json.Unmarshal([]byte(data), d); err != nil {
			return fmt.Errorf("reading a piece of a reply: %w", err)
		}
		r.pass(feed.Item{Delta: d})
	case "state":
		var now wire.State
		if err := json.Unmarshal([]byte(data), &now); err != nil {
			return fmt.Errorf("reading the state of the server: %w", err)
		}
		r.paused(now.Paused)
	case "change":
		change, prev, err := decode([]byte(data))
		if err != nil {
			return err
		}
		if change.Seq <= r.last {
			return nil
		}
		if prev > r.last {
			return fmt.Errorf("%w: change %d follows %d, and %d was the last", errGap, change.Seq, prev, r.last)
		}
		r.last = change.Seq
		r.pass(feed.Item{Change: change})
	}
	return nil
}

func (r *reader) paused(why string) {
	if r.f.Paused != nil {
		r.f.Paused(why)
	}
}

func (r *reader) pass(item feed.Item) {
	r.items++
	r.left = !r.yield(item, nil)
}

// decode reads a change; its documents get the types that they have in the
// store.
func decode(b []byte) (*store.Change, int64, error) {
	var in struct {
		store.Change
		Prev int64 `json:"prev"`
		Docs []struct {
			store.Document
			Data json.RawMessage `json:"data"`
		} `json:"docs"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, 0, fmt.Errorf("reading a change: %w", err)
	}
	for _, d := range in.Docs {
		doc := d.Document
		if !doc.Deleted {
			var err error
			if doc.Data, err = document(doc.Collection, d.Data); err != nil {
				return nil, 0, fmt.Errorf("reading %s %s of change %d: %w", doc.Collection, doc.ID, in.Seq, err)
			}
		}
		in.Change.Docs = append(in.Change.Docs, doc)
	}
	return &in.Change, in.Prev, nil
}

// document reads what a collection holds; one that is not known stays as it
// came, so that newer servers can be followed.
func document(collection string, raw json.RawMessage) (any, error) {
	switch path.Base(collection) {
	case "orch-chats":
		return as[store.Chat](raw)
	case "orchestrator", "sub-agents":
		return as[store.Agent](raw)
	case "tasks":
		return as[store.Task](raw)
	case "messages":
		return as[store.Message](raw)
	case "tool-calls":
		return as[store.ToolCall](raw)
	case "model-calls":
		return as[store.ModelCall](raw)
	case "inbox":
		return as[store.Item](raw)
	case "read-marks":
		return as[store.ReadMark](raw)
	}
	return raw, nil
}

func as[T any](raw json.RawMessage) (any, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}
