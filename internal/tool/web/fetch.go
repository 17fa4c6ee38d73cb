// The web_fetch tool: one address as readable text.

package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed web_fetch.md
var fetchDescription string

const fetchSchema = `{"type":"object","properties":{"url":{"type":"string","minLength":1,"maxLength":4096},"max_chars":{"deprecated":true,"type":"integer","minimum":1,"maximum":100000},"offset":{"type":"integer","minimum":0},"raw":{"type":"boolean"}},"required":["url"],"additionalProperties":false}`

const (
	fetchTimeout   = 30 * time.Second
	fetchBody      = 5_000_000 // bytes, after decompression
	fetchHeaders   = 128 << 10 // bytes
	fetchChars     = 20_000    // shown unless max_chars says otherwise
	fetchRedirects = 5
	failureChars   = 1000 // shown of the page that comes with a failure
)

// Options say what web_fetch may reach. The zero value is public addresses
// only, without a proxy.
type Options struct {
	AllowHosts []string // hosts that may have any address, such as wiki.corp.example, *.corp.example or localhost:3000
	AllowNets  []string // networks or addresses that may be reached though they are not public

	// Proxy is the URL of an HTTP or SOCKS proxy for all requests. Proxies of
	// the environment are not used: a proxy makes the connections itself, so
	// that the address cannot be checked when one is made. With a proxy, names
	// are looked up and checked beforehand where that is possible; it has to
	// refuse private addresses itself.
	Proxy string

	Resolver *net.Resolver // nil: that of the system
}

// Fetch returns the web_fetch tool. Its error says everything that is wrong
// with the options.
func Fetch(o Options) (tool.Tool, error) {
	f, err := newFetcher(o)
	if err != nil {
		return tool.Tool{}, fmt.Errorf("configuring web_fetch: %w", err)
	}
	return tool.Tool{
		Name:        "web_fetch",
		Description: strings.TrimSpace(fetchDescription),
		Schema:      json.RawMessage(fetchSchema),
		Class:       tool.Network,
		Repeatable:  true,
		Plan:        f.plan,
		Run:         f.run,
	}, nil
}

type fetchInput struct {
	URL      string `json:"url"`
	MaxChars number `json:"max_chars"`
	Offset   number `json:"offset"`
	Raw      bool   `json:"raw"`
}

type fetcher struct {
	guard    guard
	resolver *net.Resolver
	proxied  bool
	client   *http.Client
}

func newFetcher(o Options) (*fetcher, error) {
	g, err := newGuard(o.AllowHosts, o.AllowNets)
	f := &fetcher{guard: g, resolver: o.Resolver}
	transport := &http.Transport{
		// A connection serves one request, so that each is checked.
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: fetchHeaders,
		TLSHandshakeTimeout:    dialTimeout,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return g.dial(ctx, o.Resolver, network, address)
		},
	}
	if o.Proxy != "" {
		proxy, proxyErr := url.Parse(o.Proxy)
		if proxyErr != nil || proxy.Host == "" {
			return nil, errors.Join(err, errors.New("the proxy is not a URL such as http://proxy.example.org:3128"))
		}
		transport.Proxy = http.ProxyURL(proxy)
		transport.DialContext = (&net.Dialer{Timeout: dialTimeout, Resolver: o.Resolver}).DialContext
		f.proxied = true
	}
	if err != nil {
		return nil, err
	}
	f.client = &http.Client{Transport: transport, CheckRedirect: checkRedirect}
	return f, nil
}

// checkRedirect follows what stays within the site that was approved; anything
// else ends the chain at the redirect, for the model to decide.
func checkRedirect(next *http.Request, before []*http.Request) error {
	if len(before) > fetchRedirects {
		return fmt.Errorf("it redirects more than %d times", fetchRedirects)
	}
	u, err := parseURL(next.URL.String())
	if err != nil || !sameSite(before[len(before)-1].URL, u) {
		return http.ErrUseLastResponse
	}
	*next.URL = *u
	next.Host = u.Host
	return nil
}

