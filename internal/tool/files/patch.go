// The Patch tool: changes of several files in one step, as operations or as
// the text of a patch.

package files

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed patch.md
var patchDescription string

const patchSchema = `{"type":"object","properties":{"patch":{"type":"string"},"path":{"type":"string","deprecated":true},"operations":{"type":"array","minItems":1,"maxItems":200,"items":{"type":"object","properties":{"operation":{"enum":["create","overwrite","replace","insert","prepend_bof","append_eof","rename","delete"]},"path":{"type":"string"},"text":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"},"line":{"type":"integer","minimum":0},"to":{"type":"string"}},"required":["operation"],"additionalProperties":false}}},"additionalProperties":false}`

type patchInput struct {
	Patch      string      `json:"patch"`
	Path       string      `json:"path"` // of operations and hunks that name none
	Operations []operation `json:"operations"`
}

// operation is one change of one file. Which fields count depends on it.
type operation struct {
	Operation string `json:"operation"`
	Path      string `json:"path"`
	Text      string `json:"text"` // create, overwrite, insert, prepend_bof, append_eof
	replacement
	Line *count `json:"line"` // insert: the line after which the text goes in
	To   string `json:"to"`   // rename
}

func (w *writer) patchTool() tool.Tool {
	return w.tool("Patch", patchDescription, patchSchema, func(d *draft, input json.RawMessage) (string, error) {
		in, err := decode[patchInput](input)
		if err != nil {
			return "", err
		}
		if (in.Patch == "") == (len(in.Operations) == 0) {
			return "", errors.New("give either patch or operations")
		}
		var said []string
		if in.Patch != "" {
			said, err = d.patch(in)
		} else {
			said, err = d.operate(in)
		}
		return strings.Join(said, "\n"), err
	})
}

func (d *draft) operate(in patchInput) ([]string, error) {
	var said []string
	for i, op := range in.Operations {
		if op.Path == "" {
			op.Path = in.Path
		}
		line, err := d.operation(op)
		if err != nil {
			return nil, fmt.Errorf("operation %d of %d (%s), and so none was made: %w", i+1, len(in.Operations), op.Operation, err)
		}
		said = append(said, line)
	}
	return said, nil
}

func (d *draft) operation(op operation) (said string, err error) {
	// Models also put what comes in into new_string.
	if op.Text == "" && op.Operation != "replace" {
		op.Text = op.New
	}
	switch op.Operation {
	case "create":
		_, err = d.create(op.Path, op.Text)
		return "created " + shown(op.Path), err
	case "overwrite":
		_, err = d.overwrite(op.Path, op.Text)
		return "wrote " + shown(op.Path), err
	case "delete":
		_, err = d.remove(op.Path)
		return "deleted " + shown(op.Path), err
	case "rename":
		_, err = d.rename(op.Path, op.To)
		return fmt.Sprintf("renamed %s to %s", shown(op.Path), shown(op.To)), err
	case "replace":
		where, err := d.replace(op.Path, op.replacement)
		return fmt.Sprintf("edited %s, %s", shown(op.Path), where), err
	}
	return d.insert(op)
}

// insert puts lines into a file.
func (d *draft) insert(op operation) (string, error) {
	file, err := d.editable(op.Path)
	if err != nil {
		return "", err
	}
	t := parseText(file.after)
	h := &hunk{after: true, line: len(t.lines)}
	switch {
	case op.Text == "":
		return "", errors.New("text is empty: nothing would be inserted")
	case op.Operation == "prepend_bof":
		h.line = 0
	case op.Operation == "insert" && op.Line == nil:
		return "", errors.New("line is missing: the line after which to insert, 0 for the start")
	case op.Operation == "insert":
		h.line = int(*op.Line)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(toNewlines(op.Text), "\n"), "\n") {
		h.lines = append(h.lines, hunkLine{'+', line})
	}
	text, _, err := applyHunks(d.ctx, file.after, []*hunk{h})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("inserted %d lines into %s after line %d", len(h.lines), shown(op.Path), h.line), d.edit(file, text)
}

