// What a server offers: how it is listed, kept, and made into tools.

package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	maxTools       = 1000 // of one server
	maxDescription = 4000 // characters
	maxSchema      = 64 << 10
)

// offer is what a server offers, as it is kept in the cache.
type offer struct {
	Tools     []remoteTool `json:"tools"`
	Resources bool         `json:"resources"`
	Prompts   bool         `json:"prompts"`
}

// remoteTool is a tool as its server describes it.
type remoteTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	ReadOnly    bool            `json:"read_only"`
}

// list asks the server what it offers.
func (s *server) list(ctx context.Context, session *sdk.ClientSession) error {
	ctx, cancel := context.WithTimeout(ctx, s.client.timing.list)
	defer cancel()
	var found offer
	capabilities := session.InitializeResult().Capabilities
	if capabilities == nil {
		capabilities = &sdk.ServerCapabilities{}
	}
	found.Resources, found.Prompts = capabilities.Resources != nil, capabilities.Prompts != nil
	if capabilities.Tools != nil {
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			if len(found.Tools) == maxTools {
				break
			}
			found.Tools = append(found.Tools, newRemoteTool(t))
		}
	}
	s.offerTools(found, false)
	if err := s.writeCache(found); err != nil {
		s.log.Warn("keeping the list of an MCP server's tools", "error", err)
	}
	return nil
}

func newRemoteTool(t *sdk.Tool) remoteTool {
	r := remoteTool{Name: t.Name, Description: strings.TrimSpace(t.Description)}
	if t.Annotations != nil {
		r.ReadOnly = t.Annotations.ReadOnlyHint
		r.Description = cmp.Or(r.Description, t.Title, t.Annotations.Title)
	}
	schema, ok := t.InputSchema.(map[string]any)
	if t.InputSchema == nil {
		schema, ok = map[string]any{}, true
	}
	if ok && schema["type"] == nil { // some leave out what the protocol says anyway
		schema = maps.Clone(schema)
		schema["type"] = "object"
	}
	if !ok {
		r.Schema = json.RawMessage(`false`) // tool.Check says what is wrong with it
	} else if raw, err := json.Marshal(schema); err == nil {
		r.Schema = raw
	}
	return r
}

// offerTools makes the tools of what the server offers; bad ones are left out
// with a warning.
func (s *server) offerTools(found offer, cached bool) {
	var tools []tool.Tool
	var warnings []string
	seen := map[string]bool{}
	var remote []remoteTool
	for _, r := range found.Tools {
		wanted := len(s.config.Include) == 0 || slices.Contains(s.config.Include, r.Name)
		switch {
		case !wanted || slices.Contains(s.config.Exclude, r.Name):
		case seen[r.Name]:
			warnings = append(warnings, fmt.Sprintf("the tool %q is listed twice; the first counts", clip(r.Name, maxLine)))
		default:
			seen[r.Name] = true
			remote = append(remote, r)
		}
	}
	names := toolNames(s.id, append(slices.Collect(maps.Keys(seen)), resourcesTool))
	for _, r := range remote {
		t := s.newTool(names[r.Name], r)
		err := fmt.Errorf("its schema has more than %d kB", maxSchema>>10)
		if len(r.Schema) <= maxSchema {
			err = tool.Check(t)
		}
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("the tool %q is left out: %v", clip(r.Name, maxLine), s.clean(err)))
			continue
		}
		tools = append(tools, t)
	}
	if len(found.Tools) == maxTools {
		warnings = append(warnings, fmt.Sprintf("only its first %d tools are offered", maxTools))
	}
	if name := names[resourcesTool]; found.Resources || found.Prompts {
		if seen[resourcesTool] {
			name = withHash(name, s.id, maxName)
		}
		tools = append(tools, s.newResourcesTool(name, found))
	}
	slices.SortFunc(tools, func(a, b tool.Tool) int { return cmp.Compare(a.Name, b.Name) })

	s.mu.Lock()
	changed := !reflect.DeepEqual(s.listed, found) || len(s.tools) != len(tools)
	s.listed, s.cached = found, cached
	if changed { // else the very same tools stay
		s.tools, s.warnings = tools, warnings
	}
	s.mu.Unlock()
	if !changed || cached { // what is read from the cache is there before anybody listens
		return
	}
	for _, w := range warnings {
		s.log.Warn("a tool of an MCP server cannot be used", "warning", w)
	}
	s.client.tellChanged()
}

// key names what is kept of the server. It depends on all that decides which
// program answers, but on no secret value.
func (s *server) key() string {
	c := s.config
	address := c.URL
	if at := strings.IndexAny(address, "?@"); at >= 0 {
		address = c.host()
	}
	raw, err := json.Marshal([]any{
		s.name, c.Transport, c.Command, c.Dir, address,
		slices.Sorted(maps.Keys(c.Env)), slices.Sorted(maps.Keys(c.Headers)), s.redact.Replace(strings.Join(c.Args, "\x00")),
	})
	if err != nil {
		return s.id
	}
	sum := sha256.Sum256(raw)
	return s.id + "-" + hex.EncodeToString(sum[:8])
}

func (s *server) cacheFile() string {
	return filepath.Join(s.client.options.Cache, s.key()+".json")
}

// readCache returns what the server offered last time.
func (s *server) readCache() (offer, bool) {
	if s.client.options.Cache == "" {
		return offer{}, false
	}
	data, err := os.ReadFile(s.cacheFile())
	if errors.Is(err, fs.ErrNotExist) {
		return offer{}, false
	}
	var found offer
	if err == nil {
		err = json.Unmarshal(data, &found)
	}
	if err != nil {
		s.log.Warn("reading what an MCP server offered last time", "error", err)
		return offer{}, false
	}
	return found, true
}

// writeCache keeps what the server offers, in one step: other processes may
// read it.
func (s *server) writeCache(found offer) error {
	folder := s.client.options.Cache
	if folder == "" {
		return nil
	}
	data, err := json.Marshal(found)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), s.cacheFile())
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
