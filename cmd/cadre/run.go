// cadre run: gives a task to an orchestrator and shows how it is done.

package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/view"
)

// runOptions are the flags of cadre run.
type runOptions struct {
	json     bool
	events   bool
	resume   bool
	chat     string
	cwd      string
	model    string
	role     string
	turns    int
	duration time.Duration
	cost     float64
	record   string
	replay   string
	prompt   string

	permissions string
	wait        bool
	placed      bool // --cwd was given
	talk        bool // cadre chat: the person stays
	typed       bool // the prompt came from the command line, so that answers can be typed
}

const defaultRole = "main"

func newRun(g *globals) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run [flags] [PROMPT... | -]",
		Short: "Give the agents a task and print the answer",
		Long: `Starts a chat, lets the orchestrator work on the task in the current folder,
shows the agents at work and prints the answer. The prompt may come from
standard input: say - or pipe it in.

Every step is stored before it is acted on. After a crash, --resume goes on
where it stopped. Ctrl-C cancels all agents and keeps what they had done; a
second Ctrl-C ends the command at once and leaves the rest to --resume.

With --json each committed change and each piece of a reply is one line of JSON,
and the last line has type "done" with the outcome and what the chat has used.
With --events the lines are sub_agent_start, sub_agent_progress and
sub_agent_end instead, each with the agent's id, path, role, depth, state,
turns, tokens and cost; what a nested agent does is the "event" of a
sub_agent_progress of the agent above it.

While a server runs on the data folder, it does the work, and the command shows
it; --server names another one. The server goes on if the command is ended by
anything but Ctrl-C.

Exit codes: 0 completed, 1 failed, 2 wrong command line, 3 stopped by a limit
(turns, time, tokens, money) or incomplete, 130 cancelled, 143 terminated.`,
		Example: `  cadre run "Count the Go files in internal/agent and summarise README.md"
  git diff | cadre run --json -
  cadre run --chat k3f9xw2m1a "And now the tests"
  cadre run --max-turns 10 --max-duration 5m "Find the slowest test"
  cadre run --resume`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return g.run(cmd, o)
		}),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	f.BoolVar(&o.events, "events", false, "a form of --json: when sub-agents start, get on and end, nested ones within those above them")
	f.BoolVar(&o.resume, "resume", false, "go on with the last unfinished chat, or the one named by --chat, without a new prompt")
	f.StringVar(&o.chat, "chat", "", "send the prompt to this chat")
	f.StringVar(&o.cwd, "cwd", "", "the folder the agents work in (default: the current one)")
	f.StringVar(&o.model, "model", "", "the model: PROVIDER/NAME, fast, default, smart, offline, or scripted:FILE; several, separated by commas, are fallen back through (default: what is configured, else offline; see cadre models)")
	f.StringVar(&o.role, "role", defaultRole, "the role of the orchestrator")
	f.IntVar(&o.turns, "max-turns", 0, "the most turns the orchestrator may take for a prompt (default: the role's)")
	f.DurationVar(&o.duration, "max-duration", 0, "the most time it may work on a prompt, not counting waits for sub-agents, such as 90s or 10m (default: the role's)")
	f.Float64Var(&o.cost, "max-cost", 0, "the most the whole tree may spend on a prompt, in US dollars (default: no limit)")
	f.StringVar(&o.permissions, "permissions", "", "what agents may do without asking: read-only, ask, edits or trusted (default: as configured, else ask)")
	f.BoolVar(&o.wait, "wait", false, "without a terminal: wait for answers from elsewhere instead of denying at once")
	f.StringVar(&o.record, "record", "", "append all model calls to this file, without keys")
	f.StringVar(&o.replay, "replay", "", "answer model calls from this file instead of asking a model")
	g.server.add(f)
	must(cmd.RegisterFlagCompletionFunc("chat", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return g.completeChats(cmd, nil, prefix)
	}))
	must(cmd.RegisterFlagCompletionFunc("role", completeRoles))
	must(cmd.RegisterFlagCompletionFunc("model", cobra.FixedCompletions([]string{app.OfflineModel, scriptedModel, "fast", "default", "smart"}, cobra.ShellCompDirectiveNoSpace)))
	must(cmd.MarkFlagDirname("cwd"))
	return cmd
}

// must is for what only a programmer can get wrong.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func completeRoles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	roles, err := role.Builtin()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, r := range roles {
		names = append(names, r.Name+"\t"+r.Description)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// asStarted refuses flags that only a new chat can be given.
