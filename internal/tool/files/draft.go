// The draft: the files as a call would leave them, worked out in memory. As
// long as it is only a draft, a failure changes nothing.

package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	maxFile    = 10_000_000 // bytes of a file that is written, before and after
	maxLines   = 1_000_000  // of a file that is edited: each costs memory
	maxTouched = 500        // files of one call
)

// draft is made by one call, from the file system and the ledger of its agent.
type draft struct {
	ctx   context.Context // of the call that the draft lives for
	f     *folder
	env   tool.Env
	files []*draftFile // in the order in which they were first named
}

// draftFile is one file before and after. data is nil where there is no file.
type draftFile struct {
	name   string // canonical
	asked  string // as the model named it
	before []byte
	after  []byte
	mode   fs.FileMode // before
	exec   execBit     // after
	from   string      // the file it was before it was renamed or copied
	moved  bool        // it was renamed to another
	whole  bool        // nothing of the content before was meant to stay
}

// execBit says what becomes of the right to execute a file.
type execBit int

const (
	execKept execBit = iota
	execSet
	execCleared
)

// versionOf names a content in the ledger.
func versionOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (d *draftFile) changed() bool {
	return (d.before == nil) != (d.after == nil) || !bytes.Equal(d.before, d.after) || d.exec != execKept && d.after != nil
}

// at returns the draft of the file that a model calls p, existing or not.
func (d *draft) at(p string) (*draftFile, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	asked, err := d.f.name(p)
	if err != nil {
		return nil, err
	}
	if asked == "." || strings.HasSuffix(p, "/") {
		return nil, fmt.Errorf("%s is a folder, not a file", shown(p))
	}
	name, err := d.f.canonical(asked)
	if err != nil {
		return nil, d.f.explain(asked, err)
	}
	if isGit(asked) || isGit(name) {
		return nil, fmt.Errorf("%s belongs to git, and a file there could run as a program: it is not written by this tool; use git", shown(asked))
	}
	for _, file := range d.files {
		if file.name == name {
			return file, nil
		}
	}
	if len(d.files) == maxTouched {
		return nil, fmt.Errorf("more than %d files in one call: use several", maxTouched)
	}
	file := &draftFile{name: name, asked: asked}
	if err := d.load(file); err != nil {
		return nil, err
	}
	d.files = append(d.files, file)
	return file, nil
}

