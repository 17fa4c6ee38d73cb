// The Read tool: a text file with line numbers, in pieces if it is large, or
// an image.

package files

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/tool"
)

//go:embed read.md
var readDescription string

// Models write path or file_path, as they are used to; the schema cannot ask
// for one of the two, so runRead does.
const readSchema = `{"type":"object","properties":{"path":{"type":"string"},"file_path":{"type":"string","deprecated":true},"offset":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1}},"additionalProperties":false}`

const (
	readLines     = 2000    // shown unless limit says otherwise
	readLineRunes = 2000    // shown of one line
	countUpTo     = 8 << 20 // bytes after the shown part whose lines are counted
)

type readInput struct {
	Path   string `json:"path"`
	Other  string `json:"file_path"`
	Offset count  `json:"offset"`
	Limit  count  `json:"limit"`
}

func (in readInput) path() string { return cmp.Or(in.Path, in.Other) }

func readTool() tool.Tool {
	return tool.Tool{
		Name:        "Read",
		Description: strings.TrimSpace(readDescription),
		Schema:      json.RawMessage(readSchema),
		Class:       tool.Reads,
		Quick:       true,
		Plan:        planRead,
		Run:         runRead,
	}
}

func planRead(_ context.Context, env tool.Env, input json.RawMessage) (tool.Action, error) {
	return planReading(env, input, func(f *folder, in readInput) (string, string, error) {
		name, err := f.name(in.path())
		return name, "Read " + shown(name), err
	})
}

func runRead(ctx context.Context, env tool.Env, input json.RawMessage) (tool.Result, error) {
	in, err := decode[readInput](input)
	if err != nil {
		return tool.Result{}, err
	}
	f, err := openFolder(env)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.close()

	name, file, info, err := f.openAt(in.path())
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = file.Close() }()

	source, version, err := versioned(ctx, env, file)
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", shown(name), err)
	}
	res, err := show(ctx, source, name, info, in)
	if err == nil && version != "" {
		if canonical, linkErr := f.canonical(name); linkErr == nil {
			env.Ledger.Saw(env, f.absolute(canonical), version)
		}
	}
	return res, err
}

// versioned hashes a file for the ledger and returns what to read it from, so
// that what is shown is what was hashed. A file too large to be edited has no
// version: nobody will ask.
func versioned(ctx context.Context, env tool.Env, file io.Reader) (source io.Reader, version string, err error) {
	if env.Ledger == nil {
		return file, "", nil
	}
	data, err := io.ReadAll(io.LimitReader(contextReader{ctx, file}, maxFile+1))
	if err != nil {
		return nil, "", err
	}
	if len(data) > maxFile {
		return io.MultiReader(bytes.NewReader(data), file), "", nil
	}
	return bytes.NewReader(data), versionOf(data), nil
}

func show(ctx context.Context, source io.Reader, name string, info fs.FileInfo, in readInput) (tool.Result, error) {
	text := newLinesOf(readLineRunes*utf8.UTFMax, info.Size())
	text.reset(ctx, source)
	head, err := text.head()
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", shown(name), err)
	}
	if len(head) == 0 {
		return tool.Text(shown(name) + " is empty (0 bytes)."), nil
	}
	if isBinary(head) {
		if kind, ok := imageType(head); ok {
			return readImage(text.r, name, kind, info.Size())
		}
		return tool.Result{}, fmt.Errorf("%s is a binary file (%s, %s) and is not shown; pictures can be, as PNG, JPEG, GIF or WebP", shown(name), mediaType(head), bytesText(info.Size()))
	}
	text.skipBOM()
	answer, err := numbered(text, info, in.Offset.or(1), in.Limit.or(readLines))
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", shown(name), err)
	}
	return tool.Text(answer), nil
}

// numbered shows up to limit lines from line first on, and says what remains.
func numbered(text *lines, info fs.FileInfo, first, limit int) (string, error) {
	for n := 1; n < first; n++ {
		_, _, err := text.next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("offset %d is past the end: the file has %d lines", first, n-1)
		}
		if err != nil {
			return "", err
		}
	}
	var b strings.Builder
	last := first - 1
	ended, full := false, false
	for last-first+1 < limit {
		before := text.read
		line, cut, err := text.next()
		if errors.Is(err, io.EOF) {
			ended = true
			break
		}
		if err != nil {
			return "", err
		}
		shortened, more := shorten(line, readLineRunes)
		entry := fmt.Sprintf("%6d\t%s", last+1, shortened)
		if cut += more; cut > 0 {
			entry += fmt.Sprintf("… [%s of this line cut]", bytesText(cut))
		}
		if b.Len()+len(entry) >= maxOutput && last >= first {
			text.read = before // the line is not shown: it remains
			full = true
			break
		}
		b.WriteString(entry + "\n")
		last++
	}
	if last < first {
		return "", fmt.Errorf("offset %d is past the end: the file has %d lines", first, last)
	}
	rest, err := remaining(text, info.Size(), first, last, ended, full)
	if err != nil {
		return "", err
	}
	b.WriteString(rest)
	switch {
	case text.crlf > 0 && text.lf == 0:
		b.WriteString("[lines end in CR LF]\n")
	case text.crlf > 0:
		b.WriteString("[some lines end in CR LF]\n")
	}
	return b.String(), nil
}

// remaining says what follows line last, and how to read it. If full is set,
// the line after it has been consumed already.
func remaining(text *lines, size int64, first, last int, ended, full bool) (string, error) {
	if !ended && !full {
		_, err := text.r.Peek(1)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		ended = err != nil
	}
	if ended {
		return "", nil
	}
	left := size - text.read
	total, known := last, false
	if left <= countUpTo {
		if full {
			total++
		}
		more, err := countLines(text.r)
		if err != nil {
			return "", err
		}
		total, known = total+more, true
	}
	why := ""
	if full {
		why = fmt.Sprintf(", as one answer holds at most %s", bytesText(maxOutput))
	}
	if known {
		return fmt.Sprintf("[lines %d-%d of %d shown%s; read on with offset %d]\n", first, last, total, why, last+1), nil
	}
	return fmt.Sprintf("[lines %d-%d shown%s; %s of %s remain; read on with offset %d]\n",
		first, last, why, bytesText(left), bytesText(size), last+1), nil
}

// countLines counts the lines of r, the last of which need not be ended.
func countLines(r io.Reader) (int, error) {
	buf := make([]byte, 64<<10)
	n, ended := 0, true
	for {
		k, err := r.Read(buf)
		if k > 0 {
			n += bytes.Count(buf[:k], []byte("\n"))
			ended = buf[k-1] == '\n'
		}
		if errors.Is(err, io.EOF) {
			if !ended {
				n++
			}
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
