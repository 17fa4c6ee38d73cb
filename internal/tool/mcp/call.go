// Calls: the tools of a server as tools of ours, and what happens around a
// request that is under way.

package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	maxShown      = 10_000                 // characters of the arguments that a person is shown
	progressPause = 100 * time.Millisecond // between two pieces of progress that are shown
)

// class is that of what the server does: what is said to be read-only counts
// only if the server is trusted.
func (s *server) class(readOnly bool) tool.Class {
	switch {
	case readOnly && s.config.Trust:
		return tool.Reads
	case s.config.Transport == Stdio:
		return tool.Executes
	}
	return tool.Network
}

func (s *server) newTool(name string, r remoteTool) tool.Tool {
	description := r.Description
	if description == "" {
		description = fmt.Sprintf("The tool %s of the MCP server %s.", r.Name, s.name)
	}
	class := s.class(r.ReadOnly)
	return tool.Tool{
		Name: name, Description: clip(description, maxDescription), Schema: r.Schema, Class: class,
		Plan: func(_ context.Context, _ tool.Env, input json.RawMessage) (tool.Action, error) {
			return s.plan(class, r.Name, input), nil
		},
		Run: func(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
			var result tool.Result
			err := s.use(ctx, env, func(ctx context.Context, session *sdk.ClientSession, token string) error {
				params := &sdk.CallToolParams{Name: r.Name, Arguments: input}
				params.SetProgressToken(token)
				answer, err := session.CallTool(ctx, params)
				if err != nil {
					return err
				}
				result = callResult(answer)
				return nil
			})
			return result, err
		},
	}
}

// plan is what a person is shown and an approval is bound to.
func (s *server) plan(class tool.Class, what string, input json.RawMessage) tool.Action {
	var pretty bytes.Buffer
	if json.Indent(&pretty, input, "", "  ") != nil {
		pretty.Write(input)
	}
	sum := sha256.Sum256(slices.Concat([]byte(s.key()+"\x00"+what+"\x00"), input))
	action := tool.Action{
		Class:  class,
		Shown:  fmt.Sprintf("MCP server %s: %s\n%s", s.name, what, clip(pretty.String(), maxShown)),
		Digest: hex.EncodeToString(sum[:]),
	}
	if s.config.Transport != Stdio {
		action.Hosts = []string{s.config.host()}
	}
	return action
}

// call is one use of a server that is under way.
type call struct {
	env   tool.Env
	ctx   context.Context
	token string        // by which the server names it in news of progress
	limit time.Duration // without news

	mu      sync.Mutex
	over    bool
	timer   *time.Timer
	waiting int // questions to the user that are open: time stands still
	shown   time.Time
}

// callKey finds the call in the context of what happens within it.
type callKey struct{}

// notSent is the code of the SDK's own error for a request that did not reach
// the server.
const notSent = -32005

// errSlow ends a call that has taken too long.
var errSlow = errors.New("too slow")

// use makes one request to the server, or several that belong together.
func (s *server) use(ctx context.Context, env tool.Env, do func(ctx context.Context, session *sdk.ClientSession, token string) error) error {
	limit := s.config.Timeout
	if limit <= 0 {
		limit = s.client.timing.call
	}
	l, err := s.reach(ctx, min(limit, s.client.timing.start))
	if err != nil {
		return err
	}
	release, err := s.takeTurn(ctx, limit)
	if err != nil {
		return err
	}
	defer release()

	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(errGone) })()
	c := &call{env: env, limit: limit}
	c.timer = time.AfterFunc(limit, func() { cancel(errSlow) })
	c.ctx = context.WithValue(within, callKey{}, c)
	s.begin(c)
	defer s.end(c)

	err = do(c.ctx, l.session, c.token)
	if required := requiredVisits(err); len(required) > 0 {
		if err = s.visit(c, required); err == nil {
			err = do(c.ctx, l.session, c.token)
		}
	}
	return s.explain(ctx, c, l, err)
}

