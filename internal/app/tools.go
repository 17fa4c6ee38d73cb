// The tools of a process, and what keeps them in bounds: sandbox, policy,
// ledger, worktrees.

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm/schedule"
	"github.com/cadre-dev/cadre/internal/orchestrate"
	"github.com/cadre-dev/cadre/internal/permission"
	"github.com/cadre-dev/cadre/internal/role"
	"github.com/cadre-dev/cadre/internal/sandbox"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/files"
	"github.com/cadre-dev/cadre/internal/tool/mcp"
	"github.com/cadre-dev/cadre/internal/tool/note"
	"github.com/cadre-dev/cadre/internal/tool/search"
	"github.com/cadre-dev/cadre/internal/tool/shell"
	"github.com/cadre-dev/cadre/internal/tool/web"
)

// common is what the agents of all folders share.
type common struct {
	store   *sqlite.Store
	models  *models
	places  *schedule.Scheduler
	ledger  *tool.Ledger
	trees   *trees
	box     sandbox.Sandbox
	control *orchestrate.Control
}

// printedIn is where the engine keeps what running tools print.
func printedIn(data string) string { return filepath.Join(data, "printed") }

func newCommon(o Options, c *config.Config, st *sqlite.Store, m *models) *common {
	s := &common{store: st, models: m, places: scheduler(c), ledger: tool.NewLedger(), trees: &trees{root: filepath.Join(o.Data, "worktrees")}}
	// The lock is held: what is left there is of a process that was killed.
	if err := os.RemoveAll(filepath.Join(o.Data, "tmp")); err != nil {
		o.Log.Warn("old temp folders could not be removed", "err", err)
	}
	if err := os.MkdirAll(printedIn(o.Data), 0o700); err != nil { // before commands are kept from it
		o.Log.Warn("what tools print cannot be kept for the case that the process dies", "err", err)
	}
	// Where nothing confines commands, each one says so when it asks.
	s.box = sandbox.Lazy(func() sandbox.Sandbox {
		found, notes := Sandbox(context.Background(), c)
		if !found.Confines() {
			o.Log.Warn("commands are not confined", "notes", notes)
			if o.Warn != nil {
				o.Warn(strings.Join(notes, "; "))
			}
		}
		return found
	})
	s.control = orchestrate.NewControl(st, s.trees, askingOf(c))
	return s
}

// tools is what agents work with.
type tools struct {
	registry *tool.Registry
	ledger   *tool.Ledger
	policy   permission.Policy
	shell    *shell.Shell
	mcp      *mcp.Client
	others   func() []tool.Tool // all but those of the servers
	warnings []string

	stop context.CancelFunc
	work sync.WaitGroup
}

// forget drops what is kept for an agent that has ended.
func (t *tools) forget(agent string) {
	t.shell.Forget(agent)
	t.shell.Forget(agent + orchestrate.AcceptSuffix)
	t.ledger.Forget(agent)
}

func (t *tools) close() error {
	t.stop()
	t.work.Wait()
	t.shell.Close()
	return t.mcp.Close()
}

// follow keeps the registry up to date with what the servers offer: one may
// connect late, or change its list. Agents that are made from then on have
// what is new, and orchestrators when their history is next shortened.
func (t *tools) follow(ctx context.Context, log *slog.Logger) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.mcp.Changed():
		}
		sound, wrong := sound(append(t.others(), t.mcp.Tools()...))
		for _, w := range wrong {
			log.Warn("a tool cannot be used", "warning", w)
		}
		if err := t.registry.Replace(sound...); err != nil {
			log.Error("the tools of the MCP servers have changed, but those known before stay", "err", err)
		}
	}
}

