// The rules that hold under every preset.

package permission

import "sync"

// builtIn is the source of rules that nobody has written.
const builtIn = "built in"

// builtInRules protects what decides over the agents themselves, and asks
// before a secret reaches a model. The ask rules give way to an allow rule with
// a path; the deny rule gives way to nothing: who writes .git/config or a hook
// runs commands outside the sandbox. The list is shared: every call of a tool
// is held against it.
var builtInRules = sync.OnceValue(func() []Rule {
	rules := []Rule{
		{Effect: Deny, Tool: "Edit", Path: ".git", Source: builtIn},
		{Effect: Ask, Tool: "Edit", Path: ".cadre", Source: builtIn},
		{Effect: Ask, Tool: "Edit", Path: ".mcp.json", Source: builtIn},
	}
	for _, secret := range []string{
		".env", ".env.local", ".env.*.local", ".env.dev*", ".env.prod*", ".env.stag*", ".env.test",
		"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".ssh", ".gnupg", ".aws",
		".netrc", ".pgpass", ".pypirc", ".npmrc", ".git-credentials", ".htpasswd",
	} {
		rules = append(rules, Rule{Effect: Ask, Tool: "Read", Path: secret, Source: builtIn})
	}
	return rules
})
