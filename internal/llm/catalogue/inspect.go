// What local servers tell of their models beside the names: above all the
// window, which is what the server was started with, not what the model was
// trained for.

package catalogue

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// inspectTime is how long a server that has answered may take to tell more.
	inspectTime = time.Second
	// inspectMost bounds how many models it is asked about one by one, and
	// inspectAtOnce how many at the same time.
	inspectMost   = 64
	inspectAtOnce = 8
)

// inspect completes what a local server listed, as far as it tells. It drops
// what is no model to talk to.
func (c *Catalogue) inspect(ctx context.Context, p *provider, models []Model) []Model {
	root := strings.TrimSuffix(strings.TrimRight(p.base, "/"), "/v1")
	switch p.vendor.name {
	case "ollama":
		return c.inspectOllama(ctx, p, root, models)
	case "lmstudio":
		return c.inspectLMStudio(ctx, p, root, models)
	case "llamacpp":
		return c.inspectLlama(ctx, p, root, models)
	}
	return models
}

// tell decodes an answer of a server into v; false if there is none.
func (c *Catalogue) tell(ctx context.Context, p *provider, method, address string, body []byte, v any) bool {
	b, err := c.send(ctx, p, method, address, body)
	return err == nil && json.Unmarshal(b, v) == nil
}

// inspectOllama asks about each model, and which are loaded with which window.
// Where a model is not loaded, its own num_ctx counts, then the server's.
func (c *Catalogue) inspectOllama(ctx context.Context, p *provider, root string, models []Model) []Model {
	var running struct {
		Models []struct {
			Model   string `json:"model"`
			Context int64  `json:"context_length"`
		} `json:"models"`
	}
	var wg sync.WaitGroup
	wg.Go(func() { c.tell(ctx, p, http.MethodGet, root+"/api/ps", nil, &running) })
	keep := make([]bool, len(models))
	places := make(chan struct{}, inspectAtOnce)
	for i := range models {
		keep[i] = true
		if i >= inspectMost {
			continue
		}
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			keep[i] = c.showOllama(ctx, p, root, &models[i])
		})
	}
	wg.Wait()
	var out []Model
	for i, m := range models {
		if !keep[i] {
			continue
		}
		for _, r := range running.Models {
			if r.Model != m.ID {
				continue
			}
			m.loaded = true
			if r.Context > 0 {
				m.Window, m.guessed = r.Context, false
			}
		}
		out = append(out, m)
	}
	return out
}

// showOllama asks Ollama about one model; false if it is none to talk to.
func (c *Catalogue) showOllama(ctx context.Context, p *provider, root string, m *Model) bool {
	body, err := json.Marshal(map[string]string{"model": m.ID})
	if err != nil {
		return true
	}
	var said struct {
		Parameters   string                     `json:"parameters"`
		Info         map[string]json.RawMessage `json:"model_info"`
		Capabilities []string                   `json:"capabilities"`
	}
	if !c.tell(ctx, p, http.MethodPost, root+"/api/show", body, &said) {
		return true
	}
	var trained int64
	for key, value := range said.Info {
		if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && strings.HasSuffix(key, ".context_length") {
			trained = n
		}
	}
	given := parameter(said.Parameters, "num_ctx")
	if given <= 0 {
		given, _ = strconv.ParseInt(c.env("OLLAMA_CONTEXT_LENGTH"), 10, 64)
	}
	m.Window, m.guessed = trained, given <= 0 && !isRemote(m.ID)
	if given > 0 && (trained == 0 || given < trained) {
		m.Window = given
	}
	if can := said.Capabilities; len(can) > 0 {
		m.Listed = true
		m.Tools, m.Images, m.Reasoning = slices.Contains(can, "tools"), slices.Contains(can, "vision"), slices.Contains(can, "thinking")
		return slices.Contains(can, "completion")
	}
	return true
}

// parameter reads a number from the lines of a Modelfile's parameters.
func parameter(text, name string) int64 {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// inspectLMStudio reads the list of LM Studio's own interface. A model that is
// loaded has the window that it was loaded with.
func (c *Catalogue) inspectLMStudio(ctx context.Context, p *provider, root string, models []Model) []Model {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Type   string `json:"type"`
			State  string `json:"state"`
			Most   int64  `json:"max_context_length"`
			Loaded int64  `json:"loaded_context_length"`
		} `json:"data"`
	}
	if !c.tell(ctx, p, http.MethodGet, root+"/api/v0/models", nil, &list) {
		return models
	}
	var out []Model
	for _, m := range models {
		keep := true
		for _, x := range list.Data {
			if x.ID != m.ID {
				continue
			}
			keep = x.Type != "embeddings"
			m.loaded = x.State == "loaded"
			m.Images = x.Type == "vlm"
			if m.Window = x.Most; x.Loaded > 0 {
				m.Window = x.Loaded
			}
		}
		if keep {
			out = append(out, m)
		}
	}
	return out
}

// inspectLlama asks llama.cpp with which window it was started; it has one
// model as a rule.
func (c *Catalogue) inspectLlama(ctx context.Context, p *provider, root string, models []Model) []Model {
	var props struct {
		Settings struct {
			Context int64 `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	if len(models) != 1 || !c.tell(ctx, p, http.MethodGet, root+"/props", nil, &props) {
		return models
	}
	models[0].loaded = true
	models[0].Images = props.Modalities.Vision
	if props.Settings.Context > 0 {
		models[0].Window = props.Settings.Context
	}
	return models
}
