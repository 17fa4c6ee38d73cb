// cadre serve: goes on with everything unfinished and serves the API and the
// page until it is stopped.

package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/app"
	"github.com/cadre-dev/cadre/internal/llm/catalogue"
	"github.com/cadre-dev/cadre/internal/metrics"
	"github.com/cadre-dev/cadre/internal/web"
)

const (
	defaultAddress = "127.0.0.1:7777"
	maxConnections = 8192
	shutdownTime   = 5 * time.Second
)

// serveOptions are the flags of cadre serve.
type serveOptions struct {
	addr      string
	hosts     []string
	cert, key string
	insecure  bool
	open      bool
	pprof     bool
	logFormat string

	digest string // of the certificate, once it was read
}

func newServe(g *globals) *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the web page and the HTTP API",
		Long: `Goes on with everything that is unfinished in the data folder, and serves the
web page and the HTTP API until it is stopped. Chats work in the current folder
unless they name another.

The address it prints carries a code that opens the page once, within ten
minutes. Programs use tokens: see cadre tokens. Other than loopback addresses
need --tls-cert and --tls-key, or --insecure behind something that adds TLS.

Any signal shuts it down; what was under way is gone on with at the next start.`,
		Example: `  cadre serve
  cadre serve --open
  cadre serve --addr 0.0.0.0:443 --tls-cert c.pem --tls-key k.pem --host a.org`,
		Args: cobra.NoArgs,
		RunE: ran(func(cmd *cobra.Command, _ []string) error { return g.serve(cmd, o) }),
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.addr, "addr", defaultAddress, "where to listen; port 0 takes any free one")
	f.BoolVar(&o.open, "open", false, "open the page in the browser")
	f.StringSliceVar(&o.hosts, "host", nil, "a name under which the server is reached, beside localhost")
	f.StringVar(&o.cert, "tls-cert", "", "the certificate file for TLS")
	f.StringVar(&o.key, "tls-key", "", "the key file for TLS")
	f.BoolVar(&o.insecure, "insecure", false, "listen on other than loopback addresses without TLS")
	f.StringVar(&o.logFormat, "log-format", "", "log to standard error: text or json (default: to the log file of the data folder)")
	f.BoolVar(&o.pprof, "pprof", false, "serve profiles at /debug/pprof to keys of scope admin")
	return cmd
}

// serve runs the server until a signal comes.
func (g *globals) serve(cmd *cobra.Command, o *serveOptions) (err error) {
	loopback, err := o.check()
	if err != nil {
		return err
	}
	dir, err := g.folder()
	if err != nil {
		return err
	}
	log, closeLog, err := o.log(cmd.ErrOrStderr(), dir)
	if err != nil {
		return err
	}
	g.log = log
	defer func() { _ = closeLog() }() // nothing is written to it after this
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current folder: %w", err)
	}
	// The port before the folder: who finds it taken has changed nothing.
	l, err := o.listen(cmd.Context())
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // the server may have closed it
	counters := metrics.New()
	a, err := app.Open(app.Options{Data: dir, Dir: cwd, Log: log, Version: thisVersion().Version, Watch: counters.Watch})
	if err != nil {
		return g.notOpened(dir, err)
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	warn(cmd, append(a.Warnings(), a.Cautions(a.Models.Default())...))
	return g.serveOn(cmd, o, l, a, dir, cwd, loopback, counters)
}

