// Package tool defines what a tool is and keeps the registry of them. Each
// family of tools is a package below this one. A tool knows nothing of the
// agent that uses it but its working folder and its ids.
package tool

import (
	"context"
	"encoding/json"

	"github.com/cadre-dev/cadre/internal/message"
)

// Class says what using a tool can do to the world.
type Class string

// The classes of tool. Reads may run in parallel and again after a crash;
// everything else runs alone and at most once.
const (
	Reads     Class = "reads"
	Writes    Class = "writes"
	Executes  Class = "executes"
	Network   Class = "network"
	Delegates Class = "delegates"
)

// Tool is one thing an agent can do.
type Tool struct {
	Name        string
	Description string          // what the model is told, from a .md file beside the code
	Schema      json.RawMessage // JSON Schema of the input, an object
	Class       Class

	// Run uses the tool. The input has been validated against Schema. An
	// error is a failure that the model is told about; a Result with IsError
	// set is one too, with parts of its own. Run returns soon after ctx ends
	// and leaves nothing running.
	Run func(ctx context.Context, env Env, input json.RawMessage) (Result, error)
}

// Env is what a tool may know about the agent that uses it.
type Env struct {
	Chat  string
	Agent string
	Dir   string // the working folder, absolute; a tool does not leave it
}

// Result is what a tool answers: text and images.
type Result struct {
	Parts   []message.Part
	IsError bool
}

// Text makes a Result of one text.
func Text(s string) Result {
	return Result{Parts: []message.Part{message.TextPart{Text: s}}}
}
