// Problems: what errors look like from outside.

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/store"
)

const problemType = "application/problem+json"

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// problem makes an error that is told as it is.
func problem(status int, code, detail, hint string) *wire.Problem {
	return &wire.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Hint: hint}
}

func notFound(what, id string) *wire.Problem {
	return problem(http.StatusNotFound, "not_found", fmt.Sprintf("there is no %s %q", what, id), "")
}

func unprocessable(code, detail, hint string) *wire.Problem {
	return problem(http.StatusUnprocessableEntity, code, detail, hint)
}

// known are the errors from below that callers can do something about.
var known = []struct {
	is     error
	status int
	code   string
	hint   string
}{
	{store.ErrNotFound, http.StatusNotFound, "not_found", ""},
	{engine.ErrUnknown, http.StatusNotFound, "not_found", ""},
	{engine.ErrBusy, http.StatusConflict, "busy", "stop it first, or delete with force=true"},
	{engine.ErrClosed, http.StatusServiceUnavailable, "shutting_down", "try again when the server is back"},
	{store.ErrUnavailable, http.StatusServiceUnavailable, "unavailable", "what was stored is safe; try again when the cause is gone"},
	{orchestrate.ErrAnswered, http.StatusConflict, "answered", "read the item again: it says who answered and how"},
	{orchestrate.ErrAnswer, http.StatusUnprocessableEntity, "answer", ""},
	{orchestrate.ErrConflict, http.StatusConflict, "conflict", "nothing was changed: resolve the conflict, keep or discard the work"},
	{agent.ErrNoPrice, http.StatusUnprocessableEntity, "no_price", "leave the cost limit out, or choose a model with a known price"},
	{agent.ErrEnded, http.StatusConflict, "ended", "ask the orchestrator to continue it"},
	{agent.ErrNoReader, http.StatusConflict, "no_reader", "write to the orchestrator, or stop the task"},
	{agent.ErrEnding, http.StatusConflict, "ending", "ask the orchestrator to continue it"},
	{agent.ErrStale, http.StatusConflict, "over", ""},
	{agent.ErrNotWaiting, http.StatusConflict, "answered", ""},
	{agent.ErrImpossible, http.StatusConflict, "impossible", ""},
	{access.ErrName, http.StatusUnprocessableEntity, "name", ""},
	{store.ErrDuplicate, http.StatusConflict, "exists", "choose another name"},
}

// problem makes a problem of any error. One that nobody expected is logged and
// told by the id of its request only.
func (s *Server) problem(ctx context.Context, err error) *wire.Problem {
	id := requestID(ctx)
	var p *wire.Problem
	if errors.As(err, &p) {
		q := *p
		q.Request = id
		return &q
	}
	for _, k := range known {
		if errors.Is(err, k.is) {
			p = problem(k.status, k.code, err.Error(), k.hint)
			p.Request = id
			return p
		}
	}
	if ctx.Err() != nil {
		p = problem(http.StatusServiceUnavailable, "cancelled", "the request took too long or was given up", "try again")
	} else {
		s.log.Error("a request failed", "request", id, "err", err)
		p = problem(http.StatusInternalServerError, "internal", "something went wrong in the server", "the server's log has more under request "+id)
	}
	p.Request = id
	return p
}

// toProblem turns what huma finds wrong with a request into our form.
func toProblem(ctx huma.Context, _ string, v any) (any, error) {
	e, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if e.Status == http.StatusInternalServerError && cutOff(ctx.Context()) {
		p := problem(http.StatusBadRequest, "body", "the body broke off or is malformed", "send all that Content-Length tells of, or whole chunks")
		p.Request = requestID(ctx.Context())
		return p, nil
	}
	code := map[int]string{
		http.StatusBadRequest: "bad_request", http.StatusRequestTimeout: "slow_body", http.StatusRequestEntityTooLarge: "too_large",
		http.StatusUnsupportedMediaType: "media_type", http.StatusUnprocessableEntity: "invalid", http.StatusNotAcceptable: "not_acceptable",
	}[e.Status]
	if code == "" {
		code = "bad_request"
	}
	p := problem(e.Status, code, e.Detail, map[string]string{
		"too_large": "send less at once", "slow_body": "send it faster, or less of it", "media_type": "send application/json", "not_acceptable": "accept application/json",
	}[code])
	for _, x := range e.Errors {
		if x != nil {
			p.Errors = append(p.Errors, wire.Fault{Where: x.Location, What: x.Message})
		}
	}
	if len(p.Errors) > 0 {
		p.Hint = "see errors for each thing that is wrong, and /openapi.json for what is expected"
	}
	p.Request = requestID(ctx.Context())
	return p, nil
}

// refuse answers with a problem outside of a route.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problem(r.Context(), err)
	h := w.Header()
	h.Set("Content-Type", problemType)
	h.Set("Cache-Control", "no-store")
	maps.Copy(h, p.GetHeaders())
	w.WriteHeader(p.Status)
	if err := json.NewEncoder(w).Encode(p); err != nil {
		s.log.Debug("a problem could not be told", "err", err)
	}
}
