package app

import (
	"fmt"
	"os"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
	"github.com/cadre-dev/cadre/internal/llm/record"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
	"github.com/cadre-dev/cadre/internal/orchestrate"
)

// OfflineModel answers when nothing else is configured.
const OfflineModel = "offline"

// models makes the catalogue speak orchestrate's language, and records or
// plays the traffic if that was asked for.
type models struct {
	catalogue *catalogue.Catalogue
	wrap      func(llm.Provider) llm.Provider
}

// Find implements orchestrate.Models.
func (m *models) Find(name string) (orchestrate.Model, error) {
	provider, found, err := m.catalogue.Find(name)
	if err != nil {
		return orchestrate.Model{}, err
	}
	simulated := found.Ref() == found.ID // the offline model, or a script
	if name == orchestrate.FastTier && simulated {
		return orchestrate.Model{}, fmt.Errorf("no language model is configured for the tier %s", name)
	}
	out := orchestrate.Model{
		Provider: m.wrap(provider), Ref: found.Ref(), Name: found.ID, Window: found.Window, MaxOutput: found.MaxOutput, Cost: found.Cost,
		// Money is held for the dearest way to read the input, which writes the cache.
		Price: agent.Price{Known: found.Price.Known, Input: max(found.Price.Input, found.Price.CacheWrite), Output: found.Price.Output},
	}
	if !simulated {
		out.Lane = found.Ref()
	}
	return out, nil
}

// traffic opens what Options say about recording and playing model calls. The
// returned function ends it.
func traffic(o Options) (wrap func(llm.Provider) llm.Provider, end func() error, err error) {
	none := func() error { return nil }
	switch {
	case o.Record != "" && o.Replay != "":
		return nil, nil, fmt.Errorf("model calls can be recorded or played, not both")
	case o.Record != "":
		f, err := os.OpenFile(o.Record, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("opening the recording: %w", err)
		}
		r := record.NewRecorder(f)
		return r.Provider, func() error {
			if err := r.Err(); err != nil {
				_ = f.Close()
				return err
			}
			return f.Close()
		}, nil
	case o.Replay != "":
		f, err := os.Open(o.Replay)
		if err != nil {
			return nil, nil, fmt.Errorf("opening the recording: %w", err)
		}
		defer func() { _ = f.Close() }() // it only reads
		p, err := record.Read(o.Replay, f)
		if err != nil {
			return nil, nil, err
		}
		return func(llm.Provider) llm.Provider { return p }, none, nil
	}
	return func(p llm.Provider) llm.Provider { return p }, none, nil
}

// scheduler makes the scheduler with the limits of the configuration.
func scheduler(c *config.Config) *schedule.Scheduler {
	return schedule.New(schedule.Config{
		Start: startingPlaces, FallbackAfter: c.FallbackWait, Refresh: newsOfWaits,
		Limits: func(lane string) (int, int) {
			provider, model, _ := strings.Cut(lane, "/")
			l := c.Limit(provider, model)
			return l.Start, l.Max
		},
	})
}
