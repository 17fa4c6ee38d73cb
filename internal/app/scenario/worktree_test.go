// Work on copies: two agents change the same file, each in a worktree of its
// own, and the user decides what becomes of it.

package scenario_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/orchestrate"
)

const isolated = `
agents:
  - match: {role: main}
    turns:
      - calls:
          - {tool: delegate_to_agent, input: {role: general, task: write red, isolation: worktree}}
          - {tool: delegate_to_agent, input: {role: general, task: write blue, isolation: worktree}}
          - {tool: delegate_to_agent, input: {role: general, task: look only, isolation: worktree}}
      - text: both done
  - match: {task_re: 'write (\w+)'}
    turns:
      - calls: [{tool: Read, input: {path: colour.txt}}]
      - calls: [{tool: Write, input: {file_path: colour.txt, content: "{{task.1}}\n"}}, {tool: Bash, input: {command: "echo {{task.1}} > {{task.1}}.txt"}}]
      - calls: [{tool: submit_result, input: {result: "{{task.1}} is written"}}]
  - match: {task: look only}
    turns:
      - calls: [{tool: Read, input: {path: colour.txt}}]
      - text: seen
`

// isolating is the story up to where both have left their work.
func isolating(t *testing.T) *world {
	t.Helper()
	w := begin(t, setup{Shell: true, Git: true, Script: isolated, Files: map[string]string{"colour.txt": "white\n"}})
	w.say("go")
	w.rest()
	if n := len(w.inbox()); n != 2 {
		t.Fatalf("%d items wait\n%s", n, w.transcript())
	}
	if got := w.file("colour.txt"); got != "white\n" || w.file("red.txt") != "" {
		t.Errorf("the folder was changed: %q", got)
	}
	w.wants(`"worktree":"in a worktree of its own, until it is settled"`, "== main/general (k.1)", "red is written", "== main/general-3 (k.3)", "result of Read: 1\twhite")
	return w
}

// TestWorktreeAcceptAndMerge: the first is accepted; the second conflicts, and
// nothing is lost; it is merged, with both sides marked.
func TestWorktreeAcceptAndMerge(t *testing.T) {
	t.Parallel()
	w := isolating(t)
	red, blue := w.item("worktree", "k.1"), w.item("worktree", "k.2")
	if !strings.Contains(red.Action, "-white") || !strings.Contains(red.Action, "+red") || !strings.Contains(red.Action, "red.txt") {
		t.Errorf("the item shows %s", red.Action)
	}
	if said := w.answer(red, orchestrate.Answer{How: "accept"}); !strings.Contains(said, "2 files") {
		t.Errorf("accepting says %q", said)
	}
	if got := w.file("colour.txt") + w.file("red.txt"); got != "red\nred\n" {
		t.Errorf("the folder has %q", got)
	}
	_, err := w.app.Inbox.Answer(w.Context(), blue.ID, orchestrate.Answer{How: "accept", By: "ann"})
	if !errors.Is(err, orchestrate.ErrConflict) || !strings.Contains(err.Error(), "colour.txt") {
		t.Errorf("accepting the other: %v", err)
	}
	if got := w.file("colour.txt") + w.file("blue.txt"); got != "red\n" || w.closed(blue.ID).Status != "open" {
		t.Errorf("a conflict changed the folder to %q, or closed the item", got)
	}
	w.restart()
	said := w.answer(blue, orchestrate.Answer{How: "merge"})
	if got := w.file("colour.txt"); !strings.Contains(said, "colour.txt") || !strings.Contains(got, "<<<<<<<") || !strings.Contains(got, "red") || !strings.Contains(got, "blue") || w.file("blue.txt") != "blue\n" {
		t.Errorf("merging says %q, the file\n%s", said, got)
	}
	if _, err := w.app.Inbox.Answer(w.Context(), red.ID, orchestrate.Answer{How: "discard"}); err == nil || !strings.Contains(err.Error(), "accepted by ann") {
		t.Errorf("deciding twice: %v", err)
	}
	w.end()
	w.noTrees()
}

// TestWorktreeKeepAndDiscard: one is kept as a branch, the other discarded,
// with its patch kept.
func TestWorktreeKeepAndDiscard(t *testing.T) {
	t.Parallel()
	w := isolating(t)
	w.restart()
	red, blue := w.item("worktree", "k.1"), w.item("worktree", "k.2")
	if said := w.answer(red, orchestrate.Answer{How: "keep"}); !strings.Contains(said, "branch") {
		t.Errorf("keeping says %q", said)
	}
	said := w.answer(blue, orchestrate.Answer{How: "discard"})
	_, file, _ := strings.Cut(said, "the patch is kept in ")
	patch, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(patch), "+blue") {
		t.Errorf("discarding says %q, the patch is %s (%v)", said, patch, err)
	}
	if got := w.file("colour.txt"); got != "white\n" {
		t.Errorf("the folder has %q", got)
	}
	w.end()
	w.noTrees()
}

// TestWorktreeFirstDecisionWins: two people decide at the same time; one of
// them is told that the other was first.
func TestWorktreeFirstDecisionWins(t *testing.T) {
	t.Parallel()
	w := isolating(t)
	red := w.item("worktree", "k.1")
	errs := make(chan error)
	for _, how := range []string{"accept", "keep", "discard"} {
		go func() {
			_, err := w.app.Inbox.Answer(w.Context(), red.ID, orchestrate.Answer{How: how, By: how})
			errs <- err
		}()
	}
	told := 0
	for range 3 {
		if err := <-errs; errors.Is(err, orchestrate.ErrAnswered) {
			told++
		} else if err != nil {
			t.Error(err)
		}
	}
	if told != 2 {
		t.Errorf("%d of 3 were told that somebody else was first", told)
	}
	if got := w.closed(red.ID); (w.file("red.txt") == "red\n") != (got.How == "accepted") {
		t.Errorf("it was %s by %s, but the folder has %q", got.How, got.By, w.file("red.txt"))
	}
	w.answer(w.item("worktree", "k.2"), orchestrate.Answer{How: "discard"})
	w.end()
	w.noTrees()
}

