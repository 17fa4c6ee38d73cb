// The JSON printer: one object a line for each committed change, each piece of
// a reply, and the end.

package view

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// JSON writes lines of JSON. A line is written with one call of Write, so that
// a reader never waits for the rest of one.
type JSON struct {
	w    io.Writer
	last int64 // the newest change that was written
}

// NewJSON makes a printer.
func NewJSON(w io.Writer) *JSON { return &JSON{w: w} }

// Time is how times are written: RFC 3339 in UTC, with milliseconds.
func Time(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00") }

type jsonChange struct {
	Seq   int64            `json:"seq"`
	At    string           `json:"at"`
	Type  string           `json:"type"`
	Chat  string           `json:"chat"`
	Agent string           `json:"agent"`
	Path  string           `json:"path"`
	Docs  []store.Document `json:"docs"`
}

// Change writes a committed change.
func (j *JSON) Change(c store.Change) error {
	j.last = c.Seq
	docs := c.Docs
	if docs == nil {
		docs = []store.Document{}
	}
	return j.write(jsonChange{c.Seq, Time(c.At), c.Type, c.Chat, c.Agent, c.Path, docs})
}

type jsonDelta struct {
	Seq    int64  `json:"seq"`
	At     string `json:"at"`
	Type   string `json:"type"`
	Chat   string `json:"chat"`
	Agent  string `json:"agent"`
	Path   string `json:"path"`
	Call   string `json:"call"`
	Kind   string `json:"kind"`
	Part   int    `json:"part"`
	Offset int    `json:"offset"`
	Name   string `json:"name,omitempty"`
	Text   string `json:"text"`
}

// Delta writes a piece of a reply. It is not stored and has no number of its
// own: seq is that of the newest change before it. A change
// with a document of the model call follows when that is over; unless that
// says replied, the pieces are void.
func (j *JSON) Delta(d feed.Delta, at time.Time) error {
	return j.write(jsonDelta{j.last, Time(at.UnixMilli()), "delta", d.Chat, d.Agent, d.Path, d.Call, d.Kind, d.Part, d.Offset, d.Name, d.Text})
}

type jsonSuspended struct {
	At     string `json:"at"`
	Type   string `json:"type"`
	Chat   string `json:"chat"`
	Signal string `json:"signal"`
}

// Suspended is the last line of a run that a signal stopped: it is not done,
// and can be gone on with.
func (j *JSON) Suspended(chat, signal string, at time.Time) error {
	return j.write(jsonSuspended{Time(at.UnixMilli()), "suspended", chat, signal})
}

// Done is the last line: how the run ended, and what the whole chat has used.
type Done struct {
	Outcome   string
	ErrorKind string
	Error     string
	Result    string
	Usage     message.Usage
	Cost      *int64 // millionths of a dollar; nil: not known
	Agents    int
	Chat      string
}

type jsonDone struct {
	Type      string    `json:"type"`
	Outcome   string    `json:"outcome"`
	ErrorKind string    `json:"error_kind,omitempty"`
	Error     string    `json:"error,omitempty"`
	Result    string    `json:"result"`
	Usage     jsonUsage `json:"usage"`
	CostUSD   *float64  `json:"cost_usd"`
	Agents    int       `json:"agents"`
	Chat      string    `json:"chat"`
}

// jsonUsage names every kind, also those that were not used.
type jsonUsage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"`
}

// Done writes the last line.
func (j *JSON) Done(d Done) error {
	return j.write(jsonDone{
		"done", d.Outcome, d.ErrorKind, d.Error, d.Result, jsonUsage(d.Usage), USD(d.Cost), d.Agents, d.Chat,
	})
}

// USD turns millionths of a dollar into dollars.
func USD(micros *int64) *float64 {
	if micros == nil {
		return nil
	}
	usd := float64(*micros) / 1e6
	return &usd
}

func (j *JSON) write(v any) error {
	enc := json.NewEncoder(j.w) // it writes a line at once
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing a line of JSON: %w", err)
	}
	return nil
}
