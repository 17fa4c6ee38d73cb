// What each key of a role file means, whoever invented it.

package rolefile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/role"
)

// ownKeys are the keys of Cadre's own format.
var ownKeys = []string{
	"name", "display_name", "description", "icon", "when", "model", "temperature", "effort",
	"tools", "denied_tools", "delegates", "max_turns", "max_duration", "max_tokens", "max_cost", "max_parallel",
	"context", "summary", "input_schema", "output_schema", "acceptance", "background", "isolation", "mode", "as_tool", "disabled",
}

// sameAs are the names that others have for the same things.
var sameAs = map[string]string{
	"role_id": "name", "id": "name", "title": "display_name", "emoji": "icon", "when_to_use": "when",
	"models": "model", "model_id": "model",
	"model_reasoning_effort": "effort", "reasoning_effort": "effort", "variant": "effort", "thinking": "effort",
	"allowed_tools": "tools", "disallowed_tools": "denied_tools", "exclude_tools": "denied_tools",
	"agents": "delegates", "allowed_delegations": "delegates", "subagents": "delegates",
	"max_steps": "max_turns", "steps": "max_turns", "max_iterations": "max_turns",
	"timeout": "max_duration", "system_prompt": "prompt", "developer_instructions": "prompt", "instructions": "prompt",
	"disable": "disabled", "mcp": "mcp_servers", "permissions": "permission",
	"system_prompt_file": "prompt_file", "prompt_file": "prompt_file",
}

// keys says what to do with each key.
var keys = keyTable()

// allKeys are the keys of all formats, Cadre's own first: what a misspelt one
// is compared with.
var allKeys = slices.Concat(ownKeys, slices.Sorted(maps.Keys(keys)), slices.Sorted(maps.Keys(sameAs)))

// isKey tells whether a word is a key of any format.
func isKey(word string) bool {
	key := snake(word)
	return keys[key] != nil || sameAs[key] != ""
}

func keyTable() map[string]func(*reader, entry) {
	t := map[string]func(*reader, entry){
		"name":         textKey("name", func(x *role.Role) *string { return &x.Name }),
		"display_name": textKey("display_name", func(x *role.Role) *string { return &x.DisplayName }),
		"description":  textKey("description", func(x *role.Role) *string { return &x.Description }),
		"icon":         textKey("icon", func(x *role.Role) *string { return &x.Icon }),
		"prompt":       setPrompt,
		"prompt_file":  setPromptFile,
		"summary":      textKey("summary", func(x *role.Role) *string { return &x.Summary }),
		"acceptance":   setAcceptance,
		"when":         setWhen,
		"model":        setModel,
		"temperature":  setTemperature,
		"effort":       oneOf("effort", func(x *role.Role, s string) { x.Effort = s }, "none", "minimal", "low", "medium", "high", "xhigh", "max"),
		"context": oneOf("context", func(x *role.Role, s string) { x.Context = role.Context(s) },
			string(role.ContextNone), string(role.ContextSummary), string(role.ContextSelective), string(role.ContextFull)),
		"isolation":       oneOf("isolation", func(x *role.Role, s string) { x.Isolation = strings.TrimPrefix(s, "none") }, "worktree", "none"),
		"mode":            setMode,
		"kind":            setKind,
		"background":      boolKey("background", func(r *reader, is bool) { r.role.Background = is }),
		"disabled":        boolKey("disabled", func(r *reader, is bool) { r.disabled = is }),
		"can_delegate":    boolKey("delegates", func(r *reader, is bool) { r.canDelegate = &is }),
		"as_tool":         setAsTool,
		"tools":           setTools,
		"denied_tools":    setDenied,
		"delegates":       setDelegates,
		"permission":      setPermission,
		"permission_mode": setPermissionMode,
		"sandbox_mode":    setSandbox,
		"max_turns":       countKey("max_turns", 1000, func(x *role.Role, n int64) { x.MaxTurns = int(n) }),
		"max_parallel":    countKey("max_parallel", 1000, func(x *role.Role, n int64) { x.MaxParallel = int(n) }),
		"max_tokens":      countKey("max_tokens", math.MaxInt64/2, func(x *role.Role, n int64) { x.MaxTokens = n }),
		"max_cost":        setCost,
		"max_duration":    setDuration,
		"timeout_mins":    durationIn(time.Minute),
		"timeout_seconds": durationIn(time.Second),
		"max_duration_ms": durationIn(time.Millisecond),
		"input_schema":    schemaKey("input_schema", func(x *role.Role, s json.RawMessage) { x.InputSchema = s }),
		"output_schema":   schemaKey("output_schema", func(x *role.Role, s json.RawMessage) { x.OutputSchema = s }),
		"user_invocable":  boolKey("mode", func(r *reader, is bool) { r.restrict(!is, role.ModeSubagent) }),
		"infer":           boolKey("mode", func(r *reader, is bool) { r.restrict(!is, role.ModePrimary) }),
	}
	t["disable_model_invocation"] = boolKey("mode", func(r *reader, is bool) { r.restrict(is, role.ModePrimary) })
	for _, key := range []string{ // how it looks elsewhere, and notes of its author
		"color", "colour", "hidden", "argument_hint", "target", "license", "version", "author", "tags", "category",
		"metadata", "nickname_candidates", "vibe", "created", "updated", "homepage", "url", "$schema", "keywords", "dependencies",
	} {
		t[key] = func(*reader, entry) {}
	}
	for key, why := range map[string]string{
		"hooks":       "hooks are not taken from role files",
		"mcp_servers": "servers are set up in Cadre's configuration, and a role names their tools as mcp__server__*",
		"skills":      "Cadre has no skills", "memory": "Cadre keeps no memory beyond a chat",
		"top_p": "it cannot be set for a role", "top_k": "it cannot be set for a role",
		"handoffs": "Cadre has no handoffs; delegates names the roles that it may delegate to", "initial_prompt": "a role begins with its task",
		"approval_policy": notTaken, "allow_rules": notTaken, "default_permissions": notTaken, "shell_environment_policy": notTaken,
		"model_provider": "write the model as provider/model", "model_verbosity": "it cannot be set for a role",
		"model_reasoning_summary": "it cannot be set for a role", "service_tier": "it cannot be set for a role", "personality": "write it into the prompt",
		"web_search": "list the tool web_search under tools", "options": "they are another product's", "tool_settings": "they are another product's",
		"features": "they are another product's", "agent_card_url": "remote agents cannot be roles", "agent_card_json": "remote agents cannot be roles",
		"auth": "remote agents cannot be roles",
	} {
		t[key] = func(r *reader, e entry) { r.warn(e.line, "%s is ignored: %s", e.key, why) }
	}
	return t
}

