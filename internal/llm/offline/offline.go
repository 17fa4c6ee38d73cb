// Package offline is the model that answers when none is configured: fixed
// rules instead of a language model. It searches, lists, counts, summarises
// and plans with the real tools it is offered, hands the parts of a compound
// request to sub-agents, and says plainly what it is.
//
// It keeps no state: every decision follows from the request, so it goes on
// after a crash where it was. It knows the tools by their names and the form
// of their answers, and nothing of agents, engines or stores.
//
// Each kind of request has a file with its rule; rule.go has the order in
// which they are tried.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

// Name is what replies give as their model.
const Name = "offline"

// Model is the offline model. Its zero value is ready for use, by any number
// of goroutines.
type Model struct{}

var _ llm.Provider = Model{}

// New returns the offline model.
func New() Model { return Model{} }

// Call implements llm.Provider. Text is streamed word by word, without delays.
func (Model) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := observe(req)
	st := decide(s)
	reply := &llm.Reply{Stop: llm.StopEnd, Model: Name}
	if st.say != "" {
		reply.Parts = append(reply.Parts, message.TextPart{Text: st.say})
	}
	for _, c := range st.calls {
		input, err := json.Marshal(c.input)
		if err != nil {
			return nil, &llm.Error{
				Kind: llm.ErrServer, Message: "the offline model made a bad call of " + c.tool, Err: err,
			}
		}
		reply.Parts = append(reply.Parts, message.ToolCall{ID: c.id, Name: c.tool, Input: input})
		reply.Stop = llm.StopTools
	}
	if err := stream(ctx, reply.Parts, onDelta); err != nil {
		return nil, err
	}
	reply.Usage = estimate(req, reply.Parts)
	return reply, nil
}

// stream sends parts in pieces: text by words, a call at once.
func stream(ctx context.Context, parts []message.Part, onDelta func(llm.Delta)) error {
	if onDelta == nil {
		return nil
	}
	for i, p := range parts {
		switch p := p.(type) {
		case message.TextPart:
			for _, word := range strings.SplitAfter(p.Text, " ") {
				if err := ctx.Err(); err != nil {
					return err
				}
				onDelta(llm.Delta{Kind: llm.DeltaText, Part: i, Text: word})
			}
		case message.ToolCall:
			onDelta(llm.Delta{Kind: llm.DeltaCall, Part: i, Name: p.Name, Text: string(p.Input)})
		case message.ThinkingPart, message.ImagePart, message.ToolResult: // never said
		}
	}
	return nil
}

// estimate counts four bytes to a token.
func estimate(req *llm.Request, parts []message.Part) message.Usage {
	in := len(req.System)
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		in += m.Size()
	}
	out := message.Message{Parts: parts}.Size()
	return message.Usage{Input: int64(max(in/4, 1)), Output: int64(max(out/4, 1))}
}

// plural gives "1 file", "2 files", "3 matches", "4 entries".
func plural(n int, noun string) string {
	if n != 1 {
		switch {
		case strings.HasSuffix(noun, "ch"):
			noun += "e"
		case strings.HasSuffix(noun, "ry"):
			noun = strings.TrimSuffix(noun, "y") + "ie"
		}
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
