package app

import (
	"fmt"
	"os"
	"path/filepath"
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
	player    *record.Player // nil: models are really asked
	tiers     config.Tiers   // the models that are configured for the tiers, empty where none is
}

// Find implements orchestrate.Models.
func (m *models) Find(name string) (orchestrate.Model, error) {
	if m.player != nil {
		return m.played(name)
	}
	provider, found, err := m.catalogue.Find(name)
	if err != nil {
		return orchestrate.Model{}, err
	}
	return m.model(provider, found), nil
}

// Tier implements orchestrate.Models. A tier is what is configured for it, else
// its choice if that is of the same provider, else the parent's model itself.
// So a conversation goes to no vendor that nobody chose.
func (m *models) Tier(name, of string) (orchestrate.Model, error) {
	configured, ok := map[string]string{
		string(catalogue.TierFast): m.tiers.Fast, string(catalogue.TierDefault): m.tiers.Default, string(catalogue.TierSmart): m.tiers.Smart,
	}[name]
	switch {
	case !ok || of == "":
		return m.Find(name)
	case configured != "":
		return m.Find(configured)
	case m.player != nil:
		return m.Find(of)
	}
	own, err := m.catalogue.Resolve(of)
	if err != nil || simulated(own) { // the rest of a simulation is to be one
		return m.Find(of)
	}
	if chosen, err := m.catalogue.Resolve(name); err == nil && chosen.Provider == own.Provider && !simulated(chosen) {
		return m.Find(chosen.Ref())
	}
	return m.Find(of)
}

// simulated tells that a model is the offline one or a script.
func simulated(m catalogue.Model) bool { return m.Ref() == m.ID }

func (m *models) model(provider llm.Provider, found catalogue.Model) orchestrate.Model {
	out := orchestrate.Model{
		Provider: m.wrap(provider), Ref: found.Ref(), Name: found.ID, Window: found.Window, MaxOutput: found.MaxOutput, Cost: found.Cost,
		// Money is held for the dearest way to read the input, which writes the cache.
		Price: agent.Price{Known: found.Price.Known, Input: max(found.Price.Input, found.Price.CacheWrite), Output: found.Price.Output},
	}
	if !simulated(found) {
		out.Lane = found.Lane()
	}
	return out
}

// played is a model of the recording: no key is needed for it. Without a name
// it is the one that was recorded first.
func (m *models) played(name string) (orchestrate.Model, error) {
	if name == "" {
		name = m.player.Model()
	}
	found, err := m.catalogue.Resolve(name)
	ok := err == nil
	if !ok {
		found, ok = m.catalogue.Known(name)
	}
	if ok {
		out := m.model(m.player, found)
		out.Provider, out.Lane = m.player.For(found), ""
		return out, nil
	}
	id := name
	if strings.HasPrefix(m.player.Model(), name) {
		id = m.player.Model() // a short name, which only the vendor's list would complete
	}
	return orchestrate.Model{Provider: m.player, Ref: name, Name: id}, nil
}

// Cautions are what is not known of models by these names, as far as it matters
// to who pays for them; none while a recording answers.
func (a *App) Cautions(names ...string) []string {
	var out []string
	for _, name := range names {
		m, err := a.Models.Resolve(name)
		if a.player == nil && err == nil && m.Caution() != "" {
			out = append(out, "model "+m.Ref()+": "+m.Caution())
		}
	}
	return out
}

// withinReach warns of a recording in the folder that agents work in: there
// they find, in the middle of their work, all that was ever said.
func withinReach(o Options) []string {
	file, err := filepath.Abs(o.Record)
	if o.Record == "" || o.Dir == "" || err != nil {
		return nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(dir, filepath.Base(file))
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil
	}
	if rel, err := filepath.Rel(dir, file); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	return []string{fmt.Sprintf("the recording %s is in the working folder, where agents can read and change it: name a file elsewhere", o.Record)}
}

// traffic opens what Options say about recording and playing model calls. The
// returned function ends it.
func traffic(o Options) (wrap func(llm.Provider) llm.Provider, player *record.Player, end func() error, err error) {
	plain := func(p llm.Provider) llm.Provider { return p }
	none := func() error { return nil }
	switch {
	case o.Record != "" && o.Replay != "":
		return nil, nil, nil, fmt.Errorf("model calls can be recorded or played, not both")
	case o.Record != "":
		f, err := os.OpenFile(o.Record, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("opening the recording: %w", err)
		}
		if !whole(f) {
			_ = f.Close()
			return nil, nil, nil, fmt.Errorf("the recording %s ends in the middle of an entry; choose another file", o.Record)
		}
		r := record.NewRecorder(f)
		return r.Provider, nil, func() error {
			if err := r.Err(); err != nil {
				_ = f.Close()
				return err
			}
			return f.Close()
		}, nil
	case o.Replay != "":
		f, err := os.Open(o.Replay)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("opening the recording: %w", err)
		}
		defer func() { _ = f.Close() }() // it only reads
		p, err := record.Read(o.Replay, f)
		if err != nil {
			return nil, nil, nil, err
		}
		return plain, p, none, nil
	}
	return plain, nil, none, nil
}

// whole tells whether a file of lines ends with one.
func whole(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err == nil
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] == '\n'
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
