// Signals: the first Ctrl-C asks for the end, the second takes it.

package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/cadre-dev/cadre/internal/view"
)

// stops hands signals to the session. A second one of the same kind does not
// wait for it: the process ends at once, and recovery does the rest.
type stops struct {
	signals chan os.Signal
	quit    chan struct{}

	mu   sync.Mutex
	seen map[os.Signal]bool
}

// listen begins to take signals. out is where the live view is drawn: its
// cursor has to be given back.
func listen(out io.Writer) *stops {
	s := &stops{signals: make(chan os.Signal, 4), quit: make(chan struct{}), seen: map[os.Signal]bool{}}
	raw := make(chan os.Signal, 4)
	signal.Notify(raw, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		defer signal.Stop(raw)
		for {
			select {
			case sig := <-raw:
				if s.second(sig) {
					s.endNow(sig, out)
				}
				s.signals <- sig
			case <-s.quit:
				return
			}
		}
	}()
	return s
}

// second tells whether the signal came before.
func (s *stops) second(sig os.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.seen[sig]
	s.seen[sig] = true
	return was
}

// again lets the next signal be a first one: what the last one stopped is over.
func (s *stops) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
}

func (s *stops) endNow(sig os.Signal, out io.Writer) {
	if isTerminal(out) {
		fmt.Fprint(out, view.ShowCursor+"\n")
	}
	fmt.Fprintln(os.Stderr, "cadre: ended at once; what is unfinished is stored\n  go on: cadre run --resume")
	if sig == os.Interrupt {
		os.Exit(exitCancelled)
	}
	os.Exit(exitTerminated)
}

func (s *stops) close() { close(s.quit) }
