// Tests of Read: numbering, limits, encodings, images, and what it says of
// that which it does not show.

package files

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"plain":    "one\ntwo\n\nfour\n",
		"no end":   "one\ntwo",
		"crlf":     "one\r\ntwo\r\n",
		"mixed":    "one\r\ntwo\n",
		"bom":      "\ufeffone\n",
		"latin1":   "caf\xe9 au lait\n",
		"empty":    "",
		"newline":  "\n",
		"sub/deep": "deep\n",
		"link":     "-> sub/deep",
		"dirlink":  "-> sub",
		"zero":     strings.Repeat("x\n", headSize) + "a\x00b\n",
		"bm":       "BM is how a bitmap starts, but this is text\n",
	})
	for input, want := range map[string]string{
		`{"path":"plain"}`:                         "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n",
		`{"path":"./sub/../plain"}`:                "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n",
		`{"path":"plain","offset":4}`:              "     4\tfour\n",
		`{"path":"plain","limit":4}`:               "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n",
		`{"path":"plain","offset":2,"limit":2}`:    "     2\ttwo\n     3\t\n[lines 2-3 of 4 shown; read on with offset 4]\n",
		`{"path":"no end"}`:                        "     1\tone\n     2\ttwo\n",
		`{"path":"no end","limit":1}`:              "     1\tone\n[lines 1-1 of 2 shown; read on with offset 2]\n",
		`{"path":"crlf"}`:                          "     1\tone\n     2\ttwo\n[lines end in CR LF]\n",
		`{"path":"mixed"}`:                         "     1\tone\n     2\ttwo\n[some lines end in CR LF]\n",
		`{"path":"bom"}`:                           "     1\tone\n",
		`{"path":"latin1"}`:                        "     1\tcaf\ufffd au lait\n",
		`{"path":"zero","offset":8001}`:            "  8001\ta\ufffdb\n",
		`{"path":"empty"}`:                         "empty is empty (0 bytes).",
		`{"path":"newline"}`:                       "     1\t\n",
		`{"path":"link"}`:                          "     1\tdeep\n",
		`{"path":"dirlink/deep"}`:                  "     1\tdeep\n",
		`{"path":"bm"}`:                            "     1\tBM is how a bitmap starts, but this is text\n",
		object("path", filepath.Join(dir, "bom")):  "     1\tone\n",
		object("path", dir+"/sub/../sub//deep"):    "     1\tdeep\n",
		object("path", dir+"/../"+base(dir)+"/bm"): "     1\tBM is how a bitmap starts, but this is text\n",
	} {
		equal(t, text(t, dir, "Read", input), want)
	}
	contains(t, refusal(t, dir, "Read", `{"path":"plain","offset":5}`), "offset 5 is past the end: the file has 4 lines")
	contains(t, refusal(t, dir, "Read", `{"path":"no end","offset":9}`), "offset 9 is past the end: the file has 2 lines")
}

func base(p string) string { return filepath.Base(p) }

// The working folder is often given through a link (/tmp on macOS); paths then
// come in both spellings, and links inside may be absolute.
func TestReadThroughLinkedFolder(t *testing.T) {
	t.Parallel()
	outer := tree(t, map[string]string{"real/sub/file": "inside\n", "linked": "-> real"})
	linked, direct := filepath.Join(outer, "linked"), filepath.Join(outer, "real")
	put(t, filepath.Join(direct, "abs"), "-> "+filepath.Join(direct, "sub", "file"), false)
	put(t, filepath.Join(direct, "absdir"), "-> "+filepath.Join(linked, "sub"), false)
	put(t, filepath.Join(direct, "twice"), "-> absdir/../abs", false)
	for _, dir := range []string{linked, direct} {
		for _, p := range []string{
			"sub/file", filepath.Join(dir, "sub/file"), "abs",
		} {
			equal(t, text(t, dir, "Read", object("path", p)), "     1\tinside\n")
		}
	}
	for _, p := range []string{filepath.Join(direct, "sub/file"), "absdir/file", "twice"} {
		equal(t, text(t, linked, "Read", object("path", p)), "     1\tinside\n")
	}
}

