// Tasks of type tool: one run of a tool in the background, as a child without
// a model. It is started, stopped, recovered and reported like any other.

package agent

import "github.com/cadre-dev/cadre/internal/message"

// ToolRunCall is the id of the only call of a tool run.
const ToolRunCall = "run"

// ToolRun tells whether s is one run of a tool rather than an agent with a
// model.
func (s Spec) ToolRun() bool { return s.Tool != "" }

// beginToolRun begins with the call that the parent's model asked for.
func (m *machine) beginToolRun(call message.Message) {
	m.Turn = 1
	pos := m.Pos
	m.place(call)
	m.Pos++ // its result
	m.Phase = Acting{Pos: pos, Calls: []Call{{ID: ToolRunCall, Name: m.Spec.Tool, Class: m.Spec.Class, Phase: CallQueued}}}
	m.emit(OpenCall{Turn: m.Turn, Call: 0, ID: ToolRunCall, Name: m.Spec.Tool, Class: m.Spec.Class})
	m.advance()
}

// endToolRun ends with the result of the call, whatever it is.
func (m *machine) endToolRun(a Acting) {
	at := a.Pos + 1
	o := Outcome{Reason: ReasonCompleted, Result: Ref{From: at, To: at}}
	if a.Calls[0].Failed {
		o.Reason, o.Kind = ReasonFailed, KindTool
	}
	m.finish(o, "")
}

// output is where the result of a run is that is stopped: what it has printed,
// which is what there is of the task's.
func (m *machine) output() Ref {
	a, ok := m.Phase.(Acting)
	if !ok {
		return Ref{}
	}
	return Ref{From: a.Pos + 1, To: a.Pos + 1}
}
