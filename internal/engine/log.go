// The log: each line about an agent says which chat, agent and path.

package engine

import (
	"context"
	"log/slog"

	"github.com/cadre-dev/cadre/internal/agent"
)

// about is a log for lines about an agent.
func about(log *slog.Logger, s agent.Spec) *slog.Logger {
	return log.With("chat", s.Chat, "agent", s.ID, "path", s.Path)
}

// failure is a model call that failed in a batch.
type failure struct {
	spec agent.Spec
	ev   agent.ModelFailed
}

// tell logs what the committed batch has brought. Nothing that was said is
// logged. A thousand agents that begin and end, or wait for a rate limit, are
// no news to those who did not ask for them.
func (t *tx) tell() {
	log := t.e.cfg.Log
	for _, f := range t.failures {
		level := slog.LevelWarn
		if f.ev.Kind == agent.FailRateLimit || f.ev.Kind == agent.FailOverloaded {
			level = slog.LevelDebug
		}
		if log.Enabled(context.Background(), level) {
			about(log, f.spec).Log(context.Background(), level, "a model call failed", "kind", string(f.ev.Kind), "model", f.ev.Info.Model, "turn", f.ev.Turn, "try", f.ev.Try)
		}
	}
	debug := log.Enabled(context.Background(), slog.LevelDebug)
	for _, s := range t.order {
		spec, last := s.state.Spec, s.state.Last
		if s.last == nil {
			continue
		}
		if debug && s.was.SubAgent == "" {
			about(log, spec).Debug("agent started", "role", spec.Role, "model", first(spec.Models))
		}
		if !s.state.Ended() {
			continue
		}
		switch last.Reason {
		case agent.ReasonCompleted, agent.ReasonCancelled, agent.ReasonSuperseded:
			if debug {
				about(log, spec).Debug("agent ended", "outcome", string(last.Reason), "turns", s.state.Life.Turns)
			}
		case agent.ReasonPartial, agent.ReasonFailed, agent.ReasonTimeout, agent.ReasonMaxTurns, agent.ReasonBudget, agent.ReasonInterrupted:
			about(log, spec).Warn("agent ended", "outcome", string(last.Reason), "kind", string(last.Kind), "turns", s.state.Life.Turns)
		}
	}
}