func TestReadLimits(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "line %d\n", i+1)
	}
	dir := tree(t, map[string]string{
		"many":  many.String(),
		"wide":  strings.Repeat("ü", 2000) + "\n" + strings.Repeat("ü", 2001) + "\r\n" + strings.Repeat("x", 9000) + "\n",
		"heavy": strings.Repeat(strings.Repeat("y", 999)+"\n", 300),
	})
	got := text(t, dir, "Read", `{"path":"many"}`)
	if n := strings.Count(got, "\n"); n != 2001 {
		t.Errorf("%d lines, want 2000 and a note", n)
	}
	contains(t, got, "     1\tline 1\n", "  2000\tline 2000\n[lines 1-2000 of 5000 shown; read on with offset 2001]\n")
	got = text(t, dir, "Read", `{"path":"many","offset":4001}`)
	if !strings.HasPrefix(got, "  4001\tline 4001\n") || !strings.HasSuffix(got, "  5000\tline 5000\n") {
		t.Errorf("the rest is %q … %q", got[:20], got[len(got)-20:])
	}
	contains(t, text(t, dir, "Read", `{"path":"many","limit":4500}`), "  4500\tline 4500\n[lines 1-4500 of 5000 ")

	equal(t, text(t, dir, "Read", `{"path":"wide"}`), "     1\t"+strings.Repeat("ü", 2000)+"\n"+
		"     2\t"+strings.Repeat("ü", 2000)+"… [2 B of this line cut]\n"+
		"     3\t"+strings.Repeat("x", 2000)+"… [7 kB of this line cut]\n"+
		"[some lines end in CR LF]\n")

	// Read on as told, until the whole file was seen once.
	next := 1
	for pieces := 0; next <= 300; pieces++ {
		got = text(t, dir, "Read", object("path", "heavy", "offset", next))
		if len(got) > maxOutput+200 || pieces > 3 {
			t.Fatalf("piece %d has %d bytes", pieces, len(got))
		}
		shown := strings.Count(got, strings.Repeat("y", 999))
		next += shown
		if next <= 300 {
			contains(t, got, fmt.Sprintf("-%d of 300 shown, as one answer holds at most 100 kB; read on with offset %d]\n", next-1, next))
		} else if strings.Contains(got, "[") {
			t.Errorf("the last piece has a note: %q", got[len(got)-80:])
		}
	}
}

func TestReadMissing(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"main.go": "x", "main_test.go": "x", "README.md": "x", "zebra": "x", "yak": "x", "xerus": "x",
		"internal/tool/registry.go": "x", "hollow/": "", "dangling": "-> nothing", "self": "-> self",
	})
	for input, want := range map[string]string{
		`{"path":"readme.md"}`:                    "readme.md does not exist; nearest in the working folder: README.md, ",
		`{"path":"mian.go"}`:                      "mian.go does not exist; nearest in the working folder: main.go, ",
		`{"path":"internal/tool/registr.go"}`:     "nearest in internal/tool: registry.go",
		`{"path":"internal/tols/registry.go"}`:    "internal/tols/registry.go does not exist, nor does internal/tols; nearest in internal: tool/",
		`{"path":"hollow/x"}`:                     "hollow/x does not exist; hollow is empty",
		`{"path":"main.go/x"}`:                    "main.go/x does not exist: a part of the path before the last is a file",
		`{"path":"internal"}`:                     "internal is a folder: list it with LS",
		`{"path":"."}`:                            ". is a folder",
		`{"path":""}`:                             "the path is empty",
		`{"path":"dangling"}`:                     "dangling is a link to something that does not exist",
		`{"path":"self"}`:                         "self is a link that leads back to itself",
		object("path", "a\x00b"):                  "the path contains a NUL byte",
		object("path", strings.Repeat("a", 300)):  "a part of the path is too long",
		object("path", strings.Repeat("a/", 3e3)): "the path is 6000 bytes long, at most 4096 are allowed",
		`{}`: "the path is empty",
	} {
		contains(t, refusal(t, dir, "Read", input), want)
	}
	if got := refusal(t, dir, "Read", `{"path":"readme.md"}`); strings.Count(got, ",") != nearestNames-1 {
		t.Errorf("%q does not name %d", got, nearestNames)
	}
}

func TestReadUnreadable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := tree(t, map[string]string{"locked": "x"})
	if err := os.Chmod(filepath.Join(dir, "locked"), 0); err != nil {
		t.Fatal(err)
	}
	contains(t, refusal(t, dir, "Read", `{"path":"locked"}`), "locked may not be read: permission denied")
}

func TestReadBinary(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"prog":    "\x7fELF\x02\x01\x01\x00" + strings.Repeat("\x00", 2000),
		"doc.pdf": "%PDF-1.7\nplain for a while\n",
		"a.zip":   "PK\x03\x04\x14\x00\x00\x00",
		"utf16":   "\xff\xfeh\x00i\x00",
		"noise":   strings.Repeat("\x81\x92\xa3\x04\xfe", 100),
	})
	for name, want := range map[string]string{
		"prog":    "prog is a binary file (unknown type, 2 kB) and is not shown",
		"doc.pdf": "doc.pdf is a binary file (application/pdf, 27 B)",
		"a.zip":   "a.zip is a binary file (application/zip, 8 B)",
		"utf16":   "utf16 is a binary file (text/plain; charset=utf-16le, 6 B)",
		"noise":   "noise is a binary file (unknown type, 500 B)",
	} {
		contains(t, refusal(t, dir, "Read", object("path", name)), want)
	}
}

