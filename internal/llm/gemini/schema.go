// Tool schemas: what the vendor takes of JSON Schema.

package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// keywords are those that the vendor documents for parametersJsonSchema, and
// those that its own form of schema has as well. It refuses requests with some
// of the others, so none of them is sent.
var keywords = map[string]bool{
	"$id": true, "$anchor": true, "$defs": true, "$ref": true,
	"type": true, "format": true, "title": true, "description": true, "enum": true, "default": true, "nullable": true,
	"items": true, "prefixItems": true, "minItems": true, "maxItems": true,
	"minimum": true, "maximum": true, "minLength": true, "maxLength": true, "pattern": true,
	"anyOf": true, "oneOf": true,
	"properties": true, "additionalProperties": true, "required": true, "minProperties": true, "maxProperties": true,
	"propertyOrdering": true,
}

var errSchema = errors.New("it is no JSON object")

// appendParameters appends the schema of a tool's input. A tool without
// parameters has none: an object without properties is refused.
func appendParameters(dst []byte, schema json.RawMessage) ([]byte, error) {
	schema = bytes.TrimSpace(schema)
	if len(schema) == 0 {
		return dst, nil
	}
	if schema[0] != '{' || !json.Valid(schema) {
		return dst, errSchema
	}
	members := collect(schema)
	typed, some := false, false
	for _, m := range members {
		switch m.key {
		case "type":
			typed = true
		case "$ref":
			typed, some = true, true
		case "anyOf", "oneOf":
			some = true
		case "additionalProperties":
			some = some || string(m.values[0]) != "false"
		case "properties":
			some = some || slices.ContainsFunc(m.values, func(v []byte) bool { return wire.Object(v).Next() })
		}
	}
	if !some {
		return dst, nil
	}
	dst = append(dst, `,"parametersJsonSchema":{`...)
	start := len(dst)
	if !typed {
		dst = append(dst, `"type":"object"`...)
	}
	return append(appendMembers(dst, start, members), '}'), nil
}

// member is a keyword of a schema and its value; properties and required have
// as many as there are schemas that hold together.
type member struct {
	key    string
	values [][]byte
}

// collect gives the members of a schema in order, with those of allOf, which
// the vendor does not know, among them. Beside a reference it takes only names
// that begin with $.
func collect(schema []byte) []member {
	var all []member
	gather(&all, schema)
	if slices.ContainsFunc(all, func(m member) bool { return m.key == "$ref" }) {
		all = slices.DeleteFunc(all, func(m member) bool { return m.key[0] != '$' })
	}
	return all
}

func gather(all *[]member, schema []byte) {
	for walk := wire.Object(schema); walk.Next(); {
		key, value := string(walk.Key), walk.Value
		switch key {
		case "definitions":
			key = "$defs"
		case "const":
			key, value = "enum", slices.Concat([]byte{'['}, value, []byte{']'})
		case "allOf":
			for list := wire.Array(value); list.Next(); {
				gather(all, list.Value)
			}
			continue
		}
		if !keywords[key] {
			continue
		}
		i := slices.IndexFunc(*all, func(m member) bool { return m.key == key })
		switch {
		case i < 0:
			*all = append(*all, member{key, [][]byte{value}})
		case key == "properties" || key == "required":
			(*all)[i].values = append((*all)[i].values, value)
		}
	}
}

// appendSchema appends a schema without what the vendor does not take. The
// order of keywords is kept. schema is valid JSON.
func appendSchema(dst []byte, schema []byte) []byte {
	if len(schema) == 0 || schema[0] != '{' { // true, false
		return appendValue(dst, schema)
	}
	dst = append(dst, '{')
	return append(appendMembers(dst, len(dst), collect(schema)), '}')
}

func appendMembers(dst []byte, start int, members []member) []byte {
	for _, m := range members {
		before := len(dst)
		dst = wire.AppendString(comma(dst, start), m.key)
		dst = append(dst, ':')
		value := len(dst)
		if dst = appendMember(dst, &m); len(dst) == value {
			dst = dst[:before]
		}
	}
	return dst
}

// appendMember appends the value of a keyword, nothing if it cannot be taken.
func appendMember(dst []byte, m *member) []byte {
	value := m.values[0]
	switch m.key {
	case "properties", "$defs":
		return appendProperties(dst, m.values)
	case "items", "additionalProperties":
		return appendSchema(dst, value)
	case "anyOf", "oneOf", "prefixItems":
		dst = append(dst, '[')
		start := len(dst)
		for walk := wire.Array(value); walk.Next(); {
			dst = appendSchema(comma(dst, start), walk.Value)
		}
		return append(dst, ']')
	case "required":
		return appendList(dst, m.values, func([]byte) bool { return true })
	case "enum": // the vendor takes texts and numbers only
		return appendList(dst, m.values, isScalar)
	case "$ref":
		return append(dst, bytes.Replace(value, []byte("#/definitions/"), []byte("#/$defs/"), 1)...)
	}
	return appendValue(dst, value)
}

func appendProperties(dst []byte, objects [][]byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	var seen []string
	for _, object := range objects {
		for walk := wire.Object(object); walk.Next(); {
			if slices.Contains(seen, string(walk.Key)) {
				continue
			}
			if len(objects) > 1 {
				seen = append(seen, string(walk.Key))
			}
			dst = append(comma(dst, start), '"')
			dst = append(dst, walk.Key...)
			dst = append(dst, `":`...)
			dst = appendSchema(dst, walk.Value)
		}
	}
	return append(dst, '}')
}

// appendList appends the elements of all lists that are fine, nothing if there
// are none.
func appendList(dst []byte, lists [][]byte, fine func([]byte) bool) []byte {
	before := len(dst)
	dst = append(dst, '[')
	start := len(dst)
	for _, list := range lists {
		for walk := wire.Array(list); walk.Next(); {
			if fine(walk.Value) {
				dst = append(comma(dst, start), walk.Value...)
			}
		}
	}
	if len(dst) == start {
		return dst[:before]
	}
	return append(dst, ']')
}

func isScalar(value []byte) bool {
	return len(value) > 0 && (value[0] == '"' || value[0] == '-' || '0' <= value[0] && value[0] <= '9')
}

// appendValue appends a value as it is, but for spaces.
func appendValue(dst, value []byte) []byte {
	out, err := wire.AppendRaw(dst, value)
	if err != nil { // the whole schema was checked before
		return dst
	}
	return out
}
