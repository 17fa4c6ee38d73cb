// Tests of tools as a person who runs the command meets them.

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configured gives the folder a configuration file and a script of a model.
func (f *folder) configured(config, script string) (model string) {
	f.t.Helper()
	home := f.t.TempDir()
	file := filepath.Join(home, "cadre", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		f.t.Fatal(err)
	}
	said := filepath.Join(home, "script.yaml")
	if err := os.WriteFile(said, []byte(script), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.env = append(f.env, "XDG_CONFIG_HOME="+home)
	return "scripted:" + said
}

// TestUnconfinedIsToldOnce: where nothing confines commands, the person is told
// so once, and asked for every command, whatever is allowed.
func TestUnconfinedIsToldOnce(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	model := f.configured("sandbox:\n  off: true\npermissions:\n  allow: [Bash]\n", `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: Bash, input: {command: ls}}]
      - calls: [{tool: Bash, input: {command: pwd}}]
      - text: "It says: {{last_result}}"
`)
	r := f.run(0, "run", "--model", model, "--permissions", "trusted", "look")
	if n := strings.Count(r.errs, "WARNING: the sandbox is turned off, so every command asks first"); n != 1 {
		t.Errorf("it was told %d times:\n%s", n, r.errs)
	}
	if n := strings.Count(r.errs, "needs an approval"); n != 2 {
		t.Errorf("%d approvals were asked for:\n%s", n, r.errs)
	}
}
