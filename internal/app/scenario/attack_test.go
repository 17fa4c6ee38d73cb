// Attacks: what an agent that was talked into mischief tries to get done by
// those below it.

package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attacker is a role that may do nothing but delegate to reader, who may only
// read, at two depths.
func attacker() map[string]string {
	return map[string]string{
		".cadre/agents/boss.md":   "---\nname: boss\ndescription: d\ntools: []\ndelegates: [reader, blind]\n---\nYou are the boss.\n",
		".cadre/agents/reader.md": "---\nname: reader\ndescription: d\ntools: [Read, LS]\ndelegates: [reader, blind]\n---\nYou read.\n",
		".cadre/agents/blind.md":  "---\nname: blind\ndescription: d\ntools: []\n---\nYou see nothing.\n",
		"a.txt":                   "the text of a\n",
	}
}

// TestAttackAcceptance: a command that nobody in the subtree could run is not
// run as an acceptance command either.
func TestAttackAcceptance(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Role: "boss", Shell: true, Files: attacker(), Script: `
agents:
  - match: {role: boss}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: reader, task: one, acceptance: "touch by-boss.txt"}}]
      - calls: [{tool: delegate_to_agent, input: {role: reader, task: one}}]
      - text: done
  - match: {role: reader}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: blind, task: two, acceptance: "touch by-reader.txt"}}]
      - text: done
  - match: {}
    turns: [{text: done}]
`})
	w.say("go")
	w.end()
	if w.file("by-boss.txt")+w.file("by-reader.txt") != "" || len(w.tree()) != 2 {
		t.Errorf("a command was run\n%s", w.transcript())
	}
	if _, err := os.Stat(filepath.Join(w.dir, "by-boss.txt")); err == nil {
		t.Error("boss ran a command")
	}
	if _, err := os.Stat(filepath.Join(w.dir, "by-reader.txt")); err == nil {
		t.Error("reader ran a command")
	}
	w.wants("failure of delegate_to_agent", "acceptance", "failure of delegate_to_agent", "acceptance")
}

// TestAttackFolder: a link that leads out of the working folder is no working
// folder.
func TestAttackFolder(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("CANARY"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := begin(t, setup{Files: map[string]string{"sub/here.txt": "inside\n"}, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: spawn_agents, input: {tasks: [{task: out, cwd: link}]}}]
      - calls: [{tool: spawn_agents, input: {tasks: [{task: out, cwd: sub/../link}]}}]
      - calls: [{tool: spawn_agents, input: {tasks: [{task: out, cwd: nowhere}]}}]
      - calls: [{tool: spawn_agents, input: {tasks: [{task: out, cwd: README.md}]}}]
      - calls: [{tool: spawn_agents, input: {tasks: [{task: in, cwd: inner}]}}]
      - text: done
  - match: {task: out}
    turns:
      - calls: [{tool: Read, input: {path: secret.txt}}]
      - text: "{{last_result}}"
  - match: {task: in}
    turns:
      - calls: [{tool: Read, input: {path: here.txt}}]
      - text: "{{last_result}}"
`})
	for name, to := range map[string]string{"link": outside, "inner": "sub"} {
		if err := os.Symlink(to, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.say("go")
	w.end()
	if text := w.transcript(); strings.Contains(text, "CANARY") || strings.Count(text, "failure of spawn_agents") != 4 || len(w.tree()) != 2 {
		t.Errorf("it got out\n%s", text)
	}
	w.wants("result of Read: 1\tinside")
}

// TestAttackSwappedFolder: a folder that is replaced by a link while an agent
// works in it is no working folder any more, for those below it as well.
func TestAttackSwappedFolder(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("CANARY"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &gates{}
	w := begin(t, setup{Tools: tools(g.tool()), Files: map[string]string{"sub/here.txt": "inside\n"}, Script: `
agents:
  - match: {role: main}
    turns:
      - calls: [{tool: spawn_agents, input: {tasks: [{task: one, cwd: sub}]}}]
      - text: done
  - match: {task: one}
    turns:
      - calls: [{tool: Read, input: {path: here.txt}}]
      - calls: [{tool: spawn_agents, input: {tasks: [{task: two}]}}]
      - text: done
  - match: {task: two}
    turns:
      - calls: [{tool: Read, input: {path: here.txt}}]
      - calls: [{tool: mcp__test__hold, input: {name: swap}}]
      - calls: [{tool: Read, input: {path: secret.txt}}, {tool: Write, input: {file_path: new.txt, content: x}}]
      - text: done
`})
	w.say("go")
	w.until("two holds", func() bool { return strings.Contains(w.history("k.1.1"), "call mcp__test__hold") })
	if err := os.RemoveAll(filepath.Join(w.dir, "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(w.dir, "sub")); err != nil {
		t.Fatal(err)
	}
	g.let("swap")
	w.end()
	w.wants("== main/general (k.1)", "result of Read: 1\tinside", "== main/general/general-2 (k.1.1)", "result of Read: 1\tinside",
		"failure of Read", "a link has taken its place", "failure of Write")
	if _, err := os.Stat(filepath.Join(outside, "new.txt")); err == nil || strings.Contains(w.transcript(), "CANARY") {
		t.Errorf("it got out\n%s", w.transcript())
	}
}

// TestAttackContext: an agent that may neither read nor have others read does
// not get at files by naming them as context.
func TestAttackContext(t *testing.T) {
	t.Parallel()
	files := attacker()
	files[".cadre/agents/boss.md"] = "---\nname: boss\ndescription: d\ntools: []\ndelegates: [blind]\n---\nYou are the boss.\n"
	w := begin(t, setup{Role: "boss", Files: files, Script: `
agents:
  - match: {role: boss}
    turns:
      - calls: [{tool: delegate_to_agent, input: {role: blind, task: one, context: selective, context_files: [a.txt]}}]
      - text: done
  - match: {}
    turns: [{text: done}]
`})
	w.say("go")
	w.end()
	if strings.Contains(w.transcript(), "the text of a") {
		t.Errorf("it was read\n%s", w.transcript())
	}
}

// TestAttackSchema: a schema does not make us read files.
func TestAttackSchema(t *testing.T) {
	t.Parallel()
	w := begin(t, setup{Script: delegated(`output_schema: {$ref: "file:///etc/hostname"}`, "      - text: done\n")})
	w.say("go")
	w.end()
	w.wants("failure of delegate_to_agent")
	if n := len(w.tree()); n != 1 {
		t.Errorf("there are %d agents", n)
	}
}
