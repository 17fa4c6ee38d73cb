// read_image, and the Tree that other packages search by.

package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

func pngOf(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReadImage(t *testing.T) {
	t.Parallel()
	picture := pngOf(t, 3, 2)
	dir := tree(t, map[string]string{
		"a/logo.png": picture, "misnamed.txt": picture, "link.png": "-> a/logo.png", "out.png": "-> /etc/hostname",
		"text.png": "hello\n", "gif.txt": "GIF89a is how they begin\n", "empty.png": "", "doc.pdf": "%PDF-1.7\x00", "icon.bmp": "BM\x00\x00\x00\x00",
		"cut.png": picture[:20], "wide.png": pngOf(t, 8001, 1), "large.png": picture + strings.Repeat("\x00", maxImage),
	})
	r, err := tool.New(ReadImage())
	if err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Dir: dir}
	for path, name := range map[string]string{"a/logo.png": "a/logo.png", "./a//logo.png": "a/logo.png", dir + "/misnamed.txt": "misnamed.txt", "link.png": "link.png"} {
		input := json.RawMessage(object("path", path))
		res, err := r.Run(t.Context(), "read_image", env, input)
		if err != nil || len(res.Parts) != 2 {
			t.Fatalf("%s: %v, %v", path, res, err)
		}
		equal(t, message.Text(res.Parts[:1]), name+": image/png, 3×2 pixels, "+bytesText(int64(len(picture))))
		if got, ok := res.Parts[1].(message.ImagePart); !ok || got.MediaType != "image/png" || string(got.Data) != picture {
			t.Errorf("%s: the part is %T", path, res.Parts[1])
		}
		action, err := ReadImage().Plan(t.Context(), env, input)
		if err != nil || action.Class != tool.Reads || action.Paths[0] != name || action.Shown != "Read the image "+name {
			t.Errorf("%s: %+v, %v", path, action, err)
		}
	}
	action, err := ReadImage().Plan(t.Context(), env, json.RawMessage(object("path", "link.png")))
	if want := []string{"link.png", "a/logo.png"}; err != nil || !slices.Equal(action.Paths, want) {
		t.Errorf("a link: %q, %v", action.Paths, err)
	}
	for path, want := range map[string]string{
		"text.png":         "text.png is a text file or empty, not an image: use Read",
		"gif.txt":          "gif.txt is a text file or empty, not an image",
		"empty.png":        "text file or empty",
		"doc.pdf":          "(application/pdf, 9 B) and is not shown; pictures can be, as PNG",
		"icon.bmp":         "(image/bmp, 6 B) and is not shown; pictures can be, as PNG",
		"cut.png":          "is not a valid image",
		"wide.png":         "8001×1 pixels; at most 8000 a side",
		"large.png":        "at most 5 MB can be shown",
		"a":                "is a folder",
		"nowhere.png":      "nowhere.png",
		"../x.png":         "outside the working folder",
		"/etc/passwd":      "outside the working folder",
		"out.png":          "outside the working folder",
		"a/logo.png\x00.x": "NUL",
		"":                 "the path is empty",
	} {
		if res, err := r.Run(t.Context(), "read_image", env, json.RawMessage(object("path", path))); err == nil {
			t.Errorf("%q: %v", path, res)
		} else {
			contains(t, err.Error(), want)
		}
	}
	for _, input := range []string{`{}`, `{"path":1}`, `{"path":"a","size":1}`} {
		if res, err := r.Run(t.Context(), "read_image", env, json.RawMessage(input)); err == nil {
			t.Errorf("%s: %v", input, res)
		}
	}
	if n := len(ReadImage().Description); n > 400 {
		t.Errorf("the description has %d bytes", n)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".gitignore": "ignored\n", "ignored": "x", "a/b.txt": "\xef\xbb\xbfone\r\ntwo", "a/c.go": "x", "link": "-> a/b.txt",
		"binary": "one\ntwo\x00\n", "late": strings.Repeat("line\n", 5000) + "\x00\nmore\n", "out": "-> /etc/hostname",
	})
	tr, err := OpenTree(tool.Env{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, tc := range []struct{ path, glob, want string }{
		{"", "", ".gitignore a/b.txt a/c.go binary late"},
		{"a", "*.go", "a/c.go"},
		{"a/b.txt", "*.go", "a/b.txt"}, // who names a file wants it
		{"ignored", "", "ignored"},
	} {
		names, note, err := tr.Files(t.Context(), tc.path, tc.glob)
		if got := strings.Join(names, " "); err != nil || note != "" || got != tc.want {
			t.Errorf("%+v: %q, %q, %v", tc, got, note, err)
		}
	}
	for _, path := range []string{"..", "/etc", "nowhere", "out"} {
		if names, _, err := tr.Files(t.Context(), path, ""); err == nil {
			t.Errorf("%s: %q", path, names)
		}
	}
	for path, want := range map[string]string{"": ".", "./a/": "a", "link": "link a/b.txt", "new": "new"} {
		if got, err := tr.Names(path); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
	if got, err := tr.Names("../x"); err == nil {
		t.Errorf("a path outside: %q", got)
	}
	read := func(name string, limit int) (got []string, err error) {
		err = tr.Lines(t.Context(), name, func(n int, line []byte) error {
			if got = append(got, string(line)); n == limit {
				return fs.SkipAll
			}
			return nil
		})
		return got, err
	}
	if got, err := read("a/b.txt", 0); err != nil || !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := read("a/b.txt", 1); err != nil || len(got) != 1 {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := read("binary", 0); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := read("late", 0); err != nil || len(got) != 5000 {
		t.Errorf("%d lines, %v", len(got), err)
	}
	for _, name := range []string{"out", "a", "nowhere", "../x"} {
		if got, err := read(name, 0); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	broken := errors.New("broken")
	if err := tr.Lines(t.Context(), "late", func(int, []byte) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := tr.Files(ctx, "", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
