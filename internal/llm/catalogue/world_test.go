// What the tests share: a configuration without a machine around it.

package catalogue

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/config"
	"github.com/cadre-dev/cadre/internal/llm"
)

// env is an environment.
type env map[string]string

func (e env) get(name string) string { return e[name] }

// keys is an environment with a key for each of the providers named.
func keys(providers ...string) env {
	e := env{}
	for _, name := range providers {
		e[vendorOf(name).keys[0]] = "key-of-" + name
		if name == "azure" {
			e["AZURE_OPENAI_ENDPOINT"] = "https://thing.openai.azure.com"
		}
	}
	return e
}

// configured reads a configuration from its text.
func configured(t *testing.T, e env, text string) (*config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "cadre", "config.yaml")
	if text != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, file, text)
	}
	return config.Load(config.Options{Env: func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return dir
		}
		return e[name]
	}})
}

// network reaches the servers it is told of, and refuses the rest, so that no
// test depends on what runs on the machine.
type network struct {
	mu      sync.Mutex
	servers map[string]string // where a host really is
	asked   []string          // hosts that were refused
}

var errRefused = errors.New("connection refused")

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	n.mu.Lock()
	to, ok := n.servers[req.URL.Host]
	if !ok {
		n.asked = append(n.asked, req.URL.Host)
	}
	n.mu.Unlock()
	if !ok {
		return nil, errRefused
	}
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = "http", to
	return http.DefaultTransport.RoundTrip(req)
}

// serve answers for a host.
func (n *network) serve(t *testing.T, host string, h http.HandlerFunc) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.servers == nil {
		n.servers = map[string]string{}
	}
	n.servers[host] = strings.TrimPrefix(s.URL, "http://")
}

// dialled is a client that remembers how it was made.
type dialled struct {
	Endpoint
	calls []*llm.Request
}

func (d *dialled) Call(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Reply, error) {
	d.calls = append(d.calls, req)
	return &llm.Reply{Model: req.Model, Stop: llm.StopEnd}, nil
}

// made makes a catalogue whose clients only remember how they were made.
func made(t *testing.T, e env, text string) (*Catalogue, *network) {
	t.Helper()
	c, err := configured(t, e, text)
	if err != nil {
		t.Fatal(err)
	}
	n := &network{}
	return New(Options{
		Config: c, Env: e.get, HTTP: &http.Client{Transport: n}, ProbeTime: 10 * time.Second, StartTime: 10 * time.Second,
		Dial: func(ep Endpoint) (llm.Provider, error) { return &dialled{Endpoint: ep}, nil },
	}), n
}

// endpoint finds a model and returns how its client was made.
func endpoint(t *testing.T, c *Catalogue, name string) Endpoint {
	t.Helper()
	p, _, err := c.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*client).next.(*dialled).Endpoint
}

// pairs shows pairs with their values.
func pairs(list []config.Pair) string {
	var out []string
	for _, p := range list {
		out = append(out, p.Name+"="+p.Value.Reveal())
	}
	return strings.Join(out, " ")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
