// The caller: who they are, their settings, how they come in and go.

package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
)

func (s *Server) userRoutes() {
	register(s, access.Read, huma.Operation{OperationID: "getUser", Method: http.MethodGet, Path: "/v1/users/{user}", Summary: "Who asks, and how the server is"}, s.getUser)
	register(s, access.Read, huma.Operation{OperationID: "getSettings", Method: http.MethodGet, Path: "/v1/users/{user}/settings", Summary: "The user's settings, as the page keeps them"}, s.getSettings)
	register(s, access.Write, huma.Operation{OperationID: "putSettings", Method: http.MethodPut, Path: "/v1/users/{user}/settings", Summary: "Keep settings", DefaultStatus: http.StatusNoContent, MaxBodyBytes: maxSettings}, s.putSettings)
	register(s, public, huma.Operation{OperationID: "login", Method: http.MethodPost, Path: "/v1/session", Summary: "Exchange a token for a cookie", DefaultStatus: http.StatusNoContent, Middlewares: huma.Middlewares{carry}}, s.login)
	register(s, access.Read, huma.Operation{OperationID: "logout", Method: http.MethodDelete, Path: "/v1/session", Summary: "End the session", DefaultStatus: http.StatusNoContent, Middlewares: huma.Middlewares{carry}}, s.logout)
	register(s, access.Write, huma.Operation{OperationID: "createCode", Method: http.MethodPost, Path: "/v1/codes", Summary: "Make a one-time code that opens the page", DefaultStatus: http.StatusCreated}, s.createCode)
}

func (s *Server) getUser(ctx context.Context, _ *UserInput) (*body[wire.Me], error) {
	v := visitOf(ctx)
	seq, err := s.cfg.Store.LastSeq(ctx)
	if err != nil {
		return nil, err
	}
	items, err := s.cfg.Store.CountItems(ctx, v.User.ID, "")
	if err != nil {
		return nil, err
	}
	me := wire.Me{User: v.User, Scope: string(v.Scope), Key: v.Key.ID, Seq: seq, Items: items, Version: s.cfg.Version, Dir: s.cfg.Dir}
	if err := s.cfg.Engine.Paused(); err != nil {
		me.Paused = err.Error()
	}
	return &body[wire.Me]{me}, nil
}

func (s *Server) getSettings(ctx context.Context, _ *UserInput) (*body[map[string]any], error) {
	b, err := s.cfg.Store.Settings(ctx, visitOf(ctx).User.ID)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &out); err != nil {
			return nil, err
		}
	}
	return &body[map[string]any]{out}, nil
}

func (s *Server) putSettings(ctx context.Context, in *struct {
	UserInput
	Body map[string]any
},
) (*none, error) {
	b, err := json.Marshal(in.Body)
	if err != nil {
		return nil, err
	}
	return nil, s.cfg.Engine.PutSettings(ctx, visitOf(ctx).User.ID, b)
}

// carriedKey is where the request itself is kept for what is about cookies.
type carriedKey struct{}

func carry(ctx huma.Context, next func(huma.Context)) {
	r, _ := unwrap(ctx)
	next(huma.WithValue(ctx, carriedKey{}, r))
}

func carried(ctx context.Context) *http.Request {
	r, _ := ctx.Value(carriedKey{}).(*http.Request)
	return r
}

type withCookie struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}

func (s *Server) login(ctx context.Context, in *struct{ Body wire.Login }) (*withCookie, error) {
	r := carried(ctx)
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		if err := sameOrigin(r); err != nil {
			return nil, err
		}
	}
	if !s.limits.allow("address " + address(r)) {
		return nil, tooMany()
	}
	key, secret, err := s.cfg.Gate.Login(ctx, in.Body.Token, agentName(r))
	if errors.Is(err, access.ErrUnknown) || errors.Is(err, access.ErrExpired) {
		s.auditAs(ctx, store.Audit{At: ms(s.cfg.Now()), Action: "login.refused", Address: address(r), Detail: err.Error()})
		return nil, unauthorised(err.Error())
	}
	if err != nil {
		return nil, err
	}
	s.auditAs(ctx, store.Audit{At: ms(s.cfg.Now()), UserID: key.UserID, Key: key.ID, Action: "login", Target: "token", Address: address(r)})
	return &withCookie{*s.newCookie(r, key, secret)}, nil
}

func (s *Server) logout(ctx context.Context, _ *struct{}) (*withCookie, error) {
	v := visitOf(ctx)
	if v.Key.Kind != store.KeySession {
		return nil, unprocessable("session", "the request carries a token, not a session", "revoke tokens with `cadre tokens revoke`")
	}
	if err := s.cfg.Gate.Revoke(ctx, v.Key.ID); err != nil {
		return nil, err
	}
	s.audit(ctx, "logout", v.Key.ID, "")
	gone := s.newCookie(carried(ctx), v.Key, "")
	gone.MaxAge = -1
	return &withCookie{*gone}, nil
}

func (s *Server) createCode(ctx context.Context, _ *struct{}) (*body[wire.Code], error) {
	v := visitOf(ctx)
	secret, expires := s.cfg.Gate.NewCode(v.User.ID, v.Scope)
	s.audit(ctx, "code.create", v.User.ID, "")
	return &body[wire.Code]{wire.Code{Code: secret, ExpiresAt: ms(expires)}}, nil
}

// enter exchanges the code in an address for a cookie, and takes the code out
// of the address. Who comes again with a used code but has a session goes on.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if !s.limits.allow("address " + address(r)) {
		s.refuse(w, r, tooMany())
		return
	}
	q := r.URL.Query()
	key, secret, err := s.cfg.Gate.Exchange(r.Context(), q.Get("code"), agentName(r))
	switch {
	case errors.Is(err, access.ErrCode):
		s.auditAs(r.Context(), store.Audit{At: ms(s.cfg.Now()), Action: "login.refused", Target: "code", Address: address(r)})
		_, stranger := s.identify(r)
		if stranger != nil && !strings.Contains(r.Header.Get("Accept"), "text/html") { // a browser's page says how to sign in
			s.refuse(w, r, problem(http.StatusUnauthorized, "code", err.Error(), "make a new one with `cadre open`"))
			return
		}
	case err != nil:
		s.refuse(w, r, err)
		return
	default:
		s.auditAs(r.Context(), store.Audit{At: ms(s.cfg.Now()), UserID: key.UserID, Key: key.ID, Action: "login", Target: "code", Address: address(r)})
		http.SetCookie(w, s.newCookie(r, key, secret))
	}
	q.Del("code")
	to := *r.URL
	to.Scheme, to.Host, to.RawQuery = "", "", q.Encode()
	to.Path, to.RawPath = "/"+strings.TrimLeft(to.Path, "/\\"), "" // never to another host
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to.RequestURI(), http.StatusSeeOther)
}

func (s *Server) newCookie(r *http.Request, key store.Key, secret string) *http.Cookie {
	c := &http.Cookie{Name: s.cookie(r), Value: secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.cfg.Secure || r.TLS != nil}
	if key.ExpiresAt > 0 {
		c.Expires = time.UnixMilli(key.ExpiresAt)
	}
	return c
}

// agentName is what a session is called: the browser's own words, cut.
func agentName(r *http.Request) string {
	name := r.UserAgent()
	return strings.ToValidUTF8(name[:min(len(name), 100)], "")
}
