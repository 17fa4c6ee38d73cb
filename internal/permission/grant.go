// Grants: what persons have answered to approvals, and what an answer for more
// than once would allow.

package permission

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

// Scope says how far an answer reaches. None reaches beyond its chat.
type Scope string

// The scopes of a grant.
const (
	Once    Scope = "once"    // this action, as it was shown
	Agent   Scope = "agent"   // this agent
	Role    Scope = "role"    // the agents of this role in the chat
	Subtree Scope = "subtree" // this agent and all below it
	Chat    Scope = "chat"    // all agents of the chat
)

// ParseScope reads the name of a scope.
func ParseScope(text string) (Scope, error) {
	s := Scope(strings.ToLower(strings.TrimSpace(text)))
	if !slices.Contains([]Scope{Once, Agent, Role, Subtree, Chat}, s) {
		return "", fmt.Errorf("there is no scope %q: it is once, agent, role, subtree or chat", text)
	}
	return s, nil
}

// Grant is a permission that a person has given. Request.Grants makes them.
type Grant struct {
	Scope Scope  `json:"scope"`
	Agent string `json:"agent"` // who asked
	Role  string `json:"role,omitempty"`
	Chat  string `json:"chat"`
	Rule  Rule   `json:"rule"`           // what it allows; nothing for Once
	Hash  string `json:"hash,omitempty"` // for Once: of the action that was shown
	Item  string `json:"item,omitempty"` // the inbox item it answered
	By    string `json:"by,omitempty"`   // who answered
}

// Grants are what the answer "allowed" to this request gives, in this scope.
func (r Request) Grants(scope Scope, item, by string) []Grant {
	g := Grant{Scope: scope, Agent: r.Agent, Role: r.Role, Chat: r.Chat, Item: item, By: by}
	if scope == Once {
		g.Hash = Hash(r.Tool, r.Action)
		return []Grant{g}
	}
	var grants []Grant
	for _, rule := range r.Proposal() {
		g.Rule = rule
		grants = append(grants, g)
	}
	return grants
}

func (g Grant) reaches(req Request) bool {
	switch g.Scope {
	case Once:
		return g.Agent == req.Agent && g.Hash != "" && g.Hash == Hash(req.Tool, req.Action)
	case Agent:
		return g.Agent != "" && g.Agent == req.Agent
	case Role:
		return g.Chat != "" && g.Chat == req.Chat && g.Role != "" && strings.EqualFold(g.Role, req.Role)
	case Subtree:
		return g.Agent != "" && (g.Agent == req.Agent || strings.HasPrefix(req.Agent, g.Agent+"."))
	case Chat:
		return g.Chat != "" && g.Chat == req.Chat
	}
	return false
}

func (g Grant) origin() string {
	text := "grant"
	if g.Item != "" {
		text += " " + g.Item
	}
	if g.By != "" {
		text += " by " + g.By
	}
	if g.Scope == Once {
		return text + ", once"
	}
	return text + " for " + string(g.Scope)
}

// applicable are the grants that reach the request; if exact, only those for
// this very action.
func applicable(grants []Grant, req Request, exact bool) []permit {
	var permits []permit
	for _, g := range grants {
		if !g.reaches(req) || exact && g.Scope != Once && !strings.HasPrefix(g.Rule.Command, exactly) {
			continue
		}
		permits = append(permits, permit{rule: g.Rule, hash: g.Hash, by: g.origin()})
	}
	return permits
}

// Proposal is what an answer for more than this once would allow: enough for
// this action and others of its kind, and no more than a person would expect
// from having seen this one.
//
//   - a command: each simple command by its first words (go test *), or the
//     exact line if part of it is dangerous or cannot be told
//   - a change of a file: the files of its folder; at the top only this file
//   - a file that is read: this file
//   - an address: its host
//   - anything else: the tool
//
// There is none for a command without its line that is dangerous.
func (r Request) Proposal() []Rule {
	a := r.Action
	seen := look(a)
	var rules []Rule
	switch {
	case seen.command:
		for _, pattern := range commandProposal(a, seen) {
			rules = append(rules, Rule{Effect: Allow, Tool: r.Tool, Command: pattern})
		}
	case len(a.Paths) > 0:
		for _, name := range a.Paths {
			rules = append(rules, Rule{Effect: Allow, Tool: r.Tool, Path: pathProposal(a.Class, name)})
		}
	default:
		rules = []Rule{{Effect: Allow, Tool: r.Tool}}
	}
	if len(a.Hosts) > 0 {
		var each []Rule
		for _, rule := range rules {
			for _, host := range a.Hosts {
				rule.Host = strings.ToLower(strings.TrimSuffix(host, "."))
				each = append(each, rule)
			}
		}
		rules = each
	}
	var unique []Rule
	for _, rule := range rules {
		if !slices.Contains(unique, rule) {
			unique = append(unique, rule)
		}
	}
	return unique
}

