// Loading: from a file or a text to a Model that can be played.

package scripted

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/cadre-dev/cadre/internal/llm"
)

// Model plays a script. It never changes once loaded, so any number of
// goroutines may call it.
type Model struct {
	script script
}

var _ llm.Provider = (*Model)(nil)

// Load reads the script at path.
func Load(path string) (*Model, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("loading a script: %w", err)
	}
	return Parse(path, src)
}

// Parse reads a script from src. name is what errors call it; it is also the
// script's name if it gives itself none. An error shows the line it is about.
func Parse(name string, src []byte) (*Model, error) {
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", name, hint(err))
	}
	body, err := bodyOf(file)
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	m := &Model{}
	if err := strict(body, &m.script); err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	if err := m.script.check(body); err != nil {
		return nil, fmt.Errorf("script %s: %w", name, err)
	}
	if m.script.Name == "" {
		m.script.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	}
	return m, nil
}

// Name is the script's name.
func (m *Model) Name() string { return m.script.Name }

// ModelName is the model the script says answers; empty if it answers as
// whatever it is asked for.
func (m *Model) ModelName() string { return m.script.Model }

// bodyOf returns the only document of file, its aliases replaced by what they
// stand for: the checks read nodes one by one and so never see the anchors of
// others.
func bodyOf(file *ast.File) (ast.Node, error) {
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, complain(doc.Body, "a script is one document")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, errors.New("it is empty")
	}
	return resolve(body, map[string]ast.Node{})
}

// resolve replaces anchors and aliases below node by their values. anchors
// collects those seen so far: YAML allows only references backwards.
func resolve(node ast.Node, anchors map[string]ast.Node) (ast.Node, error) {
	var err error
	switch n := node.(type) {
	case *ast.AnchorNode:
		v, err := resolve(n.Value, anchors)
		if err != nil {
			return nil, err
		}
		anchors[n.Name.GetToken().Value] = v
		return v, nil
	case *ast.AliasNode:
		v, ok := anchors[n.Value.GetToken().Value]
		if !ok {
			return nil, complain(n, "nothing above is named &%s", n.Value.GetToken().Value)
		}
		return v, nil
	case *ast.TagNode:
		return nil, complain(n, "a script has no tags")
	case *ast.MappingNode:
		for _, entry := range n.Values {
			if entry.Value, err = resolve(entry.Value, anchors); err != nil {
				return nil, err
			}
		}
		return n, spread(n)
	case *ast.SequenceNode:
		for i := range n.Values {
			if n.Values[i], err = resolve(n.Values[i], anchors); err != nil {
				return nil, err
			}
		}
	}
	return node, nil
}

// spread replaces the merge keys (<<) of n by the entries they bring in; those
// that n has itself win.
func spread(n *ast.MappingNode) error {
	own := map[string]bool{}
	for _, entry := range n.Values {
		own[entry.Key.GetToken().Value] = true
	}
	var out []*ast.MappingValueNode
	for _, entry := range n.Values {
		if !entry.Key.IsMergeKey() {
			out = append(out, entry)
			continue
		}
		from, ok := entry.Value.(*ast.MappingNode)
		if !ok {
			return complain(entry.Value, "<< takes a mapping")
		}
		for _, e := range from.Values {
			if !own[e.Key.GetToken().Value] {
				out = append(out, e)
			}
		}
	}
	n.Values = out
	return nil
}

// hint adds what is probably meant where YAML's own complaint is hard to
// understand.
func hint(err error) error {
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil && e.GetToken().Type == token.MappingStartType {
		return fmt.Errorf("%w\n(YAML reads a bare {{name}} as a mapping: quote it)", err)
	}
	return err
}

func (s *script) check(body ast.Node) error {
	if len(s.Agents) == 0 {
		return complain(body, "a script needs agents")
	}
	var everyone *block
	for _, b := range s.Agents {
		if b == nil {
			return complain(body, "a block is missing behind its dash")
		}
		if everyone != nil {
			line := everyone.node.GetToken().Position.Line
			return complain(b.node, "this block is never played: the one at line %d matches every agent", line)
		}
		if b.Match == (match{}) {
			everyone = b
		}
	}
	return nil
}
