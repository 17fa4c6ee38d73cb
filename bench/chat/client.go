// What the floor and the peers are given: an HTTP client, and the inputs of
// the peers' tools.

package chat

import (
	"net/http"
	"os"
)

// NewHTTP makes a client that keeps as many connections as it needs.
func NewHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4096}}
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
