// What a step costs: a usual turn, and a fan-in of 1,000 children.

package agent_test

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
)

// BenchmarkTurn is a reply with one tool call and the tool's result, which
// asks for the next reply.
func BenchmarkTurn(b *testing.B) {
	spec := agent.Spec{ID: "chat.1", Chat: "chat", Parent: "chat", Number: 1, Depth: 1, Choice: agent.Choice{Models: []string{"m1"}}, Tools: []string{"Read"}}
	s := steps(b, agent.State{}, agent.Created{At: 1, Spec: spec, Task: message.Of(message.User, message.KindTask, "task")})
	calls := []agent.Proposal{{ID: "call_1", Name: "Read", Class: agent.ClassRead}}
	body := message.Of(message.Assistant, message.KindReply, "reply")
	at := agent.At(2)
	b.ReportAllocs()
	for b.Loop() {
		at++
		s = steps(b, s, agent.ModelReplied{At: at, Turn: s.Turn, Try: 1, Stop: agent.StopTools, Calls: calls, Priced: true, Body: body})
		s = steps(b, s, agent.ToolFinished{At: at, Turn: s.Turn, Parts: body.Parts})
	}
}

// BenchmarkChildEnded is the end of one of 1,000 children, in one group or in
// a group each.
func BenchmarkChildEnded(b *testing.B) {
	for name, oneGroup := range map[string]bool{"one-group": true, "group-each": false} {
		b.Run(name, func(b *testing.B) {
			s := parent(b, 1000, oneGroup)
			task := 0
			b.ReportAllocs()
			for b.Loop() {
				task = task%1000 + 1
				steps(b, s, agent.ChildEnded{At: 10, Task: task, Reason: agent.ReasonCompleted})
			}
		})
	}
}
