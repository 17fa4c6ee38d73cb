// Package client speaks to a Cadre server: the requests that the command line
// makes of the HTTP API, and a feed that goes on where it was cut off. It knows
// the API's types and how a server is reached, and nothing of what is shown.
package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cadre-dev/cadre/internal/api/wire"
)

// ErrUnreachable tells that no server answers.
var ErrUnreachable = errors.New("no server answers")

const (
	dialTime    = 10 * time.Second
	requestTime = 60 * time.Second
	rateWait    = time.Second
	maxProblem  = 16 << 20 // bytes; one that tells to begin anew carries a page
)

// Options say where a server is and who asks.
type Options struct {
	Address string // http://127.0.0.1:7777
	Token   string
	Socket  string // a unix socket to go through instead of the network
	Cert    string // the SHA-256 of the only certificate to trust, in hex; empty: as the system does
}

// Client makes requests. It may be used by several goroutines.
type Client struct {
	address string
	token   string
	http    *http.Client

	patience time.Duration
}

// New makes a client. Nothing is sent yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.Address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of a server; it looks like http://127.0.0.1:7777", o.Address)
	}
	dialer := &net.Dialer{Timeout: dialTime}
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTime, IdleConnTimeout: time.Minute}
	if o.Socket != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", o.Socket)
		}
	}
	if o.Cert != "" {
		t.TLSClientConfig = pinned(o.Cert)
	}
	// An answer that sends the client elsewhere is no answer of a Cadre server.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		address: strings.TrimSuffix(o.Address, "/"), token: o.Token, http: &http.Client{Transport: t, CheckRedirect: stay},
	}, nil
}

// pinned trusts one certificate, whatever names it is for and whoever signed
// it: its digest came from where only its owner can write.
func pinned(digest string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // the check below stands in its place
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) > 0 {
				if sum := sha256.Sum256(raw[0]); hex.EncodeToString(sum[:]) == digest {
					return nil
				}
			}
			return errors.New("the server has another certificate than the one it wrote down")
		},
	}
}

// Address is where the server is.
func (c *Client) Address() string { return c.address }

// Close gives idle connections up.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Patient returns a client that, while no server answers, makes requests again
// for so long, if making them twice is the same as making them once.
func (c *Client) Patient(d time.Duration) *Client {
	p := *c
	p.patience = d
	return &p
}

// request is what is asked.
type request struct {
	method, path string
	query        url.Values
	in, out      any
	again        bool // twice is the same as once
}

// call makes one request. The problem of one that is refused is the error:
// a *wire.Problem.
func (c *Client) call(ctx context.Context, r request) error {
	var body []byte
	if r.in != nil {
		var err error
		if body, err = json.Marshal(r.in); err != nil {
			return fmt.Errorf("wording the request: %w", err)
		}
	}
	began, wait := time.Now(), firstWait
	for {
		err := c.once(ctx, r, body)
		switch {
		case tooMany(err):
			wait = rateWait
		case !r.again || !away(err) || time.Since(began) > c.patience:
			return err
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, longWait)
		case <-ctx.Done():
			return err
		}
	}
}

// once makes a request one time.
func (c *Client) once(ctx context.Context, r request, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var reader io.Reader
	if r.in != nil {
		reader = bytes.NewReader(body)
	}
	res, err := c.send(ctx, r.method, r.path, r.query, reader, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // it is read to its end below
	if r.out == nil || res.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(r.out); err != nil {
		return fmt.Errorf("reading what the server at %s answers: %w (%w)", c.address, ErrUnreachable, err)
	}
	return nil
}

// away tells that there is no server at present.
func away(err error) bool {
	var p *wire.Problem
	return errors.Is(err, ErrUnreachable) || errors.As(err, &p) && p.Status == http.StatusServiceUnavailable
}

// tooMany tells that the server has to be asked more slowly.
func tooMany(err error) bool {
	var p *wire.Problem
	return errors.As(err, &p) && p.Status == http.StatusTooManyRequests
}

// send makes a request and returns an answer of success; its body is the
// caller's to close.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body io.Reader, header http.Header) (*http.Response, error) {
	target := c.address + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the server at %s: %w (%w)", c.address, ErrUnreachable, err)
	}
	if res.StatusCode < http.StatusMultipleChoices {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }() // what is left of it does not matter
	p := &wire.Problem{}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxProblem)).Decode(p); err != nil || p.Code == "" {
		return nil, fmt.Errorf("what answers at %s is no Cadre server: %s", c.address, res.Status)
	}
	return nil, p
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	var out T
	err := c.call(ctx, request{method: http.MethodGet, path: path, query: query, out: &out, again: true})
	return out, err
}

func post[T any](ctx context.Context, c *Client, path string, in any) (T, error) {
	var out T
	err := c.call(ctx, request{method: http.MethodPost, path: path, in: in, out: &out})
	return out, err
}

// all reads every page of a list.
func all[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	q := url.Values{"limit": {"200"}}
	for name, values := range query {
		q[name] = values
	}
	var items []T
	for {
		page, err := get[wire.Page[T]](ctx, c, path, q)
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			return items, nil
		}
		q.Set("cursor", page.Next)
	}
}