const notTaken = "it is not taken over; permissions come from Cadre's policy"

// wrong tells that a value is not understood, and goes on without it.
func (r *reader) wrong(e entry, want string) {
	shown := fmt.Sprint(e.value)
	if len(shown) > 60 {
		shown = strings.ToValidUTF8(shown[:60], "") + "…"
	}
	r.warn(e.line, "%s is %q, but has to be %s: it is ignored", e.key, shown, want)
}

func textKey(key string, at func(*role.Role) *string) func(*reader, entry) {
	return func(r *reader, e entry) {
		s, ok := text(e.value)
		if items, isList := e.value.([]any); isList { // a description as a list of lines
			lines, all := list(items)
			s, ok = strings.Join(lines, " "), all
		}
		switch {
		case e.value == nil:
		case !ok:
			r.wrong(e, "text")
		case s != "":
			*at(&r.role) = s
			r.from(key, e.line)
		}
	}
}

func boolKey(key string, set func(*reader, bool)) func(*reader, entry) {
	return func(r *reader, e entry) {
		is, ok := boolean(e.value)
		if !ok {
			r.wrong(e, "true or false")
			return
		}
		set(r, is)
		r.from(key, e.line)
	}
}

func oneOf(key string, set func(*role.Role, string), words ...string) func(*reader, entry) {
	return func(r *reader, e entry) {
		s, _ := text(e.value)
		s = strings.ToLower(s)
		switch {
		case s == "" || s == "inherit" || s == "default":
		case !slices.Contains(words, s):
			r.wrong(e, "one of "+strings.Join(words, ", "))
		default:
			set(&r.role, s)
			r.from(key, e.line)
		}
	}
}

