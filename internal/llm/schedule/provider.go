// A provider that waits for its place: the scheduler around another provider.

package schedule

import (
	"context"
	"errors"

	"github.com/cadre-dev/cadre/internal/llm"
)

// Provider makes the calls of another provider once the scheduler lets them. It
// is cheap to make, for a single call too; then OnWait and Fallback are those
// of the call.
type Provider struct {
	Next      llm.Provider
	Scheduler *Scheduler
	Lane      string // provider/model, see Ticket
	Fallback  bool   // there is another model to turn to, see Ticket
	OnWait    OnWait // may be nil
}

var _ llm.Provider = Provider{}

// errUnwound is the result of a call that did not return: it panicked, or its
// goroutine ended.
var errUnwound = errors.New("the call did not return")

// Call implements llm.Provider. Who asks is taken from the request's Caller.
func (p Provider) Call(ctx context.Context, req *llm.Request, onDelta func(llm.Delta)) (*llm.Reply, error) {
	release, err := p.Scheduler.Acquire(ctx, Ticket{
		Lane: p.Lane, Chat: req.Caller.Chat, Agent: req.Caller.Agent, Depth: req.Caller.Depth,
		Retry: req.Caller.Try > 1, Fallback: p.Fallback,
	}, p.OnWait)
	if err != nil {
		return nil, err
	}
	result := Result{Err: errUnwound}
	defer func() { release(result) }()
	reply, err := p.Next.Call(ctx, req, onDelta)
	result.Err = err
	if !p.Fallback {
		return reply, err
	}
	release(result) // the lane has to know of a refusal before it is asked
	return reply, p.Scheduler.lane(p.Lane).orElse(req.Caller.Agent, req.Caller.Turn, err)
}
