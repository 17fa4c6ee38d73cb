// Servers over HTTP: the headers they are sent, and what is refused to them.

package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// webTransport makes the transport of a server that has an address.
func (s *server) webTransport() (sdk.Transport, error) {
	address, err := url.Parse(s.config.URL)
	if err != nil {
		return nil, errors.New("its url cannot be read") // without the address: it may hold a secret
	}
	client := *s.client.web
	client.Timeout = 0 // streams stay open
	client.Transport = &withHeaders{server: s, address: address, next: client.Transport}
	client.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != address.Host || req.URL.Scheme != address.Scheme {
			return fmt.Errorf("it redirects to another server, %s: configure that address if it is right", req.URL.Host)
		}
		if len(via) >= 10 {
			return errors.New("it redirects without end")
		}
		return nil
	}
	if s.config.Transport == SSE {
		return &sdk.SSEClientTransport{Endpoint: s.config.URL, HTTPClient: &client, MaxEventSize: maxMessage}, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: s.config.URL, HTTPClient: &client, MaxEventSize: maxMessage}, nil
}

// withHeaders adds the configured headers to requests to the configured server
// and to no other, bounds what is read of an answer, and words refusals.
type withHeaders struct {
	server  *server
	address *url.URL
	next    http.RoundTripper
}

func (t *withHeaders) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == t.address.Host && req.URL.Scheme == t.address.Scheme {
		req = req.Clone(req.Context())
		for name, value := range t.server.config.Headers {
			req.Header.Set(name, value.Reveal())
		}
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("it refuses access (%s): check the headers in its configuration", resp.Status)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &bounded{ReadCloser: resp.Body, left: maxMessage}
	}
	return resp, nil
}

// bounded fails once more than left bytes were read.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	return n, err
}
