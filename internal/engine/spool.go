// What running tools print, kept in files so that it is not lost with the
// process.

package engine

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
)

// spool is a folder with a file for each tool call that has printed something
// and whose result is not on record. A file is written as text comes and is
// not synced: it outlives the process, not the machine. Without a folder
// nothing is kept.
type spool struct {
	dir string
	log *slog.Logger
}

// mostSpooled is how large a file grows before it is cut down to what is kept
// of the text in memory.
const mostSpooled = 256 << 10

func (s spool) path(call string) string { return filepath.Join(s.dir, call+".txt") }

// spooled is the file of one call. The zero value of file says that nothing
// has come.
type spooled struct {
	spool
	call string
	file *os.File
	size int64
	over bool // it cannot be written: that was told
}

// add writes text, which is the newest of what is kept.
func (w *spooled) add(text string, kept *printed) {
	if w.dir == "" || w.over {
		return
	}
	if err := w.write(text, kept); err != nil {
		w.over = true
		w.log.Warn("what a tool prints is not kept for the case that the process dies", "call", w.call, "err", err)
	}
}

func (w *spooled) write(text string, kept *printed) error {
	if w.file == nil {
		if err := os.MkdirAll(w.dir, 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(w.path(w.call), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		w.file = f
	}
	if w.size+int64(len(text)) > mostSpooled {
		text, w.size = kept.text(), 0
	}
	n, err := w.file.WriteAt([]byte(text), w.size)
	if err != nil {
		return err
	}
	if w.size == 0 {
		err = w.file.Truncate(int64(n))
	}
	w.size += int64(n)
	return err
}

// close keeps the file for as long as its call has no result on record. Nothing
// is written any more.
func (w *spooled) close() {
	w.over = true
	if w.file != nil {
		_ = w.file.Close() // it was only for the case of a crash
	}
}

// drop removes what was kept of a call.
func (s spool) drop(call string) {
	if s.dir == "" {
		return
	}
	if err := os.Remove(s.path(call)); err != nil && !os.IsNotExist(err) {
		s.log.Warn("what a tool has printed cannot be removed", "call", call, "err", err)
	}
}

// left is what a process before this one has kept of a call.
func (s spool) left(call string) string {
	if s.dir == "" {
		return ""
	}
	text, err := os.ReadFile(s.path(call))
	if err != nil {
		return ""
	}
	var p printed
	p.add(string(text))
	return p.text()
}

// sweep removes what belongs to no call that runs.
func (s spool) sweep(runs func(call string) bool) {
	if s.dir == "" {
		return
	}
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return // there is none
	}
	for _, f := range files {
		if call, ok := strings.CutSuffix(f.Name(), ".txt"); ok && !runs(call) {
			s.drop(call)
		}
	}
}

// interrupted is what the calls had printed that a recovery ends. The returned
// function removes it once it is on record.
func (s spool) interrupted(st agent.State) (agent.SoFar, func()) {
	var calls []string
	out := soFar(st, func(c agent.Call, call string) string {
		if !c.Interrupted() {
			return ""
		}
		calls = append(calls, call)
		return s.left(call)
	})
	return out, func() {
		for _, call := range calls {
			s.drop(call)
		}
	}
}
