// What a model is told of a tool: every byte of it is paid for in each request.

package orchestrate

import (
	"encoding/json"
	"strings"
)

// bounds are the keys of a schema that a model need not know: what violates
// them is told when it happens.
var bounds = []string{"minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "minItems", "maxItems", "default"}

// slim is a schema of ours without its bounds, and without what is marked as
// deprecated. Inputs are still validated against the whole. Schemas of others
// are sent as they are.
func slim(name string, schema json.RawMessage) json.RawMessage {
	var doc map[string]any
	if strings.HasPrefix(name, "mcp__") || json.Unmarshal(schema, &doc) != nil {
		return schema
	}
	slimmer(doc)
	out, err := json.Marshal(doc)
	if err != nil {
		return schema // it was JSON a moment ago
	}
	return out
}

func slimmer(doc map[string]any) {
	for _, key := range bounds {
		delete(doc, key)
	}
	if more, ok := doc["additionalProperties"].(bool); ok && !more {
		delete(doc, "additionalProperties")
	}
	if properties, ok := doc["properties"].(map[string]any); ok {
		for name, p := range properties {
			if p, ok := p.(map[string]any); ok {
				if old, ok := p["deprecated"].(bool); ok && old {
					delete(properties, name)
					continue
				}
				slimmer(p)
			}
		}
		if len(properties) == 0 { // that an object is wanted is all there is to tell
			delete(doc, "properties")
			delete(doc, "required")
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if p, ok := doc[key].(map[string]any); ok {
			slimmer(p)
		}
	}
}
