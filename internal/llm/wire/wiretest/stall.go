// Streams that stop, on a clock of the test's own.

package wiretest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cadre-dev/cadre/internal/llm"
)

// halting is a transport whose answers are a text and then nothing.
type halting struct{ text string }

func (h halting) RoundTrip(r *http.Request) (*http.Response, error) {
	body := &haltingBody{Reader: strings.NewReader(h.text), ctx: r.Context()}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {EventStream}}, Body: body}, nil
}

type haltingBody struct {
	io.Reader
	ctx context.Context
}

func (b *haltingBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (*haltingBody) Close() error { return nil }

// Stalls checks that a stream which stops after text is given up after a time,
// with an error of kind timeout.
func Stalls(t *testing.T, p func(*http.Client) llm.Provider, text string, after time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r, err := Call(t, p(&http.Client{Transport: halting{text}}), Ask("x"))
		if r != nil || llm.KindOf(err) != llm.ErrTimeout || time.Since(start) != after {
			t.Errorf("after %d bytes: %v, %v, %v later, want %v", len(text), r, err, time.Since(start), after)
		}
	})
}
