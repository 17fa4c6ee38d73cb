// Reading vendors' error bodies, whichever shape they have.

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Fault is what an error body says.
type Fault struct {
	Status    int    // an HTTP status told in the body, as by Gemini and OpenRouter
	Type      string // the vendor's class of error
	Code      string // the vendor's code, or the status by name (Gemini)
	Message   string // for people
	Detail    string // further text: an upstream vendor's error, violated quotas
	RequestID string
	Retry     time.Duration // Gemini's RetryInfo
}

// ParseFault reads an error body. All published shapes are understood: an
// object or a text under "error", with or without an envelope, an array of
// them, a bare object, FastAPI's "detail". A body that is no JSON is the
// message itself, unless it is a web page.
func ParseFault(body []byte) Fault {
	var f Fault
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return f
	}
	if body[0] == '[' { // Gemini streams an array when not asked for events
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var top faultObject
	if body[0] != '{' || !loosely(body, &top) {
		f.Message = plainText(body)
		return f
	}
	f.takeObject(&top)
	return f
}

// faultObject holds all the fields that vendors use; fields whose type differs
// between them are read late.
type faultObject struct {
	Error     json.RawMessage `json:"error"`
	Errors    json.RawMessage `json:"errors"`
	Response  json.RawMessage `json:"response"` // of an OpenAI event response.failed
	Type      text            `json:"type"`
	Code      text            `json:"code"`
	Status    text            `json:"status"`
	Reason    text            `json:"reason"`
	Message   json.RawMessage `json:"message"`
	Msg       text            `json:"msg"`
	Detail    json.RawMessage `json:"detail"`
	Details   json.RawMessage `json:"details"`
	RequestID text            `json:"request_id"`
	Inner     struct {
		Code text `json:"code"`
	} `json:"innererror"`
	Metadata struct {
		Raw      json.RawMessage `json:"raw"`
		Reasons  json.RawMessage `json:"reasons"`
		Provider text            `json:"provider_name"`
	} `json:"metadata"`
}

// text is a JSON string or number; anything else reads as nothing.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
		return nil
	}
	if b[0] == '-' || '0' <= b[0] && b[0] <= '9' {
		*t = text(b)
	}
	return nil
}

// loosely decodes b into v and passes over fields of another type than
// expected. It returns false if b is no JSON.
func loosely(b []byte, v any) bool {
	err := json.Unmarshal(b, v)
	_, mismatch := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || mismatch
}

// takeObject reads o and what is inside it. Inner objects are more specific
// and win.
func (f *Fault) takeObject(o *faultObject) {
	f.set(&f.RequestID, string(o.RequestID))
	if o.Type != "error" { // the envelope of Anthropic, OpenAI's event
		f.set(&f.Type, string(o.Type))
	}
	f.takeCode(string(o.Code))
	f.takeCode(string(o.Status))
	f.set(&f.Code, string(o.Inner.Code))
	f.set(&f.Type, string(o.Reason))
	f.takeMessage(o.Message)
	f.set(&f.Message, string(o.Msg))
	f.takeMessage(o.Detail)
	f.takeDetails(o.Details)
	f.takeUpstream(o)
	for _, inner := range []json.RawMessage{o.Error, o.Errors, o.Response} {
		f.takeInner(inner)
	}
}

func (f *Fault) set(field *string, v string) {
	if v != "" {
		*field = v
	}
}

// takeCode takes a code, which is an HTTP status if it is a number like one.
func (f *Fault) takeCode(code string) {
	if n, err := strconv.Atoi(code); err == nil && n >= 300 && n < 600 {
		f.Status = n
		return
	}
	f.set(&f.Code, code)
}

// takeInner reads an error inside an envelope: an object, a text or a list.
func (f *Fault) takeInner(raw json.RawMessage) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '"':
		f.takeMessage(raw)
	case '{':
		var o faultObject
		if loosely(raw, &o) {
			f.takeObject(&o)
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
			f.takeInner(list[0])
		}
	}
}

// takeMessage takes a message: a text, a text that is itself an error in JSON
// (proxies quote their upstream so), a list of FastAPI's, or an object.
func (f *Fault) takeMessage(raw json.RawMessage) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || IsNull(raw) {
		return
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		f.set(&f.Message, s)
		if quoted := strings.TrimSpace(s); strings.HasPrefix(quoted, "{") && json.Valid([]byte(quoted)) {
			f.takeInner(json.RawMessage(quoted))
		}
		return
	}
	var list []struct {
		Msg string `json:"msg"`
		Loc []any  `json:"loc"`
	}
	if json.Unmarshal(raw, &list) == nil {
		for _, item := range list {
			if item.Msg != "" {
				f.Message = strings.TrimPrefix(f.Message+"; "+place(item.Loc)+item.Msg, "; ")
			}
		}
		return
	}
	f.takeInner(raw)
}

// place names the field that FastAPI complains about.
func place(loc []any) string {
	if len(loc) == 0 {
		return ""
	}
	names := make([]string, len(loc))
	for i, l := range loc {
		names[i] = fmt.Sprint(l)
	}
	return strings.Join(names, ".") + ": "
}

// takeDetails reads Google's list of details.
func (f *Fault) takeDetails(raw json.RawMessage) {
	var list []struct {
		Type       string `json:"@type"`
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
		Metadata   struct {
			Limit string `json:"quota_limit"`
		} `json:"metadata"`
		Violations []struct {
			Metric string `json:"quotaMetric"`
			ID     string `json:"quotaId"`
		} `json:"violations"`
	}
	if !loosely(raw, &list) {
		return
	}
	for _, d := range list {
		f.set(&f.Type, d.Reason)
		if delay, err := time.ParseDuration(d.RetryDelay); err == nil {
			f.Retry = delay
		}
		if d.Metadata.Limit != "" {
			f.Detail += d.Metadata.Limit + "\n"
		}
		for _, v := range d.Violations {
			f.Detail += strings.TrimSpace(v.ID+" "+v.Metric) + "\n"
		}
	}
}

// takeUpstream reads what OpenRouter passes on of the vendor behind it.
func (f *Fault) takeUpstream(o *faultObject) {
	raw := bytes.TrimSpace(o.Metadata.Raw)
	if len(raw) > 0 {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		up := ParseFault([]byte(s))
		f.Detail += strings.Join([]string{up.Type, up.Code, up.Message, up.Detail}, "\n")
	}
	if len(o.Metadata.Reasons) > 0 && !IsNull(o.Metadata.Reasons) {
		f.Detail += "moderation " + string(o.Metadata.Reasons)
	}
}

const maxMessage = 2000

// plainText is the message of a body that is no JSON.
func plainText(body []byte) string {
	if body[0] == '<' {
		return "" // a proxy's web page: the status says as much
	}
	return string(body)
}

// shorten cuts a message that is too long to show.
func shorten(s string) string {
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}
