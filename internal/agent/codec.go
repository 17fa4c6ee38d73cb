// The encodings of events and states. They are canonical: the same value
// always gives the same bytes, so that states can be compared by their hash.
// The version they are written in is Version; the store keeps it beside them.

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// EventType names the type of an event as the log does.
func EventType(ev Event) string {
	switch ev.(type) {
	case Created:
		return "created"
	case UserMessage:
		return "user_message"
	case ModelQueued:
		return "model_queued"
	case ModelReplied:
		return "model_replied"
	case ModelFailed:
		return "model_failed"
	case Compacted:
		return "compacted"
	case ToolStarted:
		return "tool_started"
	case ToolFinished:
		return "tool_finished"
	case ApprovalNeeded:
		return "approval_needed"
	case ApprovalAnswered:
		return "approval_answered"
	case Consulted:
		return "consulted"
	case QuestionAnswered:
		return "question_answered"
	case ChildEnded:
		return "child_ended"
	case Charged:
		return "charged"
	case AcceptanceDone:
		return "acceptance_done"
	case Cancel:
		return "cancel"
	case Tick:
		return "tick"
	case Recovered:
		return "recovered"
	case ToolAsked:
		return "tool_asked"
	case TaskAsks:
		return "task_asks"
	case Extended:
		return "extended"
	case WorkInspected:
		return "work_inspected"
	case WorkDecided:
		return "work_decided"
	case Migrated:
		return "migrated"
	}
	return ""
}

// EncodeEvent gives the logged form of an event: all but its bodies.
func EncodeEvent(ev Event) ([]byte, error) {
	b, err := json.Marshal(ev)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", EventType(ev), err)
	}
	return b, nil
}

// DecodeEvent reads what EncodeEvent wrote.
func DecodeEvent(typ string, b []byte) (Event, error) {
	switch typ {
	case "created":
		return decode[Created](typ, b)
	case "user_message":
		return decode[UserMessage](typ, b)
	case "model_queued":
		return decode[ModelQueued](typ, b)
	case "model_replied":
		return decode[ModelReplied](typ, b)
	case "model_failed":
		return decode[ModelFailed](typ, b)
	case "compacted":
		return decode[Compacted](typ, b)
	case "tool_started":
		return decode[ToolStarted](typ, b)
	case "tool_finished":
		return decode[ToolFinished](typ, b)
	case "approval_needed":
		return decode[ApprovalNeeded](typ, b)
	case "approval_answered":
		return decode[ApprovalAnswered](typ, b)
	case "consulted":
		return decode[Consulted](typ, b)
	case "question_answered":
		return decode[QuestionAnswered](typ, b)
	case "child_ended":
		return decode[ChildEnded](typ, b)
	case "charged":
		return decode[Charged](typ, b)
	case "acceptance_done":
		return decode[AcceptanceDone](typ, b)
	case "cancel":
		return decode[Cancel](typ, b)
	case "tick":
		return decode[Tick](typ, b)
	case "recovered":
		return decode[Recovered](typ, b)
	case "tool_asked":
		return decode[ToolAsked](typ, b)
	case "task_asks":
		return decode[TaskAsks](typ, b)
	case "extended":
		return decode[Extended](typ, b)
	case "work_inspected":
		return decode[WorkInspected](typ, b)
	case "work_decided":
		return decode[WorkDecided](typ, b)
	case "migrated":
		return decode[Migrated](typ, b)
	}
	return nil, fmt.Errorf("decoding an event: unknown type %q", typ)
}

func decode[E Event](typ string, b []byte) (Event, error) {
	var ev E
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // a field this version does not know would silently change the replay
	if err := d.Decode(&ev); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", typ, err)
	}
	return ev, nil
}

// plainState has State's fields without its methods.
type plainState State

type encodedState struct {
	Phase string          `json:"phase"`
	In    json.RawMessage `json:"in,omitempty"`
	plainState
}

// MarshalJSON encodes the state without its Spec.
func (s State) MarshalJSON() ([]byte, error) {
	e := encodedState{plainState: plainState(s)}
	if s.Phase != nil {
		e.Phase = phaseName(s.Phase)
		in, err := json.Marshal(s.Phase)
		if err != nil {
			return nil, fmt.Errorf("encoding phase %s: %w", e.Phase, err)
		}
		if string(in) != "{}" {
			e.In = in
		}
	}
	return json.Marshal(e)
}

// UnmarshalJSON reads what MarshalJSON wrote; Spec is left as it is, but for
// tools that an epoch has changed.
func (s *State) UnmarshalJSON(b []byte) error {
	var e encodedState
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return fmt.Errorf("decoding a state: %w", err)
	}
	phase, err := decodePhase(e.Phase, e.In)
	if err != nil {
		return err
	}
	spec := s.Spec
	*s = State(e.plainState)
	s.Spec, s.Phase = spec, phase
	s.fit()
	return nil
}

func phaseName(p Phase) string {
	switch p.(type) {
	case Idle:
		return "idle"
	case Thinking:
		return "thinking"
	case Backoff:
		return "backoff"
	case Compacting:
		return "compacting"
	case Acting:
		return "acting"
	case Accepting:
		return "accepting"
	case Cancelling:
		return "cancelling"
	case Extending:
		return "extending"
	case Settling:
		return "settling"
	case Completed:
		return "completed"
	case Failed:
		return "failed"
	}
	return ""
}

func decodePhase(name string, in []byte) (Phase, error) {
	if len(in) == 0 {
		in = []byte("{}")
	}
	switch name {
	case "":
		return nil, nil
	case "idle":
		return phaseOf[Idle](name, in)
	case "thinking":
		return phaseOf[Thinking](name, in)
	case "backoff":
		return phaseOf[Backoff](name, in)
	case "compacting":
		return phaseOf[Compacting](name, in)
	case "acting":
		return phaseOf[Acting](name, in)
	case "accepting":
		return phaseOf[Accepting](name, in)
	case "cancelling":
		return phaseOf[Cancelling](name, in)
	case "extending":
		return phaseOf[Extending](name, in)
	case "settling":
		return phaseOf[Settling](name, in)
	case "completed":
		return phaseOf[Completed](name, in)
	case "failed":
		return phaseOf[Failed](name, in)
	}
	return nil, fmt.Errorf("decoding a state: unknown phase %q", name)
}

func phaseOf[P Phase](name string, in []byte) (Phase, error) {
	var p P
	d := json.NewDecoder(bytes.NewReader(in))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, fmt.Errorf("decoding phase %s: %w", name, err)
	}
	return p, nil
}

// Hash identifies a state with its spec.
func (s State) Hash() (string, error) {
	h := sha256.New()
	for _, v := range []any{s.Spec, s} {
		b, err := json.Marshal(v)
		if err != nil {
			return "", fmt.Errorf("hashing a state: %w", err)
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
