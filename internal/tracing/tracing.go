// Package tracing tells an OpenTelemetry collector what agents did: a span for
// each agent, model call and tool call, nested as the tree is, with the
// attributes of the GenAI conventions.
//
// Spans are made of committed changes and nothing else, so that the engine
// knows nothing of tracing and a trace says what the record says. Their ids
// follow from the ids of what they stand for: a tree that began in one process
// and ended in another is one trace. The number of the last change whose spans
// the collector has is kept in the data folder; a collector that was away, or a
// process that was killed, is caught up with from there. What was sent just
// before a kill may be sent again, with the same ids.
//
// The package reads the store and the feed. It must not know the engine.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/cadre-dev/cadre/internal/feed"
	"github.com/cadre-dev/cadre/internal/store"
)

// CursorName is the file of the data folder that tells how far the collector
// has been told.
const CursorName = "traces.seq"

const (
	batchSize    = 512              // spans sent at once
	delay        = 2 * time.Second  // how long a span waits for others
	exportTime   = 10 * time.Second // for one batch
	firstBackoff = time.Second      // after a batch that could not be sent
	maxBackoff   = time.Minute
	buffer       = 8192 // changes that may wait while a batch is being sent
)

// Source is what is read beside the feed. A store of package sqlite is one.
type Source interface {
	Changes(ctx context.Context, since int64, limit int, f store.Filter) ([]store.Change, int64, error)
	LastSeq(ctx context.Context) (int64, error)
	Agent(ctx context.Context, id string) (*store.Agent, error)
	Task(ctx context.Context, id string) (*store.Task, error)
	ListMessages(ctx context.Context, q store.OfAgent) ([]store.Message, *store.Cursor, error)
}

// Config is what a Tracer is made of.
type Config struct {
	Store   Source
	Feed    *feed.Feed
	Dir     string // where the cursor is kept
	Version string // of this program
	Env     func(string) string
	Log     *slog.Logger
}

// Wanted tells whether the environment asks for traces. The error says what
// in it cannot be followed; then there are none.
func Wanted(env func(string) string) (bool, error) {
	off, _ := strconv.ParseBool(env("OTEL_SDK_DISABLED")) // anything else counts as false, as the specification has it
	exporter := env("OTEL_TRACES_EXPORTER")
	named := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	switch {
	case off || exporter == "none" || exporter == "" && !named:
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER is %q: traces are sent by otlp only, so that none are sent", exporter)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := env(name); protocol {
		case "":
			continue
		case "http/protobuf":
			return true, nil
		default:
			return false, fmt.Errorf("%s is %q: traces are sent by http/protobuf only, so that none are sent; set %s=http/protobuf, and the endpoint to the port where the collector takes it, usually 4318", name, protocol, name)
		}
	}
	return true, nil
}

// Tracer follows the feed and sends spans until it is closed.
type Tracer struct {
	cfg      Config
	exporter sdk.SpanExporter
	tracer   trace.Tracer
	content  bool // spans carry what was said

	closing context.Context // ended: send what there is, and no more
	close   context.CancelFunc
	stop    context.CancelFunc // ends everything at once
	ended   chan struct{}

	// Of the goroutine that follows.
	cursor cursor
	spans  []sdk.ReadOnlySpan // that have not been sent
	told   string             // the last error that was logged
	memory
}

