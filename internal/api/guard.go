// The guard: what every request passes before its route, and every answer on
// its way out.

package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/store"
)

const cookieName = "cadre"

type requestKey struct{}

func requestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// guard wraps the routes.
func (s *Server) guard() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := strings.ToLower(rand.Text()[:16])
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
		w.Header().Set("X-Request-Id", id)
		watched, r := s.metrics.watch(w, r)
		w = watched
		defer watched.done(s.log)
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
				panic(p)
			}
			s.log.Error("a request crashed", "request", id, "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if watched.status == 0 {
				s.refuse(w, r, errors.New("a crash"))
			}
		}()
		secure(w.Header())
		if !s.hostKnown(r.Host) {
			s.refuse(w, r, problem(http.StatusMisdirectedRequest, "host", fmt.Sprintf("this server is not %q", r.Host),
				"use localhost or its address, or start it with --host NAME"))
			return
		}
		s.route(w, r)
	})
}

// route finds out whether the API is meant or the page.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	switch p := r.URL.Path; {
	case p == "/openapi.json":
		w.Header().Set("Content-Type", "application/json")
		s.encoded(w, r, func(w http.ResponseWriter) { _, _ = w.Write(s.spec) }) // who has gone needs no answer
	case p == "/docs":
		s.docsPage(w, r)
	case s.cfg.Pprof && strings.HasPrefix(p, "/debug/pprof"):
		s.profile(w, r)
	case strings.HasPrefix(p, "/v1/"), p == "/v1", p == "/healthz", p == "/readyz", p == "/metrics":
		h, pattern := s.mux.Handler(r)
		if pattern == "" {
			s.lost(w, r, h)
			return
		}
		s.encoded(w, r, func(w http.ResponseWriter) { s.mux.ServeHTTP(w, r) })
	case r.URL.Query().Get("code") != "" && (r.Method == http.MethodGet):
		s.enter(w, r)
	default:
		s.cfg.Web.ServeHTTP(w, r)
	}
}

// lost answers for paths and methods that have no route. Whatever would be
// written beside the few things that clients write is forbidden, whether there
// is such a place or not.
func (s *Server) lost(w http.ResponseWriter, r *http.Request, std http.Handler) {
	found := &statusOnly{header: http.Header{}}
	std.ServeHTTP(found, r)
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case found.status == http.StatusMethodNotAllowed && (reads || !strings.HasPrefix(r.URL.Path, "/v1/")):
		allow := found.header.Get("Allow")
		w.Header().Set("Allow", allow)
		s.refuse(w, r, problem(http.StatusMethodNotAllowed, "method", r.Method+" is not possible here", "what is possible: "+allow))
	case found.status >= 300 && found.status < 400:
		std.ServeHTTP(w, r)
	case !reads && strings.HasPrefix(r.URL.Path, "/v1/"):
		s.refuse(w, r, problem(http.StatusForbidden, "read_only",
			fmt.Sprintf("%s %s is not for clients: agents write here, clients read", r.Method, r.URL.Path),
			"clients create and manage chats, post messages to them, answer inbox items and stop things: /docs lists how"))
	default:
		s.refuse(w, r, problem(http.StatusNotFound, "not_found", "there is nothing at this address", "/docs lists what there is"))
	}
}

type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }

// secure sets the headers of every answer. A page sets its own policy.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
}

// hostKnown tells whether a Host header means this server. A name that an
// attacker has made to point here (DNS rebinding) is none of ours; an address
// cannot be made to.
func (s *Server) hostKnown(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(strings.TrimSuffix(host, "."), "[]"))
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || s.cfg.Open
	}
	return host == "localhost" || slices.ContainsFunc(s.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// admit finds out who asks and whether they may, as far as the scope tells.
func (s *Server) admit(r *http.Request, need access.Scope) (*visit, error) {
	id, err := s.identify(r)
	if err != nil {
		if !s.limits.allow("address " + address(r)) {
			return nil, tooMany()
		}
		return nil, err
	}
	if !s.limits.allow(id.Key.ID) {
		return nil, tooMany()
	}
	if !id.Scope.Allows(need) {
		return nil, problem(http.StatusForbidden, "scope", fmt.Sprintf("this needs scope %s, the key has %s", need, id.Scope),
			"make a key with `cadre tokens create --scope "+string(need)+"`")
	}
	return &visit{Identity: id, address: address(r)}, nil
}

func tooMany() error {
	return problem(http.StatusTooManyRequests, "rate", "too many requests", "wait a second, then try again")
}

// identify reads the key: a token in the Authorization header, or the cookie of
// a page of this server.
func (s *Server) identify(r *http.Request) (access.Identity, error) {
	var id access.Identity
	var err error
	if auth := r.Header.Get("Authorization"); auth != "" {
		scheme, token, _ := strings.Cut(auth, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return id, unauthorised("the Authorization header has no bearer token")
		}
		id, err = s.cfg.Gate.Identify(r.Context(), store.KeyToken, strings.TrimSpace(token))
	} else {
		c, missing := r.Cookie(s.cookie(r))
		if missing != nil {
			return id, unauthorised("the request carries no key")
		}
		if err := sameOrigin(r); err != nil {
			return id, err
		}
		id, err = s.cfg.Gate.Identify(r.Context(), store.KeySession, c.Value)
	}
	if errors.Is(err, access.ErrUnknown) || errors.Is(err, access.ErrExpired) {
		return id, unauthorised(err.Error())
	}
	return id, err
}

func unauthorised(detail string) error {
	return problem(http.StatusUnauthorized, "unauthorised", detail, "send `Authorization: Bearer TOKEN`, or sign in with `cadre open`")
}

// sameOrigin refuses requests that another site's page makes with our cookie.
// SameSite keeps the cookie from them already; this holds where that does not.
func sameOrigin(r *http.Request) error {
	crossed := problem(http.StatusForbidden, "origin", "the request comes from a page of another site", "use a token in the Authorization header")
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return crossed
		}
		return nil
	}
	switch site {
	case "same-origin", "none":
		return nil
	case "":
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return nil
		}
	}
	return crossed
}

// cookie is the name of the session's cookie. Browsers do not keep the cookies
// of two ports apart, so that the name has to.
func (s *Server) cookie(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return cookieName + "-" + port
	}
	return cookieName
}

func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if r.RemoteAddr == "" || r.RemoteAddr == "@" { // a socket in the data folder
		return "this machine"
	}
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
