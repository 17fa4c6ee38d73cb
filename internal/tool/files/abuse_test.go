// Tests that nothing outside the working folder can be read: paths, links and
// races that try to leave it.

package files

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

// What must never be seen: the content of a file outside, and its name, which
// no attempt mentions.
const (
	canaryText = "CANARY-CONTENT"
	canaryName = "canary-name"
	canaryFile = canaryText + "\nline\n"
)

// prison makes base/work, with folders beside it that hold the canary, and
// links in it that lead there.
func prison(t *testing.T) (base, work string) {
	t.Helper()
	base = tree(t, map[string]string{
		"outside/secret":             canaryFile,
		"outside/" + canaryName:      canaryFile,
		"outside/deep/secret":        canaryFile,
		"outside/.gitignore":         canaryFile,
		"work-evil/secret":           canaryFile,
		"work-evil/" + canaryName:    canaryFile,
		"secret":                     canaryFile,
		canaryName:                   canaryFile,
		"work/inside":                "inside\n",
		"work/sub/file":              "inside\n",
		"work/sub/deep/file":         "inside\n",
		"work/link-dir":              "-> ../outside",
		"work/link-file":             "-> ../outside/secret",
		"work/link-up":               "-> ..",
		"work/link-sneaky":           "-> sub/../../outside",
		"work/link-self-out":         "-> ../work/../outside",
		"work/link-root":             "-> /",
		"work/link-etc":              "-> /etc",
		"work/link-proc":             "-> /proc/self/root",
		"work/chain-1":               "-> chain-2",
		"work/chain-2":               "-> sub/chain-3",
		"work/sub/chain-3":           "-> ../../outside",
		"work/sub/up":                "-> ..",
		"work/sub/up-up":             "-> ../..",
		"work/sub/deep/link":         "-> ../../../outside/secret",
		"work/.ignore":               "-> ../outside/.gitignore",
		"work/sub/deep/link-missing": "-> ../../../outside/missing",
	})
	work = filepath.Join(base, "work")
	put(t, filepath.Join(work, "abs-dir"), "-> "+filepath.Join(base, "outside"), false)
	put(t, filepath.Join(work, "abs-file"), "-> "+filepath.Join(base, "outside", "secret"), false)
	put(t, filepath.Join(work, "abs-dots"), "-> "+work+"/../outside", false)
	put(t, filepath.Join(work, "abs-prefix"), "-> "+work+"-evil", false)
	put(t, filepath.Join(work, "abs-chain"), "-> "+filepath.Join(work, "link-dir"), false)
	return base, work
}

