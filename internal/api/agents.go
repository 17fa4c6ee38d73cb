// Agents, their tasks, messages, calls and artifacts: read, and stopped.

package api

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/engine"
	"github.com/cadre-dev/cadre/internal/store"
)

const (
	agentsPath = chatPath + "/sub-agents"
	agentPath  = agentsPath + "/{agent}"
	tasksPath  = chatPath + "/tasks"
)

// AgentInput names an agent.
type AgentInput struct {
	ChatInput
	Agent string `path:"agent" maxLength:"200" doc:"A sub-agent, or the orchestrator by the id of the chat."`
}

// AgentPageInput asks for a page of what an agent has.
type AgentPageInput struct {
	AgentInput
	PageInput
}

// CallsInput asks for calls of an agent.
type CallsInput struct {
	AgentPageInput
	Status string `query:"status" maxLength:"40"`
}

func (s *Server) agentRoutes() {
	get := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodGet, Path: path, Summary: summary}
	}
	stop := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodPost, Path: path, Summary: summary, DefaultStatus: http.StatusNoContent}
	}
	register(s, access.Read, get("listTasks", tasksPath, "The tasks of a chat"), s.listTasks)
	register(s, access.Read, get("getTask", tasksPath+"/{task}", "One task"), s.getTask)
	register(s, access.Write, stop("stopTask", tasksPath+"/{task}/stop", "Stop a task"), s.stopTask)
	register(s, access.Read, get("listAgents", agentsPath, "The sub-agents of a chat"), s.listAgents)
	register(s, access.Read, get("listRunning", "/v1/users/{user}/agents", "The agents of all chats that are at work or wait"), s.listRunning)
	register(s, access.Read, get("getAgent", agentPath, "One agent"), s.getAgent)
	register(s, access.Write, stop("stopAgent", agentPath+"/stop", "Stop an agent and all below it"), s.stopAgent)
	register(s, access.Read, get("listAgentMessages", agentPath+"/messages", "The conversation of an agent"), s.listAgentMessages)
	register(s, access.Read, get("listToolCalls", agentPath+"/tool-calls", "The tool calls of an agent"), s.listToolCalls)
	register(s, access.Read, get("listModelCalls", agentPath+"/model-calls", "The model calls of an agent"), s.listModelCalls)
	register(s, access.Read, get("getPrompt", agentPath+"/prompt", "What the agent's model is told: system prompt and tools"), s.getPrompt)
	register(s, access.Read, get("listLog", agentPath+"/log", "What happened to an agent, event by event"), s.listLog)
	artifact := get("getArtifact", chatPath+"/artifacts/{artifact}", "The bytes of an artifact")
	artifact.Responses = map[string]*huma.Response{"200": {Description: "The bytes", Content: map[string]*huma.MediaType{"application/octet-stream": {}}}}
	register(s, access.Read, artifact, s.getArtifact)
}

func (s *Server) listTasks(ctx context.Context, in *struct {
	ChatInput
	PageInput
	Status string `query:"status" maxLength:"40"`
	Role   string `query:"role" maxLength:"100" doc:"Of the sub-agent."`
	Depth  int    `query:"depth" minimum:"0" maximum:"100" doc:"Of the sub-agent; 0: any"`
},
) (*body[wire.Page[wire.Task]], error) {
	w, err := in.window("asc")
	if err != nil {
		return nil, err
	}
	q := store.TaskList{Chat: in.Chat, Status: in.Status, Role: in.Role, Window: w}
	if in.Depth > 0 {
		q.Depth = &in.Depth
	}
	return pageOf(s.cfg.Store.ListTasks(ctx, q))
}

// TaskInput names a task.
type TaskInput struct {
	ChatInput
	Task string `path:"task" maxLength:"200"`
}

// task finds a task of the chat in the path.
func (s *Server) task(ctx context.Context, in *TaskInput) (*store.Task, error) {
	t, err := s.cfg.Store.Task(ctx, in.Task)
	if errors.Is(err, store.ErrNotFound) || err == nil && t.ChatID != in.Chat {
		return nil, notFound("task", in.Task)
	}
	return t, err
}

func (s *Server) getTask(ctx context.Context, in *TaskInput) (*body[wire.Task], error) {
	t, err := s.task(ctx, in)
	if err != nil {
		return nil, err
	}
	return &body[wire.Task]{*t}, nil
}

func (s *Server) stopTask(ctx context.Context, in *TaskInput) (*none, error) {
	t, err := s.task(ctx, in)
	if err != nil {
		return nil, err
	}
	if t.SubAgentID == "" {
		return nil, unprocessable("task", "no agent works on this task", "stop the agent that started it: "+t.Agent)
	}
	return s.cancel(ctx, "task.stop", t.SubAgentID)
}

