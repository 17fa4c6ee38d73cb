// Cadre as its users have it: the real binary with `cadre serve`, spoken to
// over HTTP, with a subscriber to the feed.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cadre-dev/cadre/bench/chat"
)

const benchModel = "bench/bench"

// The benchmark's project: the file that leaves read, the roles they have.
const (
	readerRole  = "---\nname: reader\ndescription: Reads files and reports.\ntools: [Read]\nmax_turns: 1000\nmax_duration: 1h\n---\n" + chat.SystemPrompt + "\n"
	managerRole = "---\nname: manager\ndescription: Delegates to readers.\ntools: [Read]\ndelegates: [reader]\nmax_duration: 1h\n---\nYou hand work to readers. Be brief.\n"
	note        = "A short note.\n"
)

// project makes the folder that agents work in, and beside it the
// configuration that names the model server.
func project(dir, modelURL string) error {
	files := map[string]string{
		"work/note.txt":                  note,
		"config/cadre/agents/reader.md":  readerRole,
		"config/cadre/agents/manager.md": managerRole,
		"config/cadre/config.yaml": fmt.Sprintf(`model: %s
limits:
  bench: {start: 4096, max: 16384}
agents: {max: 20000}
providers:
  bench:
    kind: openai
    base_url: %s/v1
    key: none
    models:
      bench: {window: 100M, max_output: 4k, price: {input: 1, output: 1}, tools: true}
`, benchModel, modelURL),
	}
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// server is a running `cadre serve`.
type server struct {
	*process
	url   string
	token string
	http  *http.Client
	ready time.Duration // from its start to the line that tells its address
}

// serve starts the server on a data folder of a project.
func (b *bench) serve(ctx context.Context, data string) (*server, error) {
	began := time.Now()
	p, address, err := start(ctx, filepath.Join(b.dir, "work"), b.env(), "Cadre serves ", b.cadre, "serve", "--addr", "127.0.0.1:0", "--data", data, "--pprof")
	if err != nil {
		return nil, err
	}
	s := &server{process: p, url: address, ready: time.Since(began), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	token, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		s.stop(syscall.SIGKILL)
		return nil, fmt.Errorf("reading the server's token: %w", err)
	}
	s.token = strings.TrimSpace(string(token))
	return s, nil
}

// serveAnew starts the server on a new data folder; end ends both.
func (b *bench) serveAnew(ctx context.Context) (srv *server, end func(), err error) {
	data, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return nil, nil, err
	}
	if srv, err = b.serve(ctx, data); err != nil {
		return nil, nil, err
	}
	return srv, func() {
		srv.stop(syscall.SIGTERM)
		_ = os.RemoveAll(data) // the folder around it is removed at the end
	}, nil
}

// env is what the server finds in its environment.
func (b *bench) env() []string {
	return []string{"XDG_CONFIG_HOME=" + filepath.Join(b.dir, "config"), "HOME=" + b.dir, "CADRE_LOCAL=off", "GOCOVERDIR="}
}

// ask makes a request of the API and decodes the answer.
func (s *server) ask(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	res, err := s.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

func (s *server) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	return s.http.Do(r)
}

const chatsPath = "/v1/users/me/orch-chats"

type limits struct {
	Turns      int   `json:"turns,omitempty"`
	DurationMS int64 `json:"durationMs,omitempty"`
}

// newChat makes a chat and returns its id and the number of the newest change.
func (s *server) newChat(ctx context.Context) (id string, seq int64, err error) {
	var snapshot struct {
		Chat struct{ ID string } `json:"chat"`
		Seq  int64               `json:"seq"`
	}
	in := map[string]any{"model": benchModel, "limits": limits{Turns: 100_000, DurationMS: time.Hour.Milliseconds()}}
	err = s.ask(ctx, http.MethodPost, chatsPath, in, &snapshot)
	return snapshot.Chat.ID, snapshot.Seq, err
}

// send sends a message.
func (s *server) send(ctx context.Context, chatID, text string) error {
	return s.ask(ctx, http.MethodPost, chatsPath+"/"+chatID+"/messages", map[string]string{"text": text}, nil)
}

// follow subscribes to the feed of a chat and calls line with each line of
// events until that returns false. It returns once the subscription stands;
// the channel tells how it ended.
func (s *server) follow(ctx context.Context, chatID string, since int64, line func([]byte) bool) (<-chan error, error) {
	res, err := s.do(ctx, http.MethodGet, fmt.Sprintf("%s/%s/changes?since=%d", chatsPath, chatID, since), nil) //nolint:bodyclose // by the goroutine that reads it
	if err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(res.Body, 1<<20)
	if _, err := lines.ReadSlice('\n'); err != nil || res.StatusCode != http.StatusOK {
		_ = res.Body.Close() // the status tells more
		return nil, fmt.Errorf("following chat %s: %s: %w", chatID, res.Status, err)
	}
	ended := make(chan error, 1)
	go func() {
		defer func() { _ = res.Body.Close() }() // it was only read
		for {
			text, err := lines.ReadSlice('\n')
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				ended <- fmt.Errorf("the feed of chat %s ended: %w", chatID, err)
				return
			}
			if !line(text) {
				ended <- nil
				return
			}
		}
	}()
	return ended, nil
}

var (
	finishedMark = []byte(chat.Finished)
	changeMark   = []byte(`data: {"event":"change"`)
)

// use runs a script in a new chat and waits until the feed tells of its last
// reply.
func (s *server) use(ctx context.Context, script chat.Script) (time.Duration, error) {
	id, seq, err := s.newChat(ctx)
	if err != nil {
		return 0, err
	}
	return s.run(ctx, id, seq, script)
}

func (s *server) run(ctx context.Context, id string, seq int64, script chat.Script) (time.Duration, error) {
	var finished time.Time
	ended, err := s.follow(ctx, id, seq, func(line []byte) bool {
		if bytes.Contains(line, finishedMark) && bytes.HasPrefix(line, changeMark) {
			finished = time.Now()
			return false
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := s.send(ctx, id, script.String()); err != nil {
		return 0, err
	}
	select {
	case err := <-ended:
		return finished.Sub(began), err
	case <-ctx.Done():
		return 0, fmt.Errorf("waiting for chat %s: %w", id, ctx.Err())
	}
}
