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

	// Repeatable tells that using it once more does no harm, whatever its
	// class: it may run beside others, and again after a crash.
	Repeatable bool
	// Quick tells that using it changes nothing and takes about a millisecond:
	// it may be used before the reply that asks for it is on record.
	Quick bool
	// Polls tells that asking again is its purpose: repeating it is no loop.
	Polls bool

	// Plan says what Run would do with this input, and does nothing itself.
	// The policy decides by it and a person is shown it. Its error is a
	// failure that the model is told about, before anyone is asked. nil: the
	// class and the name say everything.
	Plan func(ctx context.Context, env Env, input json.RawMessage) (Action, error)

	// Run uses the tool. The input has been validated against Schema. An
	// error is a failure that the model is told about; a Result with IsError
	// set is one too, with parts of its own. Run returns soon after ctx ends
	// and leaves nothing running.
	Run func(ctx context.Context, env Env, input json.RawMessage) (Result, error)
}

// Action is what one use of a tool would do. An approval is bound to all of
// it: if anything of it is different when the tool is to run, a person is
// asked again.
type Action struct {
	Class    Class    `json:"class"`              // of this very use: a command that only reads is Reads
	Paths    []string `json:"paths,omitempty"`    // the files it touches: names inside the working folder, with slashes
	Command  string   `json:"command,omitempty"`  // the command line as it will run
	Commands []string `json:"commands,omitempty"` // its simple commands; none if they cannot be told before it runs
	Hosts    []string `json:"hosts,omitempty"`    // whom it speaks to, lower case, without port; "*" is anyone
	Shown    string   `json:"shown"`              // the exact action as a person is shown it: a diff, a command, an address
	Digest   string   `json:"digest,omitempty"`   // hash of whatever else it depends on, such as the files as they are
	Reason   string   `json:"reason,omitempty"`   // why, as the model says

	// Unconfined: nothing keeps what it runs to the working folder, so that a
	// person is asked for it, whatever is allowed otherwise.
	Unconfined bool `json:"unconfined,omitempty"`
}

// Env is what a tool may know about the agent that uses it.
type Env struct {
	Chat  string
	Agent string
	Path  string // the agent's place in the tree, in names
	Role  string
	Dir   string // the working folder, absolute; a tool does not leave it
	Call  string // names this use of the tool, the same if it is repeated after a crash
	Task  bool   // this use is a task of its own, for whose end nobody waits: it may take long

	// MayRead tells whether the content of a file, named inside the working
	// folder, may be shown. A use that was asked for and allowed may show what
	// is only to be asked for; what is denied it may not show either. nil: any.
	MayRead  func(name string) bool
	Guarded  func(name string) bool // cheaper: whether MayRead is worth asking about what has this name, not about what it is in
	Approved bool                   // this use was asked for, and allowed

	Ledger *Ledger           // who has read and written which file; nil: nobody keeps it
	Output func(text string) // shows output while the tool runs; nil: nobody looks

	// Ask puts a question to the user in the middle of a run and waits. nil:
	// there is nobody to ask.
	Ask func(ctx context.Context, q Question) (Answer, error)
}

// Question is asked of the user in the middle of a run, on behalf of who
// provides the tool.
type Question struct {
	From   string          // who asks, such as the name of an MCP server
	Text   string          // what is asked
	Schema json.RawMessage // JSON Schema of the answer, a flat object; nil: text
	URL    string          // an address the user is asked to open, if that is the question
}

// Answer is the user's answer to a Question.
type Answer struct {
	Declined bool
	Text     string          // the answer in words
	Fields   json.RawMessage // the answer as an object, where the question has a schema
}

// Result is what a tool answers: text and images.
type Result struct {
	Parts   []message.Part
	IsError bool
	Record  Record
	Whole   *Whole // the whole of what Parts shows a part of
}

// Whole is output that was too long for Parts; it is kept as an artifact.
type Whole struct {
	Name      string
	MediaType string
	Data      []byte
}

// Record is what a use of a tool did, as the system saw it, whatever a model
// says about it.
type Record struct {
	Files   []File `json:"files,omitempty"`
	Command string `json:"command,omitempty"`
	Exit    *int   `json:"exit,omitempty"` // of the command, if it has ended
}

// File is a file that a tool changed.
type File struct {
	Path string `json:"path"` // a name inside the working folder, with slashes
	Op   string `json:"op"`   // created, modified, deleted
}

// Text makes a Result of one text.
func Text(s string) Result {
	return Result{Parts: []message.Part{message.TextPart{Text: s}}}
}
