// The last words of a server, and the words that nobody may read.

package mcp

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/config"
)

const (
	maxTail     = 8 << 10 // bytes kept
	maxLogged   = 200     // lines logged of one run of a server
	minSecret   = 6       // shorter values are too common to be hidden
	redactedOut = "[redacted]"
)

// tail keeps the end of what is written to it and hands each line on, as long
// as there are not too many.
type tail struct {
	line func(text string, last bool) // last: no further one will come

	mu     sync.Mutex
	kept   []byte
	open   []byte // the line that has not ended yet
	logged int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = lastBytes(append(t.kept, lastBytes(p)...))
	t.open = append(t.open, p...)
	for t.logged < maxLogged {
		line, rest, ok := bytes.Cut(t.open, []byte("\n"))
		if !ok {
			break
		}
		t.open = rest
		t.logged++
		t.line(strings.TrimSpace(string(lastBytes(line))), t.logged == maxLogged)
	}
	t.open = slices.Clone(lastBytes(t.open))
	return len(p), nil
}

func lastBytes(b []byte) []byte { return b[max(0, len(b)-maxTail):] }

// String returns what is kept. It begins with a whole line: half a secret would
// not be recognised as one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept
	if _, rest, ok := bytes.Cut(kept, []byte("\n")); ok && len(kept) == maxTail {
		kept = rest
	}
	return strings.ToValidUTF8(string(kept), "")
}

// lastLine returns the last line that is not empty.
func (t *tail) lastLine() string {
	lines := strings.Split(strings.TrimSpace(t.String()), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// redactor hides the secrets of a configuration in texts: what came from the
// environment, and the values of headers and of the server's environment other
// than paths.
func redactor(c ServerConfig) *strings.Replacer {
	secrets := slices.Clone(c.secrets)
	for _, values := range []map[string]config.Secret{c.Headers, c.Env} {
		for _, secret := range values {
			value := secret.Reveal()
			if filepath.IsAbs(value) {
				continue
			}
			secrets = append(secrets, value)
			if _, token, ok := strings.Cut(value, " "); ok { // Bearer …
				secrets = append(secrets, token)
			}
		}
	}
	if c.URL != "" {
		if _, query, ok := strings.Cut(c.URL, "?"); ok {
			secrets = append(secrets, query)
		}
		if _, rest, ok := strings.Cut(c.URL, "://"); ok {
			if user, _, ok := strings.Cut(rest, "@"); ok {
				secrets = append(secrets, user)
			}
		}
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return len(s) < minSecret })
	// The longest first, so that no part of one is left.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, redactedOut)
	}
	return strings.NewReplacer(pairs...)
}
