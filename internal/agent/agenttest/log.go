// Recorded lives: the logged form of every event of an agent, one line each,
// and the hash of the state they lead to.

package agenttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cadre-dev/cadre/internal/agent"
)

// Line is one line of a recorded life: an event with the version it was
// written in and the verdict on it, or, as the last line, the hash of the
// state that all of them lead to.
type Line struct {
	Type    string          `json:"type,omitempty"`
	Version int             `json:"version"`
	Verdict string          `json:"verdict,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Hash    string          `json:"hash,omitempty"`
}

// WriteLog gives the recorded form of a trace.
func WriteLog(tr *Trace) ([]byte, error) {
	hash, err := tr.State.Hash()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, h := range tr.Events {
		body, err := agent.EncodeEvent(h.Event)
		if err != nil {
			return nil, err
		}
		if err := enc.Encode(Line{Type: agent.EventType(h.Event), Version: agent.Version, Verdict: h.Verdict, Body: body}); err != nil {
			return nil, fmt.Errorf("writing a log: %w", err)
		}
	}
	if err := enc.Encode(Line{Version: agent.Version, Hash: hash}); err != nil {
		return nil, fmt.Errorf("writing a log: %w", err)
	}
	return out.Bytes(), nil
}

// ReadLog reads what WriteLog wrote: the events, and the hash they lead to.
func ReadLog(b []byte) (lines []Line, hash string, err error) {
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var l Line
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			return nil, "", fmt.Errorf("line %d: %w", len(lines)+1, err)
		}
		if l.Hash != "" {
			return lines, l.Hash, sc.Err()
		}
		lines = append(lines, l)
	}
	return nil, "", errors.Join(errors.New("the last line has no hash"), sc.Err())
}

// Replay steps a log from its last Migrated event on, or from its beginning.
// Every event must meet the verdict that was recorded with it.
func Replay(lines []Line) (agent.State, error) {
	for i := len(lines) - 1; i > 0; i-- {
		if lines[i].Type == "migrated" && lines[i].Verdict == taken {
			lines = lines[i:]
			break
		}
	}
	var s agent.State
	for i, l := range lines {
		if l.Version != agent.Version {
			return s, fmt.Errorf("event %d has version %d, this is %d", i, l.Version, agent.Version)
		}
		ev, err := agent.DecodeEvent(l.Type, l.Body)
		if err != nil {
			return s, fmt.Errorf("event %d: %w", i, err)
		}
		next, _, err := agent.Step(s, ev)
		if got := verdict(err); got != l.Verdict {
			return s, fmt.Errorf("event %d (%s) was %q, now it is %q", i, l.Type, l.Verdict, got)
		}
		s = next
	}
	return s, nil
}
