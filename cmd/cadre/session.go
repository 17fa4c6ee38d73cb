// A session is one cadre run at work: it opens the data folder, sends the
// message, follows what happens and ends when the orchestrator's run does.

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/view"
)

// session is for one goroutine; only the stops come from another one.
type session struct {
	g     *globals
	o     *runOptions
	cmd   *cobra.Command
	host  host
	chat  string
	since int64 // the newest change that was shown
	tree  *view.Tree
	out   printer
	stops *stops

	who    attendance
	lines  <-chan string // what the person types
	items  []store.Item  // that wait for the user, oldest first
	asking string        // the one that is asked
	model  string        // what the next message chooses, empty: as before

	leaving bool // the run is over, and what it left running is being cancelled
	left    bool // that took too long
}

// frameTime is how often the live view is drawn anew, and how often it is
// looked whether the engine is paused.
const frameTime = 100 * time.Millisecond

// leaveTime is how long to wait for what a run has left running: the agents'
// own deadline for it, and a little.
const leaveTime = 15 * time.Second

// run performs cadre run.
func (g *globals) run(cmd *cobra.Command, o *runOptions) (err error) {
	dir, err := g.folder()
	if err != nil {
		return err
	}
	log, closeLog, err := openLog(dir)
	if err != nil {
		return err
	}
	g.log = log
	defer func() { _ = closeLog() }() // nothing is written to it after this
	s := &session{g: g, o: o, cmd: cmd, stops: listen(cmd.OutOrStdout())}
	defer s.stops.close()
	s.who = o.attendance(cmd)
	if g.server.address != "" {
		return s.atServer(cmd.Context(), dir)
	}
	a, err := app.Open(app.Options{
		Data: dir, Dir: o.project(cmd.Context(), dir), Log: log, Warn: func(text string) { warn(cmd, []string{text}) },
		Record: o.record, Replay: o.replay, Mode: o.permissions, Version: thisVersion().Version,
	})
	if errors.Is(err, store.ErrInUse) {
		if _, notFound := access.FindServer(dir); notFound == nil {
			return s.atServer(cmd.Context(), dir)
		}
	}
	if err != nil {
		return g.notOpened(dir, err)
	}
	s.host = &ownHost{Store: a.Store, app: a, warn: func(all []string) { warn(cmd, all) }}
	warn(cmd, a.Warnings())
	defer func() {
		closed := a.Close()
		if closed != nil {
			log.Error("the data folder could not be closed", "err", closed)
		}
		if closed != nil && err == nil {
			err = fmt.Errorf("closing the data folder: %w", closed)
		}
	}()
	shut, err := openDoor(cmd.Context(), dir, a, log)
	if err != nil {
		log.Warn("answers from elsewhere cannot be taken", "err", err) // a folder that has no sockets
	} else {
		defer shut()
	}
	return s.run(cmd.Context())
}

// warn tells what a person should know before anything begins.
func warn(cmd *cobra.Command, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
}

// atServer lets a server do the work.
func (s *session) atServer(ctx context.Context, dir string) error {
	const own = "to run without the server, name another folder with --data and leave --server out"
	switch {
	case s.o.record != "":
		return usage("--record: the server makes the model calls here, for all chats, and writes none of them to a file; %s", own)
	case s.o.replay != "":
		return usage("--replay: the server makes the model calls here, with its own models; %s", own)
	case s.o.permissions != "":
		return usage("--permissions: what agents may do unasked at a server is configured there (permissions: {mode: %s} in its configuration file); answer what they ask here or with `cadre inbox`, or %s",
			s.o.permissions, own)
	}
	c, err := s.g.dial(ctx, dir)
	if err != nil {
		return err
	}
	defer c.Close()
	s.host = &serverHost{c: c.Patient(absence), anywhere: s.g.server.address != "" && !s.o.placed}
	return s.run(ctx)
}

// project is the folder whose configuration counts: that of the chat, whatever
// the command is called from. If it cannot be found, what follows says why.
func (o *runOptions) project(ctx context.Context, dir string) string {
	if o.chat == "" && !o.resume {
		return o.cwd
	}
	st, err := sqlite.OpenReadOnly(dir)
	if err != nil {
		return ""
	}
	defer func() { _ = st.Close() }() // it only reads
	id := o.chat
	if id == "" {
		if id, err = lastUnfinished(ctx, st); err != nil || id == "" {
			return ""
		}
	}
	c, err := st.Chat(ctx, id)
	if err != nil {
		return ""
	}
	return c.Dir
}

