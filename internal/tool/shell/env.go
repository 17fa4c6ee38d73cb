// The environment of commands: that of this process without secrets and
// without what changes how programs are loaded or what they ask.

package shell

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	// secretName looks for words in the name of a variable, between
	// underscores or at the ends of other words.
	secretName = regexp.MustCompile(`(?i)(^|_)(API_?)?(KEY|KEYS|PAT|PWD|PASS|AUTH|COOKIES?|SESSION|BEARER|DSN|SALT|JWT)($|_)|TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|PRIVATE_?KEY|APIKEY|ACCESS_?KEY|WEBHOOK|CONNECTION_?STRING|(_|^)(KEY|SECRET)S?[0-9]*$|_KEY_`)

	// urlSecret is an address with a name or a password in it.
	urlSecret = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s@]+@`)

	// droppedPrefixes are variables of vendors and of this program, and those
	// that make a program load or run something.
	droppedPrefixes = []string{
		"CADRE_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "AWS_", "AZURE_", "GH_", "GITHUB_", "GITLAB_", "HF_", "HUGGINGFACE",
		"CLAUDE", "CODEX_", "MISTRAL_", "GROQ_", "DEEPSEEK_", "OPENROUTER_", "VAULT_", "DOCKER_", "KUBE", "STRIPE_", "TWILIO_", "SLACK_", "SENTRY_", "DATADOG_", "DD_",
		"LD_", "DYLD_", "BASH_FUNC_", "GIT_", "SSH_", "GPG_", "DBUS_", "XDG_SESSION", "GNOME_KEYRING", "UNZIP", "TAR_OPTIONS", "GREP_",
	}

	// kept are harmless though their names look otherwise.
	kept = []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}

	dropped = []string{
		"BASH_ENV", "ENV", "CDPATH", "IFS", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "OLDPWD", "PWD", "_", "RIPGREP_CONFIG_PATH",
		"LESSOPEN", "LESSCLOSE", "EDITOR", "VISUAL", "BROWSER", "XAUTHORITY", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "ICEAUTHORITY", "MAIL",
		"TMUX", "STY", "WINDOWID", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "INVOCATION_ID", "DEBUGINFOD_URLS",
		"PAGER", "TERM", "DATABASE_URL", "REDIS_URL", "MONGO_URL", "MONGODB_URI", "AMQP_URL",
	}

	// always are set for every command: nothing pages, asks or colours.
	always = []string{"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "NO_COLOR=1", "DEBIAN_FRONTEND=noninteractive"}

	// readingEnv keeps git from what a repository's configuration can make it
	// do when it only reads: take locks, ask a file monitor, fetch what is
	// missing, check signatures.
	readingEnv = []string{
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=log.showSignature", "GIT_CONFIG_VALUE_1=false",
		"GIT_CONFIG_KEY_2=core.hooksPath", "GIT_CONFIG_VALUE_2=/dev/null",
	}
)

// scrub returns the variables that a command may see.
func scrub(environ []string, root string) []string {
	var out []string
	for _, v := range environ {
		name, value, ok := strings.Cut(v, "=")
		switch {
		case !ok || name == "":
		case slices.Contains(kept, name):
			out = append(out, v)
		case slices.Contains(dropped, name), secretName.MatchString(name), urlSecret.MatchString(value):
		case slices.ContainsFunc(droppedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
		case slices.ContainsFunc(always, func(a string) bool { return strings.HasPrefix(a, name+"=") }):
		case name == "PATH":
			out = append(out, "PATH="+safePath(value, root))
		default:
			out = append(out, v)
		}
	}
	return append(out, always...)
}

// safePath leaves out folders that an agent could put a program into, so that
// a command is what its name says.
func safePath(path, root string) string {
	var out []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !inside(root, filepath.Clean(dir)) {
			out = append(out, dir)
		}
	}
	return strings.Join(out, string(filepath.ListSeparator))
}
