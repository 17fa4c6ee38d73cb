// The script as it is written: the types a YAML file is read into, and the
// checks each makes on itself. Every complaint points at its line.

package scripted

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/message"
)

type script struct {
	Name     string   `yaml:"name"`
	Model    string   `yaml:"model"`
	Defaults pace     `yaml:"defaults"`
	Agents   []*block `yaml:"agents"`
}

// pace is how fast a reply comes. Fields not set are inherited.
type pace struct {
	Delay      *duration `yaml:"delay"`
	Chunk      *count    `yaml:"chunk"`
	ChunkDelay *duration `yaml:"chunk_delay"`
}

// block is the part of one kind of agent.
type block struct {
	Match match   `yaml:"match"`
	Turns []*turn `yaml:"turns"`
	After after   `yaml:"after"`

	node     ast.Node
	numbered []*turn // those without when, in order
}

type match struct {
	Role   string   `yaml:"role"`
	Agent  string   `yaml:"agent"`
	Name   string   `yaml:"name"`
	Task   string   `yaml:"task"`
	TaskRE *pattern `yaml:"task_re"`
	Depth  *count   `yaml:"depth"`
}

type turn struct {
	When       *when     `yaml:"when"`
	Thinking   *text     `yaml:"thinking"`
	Text       *text     `yaml:"text"`
	Calls      []*call   `yaml:"calls"`
	Stop       stop      `yaml:"stop"`
	Usage      *usage    `yaml:"usage"`
	Delay      *duration `yaml:"delay"`
	Chunk      *count    `yaml:"chunk"`
	ChunkDelay *duration `yaml:"chunk_delay"`
	Fault      *fault    `yaml:"fault"`

	node ast.Node
}

type when struct {
	User   string `yaml:"user"`
	Result string `yaml:"result"`
	Turn   count  `yaml:"turn"`
}

type call struct {
	ID     *text   `yaml:"id"`
	Tool   string  `yaml:"tool"`
	Input  value   `yaml:"input"`
	Repeat *repeat `yaml:"repeat"`

	node ast.Node
}

type repeat struct {
	Key      string   `yaml:"key"`
	Count    count    `yaml:"count"`
	From     *count   `yaml:"from"`
	Each     []string `yaml:"each"`
	Template value    `yaml:"template"`
}

type usage struct {
	Input      count `yaml:"input"`
	Output     count `yaml:"output"`
	CacheRead  count `yaml:"cache_read"`
	CacheWrite count `yaml:"cache_write"`
	Reasoning  count `yaml:"reasoning"`
}

// The scalar types below check themselves, so that what is wrong with one is
// said where it stands.
type (
	duration time.Duration
	count    int
	after    string
	stop     llm.Stop
	text     template
	pattern  struct{ *regexp.Regexp }
)

// The values of after.
const (
	afterDefault after = ""
	afterLast    after = "last"
	afterRepeat  after = "repeat"
	afterError   after = "error"
)

// complain makes an error that shows the line of node with a caret.
func complain(node ast.Node, format string, args ...any) error {
	return &yaml.SyntaxError{Message: fmt.Sprintf(format, args...), Token: node.GetToken()}
}