// reach returns the session, and waits a little for one that is on its way.
func (s *server) reach(ctx context.Context, limit time.Duration) (*line, error) {
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.settled(wait)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != nil {
		return s.line, nil
	}
	why := ""
	if s.err != nil {
		why = " (" + s.err.Error() + ")"
	}
	switch s.state {
	case Starting:
		return nil, fmt.Errorf("the MCP server %s is still starting%s; try again later", s.name, why)
	case Failed:
		in := max(0, s.next.Sub(s.client.options.Now())).Round(time.Second)
		return nil, fmt.Errorf("the MCP server %s is not running%s; next try in %s", s.name, why, in)
	case Running, Disabled, Stopped:
	}
	return nil, fmt.Errorf("the MCP server %s is not running: it was stopped", s.name)
}

// takeTurn waits for other calls if the server may have one at a time only.
func (s *server) takeTurn(ctx context.Context, limit time.Duration) (release func(), err error) {
	s.mu.Lock()
	alone := s.asks
	s.mu.Unlock()
	if !alone {
		return func() {}, nil
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, fmt.Errorf("the MCP server %s is busy with another call, which may wait for an answer of the user; try again later", s.name)
	}
}

func (s *server) begin(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	c.token = fmt.Sprintf("cadre-%d", s.started)
	s.calls = append(s.calls, c)
}

func (s *server) end(c *call) {
	s.mu.Lock()
	s.calls = slices.DeleteFunc(s.calls, func(other *call) bool { return other == c })
	s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.timer.Stop()
}

// explain words the error of a call.
func (s *server) explain(ctx context.Context, c *call, l *line, err error) error {
	var refused *jsonrpc.Error
	switch cause := context.Cause(c.ctx); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(cause, errSlow):
		return fmt.Errorf("the MCP server %s has not answered within %s; the call was cancelled, but may have had effects. Its configuration can set a longer timeout", s.name, c.limit)
	case hasEnded(cause), errors.Is(err, sdk.ErrConnectionClosed), s.config.Transport == Stdio && (hasEnded(err) || errors.Is(err, errTooLong)):
		return fmt.Errorf("the MCP server %s ended during the call (%w); what the call did is unknown. The server is being restarted", s.name, s.reasonOf(l, err))
	case errors.As(err, &refused) && refused.Code != notSent:
		return fmt.Errorf("the MCP server %s refused: %w", s.name, s.clean(errors.New(refused.Message)))
	}
	return fmt.Errorf("calling the MCP server %s: %w", s.name, s.clean(err))
}

// reasonOf waits a little until it is known why the session has ended.
func (s *server) reasonOf(l *line, err error) error {
	timer := time.NewTimer(3 * s.client.timing.grace)
	defer timer.Stop()
	select {
	case <-l.gone:
		return l.reason
	case <-timer.C:
		return s.clean(err)
	}
}

// progress shows news of a call, and lets it take its time again.
func (s *server) progress(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
	s.mu.Lock()
	at := slices.IndexFunc(s.calls, func(c *call) bool { return c.token == req.Params.ProgressToken })
	var c *call
	if at >= 0 {
		c = s.calls[at]
	}
	s.mu.Unlock()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock() // held while it is shown, so that nothing is after the end
	if c.over {
		return
	}
	if c.waiting == 0 {
		c.timer.Reset(c.limit)
	}
	now := time.Now()
	if c.env.Output == nil || now.Sub(c.shown) < progressPause {
		return
	}
	c.shown = now
	c.env.Output(progressText(req.Params))
}

func progressText(p *sdk.ProgressNotificationParams) string {
	text := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		text += fmt.Sprintf(" of %g", p.Total)
	}
	if p.Message != "" {
		text += ": " + clip(strings.TrimSpace(p.Message), maxLine)
	}
	return text + "\n"
}

// hold lets the time of the call stand still until release is called.
func (c *call) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting++
	c.timer.Stop()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waiting--; c.waiting == 0 && !c.over {
			c.timer.Reset(c.limit)
		}
	}
}
