// Values: the inputs of tool calls, read from YAML and written as JSON. They
// keep the order of the file and carry templates at any depth.

package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// value is a node of an input: exactly one of its fields is in use, and all
// being empty is null.
type value struct {
	node   ast.Node
	text   *template
	scalar json.RawMessage // number or bool
	list   []value
	fields []field
	kind   valueKind
}

type field struct {
	key string
	val value
}

type valueKind int

const (
	nullValue valueKind = iota
	textValue
	scalarValue
	listValue
	objectValue
)

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (v *value) UnmarshalYAML(node ast.Node) error {
	got, err := readValue(node)
	if err != nil {
		return err
	}
	*v = got
	return nil
}

func readValue(node ast.Node) (value, error) {
	switch n := node.(type) {
	case *ast.NullNode:
		return value{node: node}, nil
	case *ast.StringNode:
		return textOf(n.Value, node)
	case *ast.LiteralNode:
		return textOf(n.Value.Value, node)
	case *ast.BoolNode:
		return value{node: node, kind: scalarValue, scalar: strconv.AppendBool(nil, n.Value)}, nil
	case *ast.IntegerNode, *ast.FloatNode:
		b, err := json.Marshal(n.(ast.ScalarNode).GetValue())
		if err != nil {
			return value{}, complain(node, "%v", err)
		}
		return value{node: node, kind: scalarValue, scalar: b}, nil
	case *ast.SequenceNode:
		v := value{node: node, kind: listValue}
		for _, item := range n.Values {
			inner, err := readValue(item)
			if err != nil {
				return value{}, err
			}
			v.list = append(v.list, inner)
		}
		return v, nil
	case *ast.MappingNode:
		return readObject(n)
	}
	return value{}, complain(node, "%s cannot stand in an input", node.Type())
}

func textOf(s string, node ast.Node) (value, error) {
	t, err := parseTemplate(s, node)
	if err != nil {
		return value{}, err
	}
	return value{node: node, kind: textValue, text: &t}, nil
}

func readObject(n *ast.MappingNode) (value, error) {
	v := value{node: n, kind: objectValue}
	for _, entry := range n.Values {
		key, err := keyText(entry.Key)
		if err != nil {
			return value{}, err
		}
		inner, err := readValue(entry.Value)
		if err != nil {
			return value{}, err
		}
		v.fields = append(v.fields, field{key, inner})
	}
	return v, nil
}

func keyText(key ast.MapKeyNode) (string, error) {
	switch k := key.(type) {
	case *ast.StringNode:
		return k.Value, nil
	case *ast.IntegerNode, *ast.BoolNode, *ast.FloatNode:
		return k.GetToken().Value, nil
	}
	return "", complain(key, "a key must be plain text (a template must be quoted: \"{{i}}\")")
}

// walk visits the templates of v in the order of the file until fn fails.
func (v value) walk(fn func(*template) error) error {
	if v.text != nil {
		return fn(v.text)
	}
	for _, item := range v.list {
		if err := item.walk(fn); err != nil {
			return err
		}
	}
	for _, f := range v.fields {
		if err := f.val.walk(fn); err != nil {
			return err
		}
	}
	return nil
}

// with returns v with items appended to its list under key.
func (v value) with(key string, items []value) value {
	out := value{node: v.node, kind: objectValue}
	found := false
	for _, f := range v.fields {
		if f.key == key {
			found = true
			f.val.list = append(append([]value(nil), f.val.list...), items...)
		}
		out.fields = append(out.fields, f)
	}
	if !found {
		out.fields = append(out.fields, field{key, value{kind: listValue, list: items}})
	}
	return out
}

// fill returns v with its templates expanded, so that copies made for
// different i can stand side by side.
func (v value) fill(s *scope) (value, error) {
	switch v.kind {
	case nullValue, scalarValue:
		return v, nil
	case textValue:
		if v.text.numeric() {
			n, err := s.number(v.text.pieces[0])
			if err != nil {
				return value{}, err
			}
			return value{kind: scalarValue, scalar: json.RawMessage(n)}, nil
		}
		return value{kind: textValue, text: &template{pieces: []piece{{text: v.text.expand(s)}}}}, nil
	case listValue:
		out := value{kind: listValue}
		for _, item := range v.list {
			filled, err := item.fill(s)
			if err != nil {
				return value{}, err
			}
			out.list = append(out.list, filled)
		}
		return out, nil
	case objectValue:
		out := value{kind: objectValue}
		for _, f := range v.fields {
			filled, err := f.val.fill(s)
			if err != nil {
				return value{}, fmt.Errorf("%s: %w", f.key, err)
			}
			out.fields = append(out.fields, field{f.key, filled})
		}
		return out, nil
	}
	return value{}, fmt.Errorf("a value of unknown kind %d", v.kind)
}

// appendJSON writes a filled value.
func (v value) appendJSON(b *bytes.Buffer) {
	switch v.kind {
	case nullValue:
		b.WriteString("null")
	case textValue:
		writeString(b, v.text.expand(&scope{}))
	case scalarValue:
		b.Write(v.scalar)
	case listValue:
		b.WriteByte('[')
		for i, item := range v.list {
			if i > 0 {
				b.WriteByte(',')
			}
			item.appendJSON(b)
		}
		b.WriteByte(']')
	case objectValue:
		b.WriteByte('{')
		for i, f := range v.fields {
			if i > 0 {
				b.WriteByte(',')
			}
			writeString(b, f.key)
			b.WriteByte(':')
			f.val.appendJSON(b)
		}
		b.WriteByte('}')
	}
}

// writeString writes s as JSON without the escapes for HTML, which would only
// make inputs harder to read.
func writeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes, and a buffer always takes it
	b.Truncate(b.Len() - 1)
}
