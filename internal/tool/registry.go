// The registry: which tools exist, checked once when it is built, and the one
// way to run them, which validates the input first and survives a panic.

package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ErrUnknown is what Validate and Run return, wrapped, for a name that is not
// in the registry.
var ErrUnknown = errors.New("unknown tool")

// namePattern is what every provider accepts as the name of a tool. A name
// outside it would make each request that carries the tool fail.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Registry holds tools by name. It can be used from any number of goroutines,
// also while Replace gives it others.
type Registry struct {
	now atomic.Pointer[table]
}

// table is what a registry holds. It does not change once built.
type table struct {
	tools   map[string]registered
	names   []string
	version int
}

type registered struct {
	tool   Tool
	schema *jsonschema.Schema
}

// New builds a registry. It reports everything that is wrong with any of the
// tools at once: what Check finds, and names given twice.
func New(tools ...Tool) (*Registry, error) {
	r := &Registry{}
	if err := r.Replace(tools...); err != nil {
		return nil, err
	}
	return r, nil
}

// Replace gives the registry these tools instead of those it has. If anything
// is wrong with one of them, as for New, those it has stay.
func (r *Registry) Replace(tools ...Tool) error {
	next := &table{tools: make(map[string]registered, len(tools))}
	var errs []error
	for _, t := range tools {
		schema, err := check(t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, ok := next.tools[t.Name]; ok {
			errs = append(errs, fmt.Errorf("tool %q: registered twice", t.Name))
			continue
		}
		next.tools[t.Name] = registered{t, schema}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("building the tool registry: %w", err)
	}
	next.names = slices.Sorted(maps.Keys(next.tools))
	if before := r.now.Load(); before != nil {
		next.version = before.version + 1
	}
	r.now.Store(next)
	return nil
}

// Version changes whenever the tools do.
func (r *Registry) Version() int { return r.now.Load().version }

// Check says what New would refuse about t by itself. Who takes tools from
// elsewhere, such as an MCP server, can leave out a bad one by it.
func Check(t Tool) error {
	_, err := check(t)
	return err
}

func check(t Tool) (*jsonschema.Schema, error) {
	if t.Name == "" {
		return nil, errors.New("a tool has no name")
	}
	var errs []error
	if !namePattern.MatchString(t.Name) {
		errs = append(errs, errors.New("the name must be 1 to 64 letters, digits, _ or -"))
	}
	if t.Run == nil {
		errs = append(errs, errors.New("it has no Run"))
	}
	switch t.Class {
	case Reads, Writes, Executes, Network, Delegates:
	default:
		errs = append(errs, fmt.Errorf("unknown class %q", t.Class))
	}
	schema, err := compile(t.Schema)
	if err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("tool %q: %w", t.Name, err)
	}
	return schema, nil
}

// Get returns the tool of that name.
func (r *Registry) Get(name string) (Tool, bool) {
	t, ok := r.now.Load().tools[name]
	return t.tool, ok
}

// Names lists the tools in sorted order, always the same: the tools are part
// of the prefix that providers cache.
func (r *Registry) Names() []string { return slices.Clone(r.now.Load().names) }

// Validate checks input against the schema of the tool. Its error, an
// *InputError, lists every violation in words for the model. Empty input
// counts as an empty object.
func (r *Registry) Validate(name string, input json.RawMessage) error {
	_, err := r.validated(name, input)
	return err
}

func (r *Registry) validated(name string, input json.RawMessage) (Tool, error) {
	t, ok := r.now.Load().tools[name]
	if !ok {
		return Tool{}, fmt.Errorf("%w %q", ErrUnknown, name)
	}
	return t.tool, validate(name, t.schema, input)
}

// Run validates input and runs the tool. The error text is always fit for the
// model.
func (r *Registry) Run(ctx context.Context, name string, env Env, input json.RawMessage) (Result, error) {
	t, err := r.validated(name, input)
	if err != nil {
		return Result{}, err
	}
	return t.Perform(ctx, env, input)
}

// Perform runs the tool on input that is known to be valid. A panic in the tool
// comes back as a *PanicError.
func (t Tool) Perform(ctx context.Context, env Env, input json.RawMessage) (result Result, err error) {
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("running %s: %w", t.Name, err)
	}
	if isEmpty(input) {
		input = json.RawMessage("{}")
	}
	defer func() {
		if v := recover(); v != nil {
			result, err = Result{}, &PanicError{Tool: t.Name, Value: v, Stack: debug.Stack()}
		}
	}()
	return t.Run(ctx, env, input)
}

// PanicError says that a tool panicked. Its text is one sentence for the
// model; logging it with slog shows value and stack.
type PanicError struct {
	Tool  string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s crashed: this is a fault in the tool, not in its input", e.Tool)
}

// LogValue shows what the text leaves out.
func (e *PanicError) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("tool", e.Tool),
		slog.String("panic", fmt.Sprint(e.Value)),
		slog.String("stack", string(e.Stack)),
	)
}
