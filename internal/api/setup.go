// What is configured: providers of models, what agents may do and spend.

package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/access"
	"github.com/cadre-dev/cadre/internal/api/wire"
)

// Setup tells what is configured. No text of it contains a key.
type Setup interface {
	Providers() []wire.Provider
	// TestProvider makes a call that costs nothing; false: there is no such
	// provider.
	TestProvider(ctx context.Context, name string) (wire.Finding, bool)
	Policy() wire.Policy
}

func (s *Server) setupRoutes() {
	register(s, access.Read, huma.Operation{OperationID: "listProviders", Method: http.MethodGet, Path: "/v1/providers", Summary: "The providers of models, and whether they can be used"}, s.listProviders)
	register(s, access.Admin, huma.Operation{OperationID: "testProvider", Method: http.MethodPost, Path: "/v1/providers/{provider}/test", Summary: "Ask a provider for its models, to see whether its key is good"}, s.testProvider)
	register(s, access.Read, huma.Operation{OperationID: "getPolicy", Method: http.MethodGet, Path: "/v1/policy", Summary: "What agents may do and use unless a chat says less"}, s.getPolicy)
}

func (s *Server) listProviders(context.Context, *struct{}) (*body[wire.Page[wire.Provider]], error) {
	if s.cfg.Setup == nil {
		return pageOf[wire.Provider](nil, nil, nil)
	}
	return pageOf(s.cfg.Setup.Providers(), nil, nil)
}

func (s *Server) testProvider(ctx context.Context, in *struct {
	Provider string `path:"provider" maxLength:"100"`
},
) (*body[wire.Finding], error) {
	if s.cfg.Setup != nil {
		if f, ok := s.cfg.Setup.TestProvider(ctx, in.Provider); ok {
			return &body[wire.Finding]{f}, nil
		}
	}
	return nil, notFound("provider", in.Provider)
}

func (s *Server) getPolicy(context.Context, *struct{}) (*body[wire.Policy], error) {
	p := wire.Policy{}
	if s.cfg.Setup != nil {
		p = s.cfg.Setup.Policy()
	}
	p.Files, p.Rules, p.Warnings = append([]string{}, p.Files...), append([]wire.Rule{}, p.Rules...), append([]string{}, p.Warnings...)
	return &body[wire.Policy]{p}, nil
}
