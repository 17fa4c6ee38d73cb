// Reports: what an agent did, from the record of its tool calls. A claim that
// the record does not bear out is kept and marked.

package orchestrate

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/agent"
)

// Report is what the record says about an agent's work.
type Report struct {
	FilesModified []string `json:"files_modified,omitempty"`
	FilesCreated  []string `json:"files_created,omitempty"`
	FilesDeleted  []string `json:"files_deleted,omitempty"`
	Commands      []string `json:"commands,omitempty"`
	TestsRun      *int     `json:"tests_run"`
	TestsPassed   *int     `json:"tests_passed"`
	ToolCalls     int      `json:"tool_call_count"`
	Iterations    int      `json:"iteration_count"`
	DurationMS    int64    `json:"duration_ms"` // of active time
	Tokens        int64    `json:"tokens"`
	CostMicros    int64    `json:"cost_micros"`
	Unpriced      bool     `json:"unpriced,omitempty"`
	Unverified    []string `json:"unverified,omitempty"` // claims of the result that no record bears out
	Below         *Below   `json:"below,omitempty"`
	Worktree      string   `json:"worktree,omitempty"` // where its changes are, if not in the working folder
}

// Below is what the records of the agents below an agent say: what it reports
// of their work is no claim of its own.
type Below struct {
	FilesChanged []string `json:"files_changed,omitempty"`
	FilesCreated []string `json:"files_created,omitempty"`
	TestsRun     int      `json:"tests_run,omitempty"`
	TestsPassed  int      `json:"tests_passed,omitempty"`
}

// mostNoted bounds the lists of a report.
const mostNoted = 200

// Report implements engine.Performer.
func (p *Performer) Report(st agent.State, records []json.RawMessage, result string) json.RawMessage {
	r := Report{
		ToolCalls: st.Calls, Iterations: st.Life.Turns, DurationMS: st.Life.Active,
		Tokens: st.Life.Spent().Tokens, CostMicros: st.Life.Spent().Cost, Unpriced: st.Life.Unpriced,
	}
	for _, raw := range records {
		var rec Record
		if json.Unmarshal(raw, &rec) == nil {
			r.add(rec)
		}
	}
	if st.Spec.Worktree {
		r.Worktree = "in a worktree of its own, until it is settled"
	}
	r.Below = p.below(st)
	r.compare(result)
	lists := []*[]string{&r.FilesModified, &r.FilesCreated, &r.FilesDeleted, &r.Commands}
	if r.Below != nil {
		lists = append(lists, &r.Below.FilesChanged, &r.Below.FilesCreated)
	}
	for _, list := range lists {
		if n := len(*list); n > mostNoted {
			*list = append((*list)[:mostNoted:mostNoted], fmt.Sprintf("and %d more", n-mostNoted))
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil // it consists of text and numbers
	}
	return b
}

// below sums up the reports of an agent's children, nil if there is nothing to
// tell.
func (p *Performer) below(st agent.State) *Below {
	if st.Tasks == 0 || p.store == nil {
		return nil
	}
	tasks, err := p.store.Results(context.Background(), st.Spec.ID, 1, st.Tasks)
	if err != nil { // claims about them are then marked, which is true
		p.log.Warn("the reports of children cannot be read", "agent", st.Spec.ID, "err", err)
		return nil
	}
	b := &Below{}
	for _, t := range tasks {
		var r Report
		if json.Unmarshal(t.Metadata, &r) != nil {
			continue
		}
		own := Below{FilesChanged: slices.Concat(r.FilesModified, r.FilesDeleted), FilesCreated: r.FilesCreated}
		if r.TestsRun != nil && r.TestsPassed != nil {
			own.TestsRun, own.TestsPassed = *r.TestsRun, *r.TestsPassed
		}
		b.add(own)
		if r.Below != nil {
			b.add(*r.Below)
		}
	}
	if len(b.FilesChanged)+len(b.FilesCreated)+b.TestsRun == 0 {
		return nil
	}
	return b
}

func (b *Below) add(of Below) {
	for _, f := range of.FilesChanged {
		b.FilesChanged = with(b.FilesChanged, f)
	}
	for _, f := range of.FilesCreated {
		b.FilesCreated = with(b.FilesCreated, f)
	}
	b.TestsRun += of.TestsRun
	b.TestsPassed += of.TestsPassed
}

// add takes in what one tool call did. A file that was created and then
// changed was created; one that was created and deleted is gone.
func (r *Report) add(rec Record) {
	for _, f := range rec.Files {
		switch f.Op {
		case "created":
			r.FilesDeleted = without(r.FilesDeleted, f.Path)
			r.FilesCreated = with(r.FilesCreated, f.Path)
		case "modified":
			if !slices.Contains(r.FilesCreated, f.Path) {
				r.FilesModified = with(r.FilesModified, f.Path)
			}
		case "deleted":
			if !slices.Contains(r.FilesCreated, f.Path) {
				r.FilesDeleted = with(r.FilesDeleted, f.Path)
			}
			r.FilesCreated, r.FilesModified = without(r.FilesCreated, f.Path), without(r.FilesModified, f.Path)
		}
	}
	if rec.Command != "" {
		r.Commands = append(r.Commands, oneLine(rec.Command, 200))
	}
	if rec.Tests != nil {
		add := func(to **int, n int) {
			if *to != nil {
				n += **to
			}
			*to = &n
		}
		add(&r.TestsRun, rec.Tests.Run)
		add(&r.TestsPassed, rec.Tests.Passed)
	}
}

func with(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func without(list []string, s string) []string {
	return slices.DeleteFunc(list, func(x string) bool { return x == s })
}

// clean is a path as the record has it.
func clean(p string) string {
	return strings.TrimPrefix(path.Clean(filepath.ToSlash(p)), "./")
}

// compare marks the claims of a result that the record does not bear out. What
// is said of tests may count the agent's own, those of the agents below it, or
// both together.
func (r *Report) compare(result string) {
	var claim struct {
		Modified []string `json:"files_modified"`
		Created  []string `json:"files_created"`
		Run      *int     `json:"tests_run"`
		Passed   *int     `json:"tests_passed"`
	}
	if json.Unmarshal([]byte(result), &claim) != nil {
		return
	}
	below := Below{}
	if r.Below != nil {
		below = *r.Below
	}
	created := slices.Concat(r.FilesCreated, below.FilesCreated)
	touched := slices.Concat(r.FilesModified, r.FilesDeleted, below.FilesChanged, created)
	for _, f := range claim.Modified {
		if !slices.Contains(touched, clean(f)) {
			r.Unverified = append(r.Unverified, "files_modified: "+f)
		}
	}
	for _, f := range claim.Created {
		if !slices.Contains(created, clean(f)) {
			r.Unverified = append(r.Unverified, "files_created: "+f)
		}
	}
	number := func(name string, claimed, known *int, below int) {
		own := 0
		if known != nil {
			own = *known
		}
		if claimed != nil && *claimed != own && (below == 0 || *claimed != below && *claimed != own+below) {
			r.Unverified = append(r.Unverified, fmt.Sprintf("%s: %d", name, *claimed))
		}
	}
	number("tests_run", claim.Run, r.TestsRun, below.TestsRun)
	number("tests_passed", claim.Passed, r.TestsPassed, below.TestsPassed)
}
