// The floor: the requests of a fan-out from plain net/http, without any agent
// system. Nothing is recorded, no reply is looked at, no tool is run.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

type floor struct {
	url    string
	stream bool
	sizes  map[string]int // of requests, by kind and turn; others are as small as they can be
	client *http.Client
}

func main() {
	var f floor
	n := flag.Int("n", 4, "leaves")
	turns := flag.Int("turns", 3, "tool calls of each leaf")
	sizes := flag.String("sizes", "", "bytes of requests, such as bench-leaf.0=700,bench-root.1=9000")
	sequence := flag.String("sequence", "", "instead of a fan-out: requests of these sizes, one after the other")
	each := flag.Int("each", 100, "how many of each size")
	flag.StringVar(&f.url, "url", "", "the model server")
	flag.BoolVar(&f.stream, "stream", false, "ask for streams")
	flag.Parse()
	f.client = chat.NewHTTP()
	f.sizes = map[string]int{}
	for size := range strings.SplitSeq(*sizes, ",") {
		if key, value, ok := strings.Cut(size, "="); ok {
			f.sizes[key], _ = strconv.Atoi(value)
		}
	}
	err := error(nil)
	if *sequence != "" {
		err = f.sequence(*sequence, *each)
	} else {
		err = f.run(*n, *turns)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func (f *floor) run(n, turns int) error {
	root := chat.Script{Kind: chat.Root, Fan: n, Leaf: turns, Wait: -1}
	began := time.Now()
	if err := f.ask(root, 0); err != nil {
		return err
	}
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			leaf := chat.Script{Kind: chat.Leaf, ID: i, Turns: turns, Wait: -1}
			for turn := range turns + 1 {
				if err := f.ask(leaf, turn); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return err
	}
	if err := f.ask(root, 1); err != nil {
		return err
	}
	return chat.Print(time.Since(began))
}

// sequence sends requests of given sizes, each when the one before it is
// answered. Their ids tell which size it is.
func (f *floor) sequence(sizes string, each int) error {
	began := time.Now()
	for i, text := range strings.Split(sizes, ",") {
		size, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		body := fmt.Appendf(nil, `{"model":"bench","stream":true,"messages":[{"role":"user","content":%q}]}`, chat.Script{Kind: chat.Leaf, ID: i}.String())
		body = append(body, bytes.Repeat([]byte(" "), max(0, size-len(body)))...)
		for range each {
			if err := f.send(body); err != nil {
				return err
			}
		}
	}
	return chat.Print(time.Since(began))
}

// ask sends the request that a conversation makes in a turn.
func (f *floor) ask(s chat.Script, turn int) error {
	req := chat.Request{Model: "bench", Stream: f.stream, Tools: []chat.Tool{{Type: "function", Function: chat.Definition{
		Name: chat.ReadName, Description: chat.ReadAbout,
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}}}`),
	}}}, Messages: []chat.Message{{Role: "system", Content: chat.SystemPrompt}, {Role: "user", Content: s.String()}}}
	for i := range turn {
		id := "call_" + strconv.Itoa(i+1)
		req.Messages = append(req.Messages,
			chat.Message{Role: "assistant", ToolCalls: []chat.ToolCall{{ID: id, Type: "function", Function: chat.Function{Name: chat.ReadName, Arguments: chat.ReadInput(i)}}}},
			chat.Message{Role: "tool", ToolCallID: id, Content: "A short note."})
	}
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	if more := f.sizes[s.Kind+"."+strconv.Itoa(turn)] - len(body); more > 0 {
		body = append(body, bytes.Repeat([]byte(" "), more)...)
	}
	return f.send(body)
}

func (f *floor) send(body []byte) error {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, f.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := f.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the model server answered %s", res.Status)
	}
	return nil
}