func pathProposal(class tool.Class, name string) string {
	escape := func(s string) string { return globMeta.ReplaceAllString(s, `\$0`) }
	folder := path.Dir(name)
	protected := slices.ContainsFunc(builtInRules(), func(r Rule) bool { return pathHits(r.Path, name) })
	switch {
	case class == tool.Reads || protected || folder == ".":
		return "./" + escape(name)
	default:
		return escape(folder) + "/**"
	}
}

var (
	globMeta   = regexp.MustCompile(`[*?\[\]{}\\]`)
	subcommand = regexp.MustCompile(`^[a-z][a-z0-9:_-]*$`)
	program    = regexp.MustCompile(`^(\./)?[A-Za-z0-9_][A-Za-z0-9_.+/-]*$`)
)

func commandProposal(a tool.Action, seen sight) []string {
	var exact []string
	if a.Command != "" {
		exact = []string{exactly + a.Command}
	}
	if !seen.simple || a.Unconfined || seen.secret() {
		return exact
	}
	var patterns []string
	for _, c := range seen.calls {
		pattern, ok := kindOf(c)
		if !ok || checkCommand(pattern) != nil {
			return exact
		}
		patterns = append(patterns, pattern)
	}
	return patterns
}

// secret tells whether a command names what a built-in rule protects: having
// allowed cat .env says nothing about cat id_rsa.
func (s sight) secret() bool {
	return slices.ContainsFunc(builtInRules(), func(r Rule) bool {
		return slices.ContainsFunc(s.mentions, func(w word) bool { return mentionHits(r.Path, w) != no })
	})
}

// kindOf is a pattern for commands of the same kind, if there is a harmless
// one.
func kindOf(c call) (string, bool) {
	if c.name != 0 || !c.words[0].plain || !program.MatchString(c.words[0].text) || c.runsOthers() {
		return "", false
	}
	name := c.words[0].text
	second, third := "", ""
	if len(c.words) > 1 && c.words[1].plain && subcommand.MatchString(c.words[1].text) {
		second = c.words[1].text
		if len(c.words) > 2 && c.words[2].plain && subcommand.MatchString(c.words[2].text) {
			third = c.words[2].text
		}
	}
	switch name {
	case "ls", "cat", "head", "tail", "wc", "grep", "rg", "diff", "cmp", "file", "stat", "du", "tree", "echo", "printf",
		"pwd", "cd", "mkdir", "touch", "sort", "uniq", "cut", "tr", "nl", "true", "false", "test", "which", "date",
		"basename", "dirname", "realpath", "jq", "gofmt", "gofumpt", "pytest", "eslint", "prettier", "tsc", "mypy", "ruff":
		return name + " *", true
	}
	if second == "" || dangerous(name, second) {
		return "", false
	}
	if second == "run" { // npm run build: run alone says nothing
		isScript := slices.Contains([]string{"npm", "yarn", "pnpm"}, name) && third != ""
		return name + " run " + third + " *", isScript
	}
	return name + " " + second + " *", true
}

// dangerous lists commands of which one approval says nothing about the next:
// they destroy, reach out, raise rights, or run whatever they are given.
func dangerous(name, second string) bool {
	switch path.Base(name) {
	case "rm", "rmdir", "shred", "dd", "mkfs", "mv", "cp", "ln", "install", "chmod", "chown", "truncate", "tee",
		"kill", "pkill", "killall", "reboot", "shutdown", "systemctl", "service", "mount", "umount", "crontab", "at",
		"curl", "wget", "nc", "ncat", "socat", "scp", "sftp", "rsync", "telnet", "ftp", "gh", "glab", "aws", "gcloud", "az",
		"docker", "podman", "kubectl", "helm", "terraform", "ansible", "vagrant", "apt", "apt-get", "yum", "dnf", "brew", "pacman", "snap",
		"python", "python3", "node", "deno", "bun", "perl", "ruby", "php", "lua", "awk", "gawk", "sed", "ed", "vim", "emacs",
		"npx", "pnpx", "bunx", "uvx", "pipx", "pip", "pip3", "gem", "osascript", "psql", "mysql", "sqlite3", "redis-cli", "gdb", "set", "unset":
		return true
	case "git":
		return !slices.Contains([]string{"status", "log", "diff", "show", "add", "commit", "blame", "describe", "ls-files", "rev-parse"}, second)
	case "go":
		return !slices.Contains([]string{"test", "build", "vet", "fmt", "list", "doc", "version"}, second)
	case "npm", "yarn", "pnpm", "cargo", "poetry", "uv", "composer", "bundle", "mvn", "gradle", "dotnet":
		return slices.Contains([]string{"install", "i", "add", "ci", "publish", "exec", "x", "dlx", "config", "login", "unpublish", "link", "create", "init", "update", "remove", "uninstall", "deploy", "release", "push", "nuget"}, second)
	}
	return false
}