// escapes lists paths that try to reach outside/secret, or something like it,
// from work.
func escapes(base, work string) []string {
	rel, _ := filepath.Rel("/", base)
	paths := []string{
		// going up
		"..", "../", "../.", "../secret", "../outside/secret", "./../outside/secret", "../outside/../outside/secret",
		"sub/../../outside/secret", "sub/deep/../../../outside/secret", "sub/./../.././outside/secret",
		"nothing/../../outside/secret", "inside/../../outside/secret", ".//..//outside//secret", "..//..//" + filepath.Base(base) + "/outside/secret",
		"../work/../outside/secret", "../work-evil/secret", "../" + filepath.Base(work) + "-evil/secret",
		strings.Repeat("../", 40) + "etc/passwd", strings.Repeat("../", 40) + rel + "/outside/secret",
		"sub/../..", "sub/up/../../outside/secret", "../outside", "../outside/", "../outside/deep",
		// absolute
		"/", "//", "/etc/passwd", "/etc", "//etc/passwd", base, base + "/secret", base + "/outside/secret", base + "/outside",
		work + "/../outside/secret", work + "/sub/../../outside/secret", work + "-evil/secret", work + "-evil",
		work + "/./../secret", "/proc/self/root/etc/passwd", "/proc/self/cwd/../../../../etc/passwd", "/proc/self/environ", "/dev/stdin", "/dev/fd/0",
		"/." + base + "/outside/secret", work + "//..//outside//secret",
		// links
		"link-dir", "link-dir/secret", "link-dir/deep/secret", "link-dir/../outside/secret", "link-dir/.", "link-file", "./link-file",
		"link-up/outside/secret", "link-up/secret", "link-up", "link-sneaky/secret", "link-self-out/secret",
		"link-root/etc/passwd", "link-root" + base + "/outside/secret", "link-etc/passwd", "link-etc", "link-proc/etc/passwd",
		"chain-1/secret", "chain-1", "chain-2/deep/secret", "sub/chain-3/secret", "sub/up-up/outside/secret", "sub/up/link-dir/secret",
		"sub/up/sub/up/link-file", "sub/deep/link", "sub/deep/link-missing",
		"abs-dir/secret", "abs-dir", "abs-file", "abs-dots/secret", "abs-dots", "abs-prefix/secret", "abs-chain/secret", "abs-chain",
		work + "/link-dir/secret", work + "/abs-file", work + "/sub/up-up/secret",
		// encodings
		"%2e%2e/outside/secret", "%2e%2e%2foutside%2fsecret", "..%2foutside%2fsecret", "%252e%252e/outside/secret", "..%c0%afoutside/secret",
		"..%00/outside/secret", "\uff0e\uff0e/outside/secret", "..\u2215outside\u2215secret", "..\\outside\\secret", "..\\/outside/secret",
		"....//outside/secret", "..;/outside/secret", "file:///etc/passwd", "file://" + base + "/outside/secret", "~/../outside/secret", "~root/.profile",
		"$HOME/.profile", "${PWD}/../outside/secret", "`cat ../outside/secret`", "\\\\?\\" + base, "C:\\Windows\\win.ini", "..\xff/../../outside/secret",
		" ../outside/secret", "../outside/secret ", "\t../outside/secret", "../outside/secret\n", ".. /outside/secret", "\u202e../outside/secret",
		// NUL and length
		"\x00", "../outside/secret\x00", "inside\x00/../../outside/secret", "../outside/secret\x00.txt", "sub\x00/../../outside/secret",
		strings.Repeat("a", 300) + "/../../outside/secret", strings.Repeat("a/", 2000) + strings.Repeat("../", 2001) + "outside/secret",
		strings.Repeat("./", 1900) + "../outside/secret", strings.Repeat("../", 1300) + rel + "/outside/secret", strings.Repeat("x", 1<<16),
		strings.Repeat("sub/up/", 50) + "../outside/secret", strings.Repeat("sub/up/", 50) + "link-dir/secret",
	}
	return paths
}

// reveals says what of the outside is in an answer.
func reveals(res tool.Result, err error) string {
	all := message.Text(res.Parts)
	if err != nil {
		all += err.Error()
	}
	for _, p := range res.Parts {
		if img, ok := p.(message.ImagePart); ok {
			all += string(img.Data)
		}
	}
	for _, sign := range []string{canaryText, canaryName, "root:x:", "root:*:"} {
		if strings.Contains(all, sign) {
			return sign
		}
	}
	return ""
}

func attempts(p string) map[string]string {
	// A path can also be smuggled in by the pattern, as a whole or in part.
	return map[string]string{
		"Read " + p:           object("path", p),
		"LS " + p:             object("path", p),
		"Glob path " + p:      object("pattern", "**", "path", p),
		"Glob pattern " + p:   object("pattern", p+"/**"),
		"Glob exact " + p:     object("pattern", p),
		"Glob wildcard " + p:  object("pattern", "{sub,.}/"+p+"/*"),
		"Grep path " + p:      object("pattern", ".", "path", p, "max", 1000),
		"Grep glob " + p:      object("pattern", ".", "glob", p+"/*"),
		"Grep glob path " + p: object("pattern", ".", "path", p, "glob", "**"),
	}
}

func TestNothingLeavesTheFolder(t *testing.T) {
	t.Parallel()
	base, work := prison(t)
	paths := escapes(base, work)
	if len(paths) < 60 {
		t.Fatalf("only %d attempts", len(paths))
	}
	for _, p := range paths {
		for what, input := range attempts(p) {
			name, _, _ := strings.Cut(what, " ")
			res, err := use(t, work, name, input)
			if sign := reveals(res, err); sign != "" {
				t.Errorf("%.100q shows %s: %v %v", what, sign, res, err)
			}
			if err == nil && name == "Read" {
				t.Errorf("%.100q was answered: %q", what, message.Text(res.Parts))
			}
			if err != nil && len(err.Error()) > 10_000 {
				t.Errorf("%.100q: an error of %d bytes", what, len(err.Error()))
			}
		}
	}
}

