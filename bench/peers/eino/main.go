// The fan-out on eino: a ReAct agent whose tool runs a ReAct agent for each
// task, all at once.
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
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/cadre-dev/cadre/bench/chat"
)

func main() {
	url := flag.String("url", "", "the model server")
	n := flag.Int("n", 4, "sub-agents")
	turns := flag.Int("turns", 3, "tool calls of each")
	flag.Parse()
	if err := run(context.Background(), *url, *n, *turns); err != nil {
		fmt.Fprintln(os.Stderr, "eino:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string, n, turns int) error {
	client, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: "none", BaseURL: url + "/v1", Model: "bench", HTTPClient: chat.NewClient(url).HTTP})
	if err != nil {
		return err
	}
	read, err := utils.InferTool(chat.ReadName, chat.ReadAbout, func(_ context.Context, in chat.ReadArgs) (string, error) { return chat.ReadNote(in) })
	if err != nil {
		return err
	}
	leaf, err := newAgent(ctx, client, read, turns)
	if err != nil {
		return err
	}
	ended := 0
	spawn, err := utils.InferTool(chat.SpawnName, chat.SpawnAbout, func(ctx context.Context, in chat.SpawnArgs) (string, error) {
		results, errs := make([]string, len(in.Tasks)), make([]error, len(in.Tasks))
		var wg sync.WaitGroup
		for i, t := range in.Tasks {
			wg.Go(func() {
				m, err := leaf.Generate(ctx, []*schema.Message{schema.UserMessage(t.Task)})
				if errs[i] = err; err == nil {
					results[i] = m.Content
				}
			})
		}
		wg.Wait()
		ended = len(results)
		return strings.Join(results, "\n"), errors.Join(errs...)
	})
	if err != nil {
		return err
	}
	root, err := newAgent(ctx, client, spawn, 1)
	if err != nil {
		return err
	}
	began := time.Now()
	last, err := root.Generate(ctx, []*schema.Message{schema.UserMessage(chat.Script{Kind: chat.Root, Fan: n, Leaf: turns, Wait: -1}.String())})
	if err != nil {
		return err
	}
	if !strings.Contains(last.Content, chat.Finished) || ended != n {
		return fmt.Errorf("%d of %d sub-agents ended, the last reply was %q", ended, n, last.Content)
	}
	return chat.Print(time.Since(began))
}

func newAgent(ctx context.Context, client model.ToolCallingChatModel, t tool.BaseTool, turns int) (*react.Agent, error) {
	return react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: client,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{t}},
		MaxStep:          2*turns + 12,
		MessageModifier: func(_ context.Context, input []*schema.Message) []*schema.Message {
			return append([]*schema.Message{schema.SystemMessage(chat.SystemPrompt)}, input...)
		},
	})
}
