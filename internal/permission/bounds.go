// Bounds: what roles say about how their tools are used.

package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/role"
)

// Bounds restrict how an agent uses its tools, whatever the policy and people
// allow. Each list comes from a role, and all of them hold: that of the agent
// and those above it. In a list, Bash(git *) means that Bash is used in this
// way only; several for one tool add up, and a tool that none of them names is
// free. !Bash(git push *) means that it is not used in this way; it matches as a
// deny rule does. The others go by the exact name of a tool.
type Bounds [][]string

// Forbidding are the bounds that hold for what other tools show of a file, too:
// Read(src/**) is about Read, !Read(secret/**) about the files.
func (b Bounds) Forbidding() Bounds {
	var out Bounds
	for _, list := range b {
		if list = slices.DeleteFunc(slices.Clone(list), func(text string) bool { return !strings.HasPrefix(text, role.Not) }); len(list) > 0 {
			out = append(out, list)
		}
	}
	return out
}

// CheckBound says what is wrong with a bound.
func CheckBound(text string) error {
	_, err := parseBound(text)
	return err
}

// parseBound reads a bound as a rule: one that allows or one that denies.
func parseBound(text string) (Rule, error) {
	effect := Allow
	if rest, ok := strings.CutPrefix(text, role.Not); ok {
		effect, text = Deny, rest
	}
	return ParseRule(effect, text)
}

// overstepped tells which list the request does not keep to, in words.
func (b Bounds) overstepped(req Request, seen sight) (by string, out bool) {
	if seen.command {
		req.Action.Hosts = nil // whether a command gets the network is for the policy
	}
	for _, list := range b {
		var ways []permit
		var texts []string
		for _, text := range list {
			r, err := parseBound(text)
			if err != nil {
				return "a restriction of its role that cannot be read: " + err.Error(), true
			}
			if r.Effect == Allow && r.Tool == req.Tool {
				ways, texts = append(ways, permit{rule: r, by: text}), append(texts, text)
			}
		}
		if len(ways) == 0 {
			continue
		}
		if _, ok := allowedBy(ways, req, seen); !ok {
			return fmt.Sprintf("the role %s or one above it has %s only as %s, which every command of a line and every path must fit", req.Role, req.Tool, strings.Join(texts, ", ")), true
		}
	}
	return "", false
}

// rules are what the bounds forbid, for the role of the request.
func (b Bounds) rules(req Request) []Rule {
	var out []Rule
	for _, text := range slices.Concat(b...) {
		if r, err := parseBound(text); err == nil && r.Effect == Deny { // what cannot be read denies all: see overstepped
			r.Source = "the role " + req.Role
			out = append(out, r)
		}
	}
	return out
}
