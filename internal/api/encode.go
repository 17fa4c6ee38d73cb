// Entity tags and compression of JSON answers.

package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
)

// compressFrom is the size from which compression pays.
const compressFrom = 1 << 10

var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// encoded runs a route. A JSON answer to a GET is collected (pages are bounded),
// gets a weak tag made of what it says, is not sent if the client has it, and is
// compressed. All else passes as it comes.
func (s *Server) encoded(w http.ResponseWriter, r *http.Request, run func(http.ResponseWriter)) {
	if r.Method != http.MethodGet {
		run(w)
		return
	}
	c := &collector{ResponseWriter: w}
	run(c)
	if !c.collecting {
		return
	}
	sum := sha256.Sum256(c.body.Bytes())
	tag := `W/"` + hex.EncodeToString(sum[:12]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Add("Vary", "Accept-Encoding")
	h.Add("Vary", "Authorization")
	h.Add("Vary", "Cookie")
	if has(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if c.body.Len() < compressFrom || !accepts(r.Header.Get("Accept-Encoding")) {
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(c.body.Bytes()) // who has gone needs no answer
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(http.StatusOK)
	z, _ := zippers.Get().(*gzip.Writer)
	z.Reset(w)
	_, _ = z.Write(c.body.Bytes())
	_ = z.Close()
	zippers.Put(z)
}

// has tells whether a list of tags names one.
func has(list, tag string) bool {
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one == tag || one == "*" || "W/"+one == tag {
			return true
		}
	}
	return false
}

// accepts tells whether gzip is welcome.
func accepts(header string) bool {
	for one := range strings.SplitSeq(header, ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(one), ";")
		if strings.TrimSpace(name) == "gzip" {
			return strings.TrimSpace(strings.ReplaceAll(q, " ", "")) != "q=0"
		}
	}
	return false
}

// collector keeps a JSON answer back and lets everything else pass.
type collector struct {
	http.ResponseWriter
	decided, collecting bool
	body                bytes.Buffer
}

func (c *collector) WriteHeader(status int) {
	if !c.decided {
		c.decided = true
		c.collecting = status == http.StatusOK && strings.HasPrefix(c.Header().Get("Content-Type"), "application/json")
	}
	if !c.collecting {
		c.ResponseWriter.WriteHeader(status)
	}
}

func (c *collector) Write(b []byte) (int, error) {
	c.decide()
	if c.collecting {
		return c.body.Write(b)
	}
	return c.ResponseWriter.Write(b)
}

// decide is for answers that name no status.
func (c *collector) decide() {
	if !c.decided {
		c.WriteHeader(http.StatusOK)
	}
}

// Unwrap is for http.ResponseController: feeds flush and set deadlines.
func (c *collector) Unwrap() http.ResponseWriter { return c.ResponseWriter }
