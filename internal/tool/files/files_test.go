// What the tests of this package share, and what holds for all of its tools.

package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

// tree makes a folder with files. A name that ends in / is an empty folder, a
// text that starts with "-> " a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text, strings.HasSuffix(name, "/"))
	}
	return dir
}

func put(t *testing.T, name, text string, folder bool) {
	t.Helper()
	parent := filepath.Dir(name)
	if folder {
		parent = name
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	if folder {
		return
	}
	var err error
	if target, ok := strings.CutPrefix(text, "-> "); ok {
		err = os.Symlink(target, name)
	} else {
		err = os.WriteFile(name, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var registry = sync.OnceValues(func() (*tool.Registry, error) { return tool.New(Tools()...) })

// use runs a tool as an agent would, through a registry.
func use(t *testing.T, dir, name, input string) (tool.Result, error) {
	t.Helper()
	r, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	return r.Run(t.Context(), name, tool.Env{Dir: dir}, json.RawMessage(input))
}

// text is use for an answer that must be one text.
func text(t *testing.T, dir, name, input string) string {
	t.Helper()
	res, err := use(t, dir, name, input)
	if err != nil {
		t.Fatalf("%s %s: %v", name, input, err)
	}
	if len(res.Parts) != 1 {
		t.Fatalf("%s %s: %d parts", name, input, len(res.Parts))
	}
	return message.Text(res.Parts)
}

// refusal is use for a call that must fail.
func refusal(t *testing.T, dir, name, input string) string {
	t.Helper()
	res, err := use(t, dir, name, input)
	if err == nil {
		t.Fatalf("%s %s: got %q, want an error", name, input, message.Text(res.Parts))
	}
	return err.Error()
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func contains(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not contain %q", got, want)
		}
	}
}

// object writes a JSON object of pairs of key and value.
func object(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestToolsAreSmall(t *testing.T) {
	t.Parallel()
	var reading, writing []string
	for _, tl := range Tools() {
		schema := 450
		if tl.Name == "Patch" { // it has many forms
			schema = 600
		}
		if n := len(tl.Description); n < 50 || n > 500 {
			t.Errorf("%s: the description has %d bytes", tl.Name, n)
		}
		if n := len(tl.Schema); n > schema {
			t.Errorf("%s: the schema has %d bytes", tl.Name, n)
		}
		if tl.Plan == nil {
			t.Errorf("%s has no Plan, so that no rule about paths can hold it", tl.Name)
		}
		switch tl.Class {
		case tool.Reads:
			reading = append(reading, tl.Name)
		case tool.Writes:
			writing = append(writing, tl.Name)
		case tool.Executes, tool.Network, tool.Delegates:
			t.Errorf("%s is of class %q", tl.Name, tl.Class)
		}
	}
	if want := []string{"Read", "LS", "Glob", "Grep"}; !slices.Equal(reading, want) {
		t.Errorf("tools that read: %q, want %q", reading, want)
	}
	if want := []string{"Write", "Edit", "MultiEdit", "Patch"}; !slices.Equal(writing, want) {
		t.Errorf("tools that write: %q, want %q", writing, want)
	}
}

func TestNumbersInAnyForm(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": "1\n2\n3\n"})
	for _, input := range []string{
		`{"path":"a","offset":2,"limit":1}`,
		`{"path":"a","offset":2.0,"limit":1.0}`,
		`{"path":"a","offset":2e0,"limit":1}`,
	} {
		equal(t, text(t, dir, "Read", input), "     2\t2\n[lines 2-2 of 3 shown; read on with offset 3]\n")
	}
	equal(t, text(t, dir, "Read", `{"path":"a","limit":1e300}`), "     1\t1\n     2\t2\n     3\t3\n")
	contains(t, refusal(t, dir, "Read", `{"path":"a","offset":1e300}`), "past the end: the file has 3 lines")
	contains(t, refusal(t, dir, "Read", `{"path":"a","offset":0}`), "/offset: must be at least 1")
	contains(t, refusal(t, dir, "Read", `{"path":"a","offset":1.5}`), "/offset: must be an integer")
}

func TestWorkingFolderMustBeUsable(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"file": "x"})
	for _, tl := range Tools() {
		for _, bad := range []string{"", "relative", filepath.Join(dir, "none"), filepath.Join(dir, "file")} {
			_, err := tl.Run(t.Context(), tool.Env{Dir: bad}, json.RawMessage(`{"path":".","pattern":"x"}`))
			if err == nil || !strings.HasPrefix(err.Error(), "opening the working folder: ") {
				t.Errorf("%s in %q: %v", tl.Name, bad, err)
			}
		}
	}
}

// countdown is a context that ends after it was asked left times, and counts
// how often it is asked after that.
type countdown struct {
	context.Context
	left, after int
}

func (c *countdown) Err() error {
	if c.left > 0 {
		c.left--
		return nil
	}
	c.after++
	return context.Canceled
}

func TestCancel(t *testing.T) {
	t.Parallel()
	files := map[string]string{"big": strings.Repeat("some line\n", 100_000)}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f%d", i%10, i)] = "some line\n"
	}
	dir := tree(t, files)
	for _, tl := range Tools() {
		if tl.Class != tool.Reads { // see TestCancelledWrite
			continue
		}
		for _, asks := range []int{0, 1, 5} {
			input := `{"path":".","pattern":"[q]"}` // matches nothing: there is no early end
			if tl.Name == "Read" {
				input = `{"path":"big","offset":90000}`
			}
			ctx := &countdown{Context: t.Context(), left: asks}
			res, err := tl.Run(ctx, tool.Env{Dir: dir}, json.RawMessage(input))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s after %d: %v, %v", tl.Name, asks, message.Text(res.Parts), err)
			}
			if ctx.after > 3 {
				t.Errorf("%s went on: it asked %d times after the end", tl.Name, ctx.after)
			}
		}
	}
}

func TestShownAndSizes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"plain name.go":  "plain name.go",
		"grüße.txt":      "grüße.txt",
		"a\nb":           `"a\nb"`,
		"tab\t":          `"tab\t"`,
		"bad\xff":        `"bad\xff"`,
		"esc\x1b[31mred": `"esc\x1b[31mred"`,
	} {
		equal(t, shown(name), want)
	}
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1 kB", 1234: "1.2 kB", 999_949: "999.9 kB", 999_950: "1 MB",
		5_000_000: "5 MB", 7_300_000_000: "7.3 GB",
	} {
		equal(t, bytesText(n), want)
	}
}
