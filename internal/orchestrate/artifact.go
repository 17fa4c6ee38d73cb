package orchestrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/agent"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/tool"
)

// A tool result over these bounds is kept as an artifact; the history gets a
// preview and a handle, so that one careless call cannot fill the context.
const (
	largeResult  = 50_000 // characters
	largeTokens  = 20_000 // estimated at four bytes each
	previewHead  = 4_000
	previewTail  = 1_000
	artifactRead = 10_000
)

// ReadArtifact is the name of the tool that reads artifacts in pieces.
const ReadArtifact = "read_artifact"

// bound turns a large text result into a preview and its artifact. Images stay
// as they are.
func bound(id string, run agent.RunTool, parts []message.Part) ([]message.Part, *agent.Artifact) {
	if run.Name == ReadArtifact {
		return parts, nil // it is bounded by itself
	}
	text := message.Text(parts)
	n := utf8.RuneCountInString(text)
	if n <= largeResult && len(text) <= 4*largeTokens {
		return parts, nil
	}
	r := []rune(text)
	a := &agent.Artifact{
		ID: store.ArtifactID(id, run.Turn, run.Call), Name: run.Name, MediaType: "text/plain; charset=utf-8", Data: []byte(text),
	}
	preview := fmt.Sprintf("%s\n\n[… %d of %d characters are left out here. The whole is artifact %s: read it in pieces with %s, or ask for less.]\n\n%s",
		string(r[:previewHead]), n-previewHead-previewTail, n, a.ID, ReadArtifact, string(r[n-previewTail:]))
	out := []message.Part{message.TextPart{Text: preview}}
	for _, part := range parts {
		if _, ok := part.(message.TextPart); !ok {
			out = append(out, part)
		}
	}
	return out, a
}

// kept stores output that a tool has bounded by itself, as a whole.
func kept(id string, run agent.RunTool, res tool.Result) ([]message.Part, *agent.Artifact) {
	a := &agent.Artifact{
		ID: store.ArtifactID(id, run.Turn, run.Call), Name: res.Whole.Name, MediaType: res.Whole.MediaType, Data: res.Whole.Data,
	}
	note := fmt.Sprintf("[The whole is artifact %s: read it in pieces with %s.]", a.ID, ReadArtifact)
	return append(slices.Clone(res.Parts), message.TextPart{Text: note}), a
}

// Artifacts is where artifacts, and results of tasks, are read from.
type Artifacts interface {
	Artifact(ctx context.Context, id string) (*store.Artifact, error)
	Task(ctx context.Context, id string) (*store.Task, error)
}

// ArtifactTool makes the tool that reads artifacts of the agent's own chat, and
// the whole results of the tasks below the agent by their ids.
func ArtifactTool(from Artifacts) tool.Tool {
	return tool.Tool{
		Name: ReadArtifact, Description: text(ReadArtifact), Class: tool.Reads,
		Schema: json.RawMessage(`{"type":"object","required":["id"],"additionalProperties":false,"properties":{"id":{"type":"string"},"offset":{"type":"integer","minimum":0},"limit":{"deprecated":true,"type":"integer","minimum":1,"maximum":40000}}}`),
		Run: func(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
			in := struct {
				ID     string `json:"id"`
				Offset int    `json:"offset"`
				Limit  int    `json:"limit"`
			}{Limit: artifactRead}
			if err := json.Unmarshal(input, &in); err != nil {
				return tool.Result{}, fmt.Errorf("reading the input: %w", err)
			}
			if t, err := from.Task(ctx, in.ID); err == nil && strings.HasPrefix(t.ID, env.Agent+".") {
				return tool.Text(piece([]rune(strings.TrimSpace(t.Error+"\n\n"+t.Result)), in.Offset, in.Limit)), nil
			}
			a, err := from.Artifact(ctx, in.ID)
			if errors.Is(err, store.ErrNotFound) || err == nil && a.ChatID != env.Chat {
				return tool.Result{}, fmt.Errorf("there is no artifact %q in this chat", in.ID)
			}
			if err != nil {
				return tool.Result{}, fmt.Errorf("reading artifact %s: %w", in.ID, err)
			}
			return tool.Text(piece([]rune(string(a.Data)), in.Offset, in.Limit)), nil
		},
	}
}

func piece(r []rune, offset, limit int) string {
	if offset >= len(r) {
		return fmt.Sprintf("[the artifact has %d characters; there is nothing at %d]", len(r), offset)
	}
	end := min(offset+limit, len(r))
	text := string(r[offset:end])
	if end < len(r) {
		text += fmt.Sprintf("\n\n[characters %d to %d of %d; go on with offset %d]", offset, end-1, len(r), end)
	}
	return text
}
