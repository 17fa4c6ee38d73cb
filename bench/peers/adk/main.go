// The fan-out on adk-go: an LLM agent whose tool runs an LLM agent for each
// task, all at once, each in a session of its own, with adk-go's own client,
// which speaks Gemini.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/model/gemini"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"

	"github.com/cadre-dev/cadre/bench/chat"
)

func main() {
	url := flag.String("url", "", "the model server")
	n := flag.Int("n", 4, "sub-agents")
	turns := flag.Int("turns", 3, "tool calls of each")
	stream := flag.Bool("stream", false, "ask for streams")
	flag.Parse()
	if err := run(context.Background(), *url, *n, *turns, *stream); err != nil {
		fmt.Fprintln(os.Stderr, "adk:", err)
		os.Exit(1)
	}
}

// text is what a tool of adk-go returns.
type text struct {
	Output string `json:"output"`
}

func run(ctx context.Context, url string, n, turns int, stream bool) error {
	client, err := gemini.NewModel(ctx, "bench", &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPClient: chat.NewHTTP(), HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		return err
	}
	mode := agent.RunConfig{StreamingMode: agent.StreamingModeNone}
	if stream {
		mode.StreamingMode = agent.StreamingModeSSE
	}
	read, err := functiontool.New(functiontool.Config{Name: chat.ReadName, Description: chat.ReadAbout},
		func(_ agent.ToolContext, in chat.ReadArgs) (text, error) {
			out, err := chat.ReadNote(in)
			return text{out}, err
		})
	if err != nil {
		return err
	}
	leaf, err := newRunner("leaf", client, read)
	if err != nil {
		return err
	}
	ended := 0
	spawn, err := functiontool.New(functiontool.Config{Name: chat.SpawnName, Description: chat.SpawnAbout},
		func(_ agent.ToolContext, in chat.SpawnArgs) (text, error) {
			results, errs := make([]string, len(in.Tasks)), make([]error, len(in.Tasks))
			var wg sync.WaitGroup
			for i, t := range in.Tasks {
				wg.Go(func() { results[i], errs[i] = ask(ctx, leaf, mode, "leaf-"+strconv.Itoa(i), t.Task) })
			}
			wg.Wait()
			ended = len(results)
			return text{strings.Join(results, "\n")}, errors.Join(errs...)
		})
	if err != nil {
		return err
	}
	root, err := newRunner("root", client, spawn)
	if err != nil {
		return err
	}
	began := time.Now()
	last, err := ask(ctx, root, mode, "root", chat.Script{Kind: chat.Root, Fan: n, Leaf: turns, Wait: -1}.String())
	if err != nil {
		return err
	}
	if !strings.Contains(last, chat.Finished) || ended != n {
		return fmt.Errorf("%d of %d sub-agents ended, the last reply was %q", ended, n, last)
	}
	return chat.Print(time.Since(began))
}

func newRunner(name string, client model.LLM, t tool.Tool) (*runner.Runner, error) {
	a, err := llmagent.New(llmagent.Config{Name: name, Description: name, Model: client, Instruction: chat.SystemPrompt, Tools: []tool.Tool{t}})
	if err != nil {
		return nil, err
	}
	return runner.New(runner.Config{AppName: name, Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
}

// ask runs an agent in a new session and returns its last text.
func ask(ctx context.Context, r *runner.Runner, mode agent.RunConfig, id, message string) (string, error) {
	last := ""
	for ev, err := range r.Run(ctx, "user", id, genai.NewContentFromText(message, genai.RoleUser), mode) {
		if err != nil {
			return "", err
		}
		if ev.Content == nil || ev.Partial {
			continue
		}
		for _, p := range ev.Content.Parts {
			if p.Text != "" {
				last = p.Text
			}
		}
	}
	return last, nil
}