// serveOn serves an open application.
func (g *globals) serveOn(cmd *cobra.Command, o *serveOptions, l net.Listener, a *app.App, dir, cwd string, loopback bool, counters *metrics.Counters) (err error) {
	var recovered atomic.Bool
	ctx := cmd.Context()
	gate := access.New(a.Store, nil)
	page, err := web.Handler()
	if err != nil {
		return err
	}
	s, err := newServer(ctx, dir, a, api.Config{
		Gate: gate, Web: page, Dir: cwd, Hosts: o.hosts, Open: !loopback, Secure: o.cert != "", Pprof: o.pprof, Log: g.log,
		Ready: recovered.Load, Collectors: counters.Collectors(),
	})
	if err != nil {
		return err
	}
	defer s.Close()
	address := o.scheme() + "://" + readable(l.Addr())
	remove, err := access.WriteServer(dir, access.Server{Address: address, PID: os.Getpid(), Cert: o.digest})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	stops := listen(cmd.OutOrStdout())
	defer stops.close()
	server := s.HTTP()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	if err := a.Engine.Recover(ctx, ""); err != nil {
		return errors.Join(fmt.Errorf("going on with what is unfinished: %w", err), server.Close())
	}
	if err := a.Store.Warm(ctx); err != nil {
		g.log.Warn("the first answers may take longer", "err", err)
	}
	recovered.Store(true)
	naming, stopNaming := context.WithCancel(ctx)
	var named sync.WaitGroup
	defer named.Wait() // it uses the store
	defer stopNaming()
	named.Go(func() { a.NameChats(naming, g.log) })
	go settle(naming)
	code, _ := gate.NewCode(access.LocalUser, access.Admin)
	link := address + "/?code=" + code
	fmt.Fprintf(cmd.OutOrStdout(), "Cadre serves %s\nOpen %s (works once, for ten minutes)\n", address, link)
	g.log.Info("serving", "address", address, "data", dir)
	if o.open {
		openPage(ctx, link)
	}
	select {
	case err := <-ended:
		return fmt.Errorf("serving: %w", err)
	case sig := <-stops.signals:
		g.log.Info("shutting down", "signal", sig.String())
	case <-ctx.Done():
	}
	s.Close()
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := server.Shutdown(wait); err != nil {
		_ = server.Close() // what still talks is cut off
	}
	return nil
}

// check refuses what would be open to strangers.
func (o *serveOptions) check() (loopback bool, err error) {
	host, _, err := net.SplitHostPort(o.addr)
	if err != nil {
		return false, usage("--addr is %q; it must be HOST:PORT such as %s", o.addr, defaultAddress)
	}
	if (o.cert == "") != (o.key == "") {
		return false, usage("--tls-cert and --tls-key belong together")
	}
	switch o.logFormat {
	case "", "text", "json":
	default:
		return false, usage("--log-format is %q; it can be text or json", o.logFormat)
	}
	ip := net.ParseIP(host)
	if loopback = host == "localhost" || ip != nil && ip.IsLoopback(); loopback {
		return true, nil
	}
	if o.cert == "" && !o.insecure {
		return false, usage("--addr %s is reached from other machines: add --tls-cert and --tls-key, or --insecure if something before it adds TLS", o.addr)
	}
	return false, nil
}

func (o *serveOptions) scheme() string {
	if o.cert != "" {
		return "https"
	}
	return "http"
}

func (o *serveOptions) log(w io.Writer, dir string) (*slog.Logger, func() error, error) {
	if o.logFormat == "" {
		return openLog(dir)
	}
	level, err := logLevel()
	if err != nil {
		return nil, nil, err
	}
	none := func() error { return nil }
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})), none, nil
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})), none, nil
}

func (o *serveOptions) listen(ctx context.Context) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, failed(fmt.Errorf("%s is in use by another program", o.addr), "choose another port with --addr, or 127.0.0.1:0 for any free one")
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", o.addr, err)
	}
	l = netutil.LimitListener(l, maxConnections)
	if o.cert == "" {
		return l, nil
	}
	cert, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the certificate: %w", err), l.Close())
	}
	sum := sha256.Sum256(cert.Certificate[0])
	o.digest = hex.EncodeToString(sum[:])
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// readable is an address that a browser can open.
func readable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", port)
}

// openPage opens the browser; without one the address was printed.
func openPage(ctx context.Context, link string) {
	name := map[string]string{"darwin": "open", "windows": "explorer"}[runtime.GOOS]
	if name == "" {
		name = "xdg-open"
	}
	if cmd := exec.CommandContext(ctx, name, link); cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // its fate is its own
	}
}

// modelsOf tells what a catalogue has.
func modelsOf(c *catalogue.Catalogue) (out wire.Models) {
	for _, t := range c.Tiers() {
		out.Choices = append(out.Choices, wire.Choice{Name: t.Name, Model: t.Model, Reason: t.Reason})
	}
	for _, m := range c.List("") {
		out.Models = append(out.Models, wire.Model{
			Ref: m.Ref(), Provider: m.Provider, Name: m.Name, Window: m.Window, MaxOutput: m.MaxOutput,
			Priced: m.Price.Known, Input: m.Price.Input, Output: m.Price.Output, Images: m.Images, Reasoning: m.Reasoning,
			Offline: m.Ref() == app.OfflineModel,
		})
	}
	return out
}