// countKey reads a whole number above 0, also written 200k or 1.5M.
func countKey(key string, most int64, set func(*role.Role, int64)) func(*reader, entry) {
	return func(r *reader, e entry) {
		n, ok := number(e.value)
		if s, isText := e.value.(string); isText && !ok {
			s = strings.ToLower(strings.NewReplacer("_", "", ",", "").Replace(strings.TrimSpace(s)))
			unit := 1.0
			if cut, found := strings.CutSuffix(s, "k"); found {
				s, unit = cut, 1e3
			} else if cut, found := strings.CutSuffix(s, "m"); found {
				s, unit = cut, 1e6
			}
			parsed, err := strconv.ParseFloat(s, 64)
			n, ok = parsed*unit, err == nil // what is not finite is out of bounds
		}
		if !ok || n < 1 || n > float64(most) || n != math.Trunc(n) {
			r.wrong(e, fmt.Sprintf("a whole number from 1 to %d", most))
			return
		}
		set(&r.role, int64(n))
		r.from(key, e.line)
	}
}

func schemaKey(key string, set func(*role.Role, json.RawMessage)) func(*reader, entry) {
	return func(r *reader, e entry) {
		s, err := schema(e.value)
		if err != nil {
			r.fail(e.line, "%s is no JSON Schema: %v", e.key, err)
			return
		}
		set(&r.role, s)
		r.from(key, e.line)
	}
}

func setWhen(r *reader, e entry) {
	if s, ok := e.value.(string); ok {
		r.role.When = []string{strings.TrimSpace(s)}
	} else if items, ok := list(e.value); ok {
		r.role.When = items
	} else {
		r.wrong(e, "a list of phrases")
		return
	}
	r.from("when", e.line)
}

func setModel(r *reader, e entry) {
	names, ok := modelNames(e.value)
	if !ok {
		r.wrong(e, "the name of a model, or a list of names")
		return
	}
	r.role.Model = strings.Join(names, ", ")
	if len(names) == 0 {
		r.note("model", e.line, "the parent's")
		return
	}
	r.from("model", e.line)
}

func setTemperature(r *reader, e entry) {
	n, ok := number(e.value)
	if !ok || n < 0 || n > 2 {
		r.wrong(e, "a number from 0 to 2")
		return
	}
	r.role.Temperature = &n
	r.from("temperature", e.line)
}

func setAcceptance(r *reader, e entry) {
	commands, ok := list(e.value)
	if s, isText := e.value.(string); isText {
		commands, ok = []string{strings.TrimSpace(s)}, true
	}
	if !ok {
		r.wrong(e, "a command")
		return
	}
	r.role.Acceptance = strings.Join(commands, " && ")
	r.from("acceptance", e.line)
}

// setCost reads dollars.
func setCost(r *reader, e entry) {
	s, _ := text(e.value)
	n, ok := number(strings.TrimPrefix(s, "$"))
	if !ok || n <= 0 || n > 1e6 {
		r.wrong(e, "an amount in dollars such as 0.50")
		return
	}
	r.role.MaxCost = int64(math.Round(n * 1e6))
	r.from("max_cost", e.line)
}

func setDuration(r *reader, e entry) {
	s, _ := text(e.value)
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil || d < time.Millisecond || d > 1000*time.Hour {
		r.wrong(e, "a duration with its unit, such as 90s or 5m")
		return
	}
	r.role.MaxDuration = d
	r.from("max_duration", e.line)
}

func durationIn(unit time.Duration) func(*reader, entry) {
	return func(r *reader, e entry) {
		n, ok := number(e.value)
		if d := n * float64(unit); !ok || d < float64(time.Millisecond) || d > float64(1000*time.Hour) {
			r.wrong(e, "a number above 0")
			return
		}
		r.role.MaxDuration = time.Duration(n * float64(unit))
		r.from("max_duration", e.line)
	}
}

func setMode(r *reader, e entry) {
	s, _ := text(e.value)
	switch m := role.Mode(strings.ToLower(s)); m {
	case role.ModeAll, role.ModePrimary, role.ModeSubagent:
		r.role.Mode = m
		r.from("mode", e.line)
	case "agent", "ask", "edit", "plan", "": // VS Code's: how a chat looks there
	default:
		r.wrong(e, "primary, subagent or all")
	}
}

// restrict narrows who may start the role.
func (r *reader) restrict(is bool, to role.Mode) {
	if is {
		r.role.Mode = to
	}
}

func setKind(r *reader, e entry) {
	if s, _ := text(e.value); strings.EqualFold(s, "remote") {
		r.fail(e.line, "it describes a remote agent, which is not supported: a role is an agent that works here")
	}
}
