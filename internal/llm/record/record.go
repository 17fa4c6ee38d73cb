// Package record writes down what is asked of models and what they answer, and
// plays it again. It works on requests and replies, not on bytes of a wire
// format: so a recording holds no key, fits any provider, and can be read.
//
// What differs from run to run without meaning anything, the working folder
// and the id of the chat, is replaced by a mark in the recording and put back
// when it is played.
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
	"strings"
	"sync"
	"time"

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
	Model     string            `json:"model"`
	System    string            `json:"system,omitempty"`
	Tools     []string          `json:"tools,omitempty"`
	MaxOutput int64             `json:"max_output,omitempty"`
	Messages  []message.Message `json:"messages"`
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
		p.to.write(req, rep, err)
	}
	return rep, err
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
	e := entry{Agent: req.Caller.Agent, Role: req.Caller.Role, Turn: req.Caller.Turn, Try: req.Caller.Try, Request: requestOf(req)}
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
	var err error
	if e.Key, err = keyOf(req); err != nil {
		return nil, err
	}
	line, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return append(mark(line, req.Caller), '\n'), nil
}

func requestOf(req *llm.Request) request {
	r := request{Model: req.Model, System: req.System, MaxOutput: req.MaxOutput, Messages: req.Messages}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	return r
}

// keyOf identifies what is asked: model, prompt, tools and messages. How much
// the answer may cost is not part of it.
func keyOf(req *llm.Request) (string, error) {
	r := requestOf(req)
	r.MaxOutput = 0
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encoding the request: %w", err)
	}
	sum := sha256.Sum256(mark(b, req.Caller))
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

// Player answers from a recording. It is an llm.Provider for every model.
type Player struct {
	name string

	warning string
	model   string // of the first request

	mu      sync.Mutex
	answers map[string][][]byte // by key, in the order they were recorded
	known   []known
}

// Warning says what of the recording could not be used, empty if all can.
func (p *Player) Warning() string { return p.warning }

// Model is the model that was asked first.
func (p *Player) Model() string { return p.model }

// known is what is told about a request when another one does not match.
type known struct {
	agent, role, model string
	turn               int
}

// Read reads a recording; name is used in errors.
func Read(name string, in io.Reader) (*Player, error) {
	p := &Player{name: name, answers: map[string][][]byte{}}
	d := json.NewDecoder(in)
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) && n > 1 { // the process was killed while it wrote
			p.warning = fmt.Sprintf("%s: its last entry, number %d, is cut off and left out", name, n)
			return p, nil
		}
		var e entry
		if err == nil {
			err = json.Unmarshal(raw, &e)
		}
		if err == nil && (e.Key == "" || e.Reply == nil && e.Error == nil) {
			err = errors.New("it has no answer")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: entry %d is no recorded model call: %w", name, n, err)
		}
		if n == 1 {
			p.model = e.Request.Model
		}
		p.answers[e.Key] = append(p.answers[e.Key], raw)
		p.known = append(p.known, known{e.Agent, e.Role, e.Request.Model, e.Turn})
	}
}

// Call implements llm.Provider. The same request asked several times gets the
// recorded answers in order, and the last one again when they are used up.
func (p *Player) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key, err := keyOf(req)
	if err != nil {
		return nil, err
	}
	raw, ok := p.take(key)
	if !ok {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: p.unmatched(req)}
	}
	var e entry
	if err := json.Unmarshal(unmark(raw, req.Caller), &e); err != nil {
		return nil, fmt.Errorf("reading the recorded answer: %w", err)
	}
	if f := e.Error; f != nil {
		return nil, &llm.Error{Kind: f.Kind, Status: f.Status, RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond, Message: f.Message, Usage: f.Usage}
	}
	parts, err := message.DecodeParts(e.Reply.Parts)
	if err != nil {
		return nil, fmt.Errorf("reading the recorded answer: %w", err)
	}
	play(parts, onDelta)
	return &llm.Reply{Parts: parts, Stop: e.Reply.Stop, Usage: e.Reply.Usage, Model: e.Reply.Model, RequestID: e.Reply.RequestID}, nil
}

func (p *Player) take(key string) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.answers[key]
	if len(left) == 0 {
		return nil, false
	}
	if len(left) > 1 {
		p.answers[key] = left[1:]
	}
	return left[0], true
}

// unmatched says what was asked and what the recording has instead.
func (p *Player) unmatched(req *llm.Request) string {
	var same []string
	models := map[string]bool{}
	for _, k := range p.known {
		models[k.model] = true
		if k.role == req.Caller.Role {
			same = append(same, fmt.Sprintf("%s turn %d", strings.ReplaceAll(k.agent, chatMark, req.Caller.Chat), k.turn))
		}
	}
	c := req.Caller
	text := fmt.Sprintf("the recording %s has no answer to this request of %s (%s), turn %d, model %s, %d messages", p.name, c.Agent, c.Role, c.Turn, req.Model, len(req.Messages))
	if !models[req.Model] {
		return fmt.Sprintf("%s; it was recorded with another model, %s: name that with --model", text, p.model)
	}
	if len(same) == 0 {
		return fmt.Sprintf("%s; it has no request of the role %s at all", text, c.Role)
	}
	const most = 5
	if len(same) > most {
		same = append(same[:most], "…")
	}
	return fmt.Sprintf("%s; for that role it has %s. Something before differs: the prompt, the tools, or an answer. Record it again with --record", text, strings.Join(same, ", "))
}

// play tells the parts as if they were being said.
func play(parts []message.Part, onDelta func(llm.Delta)) {
	if onDelta == nil {
		return
	}
	for i, part := range parts {
		switch part := part.(type) {
		case message.TextPart:
			onDelta(llm.Delta{Kind: llm.DeltaText, Part: i, Text: part.Text})
		case message.ThinkingPart:
			if part.Text != "" {
				onDelta(llm.Delta{Kind: llm.DeltaThinking, Part: i, Text: part.Text})
			}
		case message.ToolCall:
			onDelta(llm.Delta{Kind: llm.DeltaCall, Part: i, Name: part.Name, Text: string(part.Input)})
		case message.ImagePart, message.ToolResult:
		}
	}
}
