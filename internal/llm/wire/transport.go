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

// The buffers of a connection, of which there may be thousands. Chunks of a
// stream are small; a short request that fits goes out in one piece.
const (
	readBuffer  = 1 << 10
	writeBuffer = 4 << 10
)

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
		ReadBufferSize:        readBuffer,
		WriteBufferSize:       writeBuffer,
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
