// Tests of the page as it is served.

package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func ask(t *testing.T, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	h, err := Handler()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func get(t *testing.T, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, http.MethodGet, path, header...)
}

var asset = regexp.MustCompile(`/assets/[\w.-]+\.(?:js|css)`)

func TestIndexForPathsOfTheApp(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/chats/abc", "/chats/abc/agents/abc.1", "/inbox", "/index.html", "/../../etc/passwd"} {
		res := get(t, path)
		if res.Code != http.StatusOK || !strings.Contains(res.Body.String(), `<div id="root">`) {
			t.Errorf("%s: status %d, want the page", path, res.Code)
		}
		if res.Header().Get("Cache-Control") != "no-cache" || res.Header().Get("Content-Security-Policy") != Policy {
			t.Errorf("%s: headers %v", path, res.Header())
		}
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	found := asset.FindAllString(get(t, "/").Body.String(), -1)
	if len(found) < 2 {
		t.Fatalf("the page names %v, want a script and a style", found)
	}
	for _, path := range found {
		res := get(t, path)
		plain := res.Body.String()
		if res.Code != http.StatusOK || !strings.Contains(res.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: status %d, %v", path, res.Code, res.Header())
		}
		zipped := get(t, path, "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(zipped.Body)
		if err != nil {
			t.Fatalf("%s is not compressed: %v", path, err)
		}
		if b, err := io.ReadAll(z); err != nil || string(b) != plain {
			t.Errorf("%s says something else when compressed", path)
		}
		if again := get(t, path, "If-None-Match", res.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("%s is sent again: status %d", path, again.Code)
		}
	}
	if res := get(t, "/assets/of-another-version.js"); res.Code != http.StatusNotFound {
		t.Errorf("a script that is not there: status %d, want 404", res.Code)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	if res := ask(t, http.MethodPost, "/"); res.Code != http.StatusMethodNotAllowed {
		t.Errorf("status %d, want 405", res.Code)
	}
}

// What the browser loads first must stay small: the script and the style that
// the page names, and what they import at once.
func TestInitialLoad(t *testing.T) {
	t.Parallel()
	const limit = 250 << 10
	total := 0
	for _, path := range asset.FindAllString(get(t, "/").Body.String(), -1) {
		total += get(t, path, "Accept-Encoding", "gzip").Body.Len()
	}
	if total == 0 || total > limit {
		t.Errorf("the page loads %d bytes at once, want at most %d", total, limit)
	}
}
