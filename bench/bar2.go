// Bar 2: ten thousand sub-agents in one tree, and a database that is full.

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

func (b *bench) large(ctx context.Context) (*section, error) {
	s := &section{}
	if err := b.tree(ctx, s); err != nil {
		return nil, err
	}
	if err := b.fullDatabase(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// tree runs 100 managers with 99 readers each.
func (b *bench) tree(ctx context.Context, s *section) error {
	managers, readers := 100, 99
	if b.quick {
		managers = 10
	}
	data := filepath.Join(b.dir, "tree")
	defer func() { _ = os.RemoveAll(data) }() // the whole folder is removed at the end
	srv, err := b.serve(ctx, data)
	if err != nil {
		return err
	}
	defer srv.stop(syscall.SIGTERM)
	if err := b.model.reset(ctx, false); err != nil {
		return err
	}
	before, err := cpu(srv.pid())
	if err != nil {
		return err
	}
	span, err := srv.use(ctx, chat.Script{Kind: chat.Root, Fan: managers, Below: readers, Leaf: 1, Wait: -1})
	if err != nil {
		return err
	}
	after, err := cpu(srv.pid())
	if err != nil {
		return err
	}
	memory, err := chat.MemoryOf(srv.pid())
	if err != nil {
		return err
	}
	srv.stop(syscall.SIGTERM)
	all := managers * (readers + 1)
	done, err := count(data, `SELECT count(*) FROM tasks WHERE reason = 'completed' AND result <> ''`)
	if err != nil {
		return err
	}
	s.table([][]string{
		{"sub-agents", "with a result", "span s", "CPU s", "peak MB"},
		{strconv.Itoa(all), strconv.Itoa(int(done)), fmt.Sprintf("%.1f", span.Seconds()), fmt.Sprintf("%.1f", after-before), fmt.Sprintf("%.0f", float64(memory.PeakKB)/1024)},
	})
	s.atLeast("sub-agents with a result", float64(done), float64(all), "")
	s.atMost("peak memory of the tree", float64(memory.PeakKB)/1024, 600, "MB")
	return nil
}

// fullDatabase measures a server whose database holds 100,000 finished agents
// and a million messages, beside one that is empty.
func (b *bench) fullDatabase(ctx context.Context, s *section) error {
	copies, pairs := 100, 7
	if b.quick {
		copies, pairs = 5, 2
	}
	full, empty := filepath.Join(b.dir, "full"), filepath.Join(b.dir, "empty")
	defer func() { _ = os.RemoveAll(full) }() // the whole folder is removed at the end
	defer func() { _ = os.RemoveAll(empty) }()
	chats, err := b.fill(ctx, full, copies)
	if err != nil {
		return fmt.Errorf("filling a database: %w", err)
	}
	agents, err1 := count(full, `SELECT count(*) FROM agents`)
	messages, err2 := count(full, `SELECT count(*) FROM messages`)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("looking at the full database: %w, %w", err1, err2)
	}
	if err := b.verify(ctx, full, chats[len(chats)-1]); err != nil {
		return err
	}
	var ready []float64
	for range 3 {
		srv, err := b.serve(ctx, full)
		if err != nil {
			return err
		}
		ready = append(ready, srv.ready.Seconds())
		srv.stop(syscall.SIGTERM)
	}
	crowded, err := b.serve(ctx, full)
	if err != nil {
		return err
	}
	defer crowded.stop(syscall.SIGTERM)
	opening, err := crowded.open(ctx, chats)
	if err != nil {
		return err
	}
	alone, err := b.serve(ctx, empty)
	if err != nil {
		return err
	}
	defer alone.stop(syscall.SIGTERM)
	ratios, err := spans(ctx, crowded, alone, pairs)
	if err != nil {
		return err
	}
	s.table([][]string{
		{"agents", "messages", "server ready s", "opening a chat ms", "span to an empty database"},
		{fmt.Sprintf("%.0f", agents), fmt.Sprintf("%.0f", messages), fmt.Sprintf("%.2f", median(ready)), fmt.Sprintf("%.1f", median(opening)), fmt.Sprintf("%.2f ×", median(ratios))},
	})
	s.say("Opening a chat is what a page asks for first: the chat, its newest 50 messages, its tree of 1,000 agents and its inbox, one after the other. The span is that of 64 sub-agents, in pairs with a server on an empty database.")
	s.atMost("server start on a full database", median(ready), 1, "s")
	s.atMost("opening a chat", median(opening), 50, "ms")
	s.atMost("span beside an empty database", median(ratios), 1.1, "×")
	return nil
}

// open opens chats as a page does and returns how long each took, in ms.
func (s *server) open(ctx context.Context, chats []string) ([]float64, error) {
	var took []float64
	for _, id := range chats[:min(len(chats), 20)] {
		began := time.Now()
		for _, path := range []string{"", "/messages?limit=50&order=desc", "/tree", "/inbox"} {
			if err := s.ask(ctx, http.MethodGet, chatsPath+"/"+id+path, nil, nil); err != nil {
				return nil, err
			}
		}
		took = append(took, chat.Millis(time.Since(began)))
	}
	return took, nil
}

// spans are the ratios of spans on two servers, in pairs.
func spans(ctx context.Context, of, to *server, pairs int) ([]float64, error) {
	script := chat.Script{Kind: chat.Root, Fan: 64, Leaf: fanTurns, Wait: -1}
	var ratios []float64
	for i := range pairs + 1 {
		a, err := of.use(ctx, script)
		if err != nil {
			return nil, err
		}
		b, err := to.use(ctx, script)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first is a warm-up
			ratios = append(ratios, float64(a)/float64(b))
		}
	}
	return ratios, nil
}
