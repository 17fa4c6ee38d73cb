// Package files holds the tools for the files of the working folder. Read, LS,
// Glob and Grep change nothing, so that they may run in parallel and again
// after a crash. Write, Edit, MultiEdit and Patch make a draft of the files as
// they would leave them, and then put all of it in place or none.
//
// All of them reach the file system through folder, which is an os.Root: no
// path, link or race leads out of the working folder. What they answer is
// bounded, and says what was left out and how to get at it.
package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/cadre-dev/cadre/internal/tool"
)

// maxOutput bounds the text of one answer, in bytes: about 25,000 tokens.
const maxOutput = 100_000

// Tools returns the tools of this package. Those that write share a lock, so
// that of two agents that edit one file the second finds what the first did.
func Tools() []tool.Tool {
	w := &writer{}
	return []tool.Tool{
		readTool(), lsTool(), globTool(), grepTool(),
		w.writeTool(), w.editTool(), w.multiEditTool(), w.patchTool(),
	}
}

// planReading makes the plan of a tool that reads: where names the file or
// folder, and says what is done with it. For a search that is the folder it
// starts in; which files it will meet there is not known before it runs.
func planReading[T any](env tool.Env, input json.RawMessage, where func(*folder, T) (name, shown string, err error)) (tool.Action, error) {
	in, err := decode[T](input)
	if err != nil {
		return tool.Action{}, err
	}
	f, err := openFolder(env)
	if err != nil {
		return tool.Action{}, err
	}
	defer f.close()
	name, shown, err := where(f, in)
	if err != nil {
		return tool.Action{}, err
	}
	return tool.Action{Class: tool.Reads, Paths: f.spellings(name), Shown: shown}, nil
}

// decode reads an input that the registry has validated.
func decode[T any](input json.RawMessage) (T, error) {
	var in T
	if err := json.Unmarshal(input, &in); err != nil {
		return in, fmt.Errorf("reading the input: %w", err)
	}
	return in, nil
}

// count is a whole number of an input. JSON Schema calls 10.0 and 1e3 integers
// too, which encoding/json does not read into an int.
type count int

// UnmarshalJSON reads any number; what is too large for a count of lines is
// as good as the largest.
func (c *count) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // which is infinite
		return fmt.Errorf("reading a number: %w", err)
	}
	*c = count(max(math.MinInt32, min(f, math.MaxInt32)))
	return nil
}

// or returns c, or otherwise if c was not given.
func (c count) or(otherwise int) int {
	if c == 0 {
		return otherwise
	}
	return int(c)
}

// shown is how a name appears in an answer: quoted if it could be taken for
// several lines or is not readable.
func shown(name string) string {
	for _, r := range name {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return fmt.Sprintf("%q", name)
		}
	}
	return name
}

// bytesText words a size.
func bytesText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f := float64(n)
	for _, unit := range []string{"kB", "MB", "GB", "TB"} {
		f /= 1000
		if f < 999.95 {
			return strings.Replace(fmt.Sprintf("%.1f %s", f, unit), ".0 ", " ", 1)
		}
	}
	return fmt.Sprintf("%.1f PB", f/1000)
}
