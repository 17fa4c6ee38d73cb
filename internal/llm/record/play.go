// Playing a recording.

package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Player answers from a recording. It is an llm.Provider for every model.
type Player struct {
	name string

	warning string
	model   string // of the first request

	known []known

	mu      sync.Mutex
	answers map[string][]*recorded // by key, in the order they were recorded
	given   map[string]*recorded   // by key and caller
}

// recorded is an answer.
type recorded struct {
	entry []byte
	by    string // whose try it answered, see tryOf
	used  bool
}

// tryOf names a try of an agent, whatever its chat is called.
func tryOf(c llm.Caller) string {
	agent := c.Agent
	if len(c.Chat) > 1 {
		agent = strings.ReplaceAll(agent, c.Chat, chatMark)
	}
	return fmt.Sprintf("%s turn %d try %d", agent, c.Turn, c.Try)
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
	p := &Player{name: name, answers: map[string][]*recorded{}, given: map[string]*recorded{}}
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
		p.answers[e.Key] = append(p.answers[e.Key], &recorded{entry: raw, by: tryOf(llm.Caller{Agent: e.Agent, Turn: e.Turn, Try: e.Try})})
		p.known = append(p.known, known{e.Agent, e.Role, e.Request.Model, e.Turn})
	}
}

// For returns the player as the provider of a model, whose requests by settles
// as it did when they were recorded.
func (p *Player) For(by Settler) llm.Provider { return playing{p, by} }

type playing struct {
	player *Player
	by     Settler
}

func (p playing) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	return p.player.Call(ctx, settled(p.by, req), onDelta)
}

// Call implements llm.Provider.
func (p *Player) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	key, err := keyOf(req)
	if err != nil {
		return nil, err
	}
	raw, err := p.take(key, req)
	if err != nil {
		return nil, err
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

// take chooses the answer to a request: the one that this try has got before,
// else the one that was recorded for it, else the next.
func (p *Player) take(key string, req *llm.Request) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	caller := req.Caller.Chat + " " + key + " " + tryOf(req.Caller)
	if a := p.given[caller]; a != nil {
		return a.entry, nil
	}
	all := p.answers[key]
	if len(all) == 0 {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: p.unmatched(req)}
	}
	left := slices.DeleteFunc(slices.Clone(all), func(a *recorded) bool { return a.used })
	if len(left) == 0 {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: fmt.Sprintf(
			"the recording %s has an answer to this request of %s (%s), turn %d, but it was asked %d times and now once more. Record it again with --record",
			p.name, req.Caller.Agent, req.Caller.Role, req.Caller.Turn, len(all))}
	}
	a := left[0]
	if own := slices.IndexFunc(left, func(a *recorded) bool { return a.by == tryOf(req.Caller) }); own >= 0 {
		a = left[own]
	}
	a.used = true
	p.given[caller] = a
	return a.entry, nil
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
