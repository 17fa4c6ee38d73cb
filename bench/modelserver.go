// The model server, as the driver uses it.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/cadre-dev/cadre/bench/chat"
)

type model struct {
	*process
	url string
}

func startModel(ctx context.Context, binary string, args ...string) (*model, error) {
	p, url, err := start(ctx, "", nil, "", binary, args...)
	if err != nil {
		return nil, err
	}
	return &model{p, url}, nil
}

func (m *model) get(ctx context.Context, path string) ([]byte, error) {
	return m.request(ctx, http.MethodGet, path)
}

func (m *model) request(ctx context.Context, method, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, m.url+path, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the model server answered %s to %s", res.Status, path)
	}
	return io.ReadAll(res.Body)
}

// reset forgets the requests so far; with keep it keeps the bodies of those
// that come.
func (m *model) reset(ctx context.Context, keep bool) error {
	path := "/reset"
	if keep {
		path += "?keep=1"
	}
	_, err := m.request(ctx, http.MethodPost, path)
	return err
}

// calls returns the requests since the last reset, in order.
func (m *model) calls(ctx context.Context) (calls []chat.Call, err error) {
	b, err := m.get(ctx, "/log")
	if err != nil {
		return nil, err
	}
	return calls, json.Unmarshal(b, &calls)
}

// body returns a request that was kept.
func (m *model) body(ctx context.Context, i int) ([]byte, error) {
	return m.get(ctx, fmt.Sprintf("/body?i=%d", i))
}
