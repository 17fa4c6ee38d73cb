// The roles that come with Cadre. Their prompts are in prompts/.

package role

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed prompts/*.md
var prompts embed.FS

// part reads a prompt that is known to be there: a test reads all of them.
func part(name string) string {
	b, err := prompts.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("reading an embedded prompt: %v", err))
	}
	return strings.TrimSpace(string(b))
}

// Builtin returns the roles that come with Cadre. The first after main is the
// one for tasks that name no role.
//
// Limits and delegations are those of the sub-agent plan that the roles stem
// from. CodeSearch and CodeReview are made to be called as tools. The plan has
// a role planner and a tool Planner: names do not differ by case alone, so the
// tool is a face of the role, with its own input, tools, limit and prompt.
func Builtin() ([]Role, error) {
	system := EveryAgents()
	tools := func(lists ...[]string) []string { return append(slices.Concat(lists...), system...) }
	delegation := Delegation()
	shell := []string{"Bash", "BashOutput", "KillBash"}
	web := []string{"web_fetch", "web_search"}
	editing := slices.Concat(reading, writing, shell, []string{"keyword_search", "todo"})
	all := slices.Concat(editing, web, []string{"read_image", "think", "mcp__*"})
	roles := []Role{
		{
			Name: Main, DisplayName: "Main agent", Icon: "🤖", Mode: ModePrimary,
			Description: "Talks to the user, does small things itself and delegates the rest.",
			Tools:       tools(all, delegation), AnyDelegate: true,
			MaxTurns: 50, MaxDuration: 10 * time.Minute,
		},
		{
			Name: "general", DisplayName: "General", Icon: "🧭",
			Description: "Does any self-contained piece of work that no other role is made for, and reports.",
			When:        []string{"work of several kinds", "one of many equal pieces of a larger job"},
			Tools:       tools(all, delegation), Delegates: []string{"general"},
		},
		{
			Name: "researcher", DisplayName: "Researcher", Icon: "🔎",
			Description: "Finds things out in files and on the web, and reports what it found and where. Changes nothing.",
			When:        []string{"questions that need much reading", "comparing sources", "facts from outside the project"},
			Tools:       tools(reading, web),
		},
		{
			Name: "planner", DisplayName: "Task planner", Icon: "📋", Model: "smart",
			Description: "Breaks a large task into steps that can be carried out and checked one by one.",
			When:        []string{"complex tasks of many steps", "decisions of architecture", "a roadmap"},
			Tools:       tools(reading, []string{"keyword_search", "think", "todo"}, delegation),
			Delegates:   []string{"coder", "tester", "reviewer"},
			MaxTurns:    15, MaxDuration: 3 * time.Minute,
			AsTool: &AsTool{
				Name: "Planner", Tools: tools(reading), MaxTurns: 6,
				Input: object("task", `"task":{"type":"string","minLength":1,"description":"what is to be achieved"},`+
					`"constraints":{"type":"string","description":"what the plan has to respect"}`),
			},
		},
		{
			Name: "coder", DisplayName: "Coder", Icon: "👨‍💻", Model: "default",
			Description: "Writes and changes code, over as many files as it takes, and makes sure that it builds.",
			When:        []string{"new features or components", "changes to several files", "refactoring"},
			Tools:       tools(editing, delegation), Delegates: []string{"tester"},
			MaxTurns: 30, MaxDuration: 5 * time.Minute,
		},
		{
			Name: "tester", DisplayName: "Tester", Icon: "🧪", Model: "fast",
			Description: "Writes tests, runs them and says what the results mean. Leaves the code under test alone.",
			When:        []string{"unit or integration tests", "running tests and reading their results", "tests written before the code"},
			Tools:       tools(reading, []string{"Write", "Edit", "MultiEdit"}, shell),
			MaxTurns:    20, MaxDuration: 3 * time.Minute,
		},
		{
			Name: "reviewer", DisplayName: "Code reviewer", Icon: "👀", Model: "smart",
			Description: "Reads a change and finds what is wrong with it: faults, security, design. Changes nothing.",
			When:        []string{"a review before committing", "an analysis of security", "a second opinion on a design"},
			Tools:       tools(reading),
			MaxTurns:    10, MaxDuration: 2 * time.Minute,
		},
		{
			Name: "debugger", DisplayName: "Debugger", Icon: "🔧", Model: "default",
			Description: "Finds the cause of a failure, proves it and mends it.",
			When:        []string{"failing tests", "errors at run time", "something that is too slow"},
			Tools:       tools(editing),
			MaxTurns:    25, MaxDuration: 4 * time.Minute,
		},
	}
	roles = append(roles, callable(tools)...)
	for i := range roles {
		r := &roles[i]
		r.Prompt = part(strings.ToLower(r.Name))
		r.Source = Source{Scope: BuiltIn, Format: "cadre"}
		if t := r.AsTool; t != nil && r.Name == "planner" {
			t.Prompt = part("planner_tool")
		}
		r.Origins = origins(*r)
	}
	return roles, nil
}

// callable are the roles that are made to be called as tools.
func callable(tools func(...[]string) []string) []Role {
	return []Role{
		{
			Name: "CodeSearch", DisplayName: "Code search", Icon: "🗂️", Mode: ModeSubagent,
			Description: "Explores the code for a question and returns the places that matter, with paths, lines and excerpts.",
			Tools:       tools(reading), MaxTurns: 8,
			AsTool: &AsTool{
				Name: "CodeSearch",
				Input: object("query", `"query":{"type":"string","minLength":1,"description":"what to find out"},`+
					`"scope":{"type":"string","description":"folder or pattern to stay within"}`),
			},
		},
		{
			Name: "CodeReview", DisplayName: "Code review", Icon: "🧐", Mode: ModeSubagent,
			Description: "Looks through given files for problems and returns them with severity, line and remedy.",
			Tools:       tools([]string{"Read", "Glob", "Grep"}), MaxTurns: 6,
			AsTool: &AsTool{
				Name: "CodeReview",
				Input: object("target", `"target":{"type":"string","minLength":1,"description":"file, folder or pattern"},`+
					`"focus":{"enum":["bugs","style","performance","security","all"],"default":"all"}`),
			},
		},
	}
}

func object(required, properties string) json.RawMessage {
	return json.RawMessage(`{"type":"object","required":["` + required + `"],"additionalProperties":false,"properties":{` + properties + `}}`)
}

// origins says of each value that a built-in role states that it is built in.
func origins(r Role) map[string]Origin {
	stated := map[string]bool{
		"name": true, "display_name": true, "description": true, "icon": true, "prompt": true, "tools": true,
		"when": len(r.When) > 0, "model": r.Model != "", "delegates": r.AnyDelegate || len(r.Delegates) > 0,
		"max_turns": r.MaxTurns > 0, "max_duration": r.MaxDuration > 0, "mode": r.Mode != "", "as_tool": r.AsTool != nil,
	}
	out := map[string]Origin{}
	for key, is := range stated {
		if is {
			out[key] = Origin{Note: string(BuiltIn)}
		}
	}
	return out
}
