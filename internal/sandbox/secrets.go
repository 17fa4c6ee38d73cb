// Where credentials usually lie.

package sandbox

import (
	"path/filepath"
	"slices"
)

// Secrets lists the files and folders below home that usually hold keys,
// tokens, passwords and sessions, as far as they exist. They are for
// Policy.Hide. Configuration that tools need and that usually holds none,
// such as .gitconfig, is not among them.
func Secrets(home string) []string {
	if home == "" {
		return nil
	}
	var out []string
	for _, pattern := range secretPatterns {
		found, err := filepath.Glob(filepath.Join(globQuote(home), filepath.FromSlash(pattern)))
		if err == nil { // the patterns are ours and well-formed
			out = append(out, found...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// globQuote takes the meaning out of the special characters of a path. Where
// the backslash separates folders there is no way to, and Glob says so by
// finding nothing.
func globQuote(path string) string {
	if filepath.Separator == '\\' {
		return path
	}
	var out []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

var secretPatterns = []string{
	// keys, agents and password stores
	".ssh", ".gnupg", ".gpg", ".pki", ".password-store", ".local/share/keyrings", ".local/share/kwalletd",
	".config/op", ".config/Bitwarden*", ".config/keepassxc", ".config/sops", ".config/age", ".age", ".vault-token",
	".local/share/pass", "Library/Keychains",
	// clouds and clusters
	".aws", ".azure", ".config/gcloud", ".config/doctl", ".config/hcloud", ".config/linode-cli", ".oci", ".bluemix",
	".kube", ".config/helm/registry", ".docker/config.json", ".docker/run", ".docker/contexts", ".config/containers/auth.json",
	".terraform.d/credentials.tfrc.json", ".terraformrc", ".pulumi/credentials.json", ".config/fly", ".fly",
	".config/heroku", ".config/netlify", ".vercel", ".config/vercel", ".local/share/com.vercel.cli", ".wrangler", ".config/.wrangler",
	".s3cfg", ".boto", ".rclone.conf", ".config/rclone", ".databrickscfg", ".snowsql", ".snowflake", ".config/ngrok", ".ngrok2",
	// code hosts and package registries
	".git-credentials", ".config/git/credentials", ".config/gh", ".config/glab-cli", ".config/hub", ".config/tea",
	".netrc", "_netrc", ".authinfo", ".authinfo.gpg", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip",
	".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".bundle/config", ".composer/auth.json", ".config/composer/auth.json",
	".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config", ".ivy2/.credentials",
	".config/hf", ".cache/huggingface/token", ".huggingface/token", ".kaggle", ".jupyter", ".condarc",
	// databases
	".pgpass", ".my.cnf", ".mylogin.cnf", ".mongorc.js", ".dbshell", ".redisclirc", ".config/pgcli",
	// agents and models
	".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".config/cadre", ".config/openai",
	".local/share/opencode/auth.json", ".config/github-copilot", ".copilot", ".config/io.datasette.llm/keys.json",
	// what was typed
	".bash_history", ".zsh_history", ".histfile", ".local/share/fish/fish_history", ".python_history", ".node_repl_history",
	".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", ".lesshst",
	// browsers, mail and chat
	".mozilla", ".thunderbird", ".config/google-chrome*", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge*",
	".config/vivaldi", ".config/opera", ".var/app", "snap/firefox", "snap/chromium",
	".config/Slack", ".config/discord", ".config/Signal", ".local/share/TelegramDesktop", ".config/evolution", ".local/share/evolution",
	"Library/Application Support/Google/Chrome", "Library/Application Support/Firefox", "Library/Cookies", "Library/Safari", "Library/Mail", "Library/Messages",
	// wallets and remote desktops
	".bitcoin", ".ethereum", ".electrum", ".config/solana", ".config/remmina", ".local/share/remmina", ".vnc", ".purple",
	".Xauthority", ".ICEauthority",
}