func (f *fetcher) read(input json.RawMessage) (fetchInput, *url.URL, error) {
	in, err := readInput[fetchInput](input)
	if err != nil {
		return in, nil, err
	}
	u, err := parseURL(in.URL)
	if err != nil {
		return in, nil, err
	}
	return in, u, f.guard.checkName(u.Hostname(), portOf(u))
}

func (f *fetcher) plan(_ context.Context, _ tool.Env, input json.RawMessage) (tool.Action, error) {
	_, u, err := f.read(input)
	if err != nil {
		return tool.Action{}, err
	}
	return tool.Action{Class: tool.Network, Hosts: []string{u.Hostname()}, Shown: "GET " + u.String()}, nil
}

func (f *fetcher) run(ctx context.Context, _ tool.Env, input json.RawMessage) (tool.Result, error) {
	in, u, err := f.read(input)
	if err != nil {
		return tool.Result{}, err
	}
	within, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	if f.proxied {
		if err := f.guard.checkResolved(within, f.resolver, u.Hostname(), portOf(u)); err != nil {
			return tool.Result{}, err
		}
	}
	res, err := f.fetch(within, u, in)
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		err = fmt.Errorf("GET %s: no complete answer within %v", u, fetchTimeout)
	}
	return res, err
}

func (f *fetcher) fetch(ctx context.Context, u *url.URL, in fetchInput) (tool.Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return tool.Result{}, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.5")
	resp, err := f.client.Do(req)
	if err != nil {
		return tool.Result{}, unreachable(u, err)
	}
	defer func() { _ = resp.Body.Close() }()
	final := resp.Request.URL
	if location := resp.Header.Get("Location"); location != "" && resp.StatusCode/100 == 3 {
		return redirected(final, location), nil
	}
	body, cut, err := readUpTo(resp.Body, fetchBody)
	if err != nil {
		return tool.Result{}, fmt.Errorf("GET %s: reading the answer: %w", final, err)
	}
	p, err := pageOf(resp, body, in.Raw)
	if resp.StatusCode/100 != 2 {
		return failed(resp, p), nil
	}
	if err != nil {
		return tool.Result{}, fmt.Errorf("GET %s: %w", final, err)
	}
	if cut {
		p.notes = append(p.notes, fmt.Sprintf("[only the first %s were read]", sizeText(fetchBody)))
	}
	return p.show(int(in.Offset), in.MaxChars.or(fetchChars))
}

// unreachable words why there was no answer at all.
func unreachable(u *url.URL, err error) error {
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return refused
	}
	if unknown := (*net.DNSError)(nil); errors.As(err, &unknown) && unknown.IsNotFound {
		return fmt.Errorf("GET %s: there is no host %s", u, u.Hostname())
	}
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err // it names the URL once more
	}
	return fmt.Errorf("GET %s: %w", u, err)
}

// redirected tells the model where it would have gone on, to ask for that.
func redirected(from *url.URL, location string) tool.Result {
	to, err := from.Parse(location)
	if err == nil {
		to, err = parseURL(to.String())
	}
	if err != nil {
		return failure(fmt.Sprintf("%s redirects to %q, which cannot be fetched: %v", from, shorten(oneLine(location), failureChars), err))
	}
	return failure(fmt.Sprintf("%s redirects to %s. It was not followed, as that is another site. If you want to read it, call web_fetch with that URL.", from, to))
}

// failed tells of an answer that is none, with the start of what it says.
func failed(resp *http.Response, p page) tool.Result {
	s := fmt.Sprintf("GET %s answered %d %s.", resp.Request.URL, resp.StatusCode, http.StatusText(resp.StatusCode))
	if wait := resp.Header.Get("Retry-After"); wait != "" {
		s += " It says to try again after: " + shorten(oneLine(wait), 50) + "."
	}
	if said := shorten(p.text, failureChars); said != "" {
		s += "\n" + untrusted + said
	}
	return failure(s)
}

func failure(text string) tool.Result {
	r := tool.Text(text)
	r.IsError = true
	return r
}

// shorten gives the first limit characters of s.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "…"
}