func (o *runOptions) asStarted(cmd *cobra.Command, flags ...string) error {
	if o.chat == "" && !o.resume {
		return nil
	}
	for _, name := range flags {
		if cmd.Flags().Changed(name) {
			return usage("--%s is for a new chat: one that exists keeps what it was started with", name)
		}
	}
	return nil
}

// check reads the prompt and refuses what cannot be meant.
func (o *runOptions) check(cmd *cobra.Command, args []string) error {
	set := cmd.Flags().Changed
	if err := o.asStarted(cmd, "cwd", "role", "max-turns", "max-duration", "max-cost"); err != nil {
		return err
	}
	o.json = o.json || o.events
	switch {
	case o.record != "" && o.replay != "":
		return usage("--record and --replay exclude each other")
	case set("chat") && o.chat == "":
		return usage("--chat needs the id of a chat")
	case set("max-turns") && o.turns < 1:
		return usage("--max-turns is %d; it must be at least 1", o.turns)
	case set("max-duration") && o.duration < time.Millisecond:
		return usage("--max-duration is %s; it must be a positive time such as 90s or 10m", o.duration)
	case set("max-cost") && (!(o.cost >= 1e-6) || o.cost > 1e9):
		return usage("--max-cost is %v; it must be a positive amount of dollars such as 0.50", o.cost)
	}
	if o.resume {
		if set("model") {
			return usage("--model is for a new message, and --resume goes on without one: cadre run --chat ID --model NAME PROMPT")
		}
		if len(args) > 0 {
			return usage("--resume goes on without a new prompt; to say something, leave it out: cadre run --chat ID PROMPT")
		}
		return nil
	}
	o.placed = set("cwd")
	if err := o.place(); err != nil {
		return err
	}
	var err error
	o.typed = len(args) > 0 && (len(args) > 1 || args[0] != "-")
	o.prompt, err = readPrompt(cmd.InOrStdin(), args)
	return err
}

// attendance tells who can be asked for approvals and answers.
func (o *runOptions) attendance(cmd *cobra.Command) attendance {
	switch {
	case !o.json && (o.typed || o.resume) && isTerminal(cmd.InOrStdin()) && isTerminal(cmd.ErrOrStderr()):
		return person
	case o.wait:
		return others
	}
	return nobody
}

const scriptedModel = "scripted:"

// place makes the paths of the command line absolute: a resume may come from
// another folder.
func (o *runOptions) place() error {
	dir, err := filepath.Abs(o.cwd)
	if err != nil {
		return fmt.Errorf("finding the working folder: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage("the working folder %s does not exist", dir)
	}
	o.cwd = dir
	o.model, err = placedModels(o.model)
	return err
}

// placedModels makes the paths in names of models absolute.
func placedModels(models string) (string, error) {
	names := strings.Split(models, ",")
	for i, name := range names {
		file, ok := strings.CutPrefix(strings.TrimSpace(name), scriptedModel)
		if !ok {
			continue
		}
		if file == "" {
			return "", usage("--model scripted: needs the file of the script, as in scripted:demo.yaml")
		}
		file, err := filepath.Abs(file)
		if err != nil {
			return "", fmt.Errorf("finding the script: %w", err)
		}
		names[i] = scriptedModel + file
	}
	return strings.Join(names, ","), nil
}

// title is what a new chat is called.
func (o *runOptions) title() string { return view.Cut(view.FirstLine(view.Clean(o.prompt)), 80) }

// limits are those of the command line, 0 where the role's count.
func (o *runOptions) limits() agent.Limits {
	return agent.Limits{Turns: o.turns, Active: o.duration.Milliseconds(), Cost: int64(math.Round(o.cost * 1e6))}
}

const promptSize = 4 << 20 // bytes

// readPrompt takes the prompt from the arguments, or from in if they say so
// or if there are none and in is no terminal.
func readPrompt(in io.Reader, args []string) (string, error) {
	text := strings.Join(args, " ")
	if len(args) == 0 || len(args) == 1 && args[0] == "-" {
		if len(args) == 0 && isTerminal(in) {
			return "", usage("there is no prompt")
		}
		b, err := io.ReadAll(io.LimitReader(in, promptSize+1))
		if err != nil && !errors.Is(err, os.ErrClosed) {
			return "", fmt.Errorf("reading the prompt from standard input: %w", err)
		}
		text = string(b)
	}
	switch {
	case len(text) > promptSize:
		return "", usage("the prompt is longer than %d MB: put it into a file and name that", promptSize>>20)
	case strings.TrimSpace(text) == "":
		return "", usage("the prompt is empty")
	case !utf8.ValidString(text):
		return "", usage("the prompt is no valid UTF-8 text")
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// isTerminal tells whether a stream is one.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && f != nil && term.IsTerminal(int(f.Fd()))
}
