// The Glob tool: files by name, the newest first.

package files

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed glob.md
var globDescription string

const globSchema = `{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"}},"required":["pattern"],"additionalProperties":false}`

const globResults = 200

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

func globTool() tool.Tool {
	return tool.Tool{
		Name:        "Glob",
		Description: strings.TrimSpace(globDescription),
		Schema:      json.RawMessage(globSchema),
		Class:       tool.Reads,
		Plan:        planGlob,
		Run:         runGlob,
	}
}

func planGlob(_ context.Context, env tool.Env, input json.RawMessage) (tool.Action, error) {
	return planReading(env, input, func(f *folder, in globInput) (string, string, error) {
		start, pattern, err := globStart(f, in)
		return start, fmt.Sprintf("Find files that match %q in %s", pattern, shown(start)), err
	})
}

func runGlob(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
	in, err := decode[globInput](input)
	if err != nil {
		return tool.Result{}, err
	}
	f, err := openFolder(env)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.close()
	return glob(ctx, &walker{f: f, limit: walkEntries}, in)
}

type globHit struct {
	name    string
	changed time.Time
}

func glob(ctx context.Context, w *walker, in globInput) (tool.Result, error) {
	start, pattern, err := globStart(w.f, in)
	if err != nil {
		return tool.Result{}, err
	}
	var hits []globHit
	err = w.walk(ctx, start, func(name string, link bool) error {
		if !doublestar.MatchUnvalidated(pattern, relative(start, name)) {
			return nil
		}
		// A link that leads nowhere, outside or to a folder is no file.
		if _, info, err := w.f.stat(name); err == nil && info.Mode().IsRegular() {
			hits = append(hits, globHit{name, info.ModTime()})
		}
		return nil
	})
	if err != nil {
		return tool.Result{}, fmt.Errorf("searching for %q: %w", in.Pattern, err)
	}
	if len(hits) == 0 {
		return tool.Text(fmt.Sprintf("No file matches %q.%s\n%s", in.Pattern, globHint(in.Pattern), w.note())), nil
	}
	slices.SortFunc(hits, func(a, b globHit) int {
		return cmp.Or(b.changed.Compare(a.changed), strings.Compare(a.name, b.name))
	})
	var b strings.Builder
	for i, hit := range hits {
		if i == globResults || b.Len() > maxOutput {
			fmt.Fprintf(&b, "[and %d more, older ones]\n", len(hits)-i)
			break
		}
		b.WriteString(shown(hit.name) + "\n")
	}
	return tool.Text(b.String() + w.note()), nil
}

// globStart finds the folder where the walk begins and the pattern relative
// to it. Folders that the pattern names without wildcards are gone into, so
// that the walk is spared the rest, and like a path they may be ignored ones.
func globStart(f *folder, in globInput) (start, pattern string, err error) {
	if err := checkPattern(in.Pattern); err != nil {
		return "", "", err
	}
	base, pattern := doublestar.SplitPattern(filepath.ToSlash(in.Pattern))
	at := orHere(in.Path)
	if filepath.IsAbs(in.Pattern) {
		at = base
	} else if base != "." {
		at += "/" + base
	}
	if pattern == "" {
		return "", "", fmt.Errorf("%q ends in a slash: add * or **", in.Pattern)
	}
	if slices.Contains(strings.Split(pattern, "/"), "..") {
		return "", "", fmt.Errorf("%q goes up by .. after a wildcard: name the folder in path", in.Pattern)
	}
	start, info, err := f.locate(at)
	if err != nil {
		return "", "", err
	}
	if !info.IsDir() {
		return "", "", fmt.Errorf("%s is %s, not a folder", shown(start), kindOf(info.Mode()))
	}
	return start, strings.TrimPrefix(pattern, "./"), nil
}

func globHint(pattern string) string {
	if !strings.Contains(pattern, "/") {
		return fmt.Sprintf(" To look in all folders below, use %q.", "**/"+pattern)
	}
	return " Ignored files are left out."
}
