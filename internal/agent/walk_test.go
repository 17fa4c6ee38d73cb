// Random walks over all events in all states, for the orchestrator and for
// sub-agents, and over whole trees.

package agent_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/cadre-dev/cadre/internal/agent/agenttest"
)

// TestMain sets how many walks each property takes, unless -rapid.checks does.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", walks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// rapidDice takes the decisions of a walk from rapid, which can shrink them.
type rapidDice struct{ t *rapid.T }

func (d rapidDice) Intn(n int) int {
	if n < len(dice) {
		return dice[n].Draw(d.t, "d")
	}
	return rapid.IntRange(0, n-1).Draw(d.t, "d")
}

// dice has the generators of the usual numbers: they are drawn from in every
// step of every walk.
var dice = func() [512]*rapid.Generator[int] {
	var all [512]*rapid.Generator[int]
	for n := 1; n < len(all); n++ {
		all[n] = rapid.IntRange(0, n-1)
	}
	return all
}()

func TestWalkOrchestrator(t *testing.T) { walk(t, 0) }

func TestWalkSubAgent(t *testing.T) { walk(t, 1) }

// walk takes at least 200 steps a case. A life that has ended gets some more
// events, which must all be refused; then the next one begins.
func walk(t *testing.T, depth int) {
	check(t, func(d agenttest.Dice) (*agenttest.Trace, error) {
		for steps := 0; steps < 200; {
			tr := &agenttest.Trace{Fast: d.Intn(12) < 11}
			w := &agenttest.Walker{Trace: tr, Dice: d, Now: 1_000_000}
			if err := tr.Step(w.Birth(depth)); err != nil {
				return tr, err
			}
			for after := 0; steps < 200 && after < 5; steps++ {
				if tr.State.Ended() {
					after++
				}
				if err := tr.Step(w.Next()); err != nil {
					return tr, err
				}
			}
			if err := w.Rest(); err != nil {
				return tr, err
			}
		}
		return nil, nil
	})
}

// check holds a property for many dice. All draws are made inside of one
// value, so that a failure shows the story of the life and not the draws.
func check(t *testing.T, property func(agenttest.Dice) (*agenttest.Trace, error)) {
	t.Helper()
	t.Parallel()
	lives := rapid.Custom(func(t *rapid.T) string {
		if tr, err := property(rapidDice{t}); err != nil {
			return fmt.Sprintf("%v\n%s", err, tr.Story(8))
		}
		return ""
	})
	rapid.Check(t, func(t *rapid.T) {
		if story := lives.Draw(t, "life"); story != "" {
			t.Fatal(story)
		}
	})
}

// TestTree lets whole trees live: parents, children and grandchildren.
func TestTree(t *testing.T) {
	check(t, func(d agenttest.Dice) (*agenttest.Trace, error) {
		tree, err := agenttest.NewTree(d)
		for i := 0; i < 200 && err == nil; i++ {
			err = tree.Step()
		}
		if err == nil {
			err = tree.Rest()
		}
		return tree.Trace("chat"), err
	})
}
