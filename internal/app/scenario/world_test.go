// Package scenario_test plays whole stories on the real application: a person
// who writes and answers, scripted models, real files, commands and worktrees,
// and processes that are killed and started again.
package scenario_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/engine/enginetest"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

func TestMain(m *testing.M) {
	if code, ran := sandbox.Main(os.Args); ran {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a story may stand still.
const patience = 3 * time.Minute

// setup is what a story begins with.
type setup struct {
	Script string            // what the models say, see package scripted
	Config string            // the user's configuration
	Model  string            // of the chat; empty: the script
	Files  map[string]string // of the project, by their names
	Mode   string            // the preset of permissions; empty: trusted
	Git    bool              // the project is a repository with all files committed
	Tools  []tool.Tool       // beside the built-in ones
	Limits agent.Limits      // of the orchestrator
	Role   string            // of the orchestrator; empty: main
	Record bool              // keep what the models were sent
	Shell  bool              // commands are run, in a sandbox: finding one takes time
}

// world is one person, one project and one chat. Its processes may be killed:
// then the next one goes on, and what the person did is done again if it was
// not acknowledged.
type world struct {
	*testing.T
	setup
	root  string // of all folders
	dir   string // the project
	app   *app.App
	chat  string
	sent  int
	kill  func(point string) bool // nil: nobody kills
	died  chan struct{}           // closed when the process was killed
	dying atomic.Bool
	kills int
}

// begin makes the folders and starts the first process.
func begin(t *testing.T, s setup) *world {
	t.Helper()
	w := &world{T: t, setup: s, root: t.TempDir()}
	w.dir = filepath.Join(w.root, "project")
	w.make()
	w.start()
	t.Cleanup(w.stop)
	return w
}

// make writes what the story begins with.
func (w *world) make() {
	w.Helper()
	w.write("script.yaml", w.Script)
	config := w.Config
	if !w.Shell {
		config += "sandbox:\n  off: true\n"
	}
	w.write("home/.config/cadre/config.yaml", config)
	w.write("project/README.md", "A project.\n")
	for name, text := range w.Files {
		w.write("project/"+name, text)
	}
	if !w.Git {
		return
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "begin"},
	} {
		cmd := exec.CommandContext(w.Context(), "git", args...)
		cmd.Dir = w.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			w.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

func (w *world) write(name, text string) {
	w.Helper()
	file := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// start starts a process, which goes on with what another one left.
func (w *world) start() {
	w.Helper()
	w.dying.Store(false)
	w.died = make(chan struct{})
	env := map[string]string{"HOME": filepath.Join(w.root, "home"), "PATH": os.Getenv("PATH")}
	mode := w.Mode
	if mode == "" {
		mode = "trusted"
	}
	o := app.Options{
		Data: filepath.Join(w.root, "data"), Dir: w.dir, Mode: mode, Tools: w.Tools,
		Env: func(key string) string { return env[key] }, NewID: func() string { return "k" }, Crash: w.crash,
	}
	if w.Record {
		o.Record = filepath.Join(w.root, "traffic.jsonl")
	}
	var err error
	w.app, err = app.Open(o)
	for deadline := time.After(patience); errors.Is(err, store.ErrInUse); w.app, err = app.Open(o) {
		// A command that another test starts just now has the lock until it is
		// executed, as a fork has all files of its parent.
		select {
		case <-deadline:
			w.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	if err != nil {
		w.Fatal(err)
	}
	w.retry(func() error { return w.app.Engine.Recover(w.Context(), "") })
}

// crash is asked at each boundary whether the process dies there.
func (w *world) crash(point string) bool {
	if w.dying.Load() {
		return true
	}
	if w.kill == nil || !w.kill(point) {
		return false
	}
	w.dying.Store(true)
	close(w.died)
	return true
}

// stop ends the process as a kill would: nothing that runs is finished.
func (w *world) stop() {
	if w.app == nil {
		return
	}
	if err := w.app.Close(); err != nil {
		w.Errorf("closing: %v", err)
	}
	w.app = nil
}

// restart kills the process and starts another one.
func (w *world) restart() {
	w.Helper()
	w.kills++
	w.stop()
	w.start()
}

// retry does what a person does until the process has acknowledged it.
func (w *world) retry(do func() error) (again bool) {
	w.Helper()
	for {
		err := do()
		if err == nil || !errors.Is(err, engine.ErrClosed) || !w.dying.Load() {
			if err != nil {
				w.Fatal(err)
			}
			return again
		}
		again = true
		w.restart()
	}
}

// say posts a message to the orchestrator.
func (w *world) say(text string) {
	w.Helper()
	if w.chat == "" {
		w.retry(w.open)
	}
	w.tell("k", text)
}

func (w *world) open() error {
	if _, err := w.app.Store.Chat(w.Context(), "k"); err == nil {
		w.chat = "k"
		return nil
	}
	role := w.Role
	if role == "" {
		role = "main"
	}
	model := cmp.Or(w.Model, "scripted:"+filepath.Join(w.root, "script.yaml"))
	c, err := w.app.Performer.NewChat(orchestrate.Root{Role: role, Model: model, Dir: w.dir, Limits: w.Limits})
	if err != nil {
		return err
	}
	c.User = store.User{ID: "ann", Name: "Ann"}
	w.chat, err = w.app.Engine.CreateChat(w.Context(), c)
	return err
}

// tell posts a message to an agent.
func (w *world) tell(id, text string) {
	w.Helper()
	w.sent++
	key := fmt.Sprintf("m%d", w.sent)
	w.retry(func() error {
		return w.app.Engine.Send(w.Context(), id, key, message.Of(message.User, message.KindUser, text), nil)
	})
}

// until waits for a condition on what is on record.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	for !w.wait(ctx, holds) {
		if ctx.Err() != nil {
			w.Fatalf("waited in vain until %s\n%s", what, w.transcript())
		}
		w.restart()
	}
}

// watch follows what comes from now on, until the process dies or end is called.
func (w *world) watch(ctx context.Context, opts feed.Options) (_ context.Context, sub *feed.Subscription, end func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(ctx)
	died := w.died
	go func() {
		select {
		case <-died:
			cancel()
		case <-ctx.Done():
		}
	}()
	since, err := w.app.Store.LastSeq(w.Context())
	if err != nil {
		cancel()
		w.Fatal(err)
	}
	sub = w.app.Feed.Subscribe(ctx, since, store.Filter{}, opts)
	return ctx, sub, func() {
		sub.Close()
		cancel()
	}
}

// wait is false if the process died meanwhile, or nothing came of it.
func (w *world) wait(ctx context.Context, holds func() bool) bool {
	w.Helper()
	ctx, sub, end := w.watch(ctx, feedOptions)
	defer end()
	for !w.dying.Load() {
		if holds() {
			return !w.dying.Load()
		}
		if _, err := sub.Next(ctx); err != nil {
			return false
		}
	}
	return false
}

// item waits for an open item of the inbox and returns it.
func (w *world) item(kind, id string) store.Item {
	w.Helper()
	var found store.Item
	w.until(kind+" of "+id, func() bool {
		items := w.inbox()
		k := slices.IndexFunc(items, func(i store.Item) bool { return i.Kind == kind && (id == "" || i.Agent == id) })
		if k >= 0 {
			found = items[k]
		}
		return k >= 0
	})
	return found
}

// inbox is what waits for the user.
func (w *world) inbox() []store.Item {
	w.Helper()
	items, err := w.app.Store.Inbox(w.Context(), store.InboxQuery{Chat: "k"})
	if err != nil {
		w.Fatal(err)
	}
	return slices.DeleteFunc(items, func(i store.Item) bool { return i.Status != "open" }) // the others are not asked yet
}

// closed is the item of that id, whether or not it still waits.
func (w *world) closed(id string) store.Item {
	w.Helper()
	i, err := w.app.Store.Item(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return *i
}

// answer answers an item. The answer may have counted though its process died
// before it said so.
func (w *world) answer(i store.Item, a orchestrate.Answer) string {
	w.Helper()
	a.By = "ann"
	said, before := "", w.kills
	w.retry(func() error {
		var err error
		said, err = w.app.Inbox.Answer(w.Context(), i.ID, a)
		if errors.Is(err, orchestrate.ErrAnswered) && w.kills > before {
			return nil
		}
		return err
	})
	return said
}

func (w *world) allow(i store.Item, scope permission.Scope) string {
	w.Helper()
	yes := true
	return w.answer(i, orchestrate.Answer{Allow: &yes, Scope: scope})
}

func (w *world) deny(i store.Item, why string) string {
	w.Helper()
	no := false
	return w.answer(i, orchestrate.Answer{Allow: &no, Reason: why})
}

// rest waits until the chat is at rest: nobody works, every message is read.
func (w *world) rest() {
	w.Helper()
	w.until("the chat rests", func() bool {
		tree := w.tree()
		queued, err := w.app.Store.Messages(w.Context(), "k", store.Page{})
		if err != nil {
			w.Fatal(err)
		}
		if slices.ContainsFunc(queued, func(m store.Message) bool { return m.Pos < 0 }) {
			return false
		}
		return !slices.ContainsFunc(tree, func(a store.Agent) bool {
			return a.Depth == 0 && (a.Status != "idle" || a.Turns == 0) || a.Depth > 0 && a.EndedAt == 0
		})
	})
}

func (w *world) tree() []store.Agent {
	w.Helper()
	tree, err := w.app.Store.Tree(w.Context(), "k")
	if err != nil {
		w.Fatal(err)
	}
	return tree
}

func (w *world) agent(id string) store.Agent {
	w.Helper()
	a, err := w.app.Store.Agent(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return *a
}

func (w *world) task(id string) store.Task {
	w.Helper()
	t, err := w.app.Store.Task(w.Context(), id)
	if err != nil {
		w.Fatal(err)
	}
	return *t
}

// awaits waits until an agent is in a state.
func (w *world) awaits(id, status string) {
	w.Helper()
	w.until(id+" is "+status, func() bool {
		a, err := w.app.Store.Agent(w.Context(), id)
		return err == nil && a.Status == status
	})
}

// ended waits until a sub-agent has ended.
func (w *world) ended(id string) {
	w.Helper()
	w.until(id+" has ended", func() bool {
		a, err := w.app.Store.Agent(w.Context(), id)
		return err == nil && a.EndedAt > 0
	})
}

// reads waits until the chat shows a text.
func (w *world) reads(text string) {
	w.Helper()
	w.until("the chat shows "+text, func() bool { return strings.Contains(w.history("k"), text) })
}

// file is the content of a file of the project, "" if there is none.
func (w *world) file(name string) string {
	w.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	return string(b)
}

// end lets the chat come to rest, ends the process and holds what is left
// against the rules that always hold.
func (w *world) end() {
	w.Helper()
	w.rest()
	w.audit()
}

// audit holds what is on record against the rules.
func (w *world) audit() {
	w.Helper()
	enginetest.Audit(w.Context(), w.app.Store, "k", func(format string, args ...any) {
		w.Helper()
		w.Errorf(format, args...)
	})
	if w.Failed() {
		w.Logf("transcript:\n%s", w.transcript())
	}
}

// wants checks that the transcript contains the pieces, in this order.
func (w *world) wants(pieces ...string) {
	w.Helper()
	text := w.transcript()
	at := 0
	for _, p := range pieces {
		k := strings.Index(text[at:], p)
		if k < 0 {
			w.Errorf("the transcript lacks, after what came before,\n\t%s\n%s", p, text)
			return
		}
		at += k + len(p)
	}
}