// load reads the file as it is.
func (d *draft) load(file *draftFile) error {
	opened, info, err := d.f.open(file.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return d.f.explain(file.name, err)
	}
	defer func() { _ = opened.Close() }()
	data, err := io.ReadAll(io.LimitReader(contextReader{d.ctx, opened}, maxFile+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", shown(file.name), err)
	}
	if len(data) > maxFile {
		return fmt.Errorf("%s is too large (%s) to be changed by this tool; the limit is %s", shown(file.name), bytesText(info.Size()), bytesText(maxFile))
	}
	file.before, file.after, file.mode = data, data, info.Mode()
	return nil
}

// existing returns a file that must exist and that the agent must know as it
// is. A binary file cannot be read by it, and need not have been.
func (d *draft) existing(p string) (*draftFile, error) {
	file, err := d.at(p)
	if err != nil {
		return nil, err
	}
	if file.after == nil {
		if file.before != nil {
			return nil, fmt.Errorf("%s has been deleted or renamed by an earlier operation of this call", shown(file.asked))
		}
		err := d.f.missing(file.asked)
		if w, ok := d.env.Ledger.LastWriter(d.env, d.f.absolute(file.name)); ok && w.Version == "" && w.Agent != d.env.Agent {
			err = fmt.Errorf("%w; %s deleted it", err, w.Path)
		}
		return nil, err
	}
	return file, d.known(file)
}

// known refuses a file that has changed since the agent read it, or that it
// never read.
func (d *draft) known(file *draftFile) error {
	if d.env.Ledger == nil || file.before == nil {
		return nil
	}
	abs, now := d.f.absolute(file.name), versionOf(file.before)
	seen, ok := d.env.Ledger.Seen(d.env, abs)
	switch {
	case seen == now:
		return nil
	case !ok && isBinary(headOf(file.before)):
		return nil
	case !ok || seen == "":
		return fmt.Errorf("%s exists and you have not read it: Read it first, then change it", shown(file.asked))
	}
	who := ""
	if w, ok := d.env.Ledger.LastWriter(d.env, abs); ok && w.Agent != d.env.Agent && w.Version == now {
		who = " (" + w.Path + " wrote it)"
	}
	return fmt.Errorf("%s changed since you read it%s: Read it again, then change it", shown(file.asked), who)
}

// editable is existing for a file whose text is to be changed.
func (d *draft) editable(p string) (*draftFile, error) {
	file, err := d.existing(p)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(file.after, []byte("\n")); n > maxLines {
		return nil, fmt.Errorf("%s has too many lines (%d) to be edited by this tool; the limit is %d", shown(file.asked), n, maxLines)
	}
	if file.before != nil && file.mode&0o222 == 0 {
		return nil, fmt.Errorf("%s is read-only: nobody may write it, as its permissions say", shown(file.asked))
	}
	if bytes.IndexByte(file.after, 0) >= 0 || isBinary(headOf(file.after)) {
		return nil, fmt.Errorf("%s is a binary file (%s, %s) and cannot be edited as text", shown(file.asked), mediaType(headOf(file.after)), bytesText(int64(len(file.after))))
	}
	return file, nil
}

// create makes a file where there is none.
func (d *draft) create(p, text string) (*draftFile, error) {
	file, err := d.at(p)
	if err != nil {
		return nil, err
	}
	if file.after != nil {
		return nil, fmt.Errorf("%s exists already: edit it, or overwrite it", shown(file.asked))
	}
	if strings.ContainsFunc(file.asked, unicode.IsControl) {
		return nil, fmt.Errorf("%q contains control characters: choose another name", file.asked)
	}
	return file, d.put(file, []byte(text))
}

// overwrite makes or replaces a file. What its text does not say is kept: the
// mark at the start, and line ends if all were CR LF and none of text is.
func (d *draft) overwrite(p, text string) (*draftFile, error) {
	file, err := d.at(p)
	if err != nil {
		return nil, err
	}
	if file.after == nil {
		return d.create(p, text)
	}
	if file, err = d.editable(p); err != nil {
		return nil, err
	}
	old := parseText(file.after)
	if !strings.HasPrefix(text, bom) {
		text = old.mark + text
	}
	if old.ends() == "\r\n" && !old.mixed() && !strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	file.whole = true
	return file, d.put(file, []byte(text))
}

// edit changes the text of a file. What is not UTF-8 keeps its encoding, so
// that nothing but ASCII can be added to it.
func (d *draft) edit(file *draftFile, text string) error {
	if !utf8.Valid(file.after) && multibyte([]byte(text)) > multibyte(file.after) {
		return fmt.Errorf("%s is not in UTF-8, so that only ASCII can be added to it: leave out other characters, or write the file anew", shown(file.asked))
	}
	return d.put(file, []byte(text))
}

func (d *draft) put(file *draftFile, data []byte) error {
	if bytes.IndexByte(data, 0) >= 0 {
		return fmt.Errorf("the new text of %s contains a NUL byte, which no text file may", shown(file.asked))
	}
	return d.set(file, data)
}

func (d *draft) set(file *draftFile, data []byte) error {
	if len(data) > maxFile {
		return fmt.Errorf("%s would become too large (%s); the limit is %s", shown(file.asked), bytesText(int64(len(data))), bytesText(maxFile))
	}
	if data == nil {
		data = []byte{}
	}
	file.after = data
	return nil
}

// remove deletes a file. A link is not followed: that its target is meant is
// too uncertain.
func (d *draft) remove(p string) (*draftFile, error) {
	file, err := d.existing(p)
	if err != nil {
		return nil, err
	}
	if info, err := d.f.root.Lstat(file.asked); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s is a link to %s: name the file itself", shown(file.asked), shown(file.name))
	}
	file.after, file.exec = nil, execKept
	return file, nil
}

// rename moves a file, with its content as the draft has it.
func (d *draft) rename(p, to string) (*draftFile, error) {
	old, err := d.existing(p)
	if err != nil {
		return nil, err
	}
	data, mode, exec := old.after, old.mode, old.exec
	file, err := d.create(to, "")
	if err != nil {
		return nil, err
	}
	if old, err = d.remove(p); err != nil {
		return nil, err
	}
	old.moved = true
	file.after, file.exec, file.from = data, exec, old.name
	if file.before == nil {
		file.mode = mode
	}
	return file, nil
}

// changes lists the files that would differ.
func (d *draft) changes() []*draftFile {
	return slices.DeleteFunc(slices.Clone(d.files), func(f *draftFile) bool { return !f.changed() })
}

// multibyte counts the characters beyond ASCII that are valid UTF-8.
func multibyte(data []byte) int {
	n := 0
	for i := 0; i < len(data); {
		_, size := utf8.DecodeRune(data[i:])
		if size > 1 {
			n++
		}
		i += size
	}
	return n
}

// isGit says whether a part of name is git's own folder or file, in any
// spelling that some file system takes for it: Windows drops dots and blanks
// at the end and knows short names and streams, HFS+ skips some characters.
func isGit(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		part, _, _ = strings.Cut(part, ":")
		part = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return unicode.ToLower(r)
		}, strings.TrimRight(part, ". "))
		if part == ".git" || part == "git~1" {
			return true
		}
	}
	return false
}
