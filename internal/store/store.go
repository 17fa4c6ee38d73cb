// Package store says what is kept and how it is asked for: the log of events,
// the documents they change, and the numbered changes that the feed reads.
// Databases implement Store in packages of their own and pass the suite in
// storetest. The package knows the agent's ids but none of its rules.
package store

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cadre-dev/cadre/internal/message"
)

// Store keeps everything. Commit is the only way in; all other methods read
// what is committed and never wait for a writer. A Store is safe for
// concurrent use.
type Store interface {
	// Commit writes the batch: all of it or nothing. It returns once the
	// batch is durable (it survives power loss), and fills in the Seq of each
	// entry: change numbers, given in commit order without gaps. Commits of
	// several callers may share one transaction.
	Commit(ctx context.Context, b *Batch) error

	// Load returns what is needed to go on with an agent: its row, the newest
	// snapshot and the events after it, oldest first.
	Load(ctx context.Context, agent string) (*Loaded, error)

	// Log returns all events of an agent, oldest first, refused ones too.
	Log(ctx context.Context, agent string) ([]Event, error)

	// Unfinished returns the agents that were at work when the process
	// stopped (Head.Busy), and those with a deadline (Head.WakeAt), as ids in
	// order of creation. With chat != "" only those of that chat.
	Unfinished(ctx context.Context, chat string) ([]Waiting, error)

	// History returns the placed messages of an agent from position from on,
	// in order.
	History(ctx context.Context, agent string, from int) ([]Message, error)

	// Results returns the tasks first to first+size-1 of a parent, in order.
	Results(ctx context.Context, parent string, first, size int) ([]Task, error)

	User(ctx context.Context, id string) (*User, error)
	Chat(ctx context.Context, id string) (*Chat, error)
	Chats(ctx context.Context, q ChatQuery) ([]Chat, error) // newest activity first
	Agent(ctx context.Context, id string) (*Agent, error)
	Children(ctx context.Context, agent string) ([]Agent, error) // direct ones, in order
	Tree(ctx context.Context, chat string) ([]Agent, error)      // all agents of a chat, parents before children
	Caused(ctx context.Context, message string) ([]Agent, error) // all agents that a user message led to
	Task(ctx context.Context, id string) (*Task, error)
	Tasks(ctx context.Context, chat string) ([]Task, error)
	Messages(ctx context.Context, agent string, page Page) ([]Message, error) // queued ones last
	UserMessage(ctx context.Context, id string) (*Message, error)
	ToolCall(ctx context.Context, agent string, turn, call int) (*ToolCall, error)
	// Records returns what the agent's tool calls did, as the system saw it,
	// in the order of the calls.
	Records(ctx context.Context, agent string) ([]json.RawMessage, error)
	ToolCalls(ctx context.Context, agent string) ([]ToolCall, error)
	ModelCalls(ctx context.Context, agent string) ([]ModelCall, error)
	Item(ctx context.Context, id string) (*Item, error)
	Inbox(ctx context.Context, q InboxQuery) ([]Item, error)
	Artifact(ctx context.Context, id string) (*Artifact, error)
	Prompt(ctx context.Context, id string) (string, error)

	// Changes returns up to limit changes with numbers above since that fit
	// the filter, oldest first, each with the present state of the documents
	// it touched, and the number up to which it has looked.
	Changes(ctx context.Context, since int64, limit int, f Filter) (changes []Change, upTo int64, err error)

	// LastSeq is the number of the newest committed change.
	LastSeq(ctx context.Context) (int64, error)

	// Check looks for damage and names what it finds; nil means sound.
	Check(ctx context.Context) ([]string, error)

	Close() error
}

// The errors of a Store that callers tell apart.
var (
	ErrNotFound  = errors.New("not found")
	ErrDuplicate = errors.New("already exists")
	// ErrUnavailable wraps what may pass: a full disk, a locked database.
	// Nothing of the batch was written; it can be committed again later.
	ErrUnavailable = errors.New("the database cannot be written now")
	// ErrCorrupt wraps damage that does not pass by itself.
	ErrCorrupt = errors.New("the database is damaged")
	// ErrInUse tells that another process owns the data folder.
	ErrInUse = errors.New("the data folder is in use by another process")
)

// Batch is what one commit writes, in order.
type Batch struct {
	Entries []*Entry
}

// Entry is one event with the documents it changes. An entry without an agent
// (a chat renamed, say) is a change like any other.
type Entry struct {
	Chat    string
	Agent   string
	At      int64 // Unix milliseconds
	Type    string
	Version int    // of the encoding of Body and Snapshot
	Body    []byte // the event, encoded
	Verdict Verdict

	Snapshot []byte // the state after the event, when one is due
	Docs     []Doc

	Seq int64 // filled in by Commit
}

// Verdict says what Step made of an event. Only applied events changed
// anything; the others are kept as a record and replay to the same verdict.
type Verdict string

// The verdicts.
const (
	Applied Verdict = ""
	Stale   Verdict = "stale"
	Refused Verdict = "refused"
)

// Event is an entry of the log as it is read back.
type Event struct {
	Seq     int64
	Chat    string
	Agent   string
	At      int64
	Type    string
	Version int
	Body    []byte
	Verdict Verdict
}

// Loaded is what Load returns. Without a snapshot, Events is the whole log.
type Loaded struct {
	Agent    Agent
	Version  int
	Snapshot []byte
	Events   []Event
}

// Waiting is an agent that recovery has to look at.
type Waiting struct {
	Agent  string
	Busy   bool
	WakeAt int64
}

// Doc is a change of one document. The set is sealed.
//
//sumtype:decl
type Doc interface{ isDoc() }