// newTools makes the tools. What is wrong with one of them does not keep the
// others from working: it is told as a warning.
func newTools(ctx context.Context, o Options, c *config.Config, s *common, roles *role.Registry) (*tools, error) {
	t := &tools{ledger: s.ledger}
	ctx, t.stop = context.WithCancel(ctx)
	var err error
	if t.policy, t.warnings, err = policyOf(c, o.Mode); err != nil {
		t.stop()
		return nil, err
	}
	hide := hidden(o, c)
	t.shell = shell.New(shell.Options{Sandbox: s.box, Hide: hide, TempRoot: filepath.Join(o.Data, "tmp"), Cache: filepath.Join(o.Data, "cache"), Extra: s.trees.extra})
	servers, warnings := serversOf(o, c)
	t.warnings = append(t.warnings, warnings...)
	t.mcp = mcp.New(mcp.Options{
		Servers: servers, Dir: o.Dir, Sandbox: s.box, Hide: hide, TempRoot: filepath.Join(o.Data, "tmp"),
		Roots: roots(o.Dir), Cache: filepath.Join(o.Data, "mcp"), Log: o.Log,
	})
	if !o.Hold { // else no tool is used
		t.mcp.Start(ctx)
	}
	for _, server := range t.mcp.Status() {
		if server.Error != "" {
			t.warnings = append(t.warnings, fmt.Sprintf("the MCP server %s is not running, it is tried again: %s", server.Name, server.Error))
		}
		for _, w := range server.Warnings {
			t.warnings = append(t.warnings, fmt.Sprintf("the MCP server %s: %s", server.Name, w))
		}
	}
	web := t.webTools(o, c)
	t.others = func() []tool.Tool {
		return slices.Concat(
			files.Tools(), []tool.Tool{files.ReadImage(), orchestrate.ArtifactTool(s.store), search.Keyword(search.Options{Rank: ranking(s.models)})},
			note.Tools(), t.shell.Tools(), orchestrate.Tools(), orchestrate.RoleTools(roles), s.control.Tools(), web, o.Tools,
		)
	}
	usable, wrong := sound(append(t.others(), t.mcp.Tools()...))
	t.warnings = append(t.warnings, wrong...)
	if t.registry, err = tool.New(usable...); err != nil {
		return nil, errors.Join(err, t.close())
	}
	t.work.Go(func() { t.follow(ctx, o.Log) })
	return t, nil
}

// sound leaves out what a project's role or a server adds that cannot work: a
// bad schema, a name that is taken. The built-in tools come first.
func sound(all []tool.Tool) (usable []tool.Tool, wrong []string) {
	seen := map[string]bool{}
	for _, x := range all {
		err := tool.Check(x)
		if err == nil && seen[x.Name] {
			err = fmt.Errorf("tool %q: there is another one of that name", x.Name)
		}
		if err != nil {
			wrong = append(wrong, err.Error()+"; it is left out")
			continue
		}
		seen[x.Name] = true
		usable = append(usable, x)
	}
	return usable, wrong
}

// webTools makes the tools that reach the network.
func (t *tools) webTools(o Options, c *config.Config) []tool.Tool {
	var out []tool.Tool
	var allowed web.Options
	for _, a := range c.Agents.Web.Allow {
		if _, err := netip.ParsePrefix(a); err == nil {
			allowed.AllowNets = append(allowed.AllowNets, a)
		} else if _, err := netip.ParseAddr(a); err == nil {
			allowed.AllowNets = append(allowed.AllowNets, a)
		} else {
			allowed.AllowHosts = append(allowed.AllowHosts, a)
		}
	}
	fetch, err := web.Fetch(allowed)
	if err != nil {
		t.warnings = append(t.warnings, fmt.Sprintf("web_fetch is left out: %v", err))
	} else {
		fetch.Repeatable = true
		out = append(out, fetch)
	}
	s := c.Agents.Web.Search
	key := s.Key.Reveal()
	if s.KeyEnv != "" {
		key = o.Env(s.KeyEnv)
	}
	found, ok, err := web.Search(web.SearchOptions{Provider: s.Provider, Key: key, BaseURL: s.BaseURL})
	switch {
	case err != nil:
		t.warnings = append(t.warnings, fmt.Sprintf("web_search is left out: %v", err))
	case ok:
		found.Repeatable = true
		out = append(out, found)
	}
	return out
}

