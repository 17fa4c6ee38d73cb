// The fan-out on adk-go: an LLM agent whose tool runs an LLM agent for each
// task, all at once, each in a session of its own.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
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
	flag.Parse()
	if err := run(context.Background(), *url, *n, *turns); err != nil {
		fmt.Fprintln(os.Stderr, "adk:", err)
		os.Exit(1)
	}
}

// text is what a tool of adk-go returns.
type text struct {
	Output string `json:"output"`
}

func run(ctx context.Context, url string, n, turns int) error {
	client := chat.NewClient(url)
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
				wg.Go(func() { results[i], errs[i] = ask(ctx, leaf, "leaf-"+strconv.Itoa(i), t.Task) })
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
	last, err := ask(ctx, root, "root", chat.Script{Kind: chat.Root, Fan: n, Leaf: turns, Wait: -1}.String())
	if err != nil {
		return err
	}
	if !strings.Contains(last, chat.Finished) || ended != n {
		return fmt.Errorf("%d of %d sub-agents ended, the last reply was %q", ended, n, last)
	}
	return chat.Print(time.Since(began))
}

func newRunner(name string, client *chat.Client, t tool.Tool) (*runner.Runner, error) {
	a, err := llmagent.New(llmagent.Config{Name: name, Description: name, Model: thin{client}, Instruction: chat.SystemPrompt, Tools: []tool.Tool{t}})
	if err != nil {
		return nil, err
	}
	return runner.New(runner.Config{AppName: name, Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
}

// ask runs an agent in a new session and returns its last text.
func ask(ctx context.Context, r *runner.Runner, id, message string) (string, error) {
	last := ""
	for ev, err := range r.Run(ctx, "user", id, genai.NewContentFromText(message, genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			return "", err
		}
		if ev.Content == nil {
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

// thin is adk-go's model over the benchmark's client.
type thin struct{ client *chat.Client }

func (thin) Name() string { return "bench" }

func (m thin) GenerateContent(ctx context.Context, req *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	return func(yield func(*model.LLMResponse, error) bool) {
		said, err := m.client.Complete(ctx, requestOf(req))
		if err != nil {
			yield(nil, err)
			return
		}
		content := &genai.Content{Role: genai.RoleModel}
		if said.Content != "" {
			content.Parts = append(content.Parts, genai.NewPartFromText(said.Content))
		}
		for _, c := range said.ToolCalls {
			var args map[string]any
			if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
				yield(nil, err)
				return
			}
			content.Parts = append(content.Parts, &genai.Part{FunctionCall: &genai.FunctionCall{ID: c.ID, Name: c.Function.Name, Args: args}})
		}
		yield(&model.LLMResponse{Content: content, FinishReason: genai.FinishReasonStop}, nil)
	}
}

// requestOf turns adk-go's request into one of Chat Completions.
func requestOf(in *model.LLMRequest) chat.Request {
	var out chat.Request
	if c := in.Config; c != nil {
		if c.SystemInstruction != nil {
			for _, p := range c.SystemInstruction.Parts {
				out.Messages = append(out.Messages, chat.Message{Role: "system", Content: p.Text})
			}
		}
		for _, t := range c.Tools {
			for _, f := range t.FunctionDeclarations {
				out.Tools = append(out.Tools, chat.Tool{Type: "function", Function: chat.Definition{Name: f.Name, Description: f.Description, Parameters: f.ParametersJsonSchema}})
			}
		}
	}
	for _, c := range in.Contents {
		out.Messages = append(out.Messages, messagesOf(c)...)
	}
	return out
}

func messagesOf(c *genai.Content) []chat.Message {
	m := chat.Message{Role: "user"}
	if c.Role == genai.RoleModel {
		m.Role = "assistant"
	}
	var results []chat.Message
	for _, p := range c.Parts {
		switch {
		case p.FunctionCall != nil:
			args, _ := json.Marshal(p.FunctionCall.Args) // it came as JSON
			m.ToolCalls = append(m.ToolCalls, chat.ToolCall{ID: p.FunctionCall.ID, Type: "function", Function: chat.Function{Name: p.FunctionCall.Name, Arguments: string(args)}})
		case p.FunctionResponse != nil:
			output, _ := json.Marshal(p.FunctionResponse.Response) // it came as JSON
			results = append(results, chat.Message{Role: "tool", ToolCallID: p.FunctionResponse.ID, Content: string(output)})
		default:
			m.Content += p.Text
		}
	}
	if results != nil {
		return results
	}
	return []chat.Message{m}
}
