// Whether a rule matches a request: generously (hits), and strictly for each
// part of what is to be allowed (covers).

package permission

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/tool"
)

// canonical is the one name of a tool that the peers know under several. Tools
// of MCP servers keep theirs: two servers must not be taken for one.
func canonical(name string) string {
	if strings.HasPrefix(name, "mcp__") {
		return name
	}
	switch name { // as most are written
	case "Edit", "edit":
		return "edit"
	case "Read", "read":
		return "read"
	}
	var buf [32]byte
	folded := appendFolded(buf[:0], name)
	switch string(folded) {
	case "edit", "write", "multiedit", "notebookedit", "applypatch", "patch", "editfile", "writefile", "replace":
		return "edit"
	case "read", "readfile", "view":
		return "read"
	case "bash", "shell", "runshellcommand", "execcommand", "localshell":
		return "bash"
	case "webfetch", "fetch":
		return "webfetch"
	case name:
		return name
	}
	return string(folded)
}

// fold drops what names of the same tool differ in.
func fold(name string) string { return string(appendFolded(nil, name)) }

// appendFolded adds the folded name to b. Every call of a tool is held against
// every rule, so that it must cost next to nothing.
func appendFolded(b []byte, name string) []byte {
	for _, r := range name {
		if r != '_' && r != '-' {
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
	}
	return b
}

// isFor tells whether the rule is about agents such as the one that asks.
func (r Rule) isFor(req Request) bool {
	if r.Role != "" && !strings.EqualFold(r.Role, req.Role) {
		return false
	}
	if r.Depth == "" {
		return true
	}
	low, high, err := parseDepth(r.Depth)
	return err == nil && low <= req.Depth && req.Depth <= high
}

// namesTool tells whether the rule is about the tool of this name.
func (r Rule) namesTool(name string, strictly bool) bool {
	switch {
	case r.Tool == "" || r.Tool == "*" || r.Tool == name:
		return true
	case strings.HasPrefix(r.Tool, "mcp__") && strings.HasPrefix(name, r.Tool+"__"):
		return true // a whole server
	case strings.Contains(r.Tool, "*"):
		return wildcard(r.Tool, name) || !strictly && wildcard(fold(r.Tool), fold(name))
	case canonical(r.Tool) == canonical(name):
		return true
	}
	var one, other [32]byte
	return !strictly && string(appendFolded(one[:0], r.Tool)) == string(appendFolded(other[:0], name))
}

// whole tells whether the rule is about everything that its tool can do.
func (r Rule) whole() bool { return r.Path == "" && r.Command == "" && r.Host == "" }

// hits tells whether a rule that forbids matches.
func (r Rule) hits(req Request, seen sight) certainty {
	if !r.isFor(req) {
		return no
	}
	// A path is protected from all that touches it, not from one tool.
	about := canonical(r.Tool)
	touching := r.Path != "" && (about == "read" || about == "edit" && changes(req, seen))
	if !touching && !r.namesTool(req.Tool, false) {
		return no
	}
	result := yes
	if r.Path != "" {
		result = min(result, r.hitsPath(req, seen))
	}
	if r.Command != "" {
		result = min(result, r.hitsCommand(req.Action, seen))
	}
	if r.Host != "" {
		result = min(result, hostHits(r.Host, req.Action.Hosts))
	}
	return result
}

// changes tells whether the request may change files.
func changes(req Request, seen sight) bool {
	return req.Action.Class == tool.Writes || canonical(req.Tool) == "edit" || seen.command && req.Action.Class != tool.Reads
}

func (r Rule) hitsPath(req Request, seen sight) certainty {
	best := no
	if hitsOne(r.Path, seen.paths) {
		best = yes
	}
	for _, w := range seen.mentions {
		hit := mentionHits(r.Path, w)
		if !w.plain && !w.glob && req.Action.Class != tool.Reads {
			hit = no // nearly every longer command has a variable: those that run unasked must not
		}
		best = max(best, hit)
	}
	if canonical(r.Tool) == "edit" {
		if seen.command {
			best = min(best, likely) // it is named, but perhaps not written
		}
		return best
	}
	if best == no && r.Source != builtIn && seen.printsHistory() {
		best = maybe
	}
	return best
}

func (r Rule) hitsCommand(a tool.Action, seen sight) certainty {
	if !seen.command {
		return no
	}
	if exact, ok := strings.CutPrefix(r.Command, exactly); ok {
		if exact == a.Command {
			return yes
		}
		return no
	}
	pattern := parsePattern(r.Command)
	best := no
	if seen.unclear {
		best = maybe
	}
	for _, c := range slices.Concat(seen.calls, seen.nested) {
		best = max(best, pattern.hits(c))
	}
	return best
}

// permit is a rule that allows, and who says so.
type permit struct {
	rule Rule
	hash string // it is for this one action, whatever the rule
	by   string
}

// part is one thing that has to be allowed: a command, or a path, and a host.
type part struct {
	call *call // nil: a command that cannot be told before it runs
	path string
	host string
}

const maxParts = 10_000 // of one action; more are not looked at

// allowedBy tells whether the permits allow all parts of the request together.
func allowedBy(permits []permit, req Request, seen sight) (Decision, bool) {
	var used []permit
	for _, p := range permits {
		if p.hash != "" || p.rule.Effect == Allow && p.rule.isFor(req) && p.rule.namesTool(req.Tool, true) {
			if p.hash != "" || p.rule.whole() {
				return Decision{Effect: Allow, By: p.by, Rule: p.rule}, true
			}
			used = append(used, p)
		}
	}
	if len(used) == 0 {
		return Decision{}, false
	}
	var first Rule
	var by []string
	parts := partsOf(req.Action, seen)
	for _, piece := range parts {
		i := slices.IndexFunc(used, func(p permit) bool { return p.rule.covers(req.Action, seen.command, piece) })
		if i < 0 {
			return Decision{}, false
		}
		if len(by) == 0 {
			first = used[i].rule
		}
		if !slices.Contains(by, used[i].by) {
			by = append(by, used[i].by)
		}
	}
	return Decision{Effect: Allow, By: strings.Join(by, " and "), Rule: first}, len(parts) > 0
}

// partsOf lists what has to be covered; nothing if only a rule for the whole
// tool could.
func partsOf(a tool.Action, seen sight) []part {
	var parts []part
	switch {
	case seen.simple:
		for i := range seen.calls {
			parts = append(parts, part{call: &seen.calls[i]})
		}
	case seen.command:
		parts = []part{{}}
	default:
		for _, name := range a.Paths {
			parts = append(parts, part{path: name})
		}
	}
	if len(a.Hosts) == 0 {
		return parts
	}
	if len(parts) == 0 {
		parts = []part{{}}
	}
	if len(parts)*len(a.Hosts) > maxParts {
		return nil
	}
	var each []part
	for _, p := range parts {
		for _, host := range a.Hosts {
			p.host = host
			each = append(each, p)
		}
	}
	return each
}

// covers tells whether the rule, which is not for a whole tool, allows a part.
// What the rule does not speak of, it does not allow.
func (r Rule) covers(a tool.Action, isCommand bool, p part) bool {
	switch {
	case isCommand && !r.coversCommand(a, p.call), !isCommand && r.Command != "":
		return false
	case isCommand && r.Path != "":
		if len(a.Paths) == 0 || slices.ContainsFunc(a.Paths, func(name string) bool { return !pathCovers(r.Path, name) }) {
			return false
		}
	case !isCommand && r.Path != "" && !pathCovers(r.Path, p.path), !isCommand && r.Path == "" && p.path != "":
		return false
	}
	if p.host == "" {
		return isCommand || r.Path != ""
	}
	return r.Host != "" && hostMatches(r.Host, p.host)
}

func (r Rule) coversCommand(a tool.Action, c *call) bool {
	if exact, ok := strings.CutPrefix(r.Command, exactly); ok {
		return exact != "" && exact == a.Command
	}
	return r.Command != "" && c != nil && parsePattern(r.Command).covers(*c)
}