func (s *Server) listAgents(ctx context.Context, in *struct {
	ChatInput
	PageInput
	Status string `query:"status" maxLength:"40" doc:"What it does (thinking, acting …) or how it is (active, completed, failed, waiting_for_user)."`
	Role   string `query:"role" maxLength:"100"`
	Depth  int    `query:"depth" minimum:"0" maximum:"100" doc:"0: any below the orchestrator"`
	Parent string `query:"parent" maxLength:"200"`
	Sort   string `query:"sort" enum:"created,updated,cost,tokens" default:"created"`
},
) (*body[wire.Page[wire.Agent]], error) {
	w, err := in.window("asc")
	if err != nil {
		return nil, err
	}
	q := store.AgentList{Chat: in.Chat, Status: in.Status, Role: in.Role, Parent: in.Parent, Sort: in.Sort, Below: true, Window: w}
	if in.Depth > 0 {
		q.Depth = &in.Depth
	}
	return pageOf(s.cfg.Store.ListAgents(ctx, q))
}

func (s *Server) listRunning(ctx context.Context, in *struct {
	UserInput
	PageInput
},
) (*body[wire.Page[wire.Agent]], error) {
	w, err := in.window("asc")
	if err != nil {
		return nil, err
	}
	return pageOf(s.cfg.Store.ListAgents(ctx, store.AgentList{User: visitOf(ctx).User.ID, Window: w}))
}

func (s *Server) getAgent(ctx context.Context, _ *AgentInput) (*body[wire.Agent], error) {
	return &body[wire.Agent]{*visitOf(ctx).agent}, nil
}

func (s *Server) stopAgent(ctx context.Context, in *AgentInput) (*none, error) {
	return s.cancel(ctx, "agent.stop", in.Agent)
}

func (s *Server) listAgentMessages(ctx context.Context, in *AgentPageInput) (*body[wire.Page[wire.Message]], error) {
	return s.messagesOf(ctx, in.Agent, in.PageInput)
}

func (s *Server) listToolCalls(ctx context.Context, in *CallsInput) (*body[wire.Page[wire.ToolCall]], error) {
	w, err := in.window("asc")
	if err != nil {
		return nil, err
	}
	return pageOf(s.cfg.Store.ListToolCalls(ctx, store.OfAgent{Agent: in.Agent, Status: in.Status, Window: w}))
}

func (s *Server) listModelCalls(ctx context.Context, in *CallsInput) (*body[wire.Page[wire.ModelCall]], error) {
	w, err := in.window("asc")
	if err != nil {
		return nil, err
	}
	return pageOf(s.cfg.Store.ListModelCalls(ctx, store.OfAgent{Agent: in.Agent, Status: in.Status, Window: w}))
}

func (s *Server) getPrompt(ctx context.Context, _ *AgentInput) (*body[wire.Prompt], error) {
	a := visitOf(ctx).agent
	text, err := s.cfg.Store.Prompt(ctx, a.Prompt)
	if err != nil {
		return nil, err
	}
	st, _, err := engine.Load(ctx, s.cfg.Store, a.ID)
	if err != nil {
		return nil, err
	}
	p := wire.Prompt{ID: a.Prompt, Text: text, Model: strings.Join(st.Spec.Models, ", "), Tools: []wire.Tool{}}
	for _, name := range st.Spec.Tools {
		t := wire.Tool{Name: name}
		if s.cfg.Tool != nil {
			if known, ok := s.cfg.Tool(name); ok {
				t = known
			}
		}
		p.Tools = append(p.Tools, t)
	}
	return &body[wire.Prompt]{p}, nil
}

func (s *Server) listLog(ctx context.Context, in *AgentPageInput) (*body[wire.Page[wire.LogEntry]], error) {
	w, err := in.window("asc")
	if err != nil {
		return nil, err
	}
	events, next, err := s.cfg.Store.ListEvents(ctx, store.OfAgent{Agent: in.Agent, Window: w})
	states, unread := engine.Statuses(ctx, s.cfg.Store, in.Agent)
	if unread != nil { // the log itself is told all the same
		s.log.Warn("the states of an agent cannot be told", "agent", in.Agent, "err", unread)
	}
	entries := make([]wire.LogEntry, len(events))
	for i, e := range events {
		entries[i] = wire.LogEntry{Seq: e.Seq, At: e.At, Type: e.Type, Verdict: string(e.Verdict), State: string(states[e.Seq])}
	}
	return pageOf(entries, next, err)
}

// file is an answer that is bytes.
type file struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	ETag        string `header:"ETag"`
	Body        []byte
}

// getArtifact hands out bytes that agents and the web wrote. They are never
// shown as a page of this server: they come as a download, in a sandbox.
func (s *Server) getArtifact(ctx context.Context, in *struct {
	ChatInput
	Artifact string `path:"artifact" maxLength:"200"`
},
) (*file, error) {
	a, err := s.cfg.Store.Artifact(ctx, in.Artifact)
	if errors.Is(err, store.ErrNotFound) || err == nil && a.ChatID != in.Chat {
		return nil, notFound("artifact", in.Artifact)
	}
	if err != nil {
		return nil, err
	}
	kind := a.MediaType
	if _, _, err := mime.ParseMediaType(kind); err != nil {
		kind = "application/octet-stream"
	}
	return &file{
		ContentType: kind, ETag: fmt.Sprintf("%q", a.ID), Body: a.Data,
		Disposition: mime.FormatMediaType("attachment", map[string]string{"filename": a.Name}),
	}, nil
}