// Sandbox picks what confines commands on this machine, and says what it tried.
func Sandbox(ctx context.Context, c *config.Config) (sandbox.Sandbox, []string) {
	o := sandbox.Options{Helper: sandbox.Self}
	if c.Agents.Sandbox.Off {
		o.Only = sandbox.None
	}
	return sandbox.Find(ctx, o)
}

// hidden are the files that no command may read: keys, and what is Cadre's own.
func hidden(o Options, c *config.Config) []string {
	home := o.Env("HOME")
	out := sandbox.Secrets(home)
	for _, f := range append(slices.Clone(c.Agents.Sandbox.Hide), filepath.Dir(config.UserFile(o.Env))) {
		if len(f) > 1 && f[:2] == "~/" && home != "" {
			f = filepath.Join(home, f[2:])
		}
		if filepath.IsAbs(f) {
			out = append(out, f)
		}
	}
	for _, name := range []string{"cadre.db", "cadre.db-wal", "cadre.db-shm", "cadre.log", "token", "server.json", "mcp", "printed"} {
		out = append(out, filepath.Join(o.Data, name))
	}
	return out
}

// policyOf puts together what the files say about permissions. A mode that was
// asked for on the command line replaces that of the files.
func policyOf(c *config.Config, mode string) (permission.Policy, []string, error) {
	var policy permission.Policy
	var notes []string
	for _, p := range c.Agents.Permissions {
		next, err := parsePermissions(p)
		if err != nil {
			return policy, nil, fmt.Errorf("%s: permissions: %w", p.File, err)
		}
		var left []string
		policy, left = permission.Merge(policy, next, p.Trusted)
		for _, n := range left {
			notes = append(notes, p.File+": "+n)
		}
	}
	if mode != "" {
		preset, err := permission.ParsePreset(mode)
		if err != nil {
			return policy, nil, err
		}
		policy.Preset = preset
	}
	return policy, notes, nil
}

func parsePermissions(p config.Permissions) (permission.Policy, error) {
	var out permission.Policy
	if p.Mode != "" {
		preset, err := permission.ParsePreset(p.Mode)
		if err != nil {
			return out, err
		}
		out.Preset = preset
	}
	for _, list := range []struct {
		effect permission.Effect
		texts  []string
	}{{permission.Deny, p.Deny}, {permission.Ask, p.Ask}, {permission.Allow, p.Allow}} {
		rules, err := permission.ParseRules(list.effect, p.File, list.texts)
		if err != nil {
			return out, err
		}
		out.Rules = append(out.Rules, rules...)
	}
	return out, nil
}

// serversOf gathers the MCP servers that are configured: in the configuration
// files, in mcp.json beside the user's, and in .mcp.json of a trusted project.
func serversOf(o Options, c *config.Config) (map[string]mcp.ServerConfig, []string) {
	sources := slices.Clone(c.Agents.MCP)
	var warnings []string
	read := func(file string) {
		data, err := os.ReadFile(file)
		if err == nil {
			sources = append(sources, config.MCP{File: file, Data: data})
		} else if !errors.Is(err, fs.ErrNotExist) {
			warnings = append(warnings, fmt.Sprintf("%s cannot be read: %v", file, err))
		}
	}
	if user := config.UserFile(o.Env); user != "" {
		read(filepath.Join(filepath.Dir(user), "mcp.json"))
	}
	if o.Dir != "" {
		project := filepath.Join(o.Dir, ".mcp.json")
		if c.Trusts(o.Dir, o.Env) {
			read(project)
		} else if _, err := os.Stat(project); err == nil {
			warnings = append(warnings, project+" is passed over, because this project is not trusted: its servers would be started. Add its folder to the list under trust in "+config.UserFile(o.Env))
		}
	}
	out := map[string]mcp.ServerConfig{}
	for _, s := range sources {
		found, told, err := mcp.ParseServers(s.Data, s.File, o.Env)
		if err != nil {
			warnings = append(warnings, err.Error())
		}
		for _, w := range told {
			warnings = append(warnings, w.String())
		}
		for name, server := range found {
			out[name] = server
		}
	}
	return out, warnings
}

func roots(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{dir}
}
