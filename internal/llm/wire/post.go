// Making a request, and reading its answer under a limit of silence.

package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

const (
	maxErrorBody = 64 << 10
	maxBody      = 64 << 20
	maxDrain     = 16 << 10
	drainTime    = 50 * time.Millisecond
)

// Response is the answer to a request that was accepted. It is used by one
// goroutine and must be closed.
type Response struct {
	Header    http.Header
	RequestID string // as the vendor's header tells it

	watch
	body    io.ReadCloser
	events  Reader
	secrets []string
}

// Post sends body to url and returns the answer if its status is 2xx; any
// other answer is an *llm.Error of its kind (see Classify). The body is sent
// as JSON; header is not changed.
//
// Silence longer than idle allows, whether before the answer or within it, is
// an *llm.Error of kind timeout. A connection that cannot be made or is lost is
// one of kind network. When ctx ends the error is ctx.Err(). The same holds for
// what is read from the Response later on.
//
// No error contains the values of headers that carry keys.
func Post(ctx context.Context, client *http.Client, url string, header http.Header, body []byte, idle Idle) (*Response, error) {
	secrets := Secrets(header)
	w := newWatch(ctx, idle)
	req, err := http.NewRequestWithContext(w.inner, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		w.end()
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: Scrub("making a request: "+err.Error(), secrets...), Err: err}
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("Content-Type", "application/json")
	w.start()
	resp, err := client.Do(req) //nolint:bodyclose // Response.Close does
	w.stop()
	if err != nil {
		defer w.end()
		return nil, w.explain("calling the model", err, secrets)
	}
	r := &Response{Header: resp.Header, RequestID: RequestID(resp.Header), watch: w, body: resp.Body, secrets: secrets}
	r.events.src = r
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer r.Close()
		return nil, r.refused(resp.StatusCode)
	}
	return r, nil
}

// refused reads the body of an answer that is an error. If it cannot be read
// the status alone decides.
func (r *Response) refused(status int) error {
	b, err := io.ReadAll(io.LimitReader(r, maxErrorBody))
	if err != nil && r.outer.Err() != nil {
		return r.outer.Err()
	}
	return Classify(status, r.Header, b, r.secrets...)
}

// Read reads from the body. Its errors other than io.EOF are as told at Post.
func (r *Response) Read(p []byte) (int, error) {
	r.start()
	n, err := r.body.Read(p)
	r.stop()
	if err != nil && err != io.EOF { //nolint:errorlint // readers return io.EOF itself
		err = r.explain("reading the reply", err, r.secrets)
		if e, ok := errors.AsType[*llm.Error](err); ok {
			e.RequestID = r.RequestID
		}
	}
	return n, err
}

// Next returns the next event of a stream; io.EOF when it has ended, which
// tells nothing about whether the reply had.
func (r *Response) Next() (Event, error) {
	ev, err := r.events.Next()
	if errors.Is(err, errTooLong) || errors.Is(err, io.ErrNoProgress) {
		err = r.Broken(err)
	}
	return ev, err
}

// All reads the rest of the body, for a reply that is not streamed.
func (r *Response) All() ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err == nil && len(b) > maxBody {
		err = r.Broken(fmt.Errorf("the reply has more than %d bytes", maxBody))
	}
	return b, err
}

// Close ends the exchange. It first reads a little more if that comes at once:
// only a body read to its end leaves a connection that can be used again.
func (r *Response) Close() {
	if r.inner.Err() == nil {
		r.limit = drainTime
		_, _ = io.CopyN(io.Discard, r, maxDrain)
	}
	r.end()
	_ = r.body.Close()
	r.events.release()
}

// Cut is the error of a stream that ended before the reply did.
func (r *Response) Cut() error {
	return &llm.Error{
		Kind: llm.ErrNetwork, Message: "the stream ended before the reply did",
		RequestID: r.RequestID, Err: io.ErrUnexpectedEOF,
	}
}

// Broken is the error of a reply, or a piece of one, that cannot be read. It
// counts as a fault of the network: what was cut or mangled on its way looks
// like this, and trying again is all that can be done.
func (r *Response) Broken(err error) error {
	return &llm.Error{
		Kind: llm.ErrNetwork, Message: Scrub("reading the reply: "+err.Error(), r.secrets...),
		RequestID: r.RequestID, Err: err,
	}
}

// Fail is the error that body tells, an error object inside a stream that had
// begun well.
func (r *Response) Fail(body []byte) error {
	e := Classify(0, nil, body, r.secrets...)
	if e.RequestID == "" {
		e.RequestID = r.RequestID
	}
	return e
}

// Spent notes on err what the attempt had used before it failed: that is charged
// as well. A call that its context ended after the vendor had told of its use
// fails with an *llm.Error around the context's error.
func Spent(err error, u message.Usage) error {
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case ok:
		e.Usage = u
	case err != nil && u != (message.Usage{}):
		return &llm.Error{Kind: llm.ErrNetwork, Message: "the call was stopped: " + err.Error(), Usage: u, Err: err}
	}
	return err
}
