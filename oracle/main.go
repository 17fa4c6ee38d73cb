// Command oracle has the vendors' official SDKs read the fixtures of Cadre's
// own clients and writes down what they read: testdata/FIXTURE.golden.json,
// which the clients' tests compare with.
//
// It is a module of its own, as the SDKs are large and no part of Cadre. Run it
// in this folder, with the names of fixtures to read only those:
//
//	go run .
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// formats are the wire formats, by the folder of their client.
var formats = map[string]format{
	"anthropic":       {read: readAnthropic},
	"gemini":          {read: readGemini},
	"openaichat":      {read: readChat, skip: chatSkips},
	"openairesponses": {read: readResponses},
}

// format is how an SDK reads fixtures of a wire format.
type format struct {
	// read has the SDK call the server at url, which answers with the fixture.
	read func(ctx context.Context, url string, stream bool) (*golden, error)
	// skip says of fixtures why the SDK cannot judge them.
	skip map[string]string
}

// golden is what is written. The reader of these files is package wiretest.
type golden struct {
	Model    string `json:"model"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`
	Calls    []call `json:"calls"`
	Stop     string `json:"stop"`
	Usage    usage  `json:"usage"`
}

type call struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// usage has Cadre's fields: input without what was cached, output with
// reasoning.
type usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
}

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// run writes the golden files of all fixtures, or of those named in only, and
// says so to out.
func run(ctx context.Context, out io.Writer, only []string) error {
	root := filepath.Join("..", "internal", "llm")
	var failed []error
	for _, name := range []string{"anthropic", "gemini", "openaichat", "openairesponses"} {
		fixtures, err := filepath.Glob(filepath.Join(root, name, "testdata", "*.*"))
		if err != nil {
			return fmt.Errorf("looking for fixtures of %s: %w", name, err)
		}
		for _, path := range fixtures {
			fixture := filepath.Base(path)
			isStream := strings.HasSuffix(fixture, ".sse")
			isWhole := strings.HasSuffix(fixture, ".json") && !strings.HasSuffix(fixture, ".golden.json")
			if !isStream && !isWhole || len(only) > 0 && !slices.Contains(only, fixture) {
				continue
			}
			if why, ok := formats[name].skip[fixture]; ok {
				fmt.Fprintf(out, "%s/%s: skipped: %s\n", name, fixture, why)
				continue
			}
			if err := write(ctx, formats[name], path, isStream); err != nil {
				failed = append(failed, fmt.Errorf("%s/%s: %w", name, fixture, err))
				continue
			}
			fmt.Fprintf(out, "%s/%s: written\n", name, fixture)
		}
	}
	return errors.Join(failed...)
}

// write reads a fixture and writes its golden file.
func write(ctx context.Context, f format, path string, stream bool) error {
	body, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the fixture: %w", err)
	}
	contentType := "application/json"
	if stream {
		contentType = "text/event-stream; charset=utf-8"
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	}))
	defer srv.Close()
	g, err := f.read(ctx, srv.URL, stream)
	if err != nil {
		return err
	}
	if g.Calls == nil {
		g.Calls = []call{}
	}
	for i, c := range g.Calls {
		if len(c.Input) == 0 {
			g.Calls[i].Input = json.RawMessage("{}")
		}
	}
	out, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding what was read: %w", err)
	}
	if err := os.WriteFile(path+".golden.json", append(out, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the golden file: %w", err)
	}
	return nil
}