// Each way of folder into the file system holds by itself: what the tools ask
// first may no longer be true when they open.
func TestFolderHoldsByItself(t *testing.T) {
	t.Parallel()
	_, work := prison(t)
	f, err := openFolder(tool.Env{Dir: work})
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for _, name := range []string{
		"link-dir", "link-up", "link-sneaky", "link-root", "chain-1", "sub/up-up", "abs-dir", "abs-dots", "abs-prefix", "abs-chain", "..", "../outside",
	} {
		if entries, _, err := f.list(name, 10); err == nil {
			t.Errorf("list(%s) gave %v", name, entries)
		}
		for _, file := range []string{name, name + "/secret", name + "/outside/secret"} {
			if opened, _, err := f.open(file); err == nil {
				_ = opened.Close()
				t.Errorf("open(%s) worked", file)
			}
			if _, info, err := f.stat(file); err == nil {
				t.Errorf("stat(%s) gave %v", file, info)
			}
		}
		if scope := f.scopeAt(nil, name); scope != nil {
			t.Errorf("scopeAt(%s) gave %v", name, scope)
		}
	}
	if _, _, err := f.open("link-file"); !f.outside(err) {
		t.Errorf("open(link-file): %v", err)
	}
}

// The same attempts from one folder higher do find the canary: what keeps
// them out above is the folder, and not a mistake in the test.
func TestCanariesCanBeSeen(t *testing.T) {
	t.Parallel()
	base, _ := prison(t)
	for _, c := range []struct{ name, input, sign string }{
		{"Read", `{"path":"outside/secret"}`, canaryText},
		{"Read", `{"path":"work/link-file"}`, canaryText},
		{"Read", `{"path":"work/abs-file"}`, canaryText},
		{"Read", `{"path":"work/abs-chain/secret"}`, canaryText},
		{"Read", `{"path":"work/sub/up-up/secret"}`, canaryText},
		{"LS", `{"path":"outside"}`, canaryName},
		{"Glob", `{"pattern":"**"}`, canaryName},
		{"Glob", `{"pattern":"work/link-dir/*"}`, canaryName},
		{"Grep", `{"pattern":"."}`, canaryText},
	} {
		res, err := use(t, base, c.name, c.input)
		if err != nil || !strings.Contains(message.Text(res.Parts), c.sign) {
			t.Errorf("%s %s: %v, %v", c.name, c.input, res, err)
		}
	}
}

// The inside stays in reach next to all those links.
func TestInsideOfThePrison(t *testing.T) {
	t.Parallel()
	_, work := prison(t)
	for _, p := range []string{"inside", "sub/up/inside", work + "/inside", "sub/../inside", "link-up/../inside", "sub/up/sub/file", "sub/deep/../file"} {
		equal(t, text(t, work, "Read", object("path", p)), "     1\tinside\n")
	}
	equal(t, text(t, work, "Grep", `{"pattern":"ins.de"}`), "inside:1: inside\nsub/deep/file:1: inside\nsub/file:1: inside\n")
	contains(t, refusal(t, work, "Read", `{"path":"link-file"}`), "link-file is a link that leads outside the working folder")
	contains(t, refusal(t, work, "Read", `{"path":"../secret"}`), "../secret is outside the working folder "+work)
}

// While a folder is exchanged for a link to the outside and back, as fast as
// can be, no tool sees the outside.
func TestSwappedFolder(t *testing.T) {
	t.Parallel()
	_, work := prison(t)
	put(t, filepath.Join(work, "folder", "secret"), "harmless\n", false)
	put(t, filepath.Join(work, "spare"), "-> ../outside", false)
	name := func(s string) string { return filepath.Join(work, s) }
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			for _, step := range [][2]string{{"folder", "parked"}, {"spare", "folder"}, {"folder", "spare"}, {"parked", "folder"}} {
				if err := os.Rename(name(step[0]), name(step[1])); err != nil {
					t.Error(err)
					return
				}
			}
			runtime.Gosched()
		}
	})
	seen := map[string]int{}
	for i := range 1500 {
		call := [][2]string{
			{"Read", `{"path":"folder/secret"}`},
			{"LS", `{"path":"folder"}`},
			{"Grep", `{"pattern":".","path":"folder"}`},
			{"Glob", `{"pattern":"folder/*"}`},
		}[i%4]
		res, err := use(t, work, call[0], call[1])
		if sign := reveals(res, err); sign != "" {
			t.Errorf("%s saw %s", call[0], sign)
		}
		seen[fmt.Sprint(err == nil)]++
	}
	close(done)
	wg.Wait()
	if seen["true"] == 0 {
		t.Error("no call ever succeeded, so that nothing was tried")
	}
}
