// The dialects of configurations, and what is passed over in them.

package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
)

func environment(name string) string {
	return map[string]string{"TOKEN": "tok-en-value", "HOST": "mcp.example.com", "EMPTY": ""}[name]
}

func reveal(m map[string]config.Secret) map[string]string {
	out := map[string]string{}
	for name, value := range m {
		out[name] = value.Reveal()
	}
	return out
}

func TestParseServers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file     string
		want     func(c ServerConfig) bool
		warnings []string
	}{
		"stdio": {
			`{"mcpServers":{"s":{"command":"npx","args":["-y","pkg"],"env":{"A":"b","N":1},"cwd":"/x","timeout":30}}}`,
			func(c ServerConfig) bool {
				return c.Transport == Stdio && c.Command == "npx" && slices.Equal(c.Args, []string{"-y", "pkg"}) && c.Dir == "/x" &&
					maps.Equal(reveal(c.Env), map[string]string{"A": "b", "N": "1"}) && c.Timeout == 30*time.Second && !c.Trust && !c.Disabled
			}, nil,
		},
		"http": {
			`{"mcpServers":{"s":{"type":"http","url":"https://x.example/mcp","headers":{"Authorization":"Bearer ${TOKEN}"},"trust":true,"timeout":5000}}}`,
			func(c ServerConfig) bool {
				return c.Transport == HTTP && c.URL == "https://x.example/mcp" && c.Headers["Authorization"].Reveal() == "Bearer tok-en-value" && c.Trust && c.Timeout == 5*time.Second
			}, nil,
		},
		"streamable": {
			`{"mcpServers":{"s":{"type":"streamable-http","url":"http://x"}}}`,
			func(c ServerConfig) bool { return c.Transport == HTTP }, nil,
		},
		"sse":    {`{"mcpServers":{"s":{"type":"sse","url":"http://x"}}}`, func(c ServerConfig) bool { return c.Transport == SSE }, nil},
		"vscode": {`{"servers":{"s":{"type":"stdio","command":"${env:HOST}"}},"inputs":[]}`, func(c ServerConfig) bool { return c.Command == "mcp.example.com" }, nil},
		"opencode": {
			`{"mcp":{"s":{"type":"local","command":["bun","x","y"],"environment":{"A":"b"},"enabled":false}},"theme":"dark"}`,
			func(c ServerConfig) bool {
				return c.Command == "bun" && slices.Equal(c.Args, []string{"x", "y"}) && c.Env["A"].Reveal() == "b" && c.Disabled
			}, nil,
		},
		"gemini": {
			`{"mcpServers":{"s":{"httpUrl":"https://${HOST}/mcp","headers":{"X":"$TOKEN"},"includeTools":["a"],"excludeTools":["b"]}}}`,
			func(c ServerConfig) bool {
				return c.Transport == HTTP && c.URL == "https://mcp.example.com/mcp" && c.Headers["X"].Reveal() == "tok-en-value" &&
					slices.Equal(c.Include, []string{"a"}) && slices.Equal(c.Exclude, []string{"b"})
			}, nil,
		},
		"expansion": {
			`{"mcpServers":{"s":{"command":"x","args":["${EMPTY:-other}","$${TOKEN}","${TOKEN}${HOST}","$TOKEN","${open"],"disabled":true}}}`,
			func(c ServerConfig) bool {
				return slices.Equal(c.Args, []string{"other", "${TOKEN}", "tok-en-valuemcp.example.com", "$TOKEN", "${open"}) && c.Disabled
			}, nil,
		},
		"unset": {
			`{"mcpServers":{"s":{"command":"x","args":["${NOPE}","${input:key}"]}}}`,
			func(c ServerConfig) bool { return slices.Equal(c.Args, []string{"", "${input:key}"}) },
			[]string{"the environment variable NOPE is not set", "${input:key} is not a variable"},
		},
		"sandbox": {
			`{"mcpServers":{"s":{"command":"x","sandbox":{"network":false,"write":["/y"]}}}}`,
			func(c ServerConfig) bool {
				return !c.Sandbox.Network && !c.Sandbox.Off && slices.Equal(c.Sandbox.Write, []string{"/y"})
			}, nil,
		},
		"no sandbox": {`{"mcpServers":{"s":{"command":"x","sandbox":false}}}`, func(c ServerConfig) bool { return c.Sandbox.Off }, nil},
		"unknown keys": {
			`{"mcpServers":{"s":{"command":"x","agrs":["y"],"envFile":".env","alwaysAllow":["z"]}}}`,
			func(c ServerConfig) bool { return c.Command == "x" },
			[]string{`file: MCP server "s": unknown key "agrs", did you mean "args"?`, `unknown key "envFile"; it is passed over`, "for the policy to say"},
		},
		"neither":     {`{"mcpServers":{"s":{}}}`, nil, []string{"left out: it has neither a command nor a url"}},
		"both":        {`{"mcpServers":{"s":{"command":"x","url":"http://y"}}}`, nil, []string{"left out: it has both"}},
		"bad type":    {`{"mcpServers":{"s":{"type":"pigeon","url":"http://y"}}}`, nil, []string{`left out: unknown type "pigeon"`}},
		"bad address": {`{"mcpServers":{"s":{"url":"ftp://me:pass@y"}}}`, nil, []string{"left out: its url must begin with http"}},
		"bad values":  {`{"mcpServers":{"s":{"command":"x","env":{"A":{}}}}}`, nil, []string{"left out: the values of env and headers must be texts"}},
		"bad timeout": {`{"mcpServers":{"s":{"command":"x","timeout":"soon"}}}`, nil, []string{`left out: timeout "soon" is not a duration`}},
		"not even":    {`{"mcpServers":{"s":"x"}}`, nil, []string{"left out: it must be an object"}},
		"empty":       {`{"mcpServers":{"s":{"command":"${EMPTY}"}}}`, nil, []string{"EMPTY is not set", "left out: its command is empty"}},
		"twice":       {`{"mcpServers":{"s":{"command":"x"}},"servers":{"s":{"command":"y"}}}`, func(c ServerConfig) bool { return c.Command == "x" }, []string{"configured twice"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, warnings, err := ParseServers([]byte(test.file), "file", environment)
			if err != nil {
				t.Fatal(err)
			}
			c, ok := servers["s"]
			if test.want == nil {
				if ok {
					t.Errorf("it is there: %v", c)
				}
			} else if !ok || !test.want(c) {
				t.Errorf("read as %v: %+v %v", ok, c.Args, c)
			}
			var texts []string
			for _, w := range warnings {
				texts = append(texts, w.String())
			}
			if len(texts) != len(test.warnings) {
				t.Errorf("warnings: %q", texts)
			}
			has(t, strings.Join(texts, "\n"), test.warnings...)
		})
	}
}