// Start begins to follow what is committed from now on, and from where an
// earlier Tracer of the same folder has stopped. The exporter is configured by
// the environment of the process.
func Start(ctx context.Context, cfg Config) (*Tracer, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false})) // follow tries again
	if err != nil {
		return nil, fmt.Errorf("making the exporter of traces: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("cadre"), semconv.ServiceVersion(cfg.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("reading OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &Tracer{
		cfg: cfg, exporter: exporter, content: capture(cfg.Env), memory: newMemory(),
		cursor: cursor{name: filepath.Join(cfg.Dir, CursorName)}, ended: make(chan struct{}),
	}
	if err := t.cursor.open(ctx, cfg.Store); err != nil {
		return nil, err
	}
	provider := sdk.NewTracerProvider(sdk.WithIDGenerator(givenIDs{}), sdk.WithResource(about), sdk.WithSpanProcessor(gathering{t}))
	t.tracer = provider.Tracer("github.com/cadre-dev/cadre", trace.WithInstrumentationVersion(cfg.Version), trace.WithSchemaURL(semconv.SchemaURL))
	var following context.Context
	following, t.stop = context.WithCancel(context.WithoutCancel(ctx))
	t.closing, t.close = context.WithCancel(following)
	go t.follow(following)
	return t, nil
}

// capture tells whether the environment wants spans to carry content.
func capture(env func(string) string) bool {
	switch strings.ToLower(env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")) {
	case "true", "span_only", "span_and_event":
		return true
	}
	return false
}

// Close sends what is committed by now, as far as the collector takes it until
// ctx ends; the rest is sent by the next Tracer of the folder. The feed and the
// store must still be open.
func (t *Tracer) Close(ctx context.Context) error {
	t.close()
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
	t.stop()
	<-t.ended
	return t.exporter.Shutdown(context.WithoutCancel(ctx)) // nothing is under way any more
}

// follow sends spans until it is told to stop.
func (t *Tracer) follow(ctx context.Context) {
	defer close(t.ended)
	wait := firstBackoff
	for {
		before := t.cursor.seq
		err := t.send(ctx)
		var slow *feed.SlowError
		switch {
		case err == nil || ctx.Err() != nil || errors.Is(err, feed.ErrClosed):
			return
		case errors.Is(err, feed.ErrAhead):
			err = t.cursor.restart(ctx, t.cfg.Store)
		case errors.As(err, &slow):
			err = nil
		}
		// What was gathered since the last batch is read again.
		t.spans, t.memory = nil, newMemory()
		if err == nil {
			continue
		}
		if text := err.Error(); text != t.told {
			t.told = text
			t.cfg.Log.Warn("traces could not be sent; they are tried again", "err", err)
		}
		if t.cursor.seq != before {
			wait = firstBackoff
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = min(2*wait, maxBackoff)
	}
}

// selection are the documents that become spans.
func selection() store.Filter {
	return store.Filter{Collections: []string{
		"orchestrator", "model-calls", "tool-calls", "sub-agents", "sub-agents/*/model-calls", "sub-agents/*/tool-calls",
	}}
}

// send subscribes at the cursor and sends what comes in batches, until an
// error, or until it is closed and everything is sent.
func (t *Tracer) send(ctx context.Context) error {
	sub := t.cfg.Feed.Subscribe(ctx, t.cursor.seq, selection(), feed.Options{Buffer: buffer})
	defer sub.Close()
	until := t.cursor.seq // spans are made up to here
	var due time.Time     // when they have to be sent; zero: there are none
	for {
		wait, cancel := t.closing, func() {}
		if !due.IsZero() {
			wait, cancel = context.WithDeadline(t.closing, due)
		}
		item, err := sub.Next(wait)
		expired := wait.Err() != nil
		cancel()
		switch {
		case err == nil && item.Change == nil:
			continue
		case err == nil:
			if err := t.change(ctx, item.Change); err != nil {
				return err
			}
			until = item.Change.Seq
			if due.IsZero() {
				due = time.Now().Add(delay)
			}
			if len(t.spans) < batchSize {
				continue
			}
		case ctx.Err() != nil || !expired:
			return err
		case t.closing.Err() != nil:
			return t.drain(ctx, until)
		}
		if err := t.flush(ctx, until); err != nil {
			return err
		}
		due = time.Time{}
	}
}

// drain sends everything that is committed by now.
func (t *Tracer) drain(ctx context.Context, until int64) error {
	newest, err := t.cfg.Store.LastSeq(ctx)
	if err != nil {
		return err
	}
	for until < newest {
		changes, upTo, err := t.cfg.Store.Changes(ctx, until, batchSize, selection())
		if err != nil {
			return err
		}
		for i := range changes {
			if err := t.change(ctx, &changes[i]); err != nil {
				return err
			}
		}
		if until = upTo; len(t.spans) >= batchSize {
			if err := t.flush(ctx, until); err != nil {
				return err
			}
		}
	}
	return t.flush(ctx, until)
}

// flush sends the spans of all changes up to a number, and notes that.
func (t *Tracer) flush(ctx context.Context, until int64) error {
	if len(t.spans) > 0 {
		limited, cancel := context.WithTimeout(ctx, exportTime)
		defer cancel()
		if err := t.exporter.ExportSpans(limited, t.spans); err != nil {
			return fmt.Errorf("sending %d spans: %w", len(t.spans), err)
		}
	}
	t.spans, t.told = nil, ""
	return t.cursor.move(until)
}
