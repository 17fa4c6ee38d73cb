// Structured reasoning: OpenRouter's reasoning_details, of which each entry
// becomes one thinking part and goes back as it came.

package openaichat

import (
	"encoding/json"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire"
)

// The types of detail, each with a field for its text.
const (
	detailText      = "reasoning.text"
	detailSummary   = "reasoning.summary"
	detailEncrypted = "reasoning.encrypted"
)

// textField names the field that holds the text of a detail.
func textField(kind string) string {
	switch kind {
	case detailText:
		return "text"
	case detailSummary:
		return "summary"
	}
	return ""
}

// detail is an entry of reasoning_details, without its text. It is stored in
// a thinking part as what the part has no field for: the envelope.
type detail struct {
	kind, index string
	id, data    string
	fields      []field // all others, in the order of their arrival
}

// field is a member of an object as it is written.
type field struct{ name, value string }

func (d *detail) set(name, value string) {
	for i := range d.fields {
		if d.fields[i].name == name {
			d.fields[i].value = value
			return
		}
	}
	d.fields = append(d.fields, field{name, value})
}

// envelope gives the fields of d but text, data and id as a JSON object.
func (d *detail) envelope() string {
	var s strings.Builder
	s.WriteByte('{')
	for i, f := range d.fields {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(`"` + f.name + `":` + f.value)
	}
	s.WriteByte('}')
	if !json.Valid([]byte(s.String())) {
		return string(wire.AppendString([]byte(`{"type":`), d.kind)) + "}"
	}
	return s.String()
}

// addDetails takes the reasoning_details of a chunk in, and reports whether
// they had any text.
func (b *builder) addDetails(list []byte) (hasText bool, err error) {
	items := wire.Array(list)
	for items.Next() {
		d := &detail{}
		var text string
		f := wire.Object(items.Value)
		for f.Next() {
			s, isText := wire.String(f.Value)
			switch string(f.Key) {
			case "type":
				d.kind = s
				d.set("type", string(f.Value))
			case "index":
				d.index = string(f.Value)
				d.set("index", d.index)
			case "id":
				d.id = s
			case "data":
				d.data = s
			case "text", "summary":
				if isText {
					text += s
				}
			default:
				if !wire.IsNull(f.Value) {
					d.set(string(f.Key), string(f.Value))
				}
			}
		}
		if f.Err() != nil {
			return false, f.Err()
		}
		b.addDetail(d, text)
		hasText = hasText || text != ""
	}
	return hasText, items.Err()
}

// addDetail continues the part that d belongs to, or begins one. Texts come in
// pieces, encrypted details whole.
func (b *builder) addDetail(d *detail, text string) {
	p := b.detailPart(d)
	if p == nil {
		p = b.open(llm.DeltaThinking)
		p.detail = d
	} else {
		for _, f := range d.fields {
			p.detail.set(f.name, f.value)
		}
		if d.id != "" {
			p.detail.id = d.id
		}
	}
	b.add(p, text)
}

func (b *builder) detailPart(d *detail) *part {
	if textField(d.kind) == "" {
		return nil
	}
	for i := len(b.parts) - 1; i >= 0; i-- {
		p := b.parts[i]
		if p.detail != nil && p.detail.kind == d.kind && p.detail.index == d.index {
			return p
		}
	}
	return nil
}
