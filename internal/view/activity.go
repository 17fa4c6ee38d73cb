// What an agent does now, in the user's words.

package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
)

// quiet is how long an agent may make no progress before the view says so.
const quiet = 15 * time.Second

// Activity says in one line what a does, or how it ended.
func (t *Tree) Activity(a *Agent, now time.Time) string {
	if a.Over() {
		return a.ending()
	}
	if a == t.Root && t.last != nil {
		return ""
	}
	text := a.doing(now)
	if since := now.Sub(time.UnixMilli(a.progress)); since >= quiet && stalls(a.Status) {
		text = fmt.Sprintf("no progress for %s · %s", Duration(since), text)
	}
	return text
}

// stalls tells whether an agent with this status should be getting on.
func stalls(status string) bool {
	switch agent.Status(status) {
	case agent.StatusThinking, agent.StatusActing, agent.StatusCompacting, agent.StatusAccepting, agent.StatusCancelling, agent.StatusSettling:
		return true
	case agent.StatusIdle, agent.StatusBudget, agent.StatusQueued, agent.StatusRetrying, agent.StatusApproval, agent.StatusAnswer, agent.StatusChildren:
	}
	return false
}

// ending is what came of a sub-agent: the first line of its result, or why
// there is none.
func (a *Agent) ending() string {
	if a.Status == string(agent.ReasonCompleted) {
		return oneLine(FirstLine(cmp.Or(a.Task.Result, a.Summary)))
	}
	why := oneLine(FirstLine(cmp.Or(a.Task.Error, a.Error)))
	if why == Word(a.Status) {
		why = ""
	}
	kept := oneLine(FirstLine(a.Task.Result))
	if kept != "" {
		kept = "kept: " + kept
	}
	return join(why, kept)
}

func (a *Agent) doing(now time.Time) string {
	task := oneLine(FirstLine(instruction(a.Task)))
	switch agent.Status(a.Status) {
	case agent.StatusThinking:
		return cmp.Or(a.saying(), task)
	case agent.StatusActing:
		return cmp.Or(a.acting(), task)
	case agent.StatusRetrying:
		return a.retrying(now)
	case agent.StatusQueued:
		return join(a.queued(now), task)
	case agent.StatusChildren:
		return a.awaiting()
	case agent.StatusApproval:
		return "for your approval: " + cmp.Or(a.acting(), task)
	case agent.StatusAnswer:
		return "for your answer: " + cmp.Or(a.acting(), task)
	case agent.StatusBudget:
		return "for more budget: " + task
	case agent.StatusSettling:
		return "what it leaves in its worktree"
	case agent.StatusCancelling:
		if n := a.live(); n > 0 {
			return "and waiting for " + Count(n, "sub-agent") + " below to end"
		}
		return task
	case agent.StatusAccepting:
		return "the result against its acceptance command"
	case agent.StatusCompacting:
		return "the conversation, which no longer fits the model"
	case agent.StatusIdle:
	}
	return task
}

// instruction is what a task asks for, in words.
func instruction(t store.Task) string {
	if t.Type == "tool" {
		return Use(strings.TrimPrefix(t.Name, "tool:"), json.RawMessage(t.Instruction))
	}
	return t.Instruction
}

// saying is the end of what is being received.
func (a *Agent) saying() string {
	switch a.stream.kind {
	case feed.Text, feed.Thinking:
		return oneLine(lastLine(a.stream.text))
	case feed.ToolCall:
		return "preparing " + Clean(a.stream.name)
	}
	return ""
}

// beforePrinted is how many characters a use of a tool has before what it
// prints.
const beforePrinted = 28

