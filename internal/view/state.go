// The states of an agent as they are shown: icon, word and colour always
// together, so that none of them has to be seen for the others to be understood.

package view

import "github.com/cadre-dev/cadre/internal/agent"

// Colour is one of the few colours that states have.
type Colour int

// The colours of states.
const (
	NoColour Colour = iota
	Grey
	Blue
	Amber
	Green
	Teal
	Red
)

// state is how a status is shown.
type state struct {
	status string
	icon   string
	ascii  string // where the terminal has no Unicode
	word   string
	colour Colour
	moves  bool // the icon is animated
	person bool // waits for a person
	bad    bool // ended, and not well: always visible
}

// states is the one table of what is shown for a status of agent.State.
var states = []state{
	{status: string(agent.StatusIdle), icon: "○", ascii: "o", word: "idle", colour: Grey},
	{status: string(agent.StatusQueued), icon: "○", ascii: "o", word: "queued", colour: Grey},
	{status: string(agent.StatusThinking), icon: "●", ascii: "*", word: "thinking", colour: Blue, moves: true},
	{status: string(agent.StatusCompacting), icon: "●", ascii: "*", word: "shortening", colour: Blue, moves: true},
	{status: string(agent.StatusActing), icon: "▸", ascii: ">", word: "acting", colour: Blue},
	{status: string(agent.StatusAccepting), icon: "▸", ascii: ">", word: "checking", colour: Blue},
	{status: string(agent.StatusRetrying), icon: "↻", ascii: "~", word: "retrying", colour: Amber},
	{status: string(agent.StatusApproval), icon: "!", ascii: "!", word: "waiting", colour: Amber, person: true},
	{status: string(agent.StatusAnswer), icon: "?", ascii: "?", word: "waiting", colour: Amber, person: true},
	{status: string(agent.StatusBudget), icon: "$", ascii: "$", word: "waiting", colour: Amber, person: true},
	{status: string(agent.StatusChildren), icon: "◇", ascii: "+", word: "waiting", colour: Blue},
	{status: string(agent.StatusCancelling), icon: "◌", ascii: "-", word: "cancelling", colour: Grey},
	{status: string(agent.StatusSettling), icon: "◌", ascii: "-", word: "settling", colour: Grey},

	{status: string(agent.ReasonCompleted), icon: "✓", ascii: "v", colour: Green},
	{status: string(agent.ReasonPartial), icon: "◐", ascii: "%", colour: Teal, bad: true},
	{status: string(agent.ReasonFailed), icon: "✗", ascii: "x", colour: Red, bad: true},
	{status: string(agent.ReasonCancelled), icon: "⊘", ascii: "-", colour: Grey},
	{status: string(agent.ReasonTimeout), icon: "◷", ascii: "t", colour: Amber, bad: true},
	{status: string(agent.ReasonMaxTurns), icon: "◷", ascii: "t", colour: Amber, bad: true},
	{status: string(agent.ReasonBudget), icon: "$", ascii: "$", colour: Amber, bad: true},
	{status: string(agent.ReasonSuperseded), icon: "⊘", ascii: "-", colour: Grey},
	{status: string(agent.ReasonInterrupted), icon: "‖", ascii: "|", colour: Amber, bad: true},
}

// stateOf finds how a status is shown. The words of ended agents are those of
// agent's own table.
func stateOf(status string) state {
	for _, s := range states {
		if s.status != status {
			continue
		}
		if s.word == "" {
			s.word = agent.Outcome{Reason: agent.Reason(status)}.Names().Badge
		}
		return s
	}
	return state{status: status, icon: "○", ascii: "o", word: status, colour: Grey}
}

// Word is the word that is shown for a status.
func Word(status string) string { return stateOf(status).word }
