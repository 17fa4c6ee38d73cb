// The ledger: which agent has seen which file in which version, and who wrote
// it last. By it an edit of a file that has changed since is refused, and two
// agents that write the same file are told.

package tool

import "sync"

// Ledger is kept in memory: after a restart an agent has seen nothing, and has
// to read a file again before it may edit it. Files are named by absolute
// path, versions by a hash of the content. The methods of a nil Ledger do
// nothing and know nothing.
type Ledger struct {
	mu    sync.Mutex
	seen  map[string]map[string]string // agent, file: version
	wrote map[string]map[string]Writer // chat, file: the last one
}

// Writer is who wrote a file last.
type Writer struct {
	Agent   string
	Path    string // the agent's place in the tree, in names
	Version string // empty: the file was deleted
}

// NewLedger makes an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{seen: map[string]map[string]string{}, wrote: map[string]map[string]Writer{}}
}

// Saw notes that the agent knows the file in this version.
func (l *Ledger) Saw(env Env, file, version string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saw(env.Agent, file, version)
}

func (l *Ledger) saw(agent, file, version string) {
	if l.seen[agent] == nil {
		l.seen[agent] = map[string]string{}
	}
	l.seen[agent][file] = version
}

// Seen returns the version of the file that the agent knows.
func (l *Ledger) Seen(env Env, file string) (version string, ok bool) {
	if l == nil {
		return "", false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	version, ok = l.seen[env.Agent][file]
	return version, ok
}

// Wrote notes that the agent wrote the file (or, with an empty version,
// deleted it), and returns who of the same chat had written it before.
func (l *Ledger) Wrote(env Env, file, version string) (before Writer, ok bool) {
	if l == nil {
		return Writer{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saw(env.Agent, file, version)
	before, ok = l.wrote[env.Chat][file]
	if l.wrote[env.Chat] == nil {
		l.wrote[env.Chat] = map[string]Writer{}
	}
	l.wrote[env.Chat][file] = Writer{Agent: env.Agent, Path: env.Path, Version: version}
	return before, ok
}

// LastWriter returns who of the chat wrote the file last.
func (l *Ledger) LastWriter(env Env, file string) (Writer, bool) {
	if l == nil {
		return Writer{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok := l.wrote[env.Chat][file]
	return w, ok
}

// Forget drops what an agent that has ended had seen.
func (l *Ledger) Forget(agent string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, agent)
}

// ForgetChat drops what is known of a chat's files.
func (l *Ledger) ForgetChat(chat string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.wrote, chat)
}
