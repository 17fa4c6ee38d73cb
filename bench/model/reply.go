// What the model says, and how it looks on the wire.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

// said is a reply: text, or one call of a tool.
type said struct {
	text   string
	tool   string
	input  string
	call   string // id of the call
	chunks int
}

// answer decides what a conversation gets in a turn, which is counted from 0.
func answer(s chat.Script, turn int) said {
	if s.Fan > 0 {
		if turn == 0 {
			tasks, _ := json.Marshal(map[string]any{"tasks": s.Tasks()}) // strings cannot fail
			return said{tool: chat.SpawnName, input: string(tasks), call: "call_0"}
		}
		turn--
	}
	if turn < s.Turns {
		return said{tool: chat.ReadName, input: chat.ReadInput(turn), call: "call_" + strconv.Itoa(turn+1), chunks: chunks(s)}
	}
	if s.Kind == chat.Root {
		return said{text: "All of it is done: " + chat.Finished + "."}
	}
	return said{text: fmt.Sprintf("Task %d is done: the file holds a short note and nothing else.", s.ID), chunks: chunks(s)}
}

func chunks(s chat.Script) int {
	if s.Kind != chat.Leaf {
		return 0
	}
	return s.Chunks
}

const usage = `"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}`

// message is the reply as JSON; a call in a stream has an index.
func (a said) message(index string) string {
	if a.tool == "" {
		return `{"role":"assistant","content":` + strconv.Quote(a.text) + `}`
	}
	input, _ := json.Marshal(a.input) // strings cannot fail
	return `{"role":"assistant","content":null,"tool_calls":[{` + index + `"id":"` + a.call + `","type":"function","function":{"name":"` + a.tool + `","arguments":` + string(input) + `}}]}`
}

func (a said) finish() string {
	if a.tool == "" {
		return "stop"
	}
	return "tool_calls"
}

// whole sends the reply in one piece.
func (a said) whole(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"bench","choices":[{"index":0,"message":%s,"finish_reason":%q}],%s}`, a.message(""), a.finish(), usage) // who asked notices
}

// gemini sends the reply as the Gemini API does, which gives a stream with
// calls of tools in one piece, too.
func (a said) gemini(w http.ResponseWriter, stream bool) {
	part := `{"text":` + strconv.Quote(a.text) + `}`
	if a.tool != "" {
		part = `{"functionCall":{"name":"` + a.tool + `","args":` + a.input + `}}`
	}
	body := `{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"totalTokenCount":120},"modelVersion":"bench"}`
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body) // who asked notices
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "data: "+body+"\r\n\r\n") // who asked notices
}

// stream sends the reply in pieces; false: the caller has gone.
func (a said) stream(ctx context.Context, w http.ResponseWriter, s chat.Script) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	const head = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":`
	flush := http.NewResponseController(w).Flush
	next := time.Now()
	for i := range a.chunks {
		text := fmt.Sprintf("%d:%d ", i, time.Now().UnixNano())
		if _, err := fmt.Fprintf(w, "%s{\"role\":\"assistant\",\"content\":%q},\"finish_reason\":null}]}\n\n", head, text); err != nil || flush() != nil {
			return false
		}
		next = next.Add(s.Gap)
		if !sleep(ctx, time.Until(next)) {
			return false
		}
	}
	if a.chunks == 0 || a.tool != "" {
		_, _ = w.Write([]byte(head + a.message(`"index":0,`) + `,"finish_reason":null}]}` + "\n\n")) // who asked notices
	}
	_, err := fmt.Fprintf(w, "%s{},\"finish_reason\":%q}]}\n\ndata: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\",\"choices\":[],%s}\n\ndata: [DONE]\n\n", head, a.finish(), usage)
	return err == nil
}
