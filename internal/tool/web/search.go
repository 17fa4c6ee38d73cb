// The web_search tool: asks a search service for pages.

package web

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed web_search.md
var searchDescription string

const searchSchema = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":400},"count":{"type":"integer","minimum":1,"maximum":20},"domains":{"type":"array","items":{"type":"string","minLength":1,"maxLength":253},"maxItems":10}},"required":["query"],"additionalProperties":false}`

const (
	searchTimeout = 30 * time.Second
	searchBody    = 2_000_000 // bytes
	searchCount   = 8         // results unless count says otherwise
	titleChars    = 200       // of one result
	excerptChars  = 600       // of one result
)

// SearchOptions say which service is asked. Its address is trusted: it may be
// a private one, and the proxies of the environment are used.
type SearchOptions struct {
	Provider string // tavily, brave or searxng; empty: there is no web search
	Key      string // required but for searxng
	BaseURL  string // required for searxng; the others have one
}

type searchInput struct {
	Query   string   `json:"query"`
	Count   number   `json:"count"`
	Domains []string `json:"domains"`
}

// found is one result, whoever gave it.
type found struct {
	title, url, date, text string
}

// provider is one search service: its defaults and its wire format.
type provider struct {
	name    string
	baseURL string // unless configured
	needKey bool
	request func(ctx context.Context, base, key string, in searchInput) (*http.Request, error)
	results func(body []byte) ([]found, error)
	detail  func(body []byte) string // what a failure says
	advice  map[int]string           // what to do about a status, before the general advice
}

// Search returns the web_search tool. ok is false if no provider is
// configured; an error says what is wrong with the configuration.
func Search(o SearchOptions) (t tool.Tool, ok bool, err error) {
	if o.Provider == "" {
		return tool.Tool{}, false, nil
	}
	s, err := newSearcher(o)
	if err != nil {
		return tool.Tool{}, false, fmt.Errorf("configuring web_search: %w", err)
	}
	return tool.Tool{
		Name:        "web_search",
		Description: strings.TrimSpace(searchDescription),
		Schema:      json.RawMessage(searchSchema),
		Class:       tool.Network,
		Repeatable:  true,
		Plan:        s.plan,
		Run:         s.run,
	}, true, nil
}

type searcher struct {
	provider
	base   string // without a slash at its end
	host   string
	key    string
	client *http.Client
}

func newSearcher(o SearchOptions) (*searcher, error) {
	p, ok := providers()[strings.ToLower(o.Provider)]
	if !ok {
		return nil, fmt.Errorf("unknown provider %q: use tavily, brave or searxng", o.Provider)
	}
	if p.needKey && o.Key == "" {
		return nil, fmt.Errorf("%s needs a key", p.name)
	}
	base := o.BaseURL
	if base == "" {
		base = p.baseURL
	}
	if base == "" {
		return nil, fmt.Errorf("%s needs the base URL of an instance", p.name)
	}
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("the base URL must be an http or https URL")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the base URL must not contain a user name, a query or a fragment; give a key instead")
	}
	return &searcher{
		provider: p,
		base:     strings.TrimRight(u.String(), "/"),
		host:     strings.ToLower(u.Hostname()),
		key:      o.Key,
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
				DisableKeepAlives: true, TLSHandshakeTimeout: dialTimeout, MaxResponseHeaderBytes: fetchHeaders,
			},
			// The key must not travel to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func (s *searcher) read(input json.RawMessage) (searchInput, error) {
	in, err := readInput[searchInput](input)
	if err != nil {
		return in, err
	}
	in.Query = oneLine(in.Query)
	if in.Query == "" {
		return in, errors.New("the query is empty")
	}
	in.Count = number(in.Count.or(searchCount))
	for i, d := range in.Domains {
		host, err := canonicalHost(strings.TrimPrefix(strings.TrimSpace(d), "*."))
		if err != nil {
			return in, fmt.Errorf("domains: %w: write it like go.dev", err)
		}
		in.Domains[i] = host
	}
	return in, nil
}

func (s *searcher) plan(_ context.Context, _ tool.Env, input json.RawMessage) (tool.Action, error) {
	in, err := s.read(input)
	if err != nil {
		return tool.Action{}, err
	}
	shown := fmt.Sprintf("Search the web with %s: %s", s.name, in.Query)
	if len(in.Domains) > 0 {
		shown += " (on " + strings.Join(in.Domains, ", ") + ")"
	}
	return tool.Action{Class: tool.Network, Hosts: []string{s.host}, Shown: shown}, nil
}