func (s *session) run(ctx context.Context) error {
	if s.o.resume {
		if err := s.findUnfinished(ctx); err != nil || s.chat == "" {
			return err
		}
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.out = s.newPrinter()
	watching, unsubscribe := context.WithCancel(ctx)
	defer unsubscribe()
	outcomes, forget := s.host.outcomes(s.chat)
	defer forget()
	events := s.host.watch(watching, s.chat, s.since)
	if s.o.chat != "" || s.o.resume {
		if err := s.host.goOn(ctx, s.chat); err != nil {
			return fmt.Errorf("going on with chat %s: %w", s.chat, err)
		}
	}
	if err := s.attend(ctx); err != nil {
		return err
	}
	turn := func(ctx context.Context) error { return s.turn(ctx, events, outcomes, unsubscribe) }
	if s.o.talk {
		return s.talk(ctx, turn)
	}
	return turn(ctx)
}

// turn sends the prompt, if there is one, and follows what comes of it.
func (s *session) turn(ctx context.Context, events <-chan happening, outcomes <-chan agent.Outcome, unsubscribe func()) error {
	s.tree.Begin()
	if s.o.prompt != "" {
		err := s.post(ctx, s.o.prompt)
		var unsent *unsentError
		switch {
		case s.o.talk && errors.As(err, &unsent):
			fmt.Fprintln(s.cmd.ErrOrStderr(), unsent)
			return nil
		case errors.As(err, &unsent):
			return wrong(unsent, "")
		case err != nil:
			return err
		}
	}
	s.g.log.Info("run", "chat", s.chat, "resume", s.o.resume)
	o, err := s.follow(ctx, events, outcomes)
	s.g.log.Info("run ends", "chat", s.chat, "outcome", string(o.Reason), "kind", string(o.Kind), "err", err)
	if errors.Is(err, errLeft) {
		if err := s.out.suspend(s.chat, ""); err != nil {
			return err
		}
		fmt.Fprintf(s.cmd.ErrOrStderr(), "What is unfinished waits; %s.\n", s.howToResume())
		return errLeft
	}
	if err != nil {
		return errors.Join(s.unfollowed(err), s.out.suspend(s.chat, ""))
	}
	if !s.o.talk {
		unsubscribe()
	}
	err = s.finish(ctx, o)
	var e *ended
	switch {
	case err != nil && !errors.As(err, &e):
		return failed(err, fmt.Sprintf("the run is over; `%s` shows what came of it", s.g.command("show", s.chat)))
	case s.o.talk && err != nil:
		report(s.cmd.ErrOrStderr(), err)
		err = nil
	}
	if s.o.talk {
		s.stops.again()
	}
	return err
}

// unfollowed is the end of a command that could not follow its run to the end,
// because the output broke, say. The run can be gone on with.
func (s *session) unfollowed(err error) error {
	var e *ended
	if errors.As(err, &e) {
		return err
	}
	return failed(err, "everything so far is stored; "+s.howToResume())
}

func (s *session) howToResume() string {
	return fmt.Sprintf("go on with `%s`", s.g.command("run", "--resume", "--chat", s.chat))
}

// newMessageID makes the id of this run's message. It is made once, so that
// nothing is sent twice.
func newMessageID() string { return "msg-" + strings.ToLower(rand.Text()) }

// begin finds or creates the chat and reads what is known of it.
func (s *session) begin(ctx context.Context) (err error) {
	if s.since, err = s.host.LastSeq(ctx); err != nil {
		return err
	}
	if s.chat == "" && s.o.chat != "" {
		c, err := s.g.findChat(ctx, s.host, s.o.chat)
		if err != nil {
			return err
		}
		s.chat = c.ID
	}
	if s.chat != "" {
		s.model = s.o.model
		s.tree, err = view.Load(ctx, s.host, s.chat)
		return err
	}
	s.tree = view.NewTree()
	s.chat, err = s.host.create(ctx, s.o)
	return err
}

// localUser is who owns the chats of the command line.
func localUser() store.User {
	u := store.User{ID: "local", Name: "local", CreatedAt: time.Now().UnixMilli()}
	if me, err := user.Current(); err == nil && me.Username != "" {
		u.Name = me.Username
	}
	return u
}

// findUnfinished finds the chat to resume. Without one it says so.
func (s *session) findUnfinished(ctx context.Context) error {
	if s.o.chat == "" {
		id, err := s.host.lastUnfinished(ctx)
		if err != nil || id != "" {
			s.chat = id
			return err
		}
		return s.nothingToDo(ctx, "")
	}
	c, err := s.g.findChat(ctx, s.host, s.o.chat)
	if err != nil {
		return err
	}
	open, err := s.host.unfinished(ctx, c.ID)
	if err != nil {
		return err
	}
	if !open {
		return s.nothingToDo(ctx, c.ID)
	}
	s.chat = c.ID
	return nil
}

// lastUnfinished returns the unfinished chat with the newest activity, "" if
// there is none.
func lastUnfinished(ctx context.Context, st store.Store) (string, error) {
	q := store.ChatQuery{Archived: true, Page: store.Page{Limit: 100}}
	for {
		chats, err := st.Chats(ctx, q)
		if err != nil {
			return "", err
		}
		for _, c := range chats {
			if open, err := unfinished(ctx, st, c.ID); err != nil || open {
				return c.ID, err
			}
		}
		if len(chats) < q.Page.Limit {
			return "", nil
		}
		q.Page.After = chats[len(chats)-1].ID
	}
}

// unfinished tells whether a chat's orchestrator is not idle or a sub-agent
// has not ended. An orchestrator with children that have not ended is not
// idle, and an agent ends after those below it; so it suffices to look at the
// orchestrator and at what recovery would.
func unfinished(ctx context.Context, st store.Store, chat string) (bool, error) {
	a, err := st.Agent(ctx, chat)
	if err != nil {
		return false, fmt.Errorf("reading the orchestrator of chat %s: %w", chat, err)
	}
	if a.Status != string(agent.StatusIdle) {
		return true, nil
	}
	waiting, err := st.Unfinished(ctx, chat)
	return len(waiting) > 0, err
}

// nothingToDo tells that there is nothing to resume. The outcome of a chat that
// was named is told again: its end may have gone unseen.
func (s *session) nothingToDo(ctx context.Context, chat string) error {
	errs := s.cmd.ErrOrStderr()
	if chat == "" {
		fmt.Fprintln(errs, "Nothing is unfinished.")
		if s.o.json {
			return view.NewJSON(s.cmd.OutOrStdout()).Done(view.Done{Outcome: "nothing_unfinished"})
		}
		return nil
	}
	fmt.Fprintf(errs, "Nothing is unfinished in chat %s; `%s` shows it.\n", chat, s.g.command("show", chat))
	if !s.o.json {
		return nil
	}
	_, done, err := s.host.ending(ctx, chat)
	if err != nil {
		return err
	}
	return view.NewJSON(s.cmd.OutOrStdout()).Done(done)
}

// follow shows what happens until the run is over, and returns how it ended.
func (s *session) follow(ctx context.Context, events <-chan happening, outcomes <-chan agent.Outcome) (agent.Outcome, error) {
	tick := time.NewTicker(frameTime)
	defer tick.Stop()
	var over agent.Outcome
	var leave <-chan time.Time
	look := s.o.resume // it may have ended while it was recovered
	for {
		var told *agent.Outcome
		var err error
		if !look {
			look, told, err = s.next(ctx, events, outcomes, tick.C, leave)
		}
		switch {
		case err != nil || s.left:
			return over, err
		case !look:
			continue
		}
		look = false
		o, rest, err := s.isOver(ctx, told)
		switch {
		case err != nil:
			return over, err
		case s.leaving && rest:
			return over, nil
		case s.leaving || o == nil:
		case rest:
			return *o, nil
		default:
			// The run failed or met a limit, and what it started outlives it.
			over, s.leaving, leave = *o, true, time.After(leaveTime)
			if err := s.host.cancel(ctx, s.chat, "cadre run"); err != nil {
				return over, fmt.Errorf("cancelling what the run has left: %w", err)
			}
		}
	}
}

// next waits for one thing to happen and tells whether the run may be over: an
// end was announced, or nothing in the tree works any more.
func (s *session) next(ctx context.Context, events <-chan happening, outcomes <-chan agent.Outcome, tick, leave <-chan time.Time) (look bool, told *agent.Outcome, err error) {
	select {
	case h := <-events:
		if h.err != nil {
			return false, nil, fmt.Errorf("following the changes: %w", h.err)
		}
		if err := s.show(h.item); err != nil {
			return false, nil, err
		}
		return s.tree.AtRest(), nil, s.serve(ctx)
	case line, ok := <-s.lines:
		if s.o.talk && (!ok || leaves(line)) {
			return false, nil, errLeft
		}
		if !ok {
			s.lines, s.who = nil, nobody // the terminal is gone
			return false, nil, s.serve(ctx)
		}
		return false, nil, s.typed(ctx, line)
	case o := <-outcomes:
		return true, &o, nil
	case sig := <-s.stops.signals:
		return false, nil, s.stop(ctx, sig)
	case now := <-tick:
		s.tree.Paused = s.host.paused()
		return false, nil, s.out.frame(s.tree, now)
	case <-leave:
		s.left = true
		return false, nil, nil
	}
}

// isOver looks at the orchestrator's state: nil while the run goes on. A run
// that ended by itself without success may have left children running: then
// it is not at rest. told is an end that was announced, if that is why to look.
func (s *session) isOver(ctx context.Context, told *agent.Outcome) (o *agent.Outcome, rest bool, err error) {
	now, err := s.host.state(ctx, s.chat)
	if err != nil {
		return nil, false, err
	}
	if !now.idle {
		return nil, false, nil // a message that had waited began the next run
	}
	if now.live == 0 {
		return &now.last, true, nil
	}
	if told != nil && !told.Success() {
		return &now.last, false, nil
	}
	return nil, false, nil
}

// stop does what a signal asks for.
func (s *session) stop(ctx context.Context, sig os.Signal) error {
	if sig != os.Interrupt {
		if err := s.out.suspend(s.chat, sig.String()); err != nil {
			return err
		}
		return terminated(fmt.Errorf("stopped by a signal (%s); %s", sig, s.host.left()), s.howToResume())
	}
	if err := s.out.note("Cancelling. Press Ctrl-C again to end at once."); err != nil {
		return err
	}
	if err := s.host.cancel(ctx, s.chat, "user"); err != nil {
		return failed(fmt.Errorf("the cancel could not be stored, so that nothing was cancelled: %w", err), s.howToResume())
	}
	return nil
}
