// Package web holds the page that people see: the built output of web/, which
// is committed, so that Go alone builds the binary. It knows files and their
// headers, nothing of agents, chats or keys.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed dist
var dist embed.FS

// Policy is the content security policy of the page: its own scripts and
// styles, its own server, pictures that were attached to messages; nothing
// else is loaded, whatever a model writes, and nobody may frame it.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// file is a file of the page as it is sent.
type file struct {
	kind   string
	tag    string
	plain  func() []byte // read from the binary when asked for
	zipped func() []byte // made when first asked for; nil where it does not pay
	stays  bool          // its name changes with its content
}

// page serves the files; every other path is the app's own and gets its index.
type page struct {
	files map[string]file
	index file
}

// Handler serves the page. It fails only if the binary was built without it.
func Handler() (http.Handler, error) {
	p := &page{files: map[string]file{}}
	err := fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := fileOf(name)
		p.files[strings.TrimPrefix(name, "dist")] = f
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the page: %w", err)
	}
	index, ok := p.files["/index.html"]
	if !ok {
		return nil, errors.New("reading the page: it has no index.html; build it with make web")
	}
	p.index = index
	return p, nil
}

func fileOf(name string) (file, error) {
	body, err := dist.ReadFile(name)
	if err != nil {
		return file{}, err
	}
	sum := sha256.Sum256(body)
	plain := func() []byte {
		body, _ := dist.ReadFile(name) // it was there
		return body
	}
	return file{
		kind: kindOf(name), tag: `"` + hex.EncodeToString(sum[:12]) + `"`,
		plain: plain, zipped: sync.OnceValue(func() []byte { return zip(plain()) }),
		stays: strings.HasPrefix(name, "dist/assets/"),
	}, nil
}

// zip returns nil if compression does not pay.
func zip(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(body)
	if err := errors.Join(err, z.Close()); err != nil || b.Len() >= len(body)*9/10 {
		return nil
	}
	return b.Bytes()
}

// kindOf does not ask the system's own table, which differs between machines.
func kindOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".md":
		return "text/plain; charset=utf-8"
	default:
		if kind := mime.TypeByExtension(ext); kind != "" {
			return kind
		}
		return "application/octet-stream"
	}
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "The page can only be read.", http.StatusMethodNotAllowed)
		return
	}
	f, ok := p.files[path.Clean("/"+r.URL.Path)]
	switch {
	case ok:
	case strings.HasPrefix(r.URL.Path, "/assets/"):
		http.NotFound(w, r) // of another version: the page loads itself anew
		return
	default:
		f = p.index
	}
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.stays {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	var body []byte
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body = f.zipped()
	}
	if body != nil {
		h.Set("Content-Encoding", "gzip")
	} else {
		body = f.plain()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // who has gone needs no answer
}
