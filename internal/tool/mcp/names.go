// Names of servers and tools as models and roles see them: mcp__server__tool,
// within what every provider accepts.

package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

const (
	prefix        = "mcp__"
	separator     = "__"
	maxName       = 64 // of a tool, as every provider accepts it
	maxServerName = 24 // leaves 33 for the tool
	hashLength    = 6
)

// Match tells whether a pattern of a role's tools covers a tool. A pattern is
// the name of a tool, mcp__server or mcp__server__* for all tools of a server,
// mcp__* for all of all servers, or server/tool and server/* as some clients
// write them.
func Match(pattern, tool string) bool {
	if server, name, ok := strings.Cut(pattern, "/"); ok {
		pattern = prefix + serverID(server) + separator + name
	}
	if start, ok := strings.CutSuffix(pattern, "*"); ok && strings.HasPrefix(start, prefix) {
		return strings.HasPrefix(tool, start)
	}
	return pattern == tool || strings.HasPrefix(pattern, prefix) && !strings.Contains(pattern[len(prefix):], separator) &&
		strings.HasPrefix(tool, pattern+separator)
}

// serverID is the name of a server within the names of its tools. It has no __
// and neither begins nor ends with _, so that it can be told where it ends.
func serverID(name string) string {
	id := allowed(name)
	for strings.Contains(id, separator) {
		id = strings.ReplaceAll(id, separator, "_")
	}
	if id = strings.Trim(id, "_"); id == "" {
		return hash(name)
	}
	return shorten(id, name, maxServerName)
}

// serverIDs names the servers.
func serverIDs(servers map[string]ServerConfig) map[string]string {
	return uniqueNames(slices.Sorted(maps.Keys(servers)), maxServerName, serverID)
}

// toolNames maps the names that a server gives its tools to those that models
// see.
func toolNames(id string, remote []string) map[string]string {
	start := prefix + id + separator
	room := maxName - len(start)
	names := uniqueNames(remote, room, func(name string) string { return shorten(allowed(name), name, room) })
	for original, name := range names {
		names[original] = start + name
	}
	return names
}

// uniqueNames gives each of the originals, which are different from each other,
// a name made by simplify. Who can keep its own name keeps it; others that
// would get the same get a hash of their original. So the outcome does not
// depend on their order.
func uniqueNames(originals []string, limit int, simplify func(string) string) map[string]string {
	wanted := map[string]int{}
	for _, o := range originals {
		wanted[simplify(o)]++
	}
	names := map[string]string{}
	for _, o := range originals {
		names[o] = simplify(o)
		if wanted[names[o]] > 1 && names[o] != o {
			names[o] = withHash(names[o], o, limit)
		}
	}
	return names
}

// allowed replaces what must not be in the name of a tool.
func allowed(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}

// shorten cuts a name that is too long and marks it by a hash of the original.
func shorten(name, original string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return withHash(name, original, limit)
}

func withHash(name, original string, limit int) string {
	return strings.TrimRight(name[:min(len(name), limit-1-hashLength)], "_") + "_" + hash(original)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLength]
}
