// Bench measures Cadre against its bars, with a loopback model server, a
// floor of plain requests, and eino and adk-go as peers, and writes
// docs/benchmarks.md.
//
//	go run .            all bars, at most 25 minutes
//	go run . -bar 3     one of them; the others stay as they were
//	go run . -quick     fewer and smaller runs, nothing is written
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// bench is one run of the benchmark.
type bench struct {
	dir   string // its own folder, which is removed at the end
	root  string // of the repository
	bin   string // the processes under test
	cadre string
	quick bool
	model *model

	witness *witness
	load    string // average at the start
	profile string // how the names of profiles begin; empty: there are none
}

// bars are the measurements, by number.
var bars = []struct {
	title string
	run   func(*bench, context.Context) (*section, error)
}{
	{"Span, CPU and memory of a fan-out", (*bench).fanOut},
	{"Large trees and large databases", (*bench).large},
	{"What the engine adds to a turn", (*bench).turnCost},
	{"First token", (*bench).firstToken},
	{"Recovery", (*bench).recovery},
	{"Request sizes", (*bench).requests},
	{"Cold start", (*bench).coldStart},
	{"A thousand subscribers", (*bench).audience},
}

func main() {
	bar := flag.Int("bar", 0, "measure this bar alone")
	quick := flag.Bool("quick", false, "fewer and smaller runs; nothing is written")
	cadre := flag.String("cadre", "", "the binary to measure; by default it is built")
	profile := flag.String("profile", "", "write CPU profiles of Cadre in bar 1 to files that begin with this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, options{*bar, *quick, *cadre, *profile}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// most bounds a whole run.
const most = 25 * time.Minute

// options are the flags.
type options struct {
	bar     int
	quick   bool
	cadre   string
	profile string
}

func run(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	b, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	var all []check
	var failed error
	measured := 0
	for i := range bars {
		if o.bar != 0 && o.bar != i+1 {
			continue
		}
		measured++
		began := time.Now()
		fmt.Fprintf(os.Stdout, "== bar %d: %s\n", i+1, bars[i].title)
		s, err := bars[i].run(b, ctx)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("bar %d: %w", i+1, err))
			fmt.Fprintln(os.Stderr, failed)
			continue
		}
		s.print(os.Stdout)
		fmt.Fprintf(os.Stdout, "   (%s)\n", time.Since(began).Round(time.Second))
		all = append(all, s.checks...)
		if o.quick {
			continue
		}
		if err := b.write(i+1, bars[i].title, s, b.about(ctx, began)); err != nil {
			return err
		}
	}
	if measured == 0 {
		return fmt.Errorf("there is no bar %d; there are 1 to %d", o.bar, len(bars))
	}
	summary(all)
	return failed
}

// summary tells which bars hold.
func summary(all []check) {
	missed := 0
	for _, c := range all {
		if !c.holds {
			missed++
			fmt.Fprintln(os.Stdout, c)
		}
	}
	fmt.Fprintf(os.Stdout, "%d of %d conditions hold\n", len(all)-missed, len(all))
}

// prepare builds what is measured and starts the model server.
func prepare(ctx context.Context, o options) (_ *bench, err error) {
	b := &bench{witness: startWitness(), load: loadAverage(), quick: o.quick, cadre: o.cadre, profile: o.profile}
	if b.root, err = filepath.Abs(".."); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "cadre-bench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	b.bin = filepath.Join(b.dir, "bin")
	if b.cadre == "" {
		b.cadre = filepath.Join(b.bin, "cadre")
		if err := build(ctx, b.root, b.cadre, "./cmd/cadre"); err != nil {
			return nil, err
		}
	}
	if err := build(ctx, ".", b.bin+"/", "./model", "./floor", "./peers/eino", "./peers/adk"); err != nil {
		return nil, err
	}
	if b.model, err = startModel(ctx, b.path("model")); err != nil {
		return nil, err
	}
	return b, project(b.dir, b.model.url)
}

func (b *bench) path(name string) string { return filepath.Join(b.bin, name) }

func (b *bench) close() {
	b.witness.end()
	if b.model != nil {
		b.model.stop(syscall.SIGTERM)
	}
	_ = os.RemoveAll(b.dir) // it is in the folder for such things
}

func build(ctx context.Context, dir, out string, packages ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", out}, packages...)...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w: %s", strings.Join(packages, " "), err, text)
	}
	return nil
}
