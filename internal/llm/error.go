// How model calls fail.

package llm

import (
	"errors"
	"fmt"
	"time"

	"github.com/cadre-dev/cadre/internal/message"
)

// ErrorKind sorts the ways in which a model call fails, by what can be done
// about them.
type ErrorKind string

// The kinds of error.
const (
	ErrAuth       ErrorKind = "auth"
	ErrPermission ErrorKind = "permission"
	ErrNotFound   ErrorKind = "not_found"
	ErrRateLimit  ErrorKind = "rate_limit"
	ErrOverloaded ErrorKind = "overloaded"
	ErrQuota      ErrorKind = "quota"
	ErrOverflow   ErrorKind = "context_overflow"
	ErrBadRequest ErrorKind = "bad_request"
	ErrFilter     ErrorKind = "content_filter"
	ErrNetwork    ErrorKind = "network"
	ErrTimeout    ErrorKind = "timeout"
	ErrServer     ErrorKind = "server"
)

// Error is how a model call fails. Providers return no other error type
// except the context's own. A call that was stopped after the vendor had told
// what it used so far fails with an Error that wraps the context's, so that this
// can be charged.
type Error struct {
	Kind       ErrorKind
	Status     int           // of the HTTP answer, 0 if there was none
	RetryAfter time.Duration // what the vendor asked for, 0 if nothing
	Message    string        // safe to show: holds no key
	RequestID  string
	Usage      message.Usage // what the failed attempt is known to have used
	Err        error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s (HTTP %d): %s", e.Kind, e.Status, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err; an error that is no *Error counts as a
// server error, which is retried a bounded number of times.
func KindOf(err error) ErrorKind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ErrServer
}