// patch applies the text of a patch, in either format.
func (d *draft) patch(in patchInput) ([]string, error) {
	text := toNewlines(in.Patch)
	var files []*filePatch
	var err error
	if isEnvelope(text) {
		files, err = parseEnvelope(text)
	} else {
		files, err = parseUnified(text, in.Path)
	}
	if err != nil {
		return nil, err
	}
	var said []string
	for _, fp := range files {
		if fp.prefixed {
			fp.path = d.unprefixed(fp.path)
		}
		lines, err := d.filePatch(fp)
		if err != nil {
			short, _ := shorten([]byte(fp.path), closestRunes)
			return nil, fmt.Errorf("%s, and so nothing was changed: %w", shown(short), err)
		}
		said = append(said, lines...)
	}
	return said, nil
}

// unprefixed drops the prefix of a name in a diff, unless only a file of the
// whole name exists.
func (d *draft) unprefixed(p string) string {
	short := withoutPrefix(p)
	if _, err := d.f.root.Lstat(short); err != nil {
		if _, err := d.f.root.Lstat(p); err == nil {
			return p
		}
	}
	return short
}

func (d *draft) filePatch(fp *filePatch) (said []string, err error) {
	var file *draftFile
	switch fp.verb {
	case patchAdd:
		file, err = d.create(fp.path, fp.text)
		said = []string{"created " + shown(fp.path)}
	case patchDelete:
		return []string{"deleted " + shown(fp.path)}, d.erase(fp)
	case patchCopy:
		file, err = d.copy(fp)
		said = []string{fmt.Sprintf("copied %s to %s", shown(fp.path), shown(fp.to))}
	case patchUpdate:
		file, said, err = d.update(fp)
	}
	if err == nil && fp.exec != execKept {
		file.exec = fp.exec
	}
	return said, err
}

// erase deletes a file, if it is the one that the patch deletes.
func (d *draft) erase(fp *filePatch) error {
	if len(fp.hunks) > 0 {
		file, err := d.editable(fp.path)
		if err != nil {
			return err
		}
		left, _, err := applyHunks(d.ctx, file.after, fp.hunks)
		if err != nil {
			return err
		}
		if left != "" && left != bom {
			return errors.New("the patch deletes the file, but does not remove all of its lines")
		}
	}
	_, err := d.remove(fp.path)
	return err
}

func (d *draft) copy(fp *filePatch) (*draftFile, error) {
	from, err := d.existing(fp.path)
	if err != nil {
		return nil, err
	}
	data, mode := from.after, from.mode
	file, err := d.create(fp.to, "")
	if err != nil {
		return nil, err
	}
	file.after, file.from = data, from.name
	if file.before == nil {
		file.mode = mode
	}
	if len(fp.hunks) > 0 {
		_, _, err = d.applyTo(file, fp.hunks)
	}
	return file, err
}

func (d *draft) update(fp *filePatch) (file *draftFile, said []string, err error) {
	if len(fp.hunks) > 0 {
		if file, err = d.editable(fp.path); err != nil {
			return nil, nil, err
		}
		var notes []string
		if file, notes, err = d.applyTo(file, fp.hunks); err != nil {
			return nil, nil, err
		}
		line := fmt.Sprintf("edited %s, %d hunks", shown(fp.path), len(fp.hunks))
		if len(notes) > 0 {
			line += " (" + strings.Join(notes, "; ") + ")"
		}
		said = append(said, line)
	} else if file, err = d.existing(fp.path); err != nil {
		return nil, nil, err
	}
	if fp.to != "" && fp.to != fp.path {
		if file, err = d.rename(fp.path, fp.to); err != nil {
			return nil, nil, err
		}
		said = append(said, fmt.Sprintf("renamed %s to %s", shown(fp.path), shown(fp.to)))
	}
	if len(said) == 0 {
		said = []string{"changed the mode of " + shown(fp.path)}
	}
	return file, said, nil
}

func (d *draft) applyTo(file *draftFile, hunks []*hunk) (*draftFile, []string, error) {
	text, notes, err := applyHunks(d.ctx, file.after, hunks)
	if err != nil {
		return nil, nil, err
	}
	return file, notes, d.edit(file, text)
}
