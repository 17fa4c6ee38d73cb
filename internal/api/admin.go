// What administrators do: users, tokens, the audit log.

package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
)

func (s *Server) adminRoutes() {
	register(s, access.Admin, huma.Operation{OperationID: "listUsers", Method: http.MethodGet, Path: "/v1/users", Summary: "All users"}, s.listUsers)
	register(s, access.Admin, huma.Operation{OperationID: "addUser", Method: http.MethodPost, Path: "/v1/users", Summary: "Add a user", DefaultStatus: http.StatusCreated}, s.addUser)
	register(s, access.Admin, huma.Operation{OperationID: "removeUser", Method: http.MethodDelete, Path: "/v1/users/{name}", Summary: "Shut a user out; what they own is kept", DefaultStatus: http.StatusNoContent}, s.removeUser)
	register(s, access.Admin, huma.Operation{OperationID: "listTokens", Method: http.MethodGet, Path: "/v1/tokens", Summary: "All tokens and sessions, without secrets"}, s.listTokens)
	register(s, access.Admin, huma.Operation{OperationID: "createToken", Method: http.MethodPost, Path: "/v1/tokens", Summary: "Make a token; its secret is shown only now", DefaultStatus: http.StatusCreated}, s.createToken)
	register(s, access.Admin, huma.Operation{OperationID: "revokeToken", Method: http.MethodDelete, Path: "/v1/tokens/{token}", Summary: "Revoke a token or session and end what was opened with it", DefaultStatus: http.StatusNoContent}, s.revokeToken)
	register(s, access.Admin, huma.Operation{OperationID: "listAudit", Method: http.MethodGet, Path: "/v1/audit", Summary: "Logins, tokens, approvals and stops, newest first"}, s.listAudit)
}

func (s *Server) listUsers(ctx context.Context, _ *struct{}) (*body[wire.Page[wire.User]], error) {
	users, err := s.cfg.Store.Users(ctx)
	return pageOf(users, nil, err)
}

func (s *Server) addUser(ctx context.Context, in *struct{ Body wire.NewUser }) (*body[wire.User], error) {
	u, err := s.cfg.Gate.AddUser(ctx, in.Body.Name)
	if err != nil {
		return nil, err
	}
	s.audit(ctx, "user.add", u.ID, "")
	return &body[wire.User]{u}, nil
}

func (s *Server) removeUser(ctx context.Context, in *struct {
	Name string `path:"name" maxLength:"40"`
},
) (*none, error) {
	if in.Name == visitOf(ctx).User.ID || in.Name == access.LocalUser {
		return nil, unprocessable("self", "neither yourself nor the machine's own user can be removed", "")
	}
	if err := s.cfg.Gate.RemoveUser(ctx, in.Name); err != nil {
		return nil, err
	}
	s.audit(ctx, "user.remove", in.Name, "")
	return nil, nil
}

func (s *Server) listTokens(ctx context.Context, in *struct {
	User string `query:"user" maxLength:"40"`
	Kind string `query:"kind" enum:"token,session"`
},
) (*body[wire.Page[wire.Key]], error) {
	keys, err := s.cfg.Store.Keys(ctx, store.KeyQuery{User: in.User, Kind: store.KeyKind(in.Kind)})
	return pageOf(keys, nil, err)
}

func (s *Server) createToken(ctx context.Context, in *struct{ Body wire.NewToken }) (*body[wire.Token], error) {
	user := cmp.Or(in.Body.User, visitOf(ctx).User.ID)
	scope, err := access.ParseScope(in.Body.Scope)
	if err != nil {
		return nil, unprocessable("scope", err.Error(), "")
	}
	key, secret, err := s.cfg.Gate.NewToken(ctx, user, in.Body.Name, scope, time.Duration(in.Body.ExpiresIn)*time.Millisecond)
	if errors.Is(err, store.ErrNotFound) {
		return nil, notFound("user", user)
	}
	if err != nil {
		return nil, err
	}
	s.audit(ctx, "token.create", key.ID, "for "+user+", scope "+string(scope))
	return &body[wire.Token]{wire.Token{Key: key, Secret: secret}}, nil
}

func (s *Server) revokeToken(ctx context.Context, in *struct {
	Token string `path:"token" maxLength:"40"`
},
) (*none, error) {
	if err := s.cfg.Gate.Revoke(ctx, in.Token); err != nil {
		return nil, err
	}
	s.audit(ctx, "token.revoke", in.Token, "")
	return nil, nil
}

func (s *Server) listAudit(ctx context.Context, in *struct {
	User   string `query:"user" maxLength:"40"`
	Action string `query:"action" maxLength:"40"`
	Cursor string `query:"cursor" pattern:"^[0-9]{1,18}$"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
},
) (*body[wire.Page[wire.Audit]], error) {
	before, _ := strconv.ParseInt(in.Cursor, 10, 64) // the pattern holds
	limit := cmp.Or(in.Limit, defaultPage)
	rows, err := s.cfg.Store.Audits(ctx, store.AuditQuery{User: in.User, Action: in.Action, Before: before, Limit: limit})
	out, err := pageOf(rows, nil, err)
	if err == nil && len(rows) == limit {
		out.Body.Next = strconv.FormatInt(rows[limit-1].Number, 10)
	}
	return out, err
}
