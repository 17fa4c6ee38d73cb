// The HTTP transport for a fan-out of a thousand streams.

package wire

import (
	"net"
	"net/http"
	"time"
)

// fanOut is the number of connections to one host that are kept for reuse. A
// call that finds none free opens another: there is no upper limit, since a
// call that waits for a connection looks like a model that hangs.
const fanOut = 4096

// buffer is the size of a connection's read and write buffer. Chunks of a
// stream are small, and a thousand connections have two thousand buffers.
const buffer = 1 << 10

// NewTransport returns a transport for model calls. One is shared by all
// clients of a process.
//
// It does not ask for compression: a stream gains little by it, and each would
// need a window of 32 KB.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          0, // no limit
		MaxIdleConnsPerHost:   fanOut,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   30 * time.Second,
		ExpectContinueTimeout: time.Second,
		ReadBufferSize:        buffer,
		WriteBufferSize:       buffer,
		DisableCompression:    true,
		// A connection that died unnoticed carries many streams in HTTP/2.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// NewClient returns an HTTP client with a transport of its own. It has no
// timeout for the whole exchange: a long reply is not a fault, silence is. It
// follows no redirects: they would take the keys in the headers to another
// host, and no vendor's API has any.
func NewClient() *http.Client {
	return &http.Client{
		Transport:     NewTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
