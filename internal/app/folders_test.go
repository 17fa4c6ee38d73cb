// Chats in several folders: what one project may do is no leave for another.

package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// put writes files below a folder.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const someRole = "---\nname: %NAME%\ndescription: does it\n---\nDo it.\n"

func TestChatsInOtherFolders(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mine, theirs := filepath.Join(root, "mine"), filepath.Join(root, "theirs")
	const servers = `{"mcpServers": {"SERVER": {"url": "http://127.0.0.1:9/mcp"}}}`
	put(t, root, map[string]string{
		"home/cadre/config.yaml":         "trust: [" + mine + "]\n",
		"mine/.cadre/config.yaml":        "permissions: {mode: trusted, allow: [Bash]}\n",
		"mine/.cadre/agents/ours.md":     strings.ReplaceAll(someRole, "%NAME%", "ours"),
		"mine/.mcp.json":                 strings.ReplaceAll(servers, "SERVER", "ours"),
		"theirs/.cadre/config.yaml":      "permissions: {mode: trusted, allow: [Bash], deny: ['Read(private/**)']}\n",
		"theirs/.cadre/agents/theirs.md": strings.ReplaceAll(someRole, "%NAME%", "theirs"),
		"theirs/.mcp.json":               strings.ReplaceAll(servers, "SERVER", "theirs"),
		"plain/README.md":                "nothing\n",
	})
	a := openAt(t, root, mine)
	for dir, want := range map[string]struct {
		preset  permission.Preset
		bash    permission.Effect
		private permission.Effect
		role    string
		servers []string
	}{
		mine:                         {permission.Trusted, permission.Allow, permission.Allow, "ours", []string{"ours"}},
		theirs:                       {permission.PresetAsk, permission.Ask, permission.Deny, "theirs", nil},
		filepath.Join(root, "plain"): {permission.PresetAsk, permission.Ask, permission.Allow, "", nil},
	} {
		chat := newChat(t, a, dir, "main")
		policy := a.Performer.policyOf(t.Context(), chat)
		if got := policy.Preset; got != want.preset && (got != "" || want.preset != permission.PresetAsk) {
			t.Errorf("%s: the preset is %q, want %s", dir, got, want.preset)
		}
		bash := policy.Decide(permission.Request{Tool: "Bash", Action: tool.Action{Class: tool.Executes, Command: "make", Commands: []string{"make"}}}, nil)
		read := policy.Decide(permission.Request{Tool: "Read", Action: tool.Action{Class: tool.Reads, Paths: []string{"private/x"}}}, nil)
		if bash.Effect != want.bash || read.Effect != want.private {
			t.Errorf("%s: a command is decided by %+v, a private file by %+v", dir, bash, read)
		}
		for _, name := range []string{"ours", "theirs"} {
			if _, err := a.Performer.NewChat(orchestrate.Root{Role: name, Model: "offline", Dir: dir}); (err == nil) != (name == want.role) {
				t.Errorf("%s: the role %s: %v", dir, name, err)
			}
		}
		var have []string
		for _, s := range a.Performer.of(t.Context(), chat).tools.mcp.Status() {
			have = append(have, s.Name)
		}
		if !slices.Equal(have, want.servers) {
			t.Errorf("%s: the servers are %v, want %v", dir, have, want.servers)
		}
	}
}

// TestBrokenFolder: a folder whose configuration cannot be read gets no new
// chat, and the agents of an older one may only read there.
func TestBrokenFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "project")
	put(t, root, map[string]string{"home/cadre/config.yaml": "permissions: {mode: trusted}\n", "project/README.md": "x"})
	a := openAt(t, root, t.TempDir())
	chat := newChat(t, a, dir, "main")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{".cadre/config.yaml": "permissions: {mode: [\n"})
	a = openAt(t, root, t.TempDir())
	if _, err := a.Performer.NewChat(orchestrate.Root{Role: "main", Model: "offline", Dir: dir}); err == nil || !strings.Contains(err.Error(), "config.yaml") {
		t.Errorf("a new chat there: %v", err)
	}
	if got := a.Performer.policyOf(t.Context(), chat).Preset; got != permission.ReadOnly {
		t.Errorf("the preset of the old chat is %q", got)
	}
	put(t, dir, map[string]string{".cadre/config.yaml": "permissions: {deny: [Bash]}\n"})
	if p := a.Performer.policyOf(t.Context(), chat); p.Preset != permission.Trusted || len(p.Rules) != 1 {
		t.Errorf("once it is mended, the policy is %+v", p)
	}
}

func openAt(t *testing.T, root, dir string) *App {
	t.Helper()
	env := map[string]string{"XDG_CONFIG_HOME": filepath.Join(root, "home"), "PATH": os.Getenv("PATH")}
	a, err := Open(Options{Data: filepath.Join(root, "data"), Dir: dir, Env: func(key string) string { return env[key] }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // some tests have closed it
	return a
}

func newChat(t *testing.T, a *App, dir, role string) string {
	t.Helper()
	c, err := a.Performer.NewChat(orchestrate.Root{Role: role, Model: "offline", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c.User = store.User{ID: "ann"}
	id, err := a.Engine.CreateChat(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
