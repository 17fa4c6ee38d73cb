// Bar 7: how long it takes to be there, and what it costs to be there.

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

// coldStart measures `cadre version`, `cadre serve`, an idle server, the
// binary and a first build.
func (b *bench) coldStart(ctx context.Context) (*section, error) {
	rounds, idle := 11, 10*time.Second
	if b.quick {
		rounds, idle = 3, 2*time.Second
	}
	s := &section{}
	var version []float64
	for range rounds {
		began := time.Now()
		cmd := exec.CommandContext(ctx, b.cadre, "version")
		cmd.Env = append(os.Environ(), b.env()...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cadre version: %w: %s", err, out)
		}
		version = append(version, chat.Millis(time.Since(began)))
	}
	var ready []float64
	for range rounds {
		srv, err := b.serve(ctx, filepath.Join(b.dir, "cold"))
		if err != nil {
			return nil, err
		}
		ready = append(ready, chat.Millis(srv.ready))
		srv.stop(syscall.SIGTERM)
	}
	rss, file, used, err := b.idle(ctx, idle)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(b.cadre)
	if err != nil {
		return nil, err
	}
	s.atMost("cadre version", median(version), 30, "ms")
	s.atMost("cadre serve is ready", median(ready), 300, "ms")
	s.atMost("idle memory", rss, 30, "MB")
	s.atMost("idle CPU", 100*used, 0.5, "% of a core")
	s.atMost("binary", float64(info.Size())/(1<<20), 60, "MB")
	s.say("Of the idle memory %.0f MB are pages of the program's own file, which the system can drop and shares between processes; %.0f MB are the process's own.", file, rss-file)
	if b.quick {
		return s, nil
	}
	took, err := b.firstBuild(ctx)
	if err != nil {
		return nil, err
	}
	s.atMost("first go build", took.Seconds(), 240, "s")
	return s, nil
}

// idle looks at a server that nobody uses: its memory, how much of that is the
// program's file (both in MB), and the cores it uses.
func (b *bench) idle(ctx context.Context, during time.Duration) (rss, file, used float64, err error) {
	srv, err := b.serve(ctx, filepath.Join(b.dir, "cold"))
	if err != nil {
		return 0, 0, 0, err
	}
	defer srv.stop(syscall.SIGTERM)
	used = cores(ctx, srv.pid(), time.Second, during)
	memory, err := chat.MemoryOf(srv.pid())
	return float64(memory.NowKB) / 1024, float64(memory.FileKB) / 1024, used, err
}

// firstBuild builds the binary with an empty cache; the modules are there.
func (b *bench) firstBuild(ctx context.Context) (time.Duration, error) {
	cache := filepath.Join(b.dir, "cache")
	defer func() { _ = os.RemoveAll(cache) }() // the whole folder is removed at the end
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(b.bin, "again"), "./cmd/cadre")
	cmd.Dir, cmd.Env = b.root, append(os.Environ(), "GOCACHE="+cache)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building anew: %w: %s", err, out)
	}
	return time.Since(began), nil
}
