// The OpenAPI document: its frame, and what the store keeps as JSON given its
// types, so that clients made of the document know them.

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/orchestrate"
)

// Document is the OpenAPI document that every server serves, laid out for a
// file.
func Document() ([]byte, error) {
	s, err := New(Config{})
	if err != nil {
		return nil, err
	}
	s.Close()
	var b bytes.Buffer
	if err := json.Indent(&b, s.spec, "", "  "); err != nil {
		return nil, fmt.Errorf("laying out the OpenAPI document: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// describe is the frame of the OpenAPI document. Its version is that of the
// interface, not of the program: users/me tells the latter.
func describe() huma.Config {
	registry := huma.NewMapRegistry(schemasPath, huma.DefaultSchemaNamer)
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Cadre", Version: "1",
				Description: "Chats, the agents that work on them, what waits for you, and every change as it happens.",
			},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token":   {Type: "http", Scheme: "bearer"},
					"session": {Type: "apiKey", In: "cookie", Name: cookieName},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{toProblem},
		// An unknown parameter is a mistake: a filter that does nothing misleads.
		RejectUnknownQueryParameters: true,
	}
}

const schemasPath = "#/components/schemas/"

// written finishes the document once all routes are there.
func written(api huma.API) ([]byte, error) {
	reg := api.OpenAPI().Components.Schemas
	schemas := reg.Map()
	delete(schemas, "ErrorModel") // problems are ours
	delete(schemas, "ErrorDetail")
	var parts []*huma.Schema
	for _, t := range []reflect.Type{typeOf[wire.TextPart](), typeOf[wire.ThinkingPart](), typeOf[wire.ImagePart](), typeOf[wire.ToolCallPart](), typeOf[wire.ToolResultPart]()} {
		parts = append(parts, reg.Schema(t, true, ""))
	}
	schemas["Part"] = &huma.Schema{Description: "A part of a message; type tells which.", OneOf: parts}
	allParts := func() *huma.Schema {
		return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Ref: schemasPath + "Part"}}
	}
	report := reg.Schema(typeOf[orchestrate.Report](), true, "")
	for _, raw := range []struct {
		schema, property string
		is               *huma.Schema
	}{
		{"Message", "parts", allParts()},
		{"ToolResultPart", "parts", allParts()},
		{"Agent", "metadata", report},
		{"Task", "metadata", report},
		{"ToolCall", "record", reg.Schema(typeOf[orchestrate.Record](), true, "")},
		{"Item", "detail", &huma.Schema{AnyOf: []*huma.Schema{reg.Schema(typeOf[orchestrate.Approval](), true, ""), reg.Schema(typeOf[orchestrate.Work](), true, "")}}},
	} {
		schemas[raw.schema].Properties[raw.property] = raw.is
	}
	for _, s := range schemas {
		for _, p := range s.Properties {
			if p.Type == huma.TypeArray {
				p.Nullable = false // lists are empty or left out, never null
			}
		}
	}
	spec, err := json.Marshal(api.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("writing the OpenAPI document: %w", err)
	}
	return spec, nil
}
