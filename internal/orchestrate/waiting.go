// What the orchestrator's model is told of those below it that wait for the
// user.

package orchestrate

import (
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/store"
)

// mostWaiting bounds how many of them are named.
const mostWaiting = 20

// Waiting implements engine.Performer.
func (p *Performer) Waiting(waiting, answered []store.Item) string {
	var b strings.Builder
	list := func(items []store.Item, line func(store.Item)) {
		for i, item := range items {
			if i == mostWaiting {
				fmt.Fprintf(&b, "- and %d more; list_agents shows all\n", len(items)-i)
				return
			}
			line(item)
		}
	}
	if len(waiting) > 0 {
		b.WriteString("These agents wait for an answer of the user. If the message that follows answers one or several of them, pass the answer on with reply_to_agent, one call for each, and tell the user in one line. If it answers none, leave them waiting.\n")
		list(waiting, func(i store.Item) {
			fmt.Fprintf(&b, "- %s (agent %s, item %s) asks: %s\n", i.Path, i.Agent, i.ID, oneLine(questionText(i.Action), 600))
		})
	}
	if len(answered) > 0 {
		b.WriteString("These questions were answered on the user's behalf, and the user has seen it. If the message that follows corrects one, tell the agent with message_agent.\n")
		list(answered, func(i store.Item) {
			fmt.Fprintf(&b, "- %s (agent %s) asked: %s. It was told: %s\n", i.Path, i.Agent, oneLine(questionText(i.Action), 300), oneLine(i.Answer, 300))
		})
	}
	return strings.TrimSpace(b.String())
}

// oneLine shortens a text to one line of so many characters.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
