// The LS tool: the entries of one folder.

package files

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed ls.md
var lsDescription string

const lsSchema = `{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`

const (
	lsEntries = 1000    // shown
	lsCounted = 100_000 // read, to be sorted and counted
)

type lsInput struct {
	Path string `json:"path"`
}

func lsTool() tool.Tool {
	return tool.Tool{
		Name:        "LS",
		Description: strings.TrimSpace(lsDescription),
		Schema:      json.RawMessage(lsSchema),
		Class:       tool.Reads,
		Quick:       true,
		Plan:        planLS,
		Run:         runLS,
	}
}

func planLS(_ context.Context, env tool.Env, input json.RawMessage) (tool.Action, error) {
	return planReading(env, input, func(f *folder, in lsInput) (string, string, error) {
		name, err := f.name(orHere(in.Path))
		return name, "List " + shown(name), err
	})
}

func runLS(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
	in, err := decode[lsInput](input)
	if err != nil {
		return tool.Result{}, err
	}
	f, err := openFolder(env)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.close()
	return listing(ctx, f, orHere(in.Path), lsCounted)
}

// orHere makes the working folder of a path that was not given.
func orHere(p string) string {
	if p == "" {
		return "."
	}
	return p
}

func listing(ctx context.Context, f *folder, p string, counted int) (tool.Result, error) {
	name, info, err := f.locate(p)
	if err != nil {
		return tool.Result{}, err
	}
	if !info.IsDir() {
		return tool.Result{}, fmt.Errorf("%s is %s, not a folder", shown(name), kindOf(info.Mode()))
	}
	entries, more, err := f.list(name, counted)
	if err != nil {
		return tool.Result{}, f.explain(name, err)
	}
	if len(entries) == 0 {
		return tool.Text(shown(name) + " is an empty folder."), nil
	}
	var b strings.Builder
	for i, e := range entries {
		if err := ctx.Err(); err != nil {
			return tool.Result{}, fmt.Errorf("listing %s: %w", shown(name), err)
		}
		if i == lsEntries || b.Len() > maxOutput {
			least := ""
			if more {
				least = "at least "
			}
			fmt.Fprintf(&b, "[and %s%d more]\n", least, len(entries)-i)
			break
		}
		b.WriteString(f.entryLine(path.Join(name, e.Name()), e) + "\n")
	}
	return tool.Text(b.String()), nil
}

// entryLine shows one entry. Its size comes from os.Root and not from the
// entry, which would look it up by its path.
func (f *folder) entryLine(name string, e fs.DirEntry) string {
	line := shown(e.Name())
	switch mode := e.Type(); {
	case mode.IsDir():
		return line + "/"
	case mode&fs.ModeSymlink != 0:
		target, err := f.root.Readlink(name)
		if err != nil {
			return line + " (a link)"
		}
		return line + " -> " + shown(target)
	case !mode.IsRegular():
		return fmt.Sprintf("%s (%s)", line, kindOf(mode))
	}
	info, err := f.root.Lstat(name)
	if err != nil { // gone since it was listed
		return line
	}
	return fmt.Sprintf("%s (%s)", line, bytesText(info.Size()))
}
