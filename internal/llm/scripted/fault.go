// Faults: the ways in which a scripted turn fails, and the errors they give.

package scripted

import (
	"net/http"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/cadre-dev/cadre/internal/llm"
)

type fault struct {
	Status     count     `yaml:"status"`
	Kind       errorKind `yaml:"kind"`
	Message    string    `yaml:"message"`
	RetryAfter duration  `yaml:"retry_after"`
	Times      count     `yaml:"times"`
	After      *count    `yaml:"after"`
	Overflow   bool      `yaml:"overflow"`
	Cut        bool      `yaml:"cut"`
	Stall      bool      `yaml:"stall"`
	Idle       duration  `yaml:"idle"`
}

type errorKind llm.ErrorKind

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (k *errorKind) UnmarshalYAML(node ast.Node) error {
	return oneOf(node, k,
		errorKind(llm.ErrAuth), errorKind(llm.ErrPermission), errorKind(llm.ErrNotFound),
		errorKind(llm.ErrRateLimit), errorKind(llm.ErrOverloaded), errorKind(llm.ErrQuota),
		errorKind(llm.ErrOverflow), errorKind(llm.ErrBadRequest), errorKind(llm.ErrFilter),
		errorKind(llm.ErrNetwork), errorKind(llm.ErrTimeout), errorKind(llm.ErrServer))
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (f *fault) UnmarshalYAML(node ast.Node) error {
	type plain fault
	if err := strict(node, (*plain)(f)); err != nil {
		return err
	}
	ways := 0
	for _, is := range []bool{f.Status != 0 || f.Kind != "", f.Overflow, f.Cut, f.Stall} {
		if is {
			ways++
		}
	}
	switch {
	case ways != 1:
		return complain(node, "a fault is exactly one of status or kind, overflow, cut, stall")
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return complain(node, "status %d is no error: it must be between 400 and 599", f.Status)
	case f.Idle != 0 && !f.Stall:
		return complain(node, "idle belongs to stall")
	}
	return nil
}

// strikes reports whether the given try of a turn fails; tries count from 1,
// and a caller that does not count makes its first.
func (f *fault) strikes(try int) bool {
	return f != nil && (f.Times == 0 || max(try, 1) <= int(f.Times))
}

// chunksBefore is how many of total chunks arrive before the fault strikes.
func (f *fault) chunksBefore(total int) int {
	switch {
	case f.After != nil:
		return min(int(*f.After), total)
	case f.Cut || f.Stall:
		return (total + 1) / 2
	}
	return 0
}

// err is the error the fault ends in.
func (f *fault) err() *llm.Error {
	e := &llm.Error{
		Kind: llm.ErrorKind(f.Kind), Status: int(f.Status),
		RetryAfter: time.Duration(f.RetryAfter), Message: f.Message,
	}
	said := ""
	switch {
	case f.Overflow:
		e.Kind, e.Status = llm.ErrOverflow, http.StatusBadRequest
		said = "prompt is too long: 200001 tokens > 200000 maximum"
	case f.Cut:
		e.Kind, said = llm.ErrNetwork, "the stream ended before the reply was complete"
	case f.Stall:
		e.Kind, said = llm.ErrTimeout, "the stream stopped for "+time.Duration(f.Idle).String()
	case e.Kind == "":
		e.Kind = kindOfStatus(e.Status)
		said = http.StatusText(e.Status)
	case e.Status == 0:
		e.Status = statusOfKind(e.Kind)
	}
	if e.Message == "" {
		e.Message = said
	}
	if e.Message == "" {
		e.Message = string(e.Kind)
	}
	return e
}

// kindOfStatus sorts an HTTP status by what can be done about it.
func kindOfStatus(status int) llm.ErrorKind {
	switch status {
	case http.StatusUnauthorized:
		return llm.ErrAuth
	case http.StatusPaymentRequired:
		return llm.ErrQuota
	case http.StatusForbidden:
		return llm.ErrPermission
	case http.StatusNotFound:
		return llm.ErrNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return llm.ErrTimeout
	case http.StatusRequestEntityTooLarge:
		return llm.ErrOverflow
	case http.StatusTooManyRequests:
		return llm.ErrRateLimit
	case http.StatusServiceUnavailable, statusOverloaded:
		return llm.ErrOverloaded
	case http.StatusConflict: // a lock lost on the vendor's side: worth another try
		return llm.ErrServer
	}
	if status >= http.StatusInternalServerError {
		return llm.ErrServer
	}
	return llm.ErrBadRequest
}

// statusOverloaded is Anthropic's own status for a busy model.
const statusOverloaded = 529

// statusOfKind is the status vendors give errors of a kind; 0 where there is
// no answer at all.
func statusOfKind(kind llm.ErrorKind) int {
	switch kind {
	case llm.ErrAuth:
		return http.StatusUnauthorized
	case llm.ErrPermission:
		return http.StatusForbidden
	case llm.ErrNotFound:
		return http.StatusNotFound
	case llm.ErrRateLimit, llm.ErrQuota:
		return http.StatusTooManyRequests
	case llm.ErrOverloaded:
		return statusOverloaded
	case llm.ErrOverflow, llm.ErrBadRequest, llm.ErrFilter:
		return http.StatusBadRequest
	case llm.ErrServer:
		return http.StatusInternalServerError
	case llm.ErrNetwork, llm.ErrTimeout:
		return 0
	}
	return 0
}