// acting names the tools that run, with the last line that the first of them
// has printed.
func (a *Agent) acting() string {
	var running []store.ToolCall
	for _, c := range a.calls {
		switch agent.CallPhase(c.Phase) {
		case agent.CallRunning, agent.CallStarted, agent.CallApproval, agent.CallAsking, agent.CallAsked, agent.CallPaused:
			running = append(running, c)
		case agent.CallQueued, agent.CallChildren, agent.CallDone:
		}
	}
	if len(running) == 0 {
		return ""
	}
	text := Use(running[0].Name, running[0].Args)
	last := oneLine(lastLine(a.printed[running[0].ID]))
	if short := []rune(text); last != "" && len(short) > beforePrinted {
		text = string(short[:beforePrinted-1]) + "…"
	}
	if n := len(running) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return join(text, last)
}

func (a *Agent) retrying(now time.Time) string {
	why := oneLine(FirstLine(a.failed.Error))
	if kind := strings.ReplaceAll(a.failed.ErrorKind, "_", " "); !strings.Contains(why, kind) {
		why = join(kind, why)
	}
	in := a.in(now)
	if why == "" {
		return in
	}
	return in + ": " + why
}

// in is when the wait is over.
func (a *Agent) in(now time.Time) string {
	if wait := time.UnixMilli(a.Until).Sub(now).Round(time.Second); a.Until > 0 && wait > 0 {
		return fmt.Sprintf("in %s", wait)
	}
	return "now"
}

// queued says what the agent waits for at the model.
func (a *Agent) queued(now time.Time) string {
	if a.Why == "" || a.Why == "queue" {
		return "for its turn at the model"
	}
	text := "for the model: " + strings.ReplaceAll(a.Why, "_", " ")
	if in := a.in(now); in != "now" {
		text += ", " + in
	}
	return text
}

// awaiting counts the children that the agent waits for, among those that
// were started with the oldest of them or later.
func (a *Agent) awaiting() string {
	live, of, oldest := 0, 0, int64(0)
	for _, c := range a.Children {
		if !c.Over() {
			live++
			if oldest == 0 {
				oldest = c.CreatedAt
			}
		}
	}
	for _, c := range a.Children {
		if oldest > 0 && c.CreatedAt >= oldest {
			of++
		}
	}
	if live == 0 {
		return "for its sub-agents"
	}
	return fmt.Sprintf("for %d of %s", live, Count(of, "sub-agent"))
}

func (a *Agent) live() int {
	n := 0
	for _, c := range a.Children {
		if !c.Over() {
			n += 1 + c.live()
		}
	}
	return n
}

// Use says what a call of a tool does.
func Use(tool string, args json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(args, &in) != nil {
		return Clean(tool)
	}
	text := func(key string) string { s, _ := in[key].(string); return oneLine(s) }
	path := cmp.Or(text("path"), text("file_path"))
	if path != "" {
		path = filepath.ToSlash(filepath.Clean(path))
	}
	switch tool {
	case "Read":
		return "reading " + cmp.Or(path, "a file")
	case "LS":
		return "listing " + cmp.Or(path, ".")
	case "Glob":
		return "finding " + cmp.Or(text("pattern"), "files")
	case "Grep":
		return "searching for " + cmp.Or(text("pattern"), "text")
	case "Bash":
		return "running " + cmp.Or(text("command"), "a command")
	case "spawn_agents":
		tasks, _ := in["tasks"].([]any)
		return "starting " + Count(len(tasks), "sub-agent")
	case "delegate_to_agent":
		return "delegating to " + cmp.Or(text("role"), "a sub-agent") + ": " + text("task")
	case "continue_agent":
		return "giving " + cmp.Or(text("agent"), "a sub-agent") + " another task: " + text("task")
	case "submit_result":
		return "submitting its result"
	case "submit_error":
		return "giving up: " + text("error")
	case "ask_user":
		return cmp.Or(text("question"), "a question")
	}
	for _, key := range []string{"command", "path", "file_path", "url", "query", "pattern", "target", "task", "agent"} {
		if s := text(key); s != "" {
			return Clean(tool) + " " + s
		}
	}
	return Clean(tool)
}

// join puts the texts that are not empty next to each other.
func join(parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, " · ")
}
