// Command cadre runs and looks at trees of agents.
//
// One file a command; exit.go turns errors into exit codes, data.go finds the
// data folder. Everything else is in the packages below internal.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

func main() {
	// The binary is also what confines the commands of agents: see sandbox.
	if code, ran := sandbox.Main(os.Args); ran {
		os.Exit(code)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spare)
	}
	room := headroom()
	code := execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	runtime.KeepAlive(room)
	os.Exit(code)
}

// spare is how many goroutines may run beside one for each processor. The one
// that writes gives its place away while it waits for the disk; when a thousand
// agents are at work it would queue behind all of them to get one back, and so
// would everything that waits for the commit. The kernel puts it first, as it
// sleeps most.
const spare = 2

// globals are what all commands share.
type globals struct {
	data   string       // --data
	server serverFlags  // of the commands that have them
	log    *slog.Logger // where a crash is told in full
}

// execute runs one command line and returns the exit code.
func execute(args []string, in io.Reader, out, errs io.Writer) (code int) {
	g := &globals{log: slog.New(slog.DiscardHandler)}
	defer func() {
		if r := recover(); r != nil {
			g.log.Error("cadre crashed", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			code = report(errs, fmt.Errorf("internal error: %v; the log in the data folder has the details", r))
		}
	}()
	root := newRoot(g)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	cmd, err := root.ExecuteC()
	return report(errs, asUsage(cmd, err))
}

func newRoot(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "cadre",
		Short: "Agents that delegate, durably",
		Long: `Cadre runs a tree of agents: you talk to one, the orchestrator, and it hands
work to sub-agents that work in parallel and report back. Every step is stored
before anything acts on it, so that a crash loses nothing.`,
		Example: `  cadre run "Count the Go files in internal/agent and summarise README.md"
  cadre run --resume          # go on with what a crash has left unfinished
  cadre show                  # the recent chats
  cadre show CHAT             # the agents of one, and its answer`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&g.data, "data", "",
		"the data folder (default: $CADRE_HOME, else cadre in the XDG data folder, ~/.local/share)")
	root.AddCommand(newRun(g), newChat(g), newInbox(g), newStop(g), newPS(g), newTail(g), newShow(g), newVerify(g), newDB(g), newModels(), newDoctor(g), newVersion(), newDev())
	root.AddCommand(newAgentsCommand(), newServe(g), newOpen(g), newHealth(g), newUsers(g), newTokens(g))
	return root
}
