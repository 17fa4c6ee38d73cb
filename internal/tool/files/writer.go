// What the tools that write have in common: the plan that a person is shown,
// and the way from a draft to files, ledger and record.

package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cadre-dev/cadre/internal/tool"
)

const maxShown = 200_000 // bytes of a diff that a person is shown

// writer lets one call write at a time: between the moment a file is compared
// with what the agent knows and the moment it is replaced, no other call may
// replace it.
type writer struct{ mu sync.Mutex }

// composer works an input into a draft and says what it did, in one or more
// lines. It changes nothing but the draft.
type composer func(d *draft, input json.RawMessage) (said string, err error)

func (w *writer) tool(name, description, schema string, compose composer) tool.Tool {
	return tool.Tool{
		Name:        name,
		Description: strings.TrimSpace(description),
		Schema:      json.RawMessage(schema),
		Class:       tool.Writes,
		Plan: func(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Action, error) {
			d, _, err := composed(ctx, env, input, compose)
			if err != nil {
				return tool.Action{}, err
			}
			defer d.f.close()
			return d.action(), nil
		},
		Run: func(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			d, said, err := composed(ctx, env, input, compose)
			if err != nil {
				return tool.Result{}, err
			}
			defer d.f.close()
			if err := d.commit(); err != nil {
				return tool.Result{}, err
			}
			return d.result(said), nil
		},
	}
}

// composed makes the draft of a call; the caller closes its folder.
func composed(ctx context.Context, env tool.Env, input json.RawMessage, compose composer) (*draft, string, error) {
	f, err := openFolder(env)
	if err != nil {
		return nil, "", err
	}
	d := &draft{ctx: ctx, f: f, env: env}
	said, err := compose(d, input)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		f.close()
		return nil, "", err
	}
	return d, said, nil
}

// action shows the draft as a diff. The digest covers every file before and
// after, of which a long diff shows only a part.
func (d *draft) action() tool.Action {
	a := tool.Action{Class: tool.Writes}
	var b strings.Builder
	hash := sha256.New()
	left := 0
	for _, file := range d.files {
		for _, name := range []string{file.asked, file.name} {
			if !slices.Contains(a.Paths, name) {
				a.Paths = append(a.Paths, name)
			}
		}
		before, after := digestOf(file.before), digestOf(file.after)
		fmt.Fprintf(hash, "%q %s %s %v %d\n", file.name, before, after, file.mode, file.exec)
		if !file.changed() || file.moved && file.after == nil {
			continue
		}
		if b.Len() > maxShown {
			left++
			continue
		}
		b.WriteString(d.diff(file))
	}
	a.Digest = hex.EncodeToString(hash.Sum(nil))
	a.Shown = strings.ReplaceAll(strings.ToValidUTF8(b.String(), "\ufffd"), "\x00", "\ufffd")
	if len(a.Shown) > maxShown {
		cut := strings.ToValidUTF8(a.Shown[:maxShown], "")
		a.Shown = fmt.Sprintf("%s\n[%s more, and %d files more, are not shown]\n", cut, bytesText(int64(len(a.Shown)-len(cut))), left)
	}
	if a.Shown == "" {
		a.Shown = "Nothing changes."
	}
	return a
}

func digestOf(data []byte) string {
	if data == nil {
		return "none"
	}
	return versionOf(data)
}

// diff shows one file as git would.
func (d *draft) diff(file *draftFile) string {
	before, from, to := file.before, "a/"+file.name, "b/"+file.name
	head := ""
	if file.from != "" {
		head += fmt.Sprintf("renamed or copied from %s to %s\n", shown(file.from), shown(file.name))
		if i := slices.IndexFunc(d.files, func(f *draftFile) bool { return f.name == file.from }); i >= 0 {
			before, from = d.files[i].before, "a/"+file.from
		}
	}
	switch file.exec {
	case execSet:
		head += shown(file.name) + " becomes executable\n"
	case execCleared:
		head += shown(file.name) + " is no longer executable\n"
	case execKept:
	}
	if before == nil {
		from = "/dev/null"
	}
	if file.after == nil {
		to = "/dev/null"
	}
	text := udiff.Unified(shown(from), shown(to), string(before), string(file.after))
	if isBinary(headOf(before)) {
		text = fmt.Sprintf("binary file (%s)\n", bytesText(int64(len(before))))
	}
	if text == "" { // nothing, or an empty file, has no lines to show
		text = fmt.Sprintf("--- %s\n+++ %s\n", shown(from), shown(to))
	}
	return head + text
}

// result notes what was written, in the ledger and in the record.
func (d *draft) result(said string) tool.Result {
	res := tool.Text("")
	for _, file := range d.changes() {
		op, version := "modified", ""
		switch {
		case file.after == nil:
			op = "deleted"
		case file.before == nil:
			op = "created"
		}
		if file.after != nil {
			version = versionOf(file.after)
		}
		res.Record.Files = append(res.Record.Files, tool.File{Path: file.name, Op: op})
		before, ok := d.env.Ledger.Wrote(d.env, d.f.absolute(file.name), version)
		if ok && before.Agent != d.env.Agent {
			said += "\nNote: " + before.Path + " " + shared(file, before)
		}
	}
	if len(res.Record.Files) == 0 {
		said = "Nothing changed: the files have this content already."
	}
	res.Parts = tool.Text(said).Parts
	return res
}

// shared says what became of another agent's work on a file.
func shared(file *draftFile, before tool.Writer) string {
	name := shown(file.name)
	switch {
	case before.Version == "":
		return "had deleted " + name + "; it exists again."
	case file.after == nil:
		return "had written " + name + ", which is deleted now."
	case file.before == nil:
		return "had written " + name + " before; this is a new file in its place."
	case file.whole:
		return "had written " + name + " before; your text replaces all of it."
	case before.Version != versionOf(file.before):
		return "had written " + name + " before, and something else changed it since."
	}
	return "had written " + name + " before; your change is on top of it, the rest is kept."
}

func headOf(data []byte) []byte { return data[:min(len(data), headSize)] }

// withMode gives the permissions a file shall have, from those it has.
func withMode(mode fs.FileMode, exec execBit) fs.FileMode {
	mode = mode.Perm()
	switch exec {
	case execSet:
		mode |= mode & 0o444 >> 2 // whoever may read it
	case execCleared:
		mode &^= 0o111
	case execKept:
	}
	return mode
}