func (s *searcher) run(ctx context.Context, _ tool.Env, input json.RawMessage) (tool.Result, error) {
	in, err := s.read(input)
	if err != nil {
		return tool.Result{}, err
	}
	within, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	list, err := s.ask(within, in)
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, fmt.Errorf("searching with %s: %w", s.name, ctx.Err())
	case err != nil && within.Err() != nil:
		return tool.Result{}, fmt.Errorf("searching with %s: no answer within %v: try again later", s.name, searchTimeout)
	case err != nil:
		return tool.Result{}, fmt.Errorf("searching with %s: %s", s.name, s.redact(err.Error()))
	}
	return tool.Text(s.redact(listing(in, list))), nil
}

// redact removes the key, which a server may repeat.
func (s *searcher) redact(text string) string {
	if s.key == "" {
		return text
	}
	return strings.ReplaceAll(text, s.key, "[key]")
}

func (s *searcher) ask(ctx context.Context, in searchInput) ([]found, error) {
	req, err := s.request(ctx, s.base, s.key, in)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", userAgent)
	resp, err := s.client.Do(req)
	if err != nil {
		if outer := (*url.Error)(nil); errors.As(err, &outer) {
			err = outer.Err // the URL holds the query, at length
		}
		return nil, fmt.Errorf("%s cannot be reached: %w", s.host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, more, err := readUpTo(resp.Body, searchBody)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the answer: %w", err)
	case resp.StatusCode != http.StatusOK:
		return nil, s.refused(resp, body)
	case more:
		return nil, fmt.Errorf("the answer is larger than %s", sizeText(searchBody))
	}
	list, err := s.results(body)
	if err != nil {
		return nil, fmt.Errorf("the answer is not what %s documents (%s): check the base URL: %w", s.name, resp.Header.Get("Content-Type"), err)
	}
	return list, nil
}

// refused words an answer that is none, with what can be done about it.
func (s *searcher) refused(resp *http.Response, body []byte) error {
	status := resp.StatusCode
	text := fmt.Sprintf("it answered %d %s", status, http.StatusText(status))
	if said := shorten(oneLine(s.detail(body)), 300); said != "" {
		text += fmt.Sprintf(" (%s)", said)
	}
	advice, ok := s.advice[status]
	switch {
	case ok:
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		advice = "the user has to check the key in the configuration"
	case status == http.StatusPaymentRequired:
		advice = "the plan is used up: the user has to look at the account"
	case status == http.StatusTooManyRequests:
		advice = "too many searches: wait before the next one"
		if wait := resp.Header.Get("Retry-After"); wait != "" {
			advice += ", as it says until " + shorten(oneLine(wait), 50)
		}
	case status/100 == 3:
		advice = fmt.Sprintf("it redirects to %s: the user has to set the base URL to that", shorten(oneLine(resp.Header.Get("Location")), 200))
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		advice = "the user has to check the base URL in the configuration"
	case status/100 == 5:
		advice = "the service has a problem: try again later"
	default:
		advice = "change the query"
	}
	return fmt.Errorf("%s: %s", text, advice)
}

// listing words the results.
func listing(in searchInput, list []found) string {
	var b strings.Builder
	n := 0
	seen := map[string]bool{}
	for _, f := range list {
		u, err := url.Parse(f.url)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || seen[f.url] || !onDomains(u, in.Domains) {
			continue
		}
		seen[f.url] = true
		if n == int(in.Count) {
			break
		}
		n++
		fmt.Fprintf(&b, "\n%d. %s\n%s\n", n, shorten(oneLine(f.title), titleChars), shorten(f.url, maxURL))
		if date := oneLine(f.date); date != "" {
			fmt.Fprintf(&b, "Date: %s\n", shorten(date, 40))
		}
		if text := oneLine(f.text); text != "" {
			b.WriteString(shorten(text, excerptChars) + "\n")
		}
	}
	if n == 0 {
		where := ""
		if len(in.Domains) > 0 {
			where = " on " + strings.Join(in.Domains, ", ")
		}
		return fmt.Sprintf("No results for %q%s: try other or fewer words.", in.Query, where)
	}
	return untrusted + b.String()
}

func onDomains(u *url.URL, domains []string) bool {
	if len(domains) == 0 {
		return true
	}
	host := strings.ToLower(u.Hostname())
	for _, d := range domains {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}
