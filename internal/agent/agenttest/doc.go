// Package agenttest holds the tools that the machine of package agent is
// tested with:
//
//   - scripts: readable scenarios with the state and the effects after each
//     event (script.go, verbs*.go, render*.go);
//   - Check and Trace: the rules of the design as assertions over one step and
//     over a whole life (check*.go, trace*.go);
//   - Walker and Tree: random lives of one agent and of a whole tree, driven
//     by any source of numbers (walk.go, propose.go, tree.go);
//   - logs: recorded lives that newer code must replay to the same state
//     (log.go).
//
// The package knows the machine's exported types only. It decides what must
// follow from the design, never by asking the code under test. Where a ledger
// looks at the few events or effects that it is about, it switches over any:
// a list of all the others would say nothing.
package agenttest