// noTrees checks that no worktree is left.
func (w *world) noTrees() {
	w.Helper()
	left, err := filepath.Glob(filepath.Join(w.root, "data", "worktrees", "*", "*", ".git"))
	if err != nil || len(left) > 0 {
		w.Errorf("worktrees are left: %v %v", left, err)
	}
}

// TestWorktreeSettledByModel: the orchestrator settles the work of its agent,
// which is a write like any other: it asks.
func TestWorktreeSettledByModel(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Shell: true, Git: true, Mode: "ask", Config: "permissions:\n  allow: [Write, Bash]\n", Files: map[string]string{"colour.txt": "white\n"}, Script: strings.Replace(isolated, "      - text: both done", `      - calls: [{tool: settle_work, input: {agent: k.1, how: accept}}]
      - calls: [{tool: settle_work, input: {agent: k.2, how: accept}}]
      - calls: [{tool: settle_work, input: {agent: k.2, how: keep}}]
      - text: both done`, 1)})
	w.say("go")
	for range 3 {
		i := w.item("approval", "k")
		if !strings.Contains(i.Action, "the work of main/general") {
			t.Errorf("the approval shows %s", i.Action)
		}
		w.allow(i, "")
	}
	w.end()
	w.wants("result of settle_work: 2 files changed", "failure of settle_work: the work conflicts with the folder: colour.txt; nothing was changed", "result of settle_work: kept on branch")
	if got := w.file("colour.txt"); got != "red\n" {
		t.Errorf("the folder has %q", got)
	}
}

// TestWorktreesSurviveKills: whatever moment the process is killed at, the
// work is there in the end.
func TestWorktreesSurviveKills(t *testing.T) {
	t.Parallel()
	killedEverywhere(t, always(setup{Git: true, Files: map[string]string{"colour.txt": "white\n"}, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: write red, isolation: worktree}}]
      - text: done
  - match: {task_re: 'write (\w+)'}
    turns:
      - calls: [{tool: Write, input: {file_path: new.txt, content: "{{task.1}}\n"}}]
      - calls: [{tool: submit_result, input: {result: "{{task.1}} is written"}}]
`}, func(w *world) {
		w.say("go")
		w.rest()
		items := w.inbox()
		if interrupted(w.transcript()) && len(items) == 0 {
			return // it had not been written
		}
		w.answer(w.item("worktree", "k.1"), orchestrate.Answer{How: "accept"})
		if got := w.file("new.txt"); got != "red\n" {
			w.Errorf("the folder has %q", got)
		}
	}))
}

// TestSecondWriterIsTold: without worktrees, the second who writes a file is
// told of the first.
func TestSecondWriterIsTold(t *testing.T) {
	t.Parallel()
	g := &gates{}
	w := begin(t, setup{Tools: tools(g.tool()), Files: map[string]string{"colour.txt": "white\n"}, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: spawn_agents, input: {tasks: [{task: write red}, {task: write blue}]}}]
      - text: both done
  - match: {task_re: 'write (\w+)'}
    turns:
      - calls: [{tool: Read, input: {path: colour.txt}}]
      - calls: [{tool: mcp__test__hold, input: {name: "{{task.1}}"}}]
      - calls: [{tool: Write, input: {file_path: colour.txt, content: "{{task.1}}\n"}}]
      - calls: [{tool: submit_result, input: {result: "{{last_result}}"}}]
`})
	w.say("go")
	w.until("both have read", func() bool { return strings.Count(w.transcript(), "call mcp__test__hold") == 2 })
	g.let("red")
	w.ended("k.1")
	g.let("blue")
	w.end()
	w.wants("== main/general-2 (k.2)", "failure of Write:", "main/general")
	if got := w.file("colour.txt"); got != "red\n" {
		t.Errorf("the file says %q", got)
	}
}

// TestWorktreeWithRepositories: what lies in a repository inside the worktree
// can be part of no difference. It is shown, and put aside whatever is decided.
func TestWorktreeWithRepositories(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"accept", "merge", "keep", "discard"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := begin(t, setup{Shell: true, Git: true, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: general, task: make one, isolation: worktree}}]
      - text: done
  - match: {task: make one}
    turns:
      - calls: [{tool: Bash, input: {command: "git init -q inner && echo mine > inner/mine.txt && git -C inner add . && git -C inner -c user.name=a -c user.email=b commit -qm x"}}]
      - text: made
`})
			w.say("go")
			i := w.item("worktree", "k.1")
			if !strings.Contains(i.Action, "put aside when this is settled: inner/") {
				t.Errorf("the item shows %s", i.Action)
			}
			said := w.answer(i, orchestrate.Answer{How: how})
			_, aside, _ := strings.Cut(said, "other repositories is in ")
			if b, err := os.ReadFile(filepath.Join(aside, "inner", "mine.txt")); err != nil || string(b) != "mine\n" {
				t.Errorf("%s says %q; put aside is %q, %v", how, said, b, err)
			}
			w.end()
		})
	}
}
