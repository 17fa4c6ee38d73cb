// Consultation: before the user is asked, the orchestrator's model is asked
// whether the chat already holds the answer.

package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

const (
	consultRole = "consult" // how models that follow a script know the call
	consultRoom = 1_000     // tokens of the answer
	consultMost = 40_000    // characters of the chat that are shown
	consultTime = time.Minute
)

const consultPrompt = "You are the orchestrator of this chat. A sub-agent that works for the user asks a question. " +
	"Decide from the chat alone whether the user has already answered it, or would without doubt answer it in one way. " +
	"If so, call reply_to_agent with the answer, as the user would give it, and your confidence from 0 to 1. " +
	"If not, or if it is a matter of taste, risk or money that the user has not decided, call ask_user. Never guess."

var consultTools = []llm.Tool{
	{Name: AskUser, Description: "The user has to be asked.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
	{Name: ReplyToAgent, Description: "Answer the agent on the user's behalf.", Schema: json.RawMessage(
		`{"type":"object","required":["answer","confidence"],"properties":{"answer":{"type":"string"},"confidence":{"type":"number","minimum":0,"maximum":1}}}`)},
}

// Consult implements engine.Performer. It is a side call outside the
// orchestrator's history, over what the user can see in the chat, at the
// orchestrator's cost. Whatever goes wrong, the user is asked.
func (p *Performer) Consult(ctx context.Context, job *engine.Job, c agent.Consult) agent.Event {
	out := agent.Consulted{Item: c.Item}
	ctx, cancel := context.WithTimeout(ctx, consultTime) // a model that hangs must not keep the question from the user
	defer cancel()
	answer, confidence, err := p.consult(ctx, job, c)
	if err != nil {
		p.log.Warn("the orchestrator could not be consulted; the user is asked", "chat", job.Spec.Chat, "agent", job.Spec.ID, "path", job.Spec.Path, "err", err)
		return out
	}
	if answer == "" {
		return out
	}
	out.Answered, out.Answer, out.Confidence = true, answer, int(math.Round(confidence*100))
	out.Tokens = engine.Tokens(message.Of(message.User, message.KindUser, answer))
	return out
}

func (p *Performer) consult(ctx context.Context, job *engine.Job, c agent.Consult) (string, float64, error) {
	if p.store == nil {
		return "", 0, nil
	}
	call, err := p.store.ToolCall(ctx, job.Spec.ID, c.Turn, c.Call)
	if err != nil {
		return "", 0, fmt.Errorf("reading the question: %w", err)
	}
	root, err := p.store.Agent(ctx, job.Spec.Chat)
	if err != nil {
		return "", 0, fmt.Errorf("reading the orchestrator: %w", err)
	}
	model, err := p.models.Find(root.Model)
	if err != nil {
		return "", 0, err
	}
	said, err := p.chatText(ctx, job.Spec.Chat)
	if err != nil {
		return "", 0, err
	}
	asks := fmt.Sprintf("The chat so far:\n\n%s\n\nAgent %s asks: %s", said, job.Spec.Path, questionText(string(call.Args)))
	info := agent.CallInfo{Model: model.Ref, StartedAt: job.Now().UnixMilli()}
	reply, err := p.placed(job, agent.CallModel{Turn: job.Turn}, model, func() {}).Call(ctx, &llm.Request{
		Caller: llm.Caller{Chat: job.Spec.Chat, Agent: job.Spec.ID, Name: job.Spec.Name, Role: consultRole, Task: questionText(string(call.Args)), Dir: job.Spec.Dir, Turn: 1, Try: 1},
		Model:  model.Name, System: consultPrompt, Tools: consultTools, MaxOutput: consultRoom,
		Messages: []message.Message{message.Of(message.User, message.KindUser, asks)},
	}, nil)
	if err != nil {
		return "", 0, err
	}
	info.EndedAt, info.Usage, info.RequestID, info.Answered = job.Now().UnixMilli(), reply.Usage, reply.RequestID, reply.Model
	spent, known := model.spent(reply.Usage, len(asks), message.Message{Parts: reply.Parts}.Size())
	p.charge(ctx, job.Spec.Chat, agent.Charged{Spent: spent, Priced: known, Info: info})
	for _, part := range reply.Parts {
		if call, ok := part.(message.ToolCall); ok && call.Name == ReplyToAgent {
			var in struct {
				Answer     string  `json:"answer"`
				Confidence float64 `json:"confidence"`
			}
			if json.Unmarshal(call.Input, &in) == nil {
				return strings.TrimSpace(in.Answer), min(max(in.Confidence, 0), 1), nil
			}
		}
	}
	return "", 0, nil
}

// charge books a side call to the orchestrator.
func (p *Performer) charge(ctx context.Context, chat string, ev agent.Charged) {
	if p.deliver == nil {
		return
	}
	if err := p.deliver(ctx, chat, ev); err != nil {
		p.log.Warn("a side call could not be booked", "chat", chat, "agent", chat, "err", err)
	}
}

// chatText is what the user can see in the chat: what was said on both sides.
func (p *Performer) chatText(ctx context.Context, chat string) (string, error) {
	rows, err := p.store.History(ctx, chat, 0)
	if err != nil {
		return "", fmt.Errorf("reading the chat: %w", err)
	}
	var lines []string
	for _, row := range rows {
		m, err := row.Decode()
		if err != nil {
			return "", fmt.Errorf("reading the chat: %w", err)
		}
		text := strings.TrimSpace(m.Text())
		switch {
		case text == "":
		case m.Kind == message.KindUser:
			lines = append(lines, "User: "+text)
		case m.Kind == message.KindReply:
			lines = append(lines, "Assistant: "+text)
		}
	}
	return newest(lines, consultMost, consultMost/4), nil
}
