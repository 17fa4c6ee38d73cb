// Package record writes down what is asked of models and what they answer, and
// plays it again. It works on requests and replies, not on bytes of a wire
// format: so a recording holds no key, fits any provider, and can be read.
//
// What differs from run to run without meaning anything, the working folder
// and the id of the chat, is replaced by a mark in the recording and put back
// when it is played.
//
// Each recorded answer is given once. A request that comes again gets the next
// one, as a second try did when it was recorded; if there is none left, the call
// fails, since a run that asks more often is another run. Only the very same try
// of an agent, which asks again because it was interrupted before it could note
// the answer, gets the same answer again.
package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Marks stand in a recording for what belongs to one run only.
const (
	dirMark  = "{{cadre:dir}}"
	chatMark = "{{cadre:chat}}"
)

// entry is one line of a recording.
type entry struct {
	Key     string   `json:"key"` // of the request, see keyOf
	Agent   string   `json:"agent"`
	Role    string   `json:"role"`
	Turn    int      `json:"turn"`
	Try     int      `json:"try"`
	Request request  `json:"request"`
	Reply   *reply   `json:"reply,omitempty"`
	Error   *failure `json:"error,omitempty"`
}

type request struct {
	Model       string            `json:"model"`
	Effort      llm.Effort        `json:"effort,omitempty"`
	Thinking    int64             `json:"thinking_tokens,omitempty"`
	Temperature *float64          `json:"temperature,omitempty"`
	System      string            `json:"system,omitempty"`
	Tools       []string          `json:"tools,omitempty"`
	ToolsHash   string            `json:"tools_hash,omitempty"` // of their descriptions and schemas
	MaxOutput   int64             `json:"max_output,omitempty"`
	Messages    []message.Message `json:"messages"`
}

type reply struct {
	Parts     json.RawMessage `json:"parts"`
	Stop      llm.Stop        `json:"stop"`
	Usage     message.Usage   `json:"usage"`
	Model     string          `json:"model,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
}

type failure struct {
	Kind         llm.ErrorKind `json:"kind"`
	Status       int           `json:"status,omitempty"`
	RetryAfterMS int64         `json:"retry_after_ms,omitempty"`
	Message      string        `json:"message"`
	Usage        message.Usage `json:"usage,omitzero"`
}

// Recorder writes a line for each call of any of its providers.
type Recorder struct {
	mu  sync.Mutex
	out io.Writer
	err error
}

// NewRecorder makes a recorder that writes to out.
func NewRecorder(out io.Writer) *Recorder { return &Recorder{out: out} }

// Provider records the calls of next. A call is made whether or not it could
// be recorded; Err tells.
func (r *Recorder) Provider(next llm.Provider) llm.Provider { return recording{r, next} }

// Err is the first error in writing, if there was one.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

type recording struct {
	to   *Recorder
	next llm.Provider
}

func (p recording) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	rep, err := p.next.Call(ctx, req, onDelta)
	if ctx.Err() == nil { // a call that was stopped has no answer to play again
		p.to.write(settled(p.next, req), rep, err)
	}
	return rep, err
}

// Settler completes a request with what is configured for its model. A provider
// that does so when it is called is one, so that what was really asked is what
// is written and looked for.
type Settler interface {
	Settle(req *llm.Request)
}

// settled returns req as by would send it.
func settled(by any, req *llm.Request) *llm.Request {
	s, ok := by.(Settler)
	if !ok {
		return req
	}
	out := *req
	s.Settle(&out)
	return &out
}

func (r *Recorder) write(req *llm.Request, rep *llm.Reply, callErr error) {
	line, err := encode(req, rep, callErr)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && r.err == nil {
		_, err = r.out.Write(line)
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("recording a model call: %w", err)
	}
}

func encode(req *llm.Request, rep *llm.Reply, callErr error) ([]byte, error) {
	asked, err := requestOf(req)
	if err != nil {
		return nil, err
	}
	e := entry{Agent: req.Caller.Agent, Role: req.Caller.Role, Turn: req.Caller.Turn, Try: req.Caller.Try, Request: asked}
	var failed *llm.Error
	switch {
	case callErr == nil:
		parts, err := message.EncodeParts(rep.Parts)
		if err != nil {
			return nil, err
		}
		e.Reply = &reply{Parts: parts, Stop: rep.Stop, Usage: rep.Usage, Model: rep.Model, RequestID: rep.RequestID}
	case errors.As(callErr, &failed):
		e.Error = &failure{Kind: failed.Kind, Status: failed.Status, RetryAfterMS: failed.RetryAfter.Milliseconds(), Message: failed.Message, Usage: failed.Usage}
	default:
		e.Error = &failure{Kind: llm.ErrServer, Message: callErr.Error()}
	}
	if e.Key, err = keyOf(req); err != nil {
		return nil, err
	}
	line, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return append(mark(line, req.Caller), '\n'), nil
}

func requestOf(req *llm.Request) (request, error) {
	r := request{
		Model: req.Model, Effort: req.Effort, Thinking: req.ThinkingTokens, Temperature: req.Temperature,
		System: req.System, MaxOutput: req.MaxOutput, Messages: req.Messages,
	}
	if len(req.Tools) == 0 {
		return r, nil
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	var err error
	r.ToolsHash, err = hash(req.Tools, req.Caller)
	return r, err
}

// keyOf identifies what is asked: model and how much it is to think, prompt,
// tools and messages. How much the answer may cost is not part of it.
func keyOf(req *llm.Request) (string, error) {
	r, err := requestOf(req)
	if err != nil {
		return "", err
	}
	r.MaxOutput = 0
	return hash(r, req.Caller)
}

// hash identifies v, but for what belongs to this run.
func hash(v any, c llm.Caller) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding the request: %w", err)
	}
	sum := sha256.Sum256(mark(b, c))
	return hex.EncodeToString(sum[:16]), nil
}

// mark replaces what belongs to this run by marks, unmark puts it back. Both
// work on JSON, in which a path may stand with escapes.
func mark(b []byte, c llm.Caller) []byte {
	for _, m := range marks(c) {
		b = bytes.ReplaceAll(b, m.value, m.mark)
	}
	return b
}

func unmark(b []byte, c llm.Caller) []byte {
	for _, m := range marks(c) {
		b = bytes.ReplaceAll(b, m.mark, m.value)
	}
	return b
}

type pair struct{ mark, value []byte }

func marks(c llm.Caller) []pair {
	var out []pair
	for _, m := range []struct{ mark, value string }{{dirMark, c.Dir}, {chatMark, c.Chat}} {
		if len(m.value) < 2 { // "/" or nothing stands everywhere
			continue
		}
		quoted, err := json.Marshal(m.value)
		if err != nil {
			continue
		}
		out = append(out, pair{[]byte(m.mark), quoted[1 : len(quoted)-1]})
	}
	return out
}