// The changes of documents. New* insert, the others update.
type (
	PutUser   struct{ User }            // inserts or replaces
	PutPrompt struct{ ID, Text string } // inserts if absent
	NewChat   struct{ Chat }
	SetChat   struct { // updates the fields that are not nil
		ID       string
		Title    *string
		Archived *bool
		Status   *string
	}
	DeleteChat struct{ ID string } // with its whole tree, events included

	SetModel struct{ Chat, Model string } // of a chat and its orchestrator

	NewAgent struct{ Agent }
	SetHead  struct { // the narrow row that changes with most events
		ID string
		Head
	}
	EndAgent struct { // once, when a sub-agent ends
		ID      string
		Summary string
		Error   string
		EndedAt int64
	}

	NewTask struct{ Task }
	SetTask struct {
		ID     string
		Status string
		At     int64
	}
	EndTask struct { // decided outcome; may come again before the agent has ended
		ID        string
		Result    string
		Error     string
		ErrorKind string
		Reason    string
		Metadata  []byte // the record of its work
		At        int64
	}

	NewMessage struct { // Pos < 0: queued
		Message
		Said []message.Part // what Message.Parts encodes; nil: not at hand
	}
	PlaceMessage struct {
		Agent string
		ID    string
		Pos   int
	}
	AdoptMessages struct { // copies the first Count messages of another agent's history
		Agent string
		From  string
		Count int
	}

	NewToolCall struct{ ToolCall }
	SetToolCall struct {
		Agent     string
		Turn      int
		Call      int
		Phase     string
		Status    string
		StartedAt int64  // 0: unchanged
		EndedAt   int64  // 0: unchanged
		Record    []byte // nil: unchanged
	}

	NewModelCall struct{ ModelCall }

	NewItem struct{ Item }
	SetItem struct { // ShownAt, or the end
		ID       string
		Status   string
		Deadline int64 // 0: unchanged
		How      string
		By       string
		Scope    string
		Answer   string
		At       int64
	}

	NewArtifact struct{ Artifact }

	// What a user alone changes, told to them alone.
	PutReadMark struct{ ReadMark } // a mark only moves on
	PutSettings struct {           // replaces
		User string
		Body json.RawMessage
	}
)

func (PutUser) isDoc()       {}
func (PutPrompt) isDoc()     {}
func (NewChat) isDoc()       {}
func (SetChat) isDoc()       {}
func (DeleteChat) isDoc()    {}
func (SetModel) isDoc()      {}
func (NewAgent) isDoc()      {}
func (SetHead) isDoc()       {}
func (EndAgent) isDoc()      {}
func (NewTask) isDoc()       {}
func (SetTask) isDoc()       {}
func (EndTask) isDoc()       {}
func (NewMessage) isDoc()    {}
func (PlaceMessage) isDoc()  {}
func (AdoptMessages) isDoc() {}
func (NewToolCall) isDoc()   {}
func (SetToolCall) isDoc()   {}
func (NewModelCall) isDoc()  {}
func (NewItem) isDoc()       {}
func (SetItem) isDoc()       {}
func (NewArtifact) isDoc()   {}
func (PutReadMark) isDoc()   {}
func (PutSettings) isDoc()   {}

// Page bounds a list: up to Limit entries (0: all) after the one named.
type Page struct {
	After string
	Limit int
}

// ChatQuery selects chats of one user.
type ChatQuery struct {
	User     string // empty: of all users
	Archived bool   // also archived ones
	Page     Page
}

// InboxQuery selects inbox items; empty fields select all.
type InboxQuery struct {
	User, Chat, Agent string
	Closed            bool // also those that no longer wait
	Granted           bool // only what was allowed for more than once
}

// Filter selects changes; empty fields select all. Collections holds patterns
// such as "tasks" or "sub-agents/*/messages" (path.Match).
type Filter struct {
	User        string // who owns the chat
	Chat        string
	Agent       string
	Collections []string
}

// Change is one committed entry as the feed tells it.
type Change struct {
	Seq   int64      `json:"seq"`
	At    int64      `json:"at"`
	Type  string     `json:"type"`
	Chat  string     `json:"chat"`
	Agent string     `json:"agent,omitempty"`
	Path  string     `json:"path,omitempty"`
	User  string     `json:"-"` // who owns the chat, or the settings
	Docs  []Document `json:"docs,omitempty"`
}

// Document is a document as it is when the change is read. Its collection is
// named as in the HTTP API, relative to the chat: "messages", "tasks",
// "sub-agents", "sub-agents/ID/messages", "sub-agents/ID/tool-calls",
// "sub-agents/ID/model-calls", "inbox", "orch-chats". The orchestrator's own
// messages are "messages", its calls "tool-calls" and "model-calls"; it is
// itself the only document of "orchestrator". How far the owner of a chat has
// read it is in "read-marks", by the id of the chat. "settings" are a user's own,
// by the id of the user, and of no chat.
type Document struct {
	Collection string `json:"collection"`
	ID         string `json:"id"`
	Data       any    `json:"data"`              // Chat, Agent, Task, Message, ToolCall, ModelCall, Item, ReadMark or json.RawMessage
	Deleted    bool   `json:"deleted,omitempty"` // the chat was deleted: Data is nil
}

// EncodeMessage makes a row of a message.
func EncodeMessage(agent string, pos int, m message.Message) (Message, error) {
	parts, err := message.EncodeParts(m.Parts)
	if err != nil {
		return Message{}, err
	}
	return Message{Agent: agent, Pos: pos, Role: string(m.Role), Kind: string(m.Kind), Parts: parts}, nil
}