// strict reads node into v, refusing unknown keys.
func strict(node ast.Node, v any) error {
	return yaml.NodeToValue(node, v, yaml.Strict())
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (d *duration) UnmarshalYAML(node ast.Node) error {
	var s string
	if err := strict(node, &s); err != nil {
		return err
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return complain(node, "%q is not a duration like 20ms or 1.5s", s)
	}
	*d = duration(v)
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (c *count) UnmarshalYAML(node ast.Node) error {
	n, ok := node.(*ast.IntegerNode)
	if !ok {
		return complain(node, "a whole number is needed here")
	}
	v, ok := n.Value.(uint64) // the parser gives negative numbers as int64
	if !ok || v > 1e9 {
		return complain(node, "%v is not between 0 and 1,000,000,000", n.Value)
	}
	*c = count(v)
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (a *after) UnmarshalYAML(node ast.Node) error {
	return oneOf(node, a, afterLast, afterRepeat, afterError)
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (s *stop) UnmarshalYAML(node ast.Node) error {
	return oneOf(node, s, stop(llm.StopEnd), stop(llm.StopTools), stop(llm.StopLength),
		stop(llm.StopRefusal), stop(llm.StopFilter))
}

func oneOf[T ~string](node ast.Node, into *T, allowed ...T) error {
	var s string
	if err := strict(node, &s); err != nil {
		return err
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		if s == string(a) {
			*into = a
			return nil
		}
		names[i] = string(a)
	}
	return complain(node, "%q is not one of %s", s, strings.Join(names, ", "))
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *text) UnmarshalYAML(node ast.Node) error {
	var s string
	if err := strict(node, &s); err != nil {
		return err
	}
	parsed, err := parseTemplate(s, node)
	if err != nil {
		return err
	}
	*t = text(parsed)
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (p *pattern) UnmarshalYAML(node ast.Node) error {
	var s string
	if err := strict(node, &s); err != nil {
		return err
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return complain(node, "not a regular expression: %v", err)
	}
	p.Regexp = re
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (b *block) UnmarshalYAML(node ast.Node) error {
	type plain block
	if err := strict(node, (*plain)(b)); err != nil {
		return err
	}
	b.node = node
	if len(b.Turns) == 0 {
		return complain(node, "a block needs turns")
	}
	for _, t := range b.Turns {
		if t == nil {
			return complain(node, "a turn is missing behind its dash")
		}
		if t.When == nil {
			b.numbered = append(b.numbered, t)
		}
		if err := t.checkGroups(b.Match.TaskRE); err != nil {
			return err
		}
	}
	return nil
}

// checkGroups makes sure that every {{task.N}} of the turn has its group.
func (t *turn) checkGroups(re *pattern) error {
	groups := 0
	if re != nil {
		groups = re.NumSubexp() + 1
	}
	return t.templates(func(tpl *template) error {
		if n := tpl.maxGroup(); n >= groups {
			if re == nil {
				return complain(tpl.node, "{{task.%d}} needs a task_re in the match of its block", n)
			}
			return complain(tpl.node, "{{task.%d}}: task_re has only %d groups", n, groups-1)
		}
		return nil
	})
}

// templates visits all templates of the turn until fn fails.
func (t *turn) templates(fn func(*template) error) error {
	for _, x := range []*text{t.Thinking, t.Text} {
		if x != nil {
			if err := fn((*template)(x)); err != nil {
				return err
			}
		}
	}
	for _, c := range t.Calls {
		if c.ID != nil {
			if err := fn((*template)(c.ID)); err != nil {
				return err
			}
		}
		if err := c.Input.walk(fn); err != nil {
			return err
		}
		if c.Repeat != nil {
			if err := c.Repeat.Template.walk(fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (t *turn) UnmarshalYAML(node ast.Node) error {
	type plain turn
	if err := strict(node, (*plain)(t)); err != nil {
		return err
	}
	t.node = node
	says := t.Text != nil || t.Thinking != nil || len(t.Calls) > 0
	switch {
	case !says && t.Fault == nil:
		return complain(node, `a turn needs text, thinking, calls or a fault (an empty reply is text: "")`)
	case !says && t.Fault.Times > 0:
		return complain(node, "a fault with times passes: say what is played then")
	case t.Stop == stop(llm.StopTools) && len(t.Calls) == 0:
		return complain(node, "stop: tools needs calls")
	}
	for _, x := range []*text{t.Thinking, t.Text} {
		if x != nil {
			if err := noIndex((*template)(x)); err != nil {
				return err
			}
		}
	}
	return t.checkIDs()
}

// checkIDs makes sure that the ids written in the turn differ.
func (t *turn) checkIDs() error {
	seen := map[string]bool{}
	for _, c := range t.Calls {
		if c == nil {
			return complain(t.node, "a call is missing behind its dash")
		}
		if c.ID == nil || len(c.ID.pieces) != 1 || c.ID.pieces[0].name != "" {
			continue
		}
		id := c.ID.pieces[0].text
		if seen[id] {
			return complain(c.ID.node, "two calls have the id %q", id)
		}
		seen[id] = true
	}
	return nil
}

func noIndex(t *template) error {
	for _, name := range []string{"i", "item"} {
		if t.uses(name) {
			return complain(t.node, "{{%s}} has a value only where repeat gives it one", name)
		}
	}
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (c *call) UnmarshalYAML(node ast.Node) error {
	type plain call
	if err := strict(node, (*plain)(c)); err != nil {
		return err
	}
	c.node = node
	if c.Tool == "" {
		return complain(node, "a call needs a tool")
	}
	if k := c.Input.kind; k != objectValue && k != nullValue {
		return complain(c.Input.node, "an input is a mapping of names to values")
	}
	return c.checkRepeat()
}

// maxCopies keeps a slip of the finger from filling the memory.
const maxCopies = 100_000

func (c *call) checkRepeat() error {
	r := c.Repeat
	if r == nil || r.Key != "" {
		if c.ID != nil {
			if err := noIndex((*template)(c.ID)); err != nil {
				return err
			}
		}
		if err := c.Input.walk(noIndex); err != nil {
			return err
		}
	}
	if r == nil {
		return nil
	}
	switch {
	case (r.Count > 0) == (len(r.Each) > 0):
		return complain(c.node, "repeat needs either count or each")
	case r.Count > maxCopies:
		return complain(c.node, "repeat makes at most %d copies", maxCopies)
	case r.From != nil && len(r.Each) > 0:
		return complain(c.node, "repeat with each has no from")
	case r.Key != "" && r.Template.kind == nullValue:
		return complain(c.node, "repeat with key needs a template to copy")
	case r.Key == "" && r.Template.kind != nullValue:
		return complain(c.node, "repeat with a template needs the key it goes to")
	case r.Key == "" && c.ID != nil && !(*template)(c.ID).uses("i") && !(*template)(c.ID).uses("item"):
		return complain(c.ID.node, "the id of a repeated call must contain {{i}}")
	}
	for _, f := range c.Input.fields {
		if f.key == r.Key && f.val.kind != listValue {
			return complain(f.val.node, "repeat appends to %s, so it must be a list", f.key)
		}
	}
	return nil
}

func (u *usage) counts() message.Usage {
	return message.Usage{
		Input: int64(u.Input), Output: int64(u.Output),
		CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheWrite),
		Reasoning: int64(u.Reasoning),
	}
}
