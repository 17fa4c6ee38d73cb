// Package cadre_test keeps the documents of the repository true.
package cadre_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are checked; one that does not exist is passed over.
var documents = []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}

var (
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	repoPath   = regexp.MustCompile(`^(internal|cmd|web|bench|docs|deploy)/\S*$`)
	makeCall   = regexp.MustCompile(`^\$?\s*make\s+([a-z][a-z0-9-]*)`)
	makeTarget = regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`)
)

// TestNamedPathsExist checks the paths that stand in backticks. A path may be
// a pattern, such as internal/agent/*.go.
func TestNamedPathsExist(t *testing.T) {
	for name, text := range readDocuments(t) {
		for _, path := range namedPaths(text) {
			found, err := filepath.Glob(filepath.FromSlash(path))
			if err != nil {
				t.Errorf("%s names `%s`: %v", name, path, err)
			} else if len(found) == 0 {
				t.Errorf("%s names `%s`, which does not exist", name, path)
			}
		}
	}
}

// TestNamedTargetsExist checks the make targets that stand in backticks or at
// the start of a line of a code block.
func TestNamedTargetsExist(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	for name, text := range readDocuments(t) {
		for _, target := range namedTargets(text) {
			if !targets[target] {
				t.Errorf("%s names `make %s`, which the Makefile does not have", name, target)
			}
		}
	}
}

// TestNamesAreFound keeps the two tests above from passing by finding nothing.
func TestNamesAreFound(t *testing.T) {
	text := "Make sure to make good use of `internal/agent` and `cmd/cadre/...`,\n" +
		"with `make test`, not `go test ./internal/engine`.\n" +
		"```\nmake run  # demo\n$ make lint\n    make no difference: internal/x\n```\nmake nothing\n"
	if got, want := strings.Join(namedPaths(text), " "), "internal/agent cmd/cadre"; got != want {
		t.Errorf("paths: got %q, want %q", got, want)
	}
	if got, want := strings.Join(namedTargets(text), " "), "test run lint no"; got != want {
		t.Errorf("targets: got %q, want %q", got, want)
	}
}

func readDocuments(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range documents {
		b, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(b)
	}
	return texts
}

func namedPaths(text string) []string {
	var paths []string
	prose, _ := split(text)
	for _, m := range codeSpan.FindAllStringSubmatch(prose, -1) {
		if repoPath.MatchString(m[1]) {
			paths = append(paths, strings.TrimSuffix(m[1], "/..."))
		}
	}
	return paths
}

func namedTargets(text string) []string {
	prose, blocks := split(text)
	var calls []string
	for _, m := range codeSpan.FindAllStringSubmatch(prose, -1) {
		calls = append(calls, m[1])
	}
	calls = append(calls, strings.Split(blocks, "\n")...)
	var targets []string
	for _, call := range calls {
		if m := makeCall.FindStringSubmatch(strings.TrimSpace(call)); m != nil {
			targets = append(targets, m[1])
		}
	}
	return targets
}

// split parts a Markdown text into its prose and its fenced code blocks.
func split(text string) (prose, blocks string) {
	for i, piece := range strings.Split("\n"+text, "\n```") {
		if i%2 == 0 {
			prose += piece
		} else {
			blocks += piece + "\n"
		}
	}
	return prose, blocks
}