func TestReadImages(t *testing.T) {
	t.Parallel()
	picture := image.NewPaletted(image.Rect(0, 0, 12, 7), color.Palette{color.Black, color.White})
	var asPNG, asJPEG, asGIF bytes.Buffer
	for _, err := range []error{png.Encode(&asPNG, picture), jpeg.Encode(&asJPEG, picture, nil), gif.Encode(&asGIF, picture, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	lossless := "RIFF\x16\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f\x0b\x80\x01\x00\x00\x00\x00\x00\x00"
	dir := tree(t, map[string]string{
		"a.png": asPNG.String(), "a.jpg": asJPEG.String(), "a.gif": asGIF.String(), "a.webp": lossless,
		"misnamed.txt": asPNG.String(),
	})
	for name, kind := range map[string]string{
		"a.png": "image/png", "a.jpg": "image/jpeg", "a.gif": "image/gif", "a.webp": "image/webp", "misnamed.txt": "image/png",
	} {
		res, err := use(t, dir, "Read", object("path", name))
		if err != nil || len(res.Parts) != 2 {
			t.Errorf("%s: %v, %v", name, res, err)
			continue
		}
		contains(t, message.Text(res.Parts), name+": "+kind+", 12×7 pixels, ")
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if img, ok := res.Parts[1].(message.ImagePart); !ok || img.MediaType != kind || !bytes.Equal(img.Data, want) {
			t.Errorf("%s: part %T of %s", name, res.Parts[1], img.MediaType)
		}
	}
}

func TestReadRefusesImages(t *testing.T) {
	t.Parallel()
	var wide bytes.Buffer
	if err := png.Encode(&wide, image.NewGray(image.Rect(0, 0, 8001, 1))); err != nil {
		t.Fatal(err)
	}
	dir := tree(t, map[string]string{
		"wide.png":   wide.String(),
		"broken.png": wide.String()[:20],
		"cut.webp":   "RIFF\xff\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f\x0b\x80\x01\x00\x00\x00\x00\x00\x00",
		"odd.webp":   "RIFF\x16\x00\x00\x00WEBPVP9 \x0a\x00\x00\x00\x2f\x0b\x80\x01\x00\x00\x00\x00\x00\x00",
		"large.png":  wide.String() + strings.Repeat("\x00", maxImage),
	})
	for name, want := range map[string]string{
		"wide.png":   "8001×1 pixels; at most 8000 a side",
		"broken.png": "is not a valid image",
		"cut.webp":   "shorter than its header says",
		"odd.webp":   `unknown first chunk "VP9 "`,
		"large.png":  "large.png is an image (image/png, 5 MB); at most 5 MB can be shown",
	} {
		contains(t, refusal(t, dir, "Read", object("path", name)), want)
	}
}

// A huge file costs as much memory as what is shown of it.
func TestReadHuge(t *testing.T) { // not parallel: it measures allocations
	dir := t.TempDir()
	line := strings.Repeat("z", 99) + "\n"
	block := strings.Repeat(line, 10_000) // 1 MB
	huge, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	oneLine, err := os.Create(filepath.Join(dir, "one line"))
	if err != nil {
		t.Fatal(err)
	}
	for range 48 {
		if _, err := huge.WriteString(block); err != nil {
			t.Fatal(err)
		}
		if _, err := oneLine.WriteString(strings.ReplaceAll(block, "\n", " ")); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []*os.File{huge, oneLine} {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for input, want := range map[string]string{
		`{"path":"huge","limit":3}`:                  "[lines 1-3 shown; 48 MB of 48 MB remain; read on with offset 4]\n",
		`{"path":"huge","offset":479999,"limit":1}`:  "479999\t" + strings.TrimSpace(line) + "\n[lines 479999-479999 of 480000 shown; read on with offset 480000]\n",
		`{"path":"huge","offset":300000,"limit":10}`: "[lines 300000-300009 shown; 18 MB of 48 MB remain; read on with offset 300010]\n",
		`{"path":"one line"}`:                        "z… [48 MB of this line cut]\n",
	} {
		if strings.Contains(input, "one line") {
			want = "… [48 MB of this line cut]\n"
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := text(t, dir, "Read", input)
		runtime.ReadMemStats(&after)
		contains(t, got, want)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s allocated %d MB", input, used>>20)
		}
	}
}
