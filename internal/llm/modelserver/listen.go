// Listening: the server on a port of its own.

package modelserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// headerTimeout bounds how long a client may take to send its headers.
const headerTimeout = 10 * time.Second

// Listen serves on addr until ctx ends, and then closes all connections,
// stalled ones too. ready, if not nil, is called with the address in use.
func (s *Server) Listen(ctx context.Context, addr string, ready func(addr string)) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("serving a model: %w", err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	if ready != nil {
		ready(l.Addr().String())
	}
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving a model: %w", err)
	}
	return nil
}
