// Titles: after its first exchange a chat gets a name from the fast tier.

package orchestrate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

const (
	titleRole = "title" // how models that follow a script know the call
	titleTier = "fast"
	titleRoom = 200   // tokens of the answer
	titleMost = 4_000 // characters of the chat that are shown
	titleTime = 30 * time.Second
)

const titlePrompt = "You name chats. Answer with a title for the chat below: three to six words in its own language, " +
	"that tell it apart from others in a list. Only the title: no quotation marks, no full stop, no Markdown."

// Title asks the fast tier for the name of a chat. It is a side call like a
// consultation, at the orchestrator's cost. It is empty where the model is a
// simulation, which has no words of its own.
func (p *Performer) Title(ctx context.Context, chat string) (string, error) {
	root, err := p.store.Agent(ctx, chat)
	if err != nil {
		return "", fmt.Errorf("reading the orchestrator of chat %s: %w", chat, err)
	}
	own, err := p.models.Find(root.Model)
	if err != nil || own.Lane == "" { // nothing of a simulation goes to a vendor
		return "", err
	}
	model, err := p.models.Tier(titleTier, own.Ref)
	if err != nil {
		return "", err
	}
	said, err := p.chatText(ctx, chat)
	if err != nil {
		return "", err
	}
	if letters := []rune(said); len(letters) > titleMost {
		said = string(letters[:titleMost])
	}
	ctx, cancel := context.WithTimeout(ctx, titleTime)
	defer cancel()
	info := agent.CallInfo{Model: model.Name, StartedAt: time.Now().UnixMilli()}
	reply, err := p.placed(&engine.Job{}, agent.CallModel{}, model, func() {}).Call(ctx, &llm.Request{
		Caller: llm.Caller{Chat: chat, Agent: chat, Name: root.Name, Role: titleRole, Dir: root.Dir, Turn: 1, Try: 1},
		Model:  model.Name, System: titlePrompt, MaxOutput: titleRoom,
		Messages: []message.Message{message.Of(message.User, message.KindUser, said)},
	}, nil)
	if err != nil {
		return "", fmt.Errorf("naming chat %s: %w", chat, err)
	}
	info.EndedAt, info.Usage, info.RequestID, info.Answered = time.Now().UnixMilli(), reply.Usage, reply.RequestID, reply.Model
	answer := message.Message{Parts: reply.Parts}
	spent, known := model.spent(reply.Usage, len(said), answer.Size())
	p.charge(ctx, chat, agent.Charged{Spent: spent, Priced: known, Info: info})
	plain := strings.NewReplacer("**", "", "`", "").Replace(strings.TrimSpace(answer.Text()))
	return strings.Trim(plain, `"'“”„«»*#. `), nil
}
