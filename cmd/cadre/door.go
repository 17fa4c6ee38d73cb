// The door of a running command: a socket in the data folder, by which another
// command on this machine answers what its agents ask, or stops them.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/store"
)

const (
	doorName = "cadre.sock"
	doorTime = 30 * time.Second // for one answer
	doorSize = 1 << 20          // bytes of an answer
)

// doorRequest is an answer to an item, or the wish to stop an agent.
type doorRequest struct {
	Item   string             `json:"item,omitempty"`
	Answer orchestrate.Answer `json:"answer,omitzero"`
	Stop   string             `json:"stop,omitempty"`
	By     string             `json:"by,omitempty"`
}

// doorReply is what is said to it.
type doorReply struct {
	Said string `json:"said,omitempty"`
	Err  string `json:"error,omitempty"`
	Kind string `json:"kind,omitempty"` // not_found, answered, answer
}

// openDoor takes answers until the returned function is called. Whoever may
// write the data folder may answer.
func openDoor(dir string, a *app.App) (shut func(), err error) {
	name := filepath.Join(dir, doorName)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing the old socket: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", name)
	if err != nil {
		return nil, fmt.Errorf("listening in the data folder: %w", err)
	}
	if err := os.Chmod(name, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protecting the socket: %w", err), l.Close())
	}
	server := &http.Server{ReadHeaderTimeout: doorTime, ReadTimeout: doorTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(answerAt(a, r)) // one who has gone need not be told
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // it ends by Close
	}()
	return func() {
		_ = server.Close() // the process is about to end
		<-ended
	}, nil
}

func answerAt(a *app.App, r *http.Request) doorReply {
	var in doorRequest
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, doorSize)).Decode(&in); err != nil {
		return doorReply{Err: fmt.Sprintf("reading the answer: %v", err), Kind: "answer"}
	}
	var said string
	var err error
	if in.Stop != "" {
		said, err = stopAgent(r.Context(), a, in.Stop, in.By)
	} else {
		said, err = a.Inbox.Answer(r.Context(), in.Item, in.Answer)
	}
	out := doorReply{Said: said}
	if err == nil {
		return out
	}
	out.Err = err.Error()
	switch {
	case errors.Is(err, store.ErrNotFound):
		out.Kind = "not_found"
	case errors.Is(err, orchestrate.ErrAnswered):
		out.Kind = "answered"
	case errors.Is(err, orchestrate.ErrAnswer):
		out.Kind = "answer"
	}
	return out
}

// errNoDoor tells that the process that owns the folder cannot be reached.
var errNoDoor = errors.New("nobody listens")

// atDoor hands a request to the process that owns the data folder.
func atDoor(ctx context.Context, dir string, in doorRequest) (string, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("wording the request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, doorTime)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, doorName))
	}}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cadre/answer", bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("asking the other process: %w", err)
	}
	res, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoDoor, err)
	}
	defer func() { _ = res.Body.Close() }() // it was read
	var reply doorReply
	if err := json.NewDecoder(res.Body).Decode(&reply); err != nil {
		return "", fmt.Errorf("reading what the other process says: %w", err)
	}
	switch {
	case reply.Err == "":
		return reply.Said, nil
	case reply.Kind == "not_found":
		return "", fmt.Errorf("%s: %w", reply.Err, store.ErrNotFound)
	case reply.Kind == "answer":
		return "", wrong(errors.New(reply.Err), "")
	}
	return "", errors.New(reply.Err)
}
