// The fan-out on eino: a chat model agent whose tool runs a chat model agent
// for each task, all at once, with eino's own OpenAI client.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"

	"github.com/cadre-dev/cadre/bench/chat"
)

func main() {
	url := flag.String("url", "", "the model server")
	n := flag.Int("n", 4, "sub-agents")
	turns := flag.Int("turns", 3, "tool calls of each")
	stream := flag.Bool("stream", false, "ask for streams")
	flag.Parse()
	if err := run(context.Background(), *url, *n, *turns, *stream); err != nil {
		fmt.Fprintln(os.Stderr, "eino:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string, n, turns int, stream bool) error {
	client, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: "none", BaseURL: url + "/v1", Model: "bench", HTTPClient: chat.NewHTTP()})
	if err != nil {
		return err
	}
	read, err := utils.InferTool(chat.ReadName, chat.ReadAbout, func(_ context.Context, in chat.ReadArgs) (string, error) { return chat.ReadNote(in) })
	if err != nil {
		return err
	}
	leaf, err := newRunner(ctx, "leaf", client, read, turns, stream)
	if err != nil {
		return err
	}
	ended := 0
	spawn, err := utils.InferTool(chat.SpawnName, chat.SpawnAbout, func(ctx context.Context, in chat.SpawnArgs) (string, error) {
		results, errs := make([]string, len(in.Tasks)), make([]error, len(in.Tasks))
		var wg sync.WaitGroup
		for i, t := range in.Tasks {
			wg.Go(func() { results[i], errs[i] = ask(ctx, leaf, t.Task) })
		}
		wg.Wait()
		ended = len(results)
		return strings.Join(results, "\n"), errors.Join(errs...)
	})
	if err != nil {
		return err
	}
	root, err := newRunner(ctx, "root", client, spawn, 1, stream)
	if err != nil {
		return err
	}
	began := time.Now()
	last, err := ask(ctx, root, chat.Script{Kind: chat.Root, Fan: n, Leaf: turns, Wait: -1}.String())
	if err != nil {
		return err
	}
	if !strings.Contains(last, chat.Finished) || ended != n {
		return fmt.Errorf("%d of %d sub-agents ended, the last reply was %q", ended, n, last)
	}
	return chat.Print(time.Since(began))
}

func newRunner(ctx context.Context, name string, client model.ToolCallingChatModel, t tool.BaseTool, turns int, stream bool) (*adk.Runner, error) {
	a, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: name, Description: name, Instruction: chat.SystemPrompt, Model: client, MaxIterations: turns + 2,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{t}}},
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: a, EnableStreaming: stream}), nil
}

// ask runs an agent and returns its last text.
func ask(ctx context.Context, r *adk.Runner, message string) (string, error) {
	last := ""
	events := r.Query(ctx, message)
	for {
		ev, ok := events.Next()
		if !ok {
			return last, nil
		}
		if ev.Err != nil {
			return "", ev.Err
		}
		if ev.Output == nil || ev.Output.MessageOutput == nil {
			continue
		}
		said, err := ev.Output.MessageOutput.GetMessage()
		if err != nil {
			return "", err
		}
		if said.Content != "" {
			last = said.Content
		}
	}
}
