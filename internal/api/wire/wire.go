// Package wire holds the JSON types of the HTTP API, for servers and clients
// alike. Documents (chats, agents, messages …) are the store's own rows: one
// shape in lists, in single reads and in the feed. Times are Unix milliseconds,
// money is in millionths of a dollar.
package wire

import (
	"encoding/json"
	"net/http"

	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
)

// The documents.
type (
	Chat      = store.ChatRow
	Agent     = store.Agent
	Task      = store.Task
	Message   = store.Message
	ToolCall  = store.ToolCall
	ModelCall = store.ModelCall
	Item      = store.Item
	User      = store.User
	Key       = store.Key
	Audit     = store.Audit
	Spending  = store.Spending
)

// Page is one page of a list. Next is empty after the last.
type Page[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"Pass it as cursor to get the next page."`
}

// Problem is an error (RFC 9457). Code is stable; detail says what happened,
// hint what to do.
type Problem struct {
	Type    string  `json:"type"`
	Title   string  `json:"title"`
	Status  int     `json:"status"`
	Code    string  `json:"code" doc:"Stable: programs can decide by it."`
	Detail  string  `json:"detail" doc:"What happened."`
	Hint    string  `json:"hint,omitempty" doc:"What to do."`
	Request string  `json:"requestId,omitempty"`
	Errors  []Fault `json:"errors,omitempty" doc:"Each thing that is wrong with the request."`
	Seq     int64   `json:"seq,omitempty" doc:"With 410: begin anew with the snapshot, then follow the changes since this number."`

	Snapshot *Snapshot `json:"snapshot,omitempty" doc:"With 410, in the feed of a chat: the chat as it is now, as getChat tells it."`
	Overview *Overview `json:"overview,omitempty" doc:"With 410, in the feed of a user: their chats and inbox as they are now."`
}

// Fault is one thing that is wrong with a request.
type Fault struct {
	Where string `json:"where,omitempty"`
	What  string `json:"what"`
}

func (p *Problem) Error() string { return p.Detail }

// Is lets clients ask for the store's errors, which problems are made of.
func (p *Problem) Is(err error) bool {
	return p.Code == "not_found" && err == store.ErrNotFound || p.Code == "exists" && err == store.ErrDuplicate
}

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders are what belongs to some kinds of problem beside the body.
func (p *Problem) GetHeaders() http.Header {
	switch p.Status {
	case http.StatusUnauthorized:
		return http.Header{"Www-Authenticate": {`Bearer realm="cadre"`}}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return http.Header{"Retry-After": {"1"}}
	}
	return nil
}

// ContentType is the media type of a problem.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// Limits bound the work on each message of a chat; 0 is what the role says.
type Limits struct {
	Turns      int   `json:"turns,omitempty" minimum:"0" maximum:"100000"`
	DurationMS int64 `json:"durationMs,omitempty" minimum:"0"`
	Tokens     int64 `json:"tokens,omitempty" minimum:"0"`
	CostMicros int64 `json:"costMicros,omitempty" minimum:"0"`
}

// NewChat asks for a chat.
type NewChat struct {
	Title  string `json:"title,omitempty" maxLength:"200"`
	Role   string `json:"role,omitempty" maxLength:"100" doc:"Of the orchestrator; main if empty."`
	Model  string `json:"model,omitempty" maxLength:"500" doc:"PROVIDER/NAME, a tier, or several separated by commas; the configured one if empty."`
	Dir    string `json:"dir,omitempty" maxLength:"4096" doc:"The folder the agents work in; the server's own if empty. One outside it needs scope admin."`
	Limits Limits `json:"limits,omitzero"`
	Text   string `json:"text,omitempty" maxLength:"1000000" doc:"The first message."`
}

// SetChat changes a chat; what is absent stays.
type SetChat struct {
	Title    *string `json:"title,omitempty" minLength:"1" maxLength:"200"`
	Archived *bool   `json:"archived,omitempty"`
}

// NewMessage sends a message. The same id, or the same Idempotency-Key, twice
// is one message.
type NewMessage struct {
	ID          string       `json:"id,omitempty" pattern:"^msg-[A-Za-z0-9-]{8,60}$" doc:"Chosen by the client; made by the server if empty."`
	Text        string       `json:"text" maxLength:"1000000" doc:"\"@name …\" is for that agent alone."`
	Attachments []Attachment `json:"attachments,omitempty" maxItems:"20"`
	Model       string       `json:"model,omitempty" maxLength:"500" doc:"What the orchestrator answers with from this message on, named as for a new chat; as before if empty."`
}

// Attachment is an image or a text file.
type Attachment struct {
	Name      string `json:"name" minLength:"1" maxLength:"255"`
	MediaType string `json:"mediaType,omitempty" maxLength:"127"`
	Data      []byte `json:"data" doc:"In base64."`
}

// Fork asks for a new chat that begins with what was said before a message.
type Fork struct {
	Message string `json:"message" minLength:"1" maxLength:"200" doc:"The id of one of your messages in the chat."`
	Text    string `json:"text,omitempty" maxLength:"1000000" doc:"What to say in its place; if empty nothing is sent."`
}

// Answer answers an inbox item. Which fields count depends on its kind:
// approval and budget need allow, question and elicitation text or decline,
// worktree how.
type Answer struct {
	Allow   *bool  `json:"allow,omitempty"`
	Scope   string `json:"scope,omitempty" maxLength:"20" doc:"How far an approval reaches: once, agent, role, subtree, chat."`
	Reason  string `json:"reason,omitempty" maxLength:"10000"`
	Text    string `json:"text,omitempty" maxLength:"1000000"`
	Decline bool   `json:"decline,omitempty"`
	How     string `json:"how,omitempty" maxLength:"20" doc:"accept, merge, keep, discard"`
}

// Answered is what became of an answer.
type Answered struct {
	Said string `json:"said" doc:"For people to read."`
	Item Item   `json:"item"`
}

// Snapshot is what a page about a chat needs first. Changes after seq complete
// it.
type Snapshot struct {
	Chat         Chat  `json:"chat"`
	Orchestrator Agent `json:"orchestrator"`
	Seq          int64 `json:"seq" doc:"Subscribe to changes since this number."`
}

// Overview is what a page about all chats of a user needs first: the first page
// of each list, as listChats and listInbox tell it. Changes after seq complete
// it.
type Overview struct {
	Chats Page[Chat] `json:"chats"`
	Inbox Page[Item] `json:"inbox"`
	Seq   int64      `json:"seq" doc:"Subscribe to changes since this number."`
}

// Tree is all agents of a chat, parents before children.
type Tree struct {
	Seq    int64   `json:"seq"`
	Agents []Agent `json:"agents" nullable:"false"`
	Tokens int64   `json:"tokens"`
	Cost   int64   `json:"costMicros"`
	More   bool    `json:"more,omitempty" doc:"There are more agents than a tree shows; list sub-agents."`
}

// Run is the state of a chat's runs: whether one is under way, how the last one
// ended, and what the whole chat has used.
type Run struct {
	Idle      bool   `json:"idle" doc:"The orchestrator has nothing to do."`
	Live      int    `json:"liveChildren"`
	Outcome   string `json:"outcome,omitempty" doc:"How the last run ended: completed, partial, failed …; empty before the first end."`
	ErrorKind string `json:"errorKind,omitempty"`
	Error     string `json:"error,omitempty"`
	Result    string `json:"result,omitempty"`
	ResultPos int    `json:"resultPos,omitempty" doc:"Where in the conversation the result begins."`
	Usage     Usage  `json:"usage"`
	Cost      *int64 `json:"costMicros,omitempty" doc:"Absent if it is not known."`
	Agents    int    `json:"agents"`
}

// Usage is what models were sent and sent back, in tokens.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Reasoning  int64 `json:"reasoning"`
}

// Prompt is what an agent's model is told before everything else.
type Prompt struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Model string `json:"model"`
	Tools []Tool `json:"tools" nullable:"false"`
}

// Tool is a tool as a model sees it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// LogEntry is one event of an agent.
type LogEntry struct {
	Seq     int64  `json:"seq"`
	At      int64  `json:"at"`
	Type    string `json:"type"`
	Verdict string `json:"verdict,omitempty" doc:"stale or refused, if it changed nothing"`
	State   string `json:"state,omitempty" doc:"What the agent was doing from then on, as the state of an agent says it."`
}

// Me is who asks.
type Me struct {
	User  User   `json:"user"`
	Scope string `json:"scope"`
	Key   string `json:"keyId"`
	Seq   int64  `json:"seq" doc:"The newest change."`
	Items int    `json:"waitingItems"`

	Version string `json:"version"`
	Dir     string `json:"dir" doc:"Where chats work that name no folder."`
	Paused  string `json:"paused,omitempty" doc:"Why nothing can be stored at present."`
}

// Role is a kind of agent.
type Role struct {
	Name        string   `json:"name"`
	Label       string   `json:"label"`
	Description string   `json:"description"`
	Icon        string   `json:"icon,omitempty"`
	Model       string   `json:"model,omitempty"`
	Mode        string   `json:"mode"`
	Tools       []string `json:"tools" nullable:"false"`
	AllTools    bool     `json:"allTools,omitempty"`
	Delegates   []string `json:"delegates" nullable:"false"`
	MaxTurns    int      `json:"maxTurns"`
	MaxDuration int64    `json:"maxDurationMs"`
	Source      string   `json:"source,omitempty"`
	Warnings    []string `json:"warnings,omitempty" doc:"What is wrong with its file."`
}

// Models are the models that can be used.
type Models struct {
	Choices []Choice `json:"choices" nullable:"false" doc:"What no name and the tiers stand for."`
	Models  []Model  `json:"models" nullable:"false"`
}

// Choice is what a tier stands for; without a name, what is used if none is
// given.
type Choice struct {
	Name   string `json:"name"`
	Model  string `json:"model"`
	Reason string `json:"reason,omitempty"`
}

// Model is a model. Prices are for a million tokens; 0 is free if priced.
type Model struct {
	Ref       string `json:"ref"`
	Provider  string `json:"provider"`
	Name      string `json:"name,omitempty"`
	Window    int64  `json:"window,omitempty"`
	MaxOutput int64  `json:"maxOutput,omitempty"`
	Priced    bool   `json:"priced"`
	Input     int64  `json:"inputMicros"`
	Output    int64  `json:"outputMicros"`
	Images    bool   `json:"images"`
	Reasoning bool   `json:"reasoning"`
	Offline   bool   `json:"offline,omitempty" doc:"No real model: it answers by rules."`
}

// Stats is what was used, in groups.
type Stats struct {
	By    string     `json:"by"`
	Items []Spending `json:"items" nullable:"false"`
	Total Spending   `json:"total"`
}

// NewToken asks for a token.
type NewToken struct {
	Name      string `json:"name,omitempty" maxLength:"100"`
	Scope     string `json:"scope" enum:"read,write,admin"`
	User      string `json:"user,omitempty" maxLength:"40" doc:"Whose it is; the caller's if empty."`
	ExpiresIn int64  `json:"expiresInMs,omitempty" minimum:"0" maximum:"315360000000" doc:"0: never"`
}

// Token is a new token. Its secret is shown only here.
type Token struct {
	Key    Key    `json:"key"`
	Secret string `json:"secret"`
}

// NewUser asks for a user.
type NewUser struct {
	Name string `json:"name" minLength:"1" maxLength:"40"`
}

// Login exchanges a token for a cookie.
type Login struct {
	Token string `json:"token" minLength:"1" maxLength:"200"`
}

// Code is a one-time code: /?code=CODE becomes a session.
type Code struct {
	Code      string `json:"code"`
	ExpiresAt int64  `json:"expiresAt"`
}

// ReadMark says how far a chat was read.
type ReadMark struct {
	Seq int64 `json:"seq" minimum:"0"`
}

// Health is how the server is.
type Health struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Change is one change in a feed. Prev is the number before it in this feed:
// who has seen prev has missed nothing.
type Change struct {
	Event string           `json:"event" enum:"change"`
	Prev  int64            `json:"prev"`
	Seq   int64            `json:"seq"`
	At    int64            `json:"at"`
	Type  string           `json:"type"`
	Chat  string           `json:"chat"`
	Agent string           `json:"agent,omitempty"`
	Path  string           `json:"path,omitempty"`
	Docs  []store.Document `json:"docs,omitempty"`
}

// Delta is a piece of a reply on its way, or of what a running tool prints. Pieces of one call and part follow
// each other by offset; who joins in the middle first gets all there is. They
// are void once the call is over.
type Delta struct {
	Event string `json:"event" enum:"delta"`
	feed.Delta
}

// State comes in a feed when the server can store nothing, and when it can again.
type State struct {
	Event  string `json:"event" enum:"state"`
	Paused string `json:"paused,omitempty" doc:"Why nothing can be stored at present, so that all agents stand still; absent: it can."`
}

// Heartbeat comes in a feed of lines when nothing else does.
type Heartbeat struct {
	Event string `json:"event" enum:"heartbeat"`
	At    int64  `json:"at"`
}
