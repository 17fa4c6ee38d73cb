// The model client that both peers are given: as thin as it can be, so that
// what is measured is theirs.

package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
)

// Client asks the model server.
type Client struct {
	URL  string
	HTTP *http.Client
}

// NewClient makes a client that keeps as many connections as it needs.
func NewClient(url string) *Client {
	return &Client{URL: url + "/v1/chat/completions", HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4096}}}
}

// Complete makes one call.
func (c *Client) Complete(ctx context.Context, req Request) (Message, error) {
	req.Model = "bench"
	body, err := json.Marshal(req)
	if err != nil {
		return Message{}, fmt.Errorf("encoding a request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return Message{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := c.HTTP.Do(r)
	if err != nil {
		return Message{}, err
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	if res.StatusCode != http.StatusOK {
		return Message{}, fmt.Errorf("the model server answered %s", res.Status)
	}
	var reply Reply
	if err := json.NewDecoder(res.Body).Decode(&reply); err != nil {
		return Message{}, fmt.Errorf("decoding a reply: %w", err)
	}
	if len(reply.Choices) == 0 {
		return Message{}, errors.New("the reply is empty")
	}
	return reply.Choices[0].Message, nil
}

// The inputs of the tools that the peers are given.
type (
	ReadArgs struct {
		Path  string `json:"path"`
		Limit int    `json:"limit"`
	}
	SpawnArgs struct {
		Tasks []Task `json:"tasks"`
	}
)

// ReadNote is the tool of the leaves.
func ReadNote(in ReadArgs) (string, error) {
	b, err := os.ReadFile(in.Path)
	return string(b), err
}