func TestBrokenServerHidesNoOther(t *testing.T) {
	t.Parallel()
	servers, warnings, err := ParseServers([]byte(`{"mcpServers":{"a":{"args":7},"b":{"command":"x"},"c":null}}`), "file", environment)
	if err != nil || len(servers) != 1 || servers["b"].Command != "x" || len(warnings) != 2 {
		t.Errorf("%v, %v, %v", servers, warnings, err)
	}
}

func TestBrokenFileNamesItsLine(t *testing.T) {
	t.Parallel()
	_, _, err := ParseServers([]byte("{\n\"mcpServers\": {\n  \"a\": oops\n}}"), "mcp.json", environment)
	if err == nil {
		t.Fatal("no error")
	}
	has(t, err.Error(), "reading the MCP servers of mcp.json, line 3: ")
}

func TestConfigPrintsNoSecrets(t *testing.T) {
	t.Parallel()
	servers, _, err := ParseServers([]byte(`{"mcpServers":{
		"a":{"command":"/bin/prog","args":["--key","${TOKEN}"],"env":{"K":"plain-secret"}},
		"b":{"url":"https://u:${TOKEN}@h.example/?k=${TOKEN}","headers":{"X":"plain-secret"}}}}`), "file", environment)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s", servers, servers, servers, encoded)
	hasNot(t, all, "tok-en-value", "plain-secret")
	has(t, all, "stdio prog", "http h.example")
}
