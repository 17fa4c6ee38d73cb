// web_fetch against servers on this machine, which it is allowed to reach.

package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/tool"
)

// local is web_fetch with leave to reach this machine.
func local(t *testing.T) tool.Tool {
	t.Helper()
	fetch, err := Fetch(Options{AllowHosts: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	return fetch
}

// answering is a server that gives one body to everyone.
func answering(t *testing.T, contentType, body string) *httptest.Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	})
}

var articlePage = `<!doctype html><html><head><title>Pumps &amp; Valves</title><style>.x{}</style></head><body>
<nav><a href="/home">Home</a><a href="/imprint">Imprint</a></nav>
<article><h1>Pumps</h1>` + strings.Repeat("<p>A pump moves a liquid, and a valve, <b>however</b>, stops it; see <a href='/more'>more</a> about that in the book.</p>", 12) + `
<table><tr><th>Name</th><th>Weight</th></tr><tr><td colspan="1000000000">P1</td><td>2 kg</td></tr></table>
<pre><code>pump(1)</code></pre></article>
<script>steal()</script><footer>Imprint and cookies</footer></body></html>`

func TestFetchHTML(t *testing.T) {
	t.Parallel()
	server := answering(t, "text/html; charset=utf-8", articlePage)
	got, err := use(t, local(t), object("url", server.URL+"/a"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got, untrusted) {
		t.Errorf("the first line is not the warning: %.100q", got)
	}
	contains(t, got, "URL: "+server.URL+"/a\n", "Title: Pumps & Valves\n", "Type: text/html\n",
		"**however**", "[more]("+server.URL+"/more)", "| P1 | 2 kg |", "pump(1)")
	lacks(t, got, "steal", "cookies", "Home", "<p>")

	raw, err := use(t, local(t), object("url", server.URL, "raw", true))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, raw, "<script>steal()</script>", "colspan")
}

func TestFetchWholePageWithoutArticle(t *testing.T) {
	t.Parallel()
	links := strings.Repeat(`<li><a href="p">Project</a> of ours</li>`, 60)
	server := answering(t, "text/html", "<html><body><h1>Index</h1><p>Short.</p><ul>"+links+"</ul></body></html>")
	got, err := use(t, local(t), object("url", server.URL))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "Index", "Short.", "[Project]("+server.URL+"/p) of ours")
}

func TestFetchTypes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, contentType, body string
		want                    string // in the answer
		fails                   string // in the error instead
	}{
		{"plain", "text/plain", "a\n b", "Type: text/plain\n\na\n b", ""},
		{"json as it is", "application/json", `{"a": [1]}`, `{"a": [1]}`, ""},
		{"json of a kind", "application/problem+json", `{"a":1}`, `{"a":1}`, ""},
		{"xml", "application/xml", "<a><b/></a>", "<a><b/></a>", ""},
		{"feed", "application/rss+xml; charset=utf-8", "<rss/>", "<rss/>", ""},
		{"svg", "image/svg+xml", "<svg/>", "<svg/>", ""},
		{"markdown", "text/markdown", "# A\n<b>", "# A\n<b>", ""},
		{"latin 1", "text/plain; charset=iso-8859-1", "gr\xfc\xdfe", "grüße", ""},
		{"a declaration in the page", "text/html", "<html><head><meta charset=windows-1251></head><body>\xcf\xf0\xe8\xe2\xe5\xf2</body>", "Привет", ""},
		{"utf-16", "text/plain", "\xff\xfea\x00\xe9\x00", "aé", ""},
		{"utf-8 that says nothing", "text/plain", strings.Repeat("a", 2000) + "ü", "aü", ""},
		{"a mark before it", "text/plain", "\xef\xbb\xbfabc", "\n\nabc", ""},
		{"broken utf-8", "text/plain; charset=utf-8", "a\xffb", "a\ufffdb", ""},
		{"nothing said, text", "application/octet-stream", "just text", "just text", ""},
		{"no type", "bogus;;;", "<!doctype html><p>hello", "hello", ""},
		{"empty", "text/plain", "", "(empty)", ""},
		{"a page made by scripts", "text/html", "<html><body><script>x()</script></body></html>", "raw shows the source", ""},
		{"pdf", "application/pdf", "%PDF-1.7 ...", "", "it is binary (application/pdf, 12 B)"},
		{"zip by its content", "application/octet-stream", "PK\x03\x04aaaa", "", "it is binary (application/zip, 8 B)"},
		{"an image", "image/png", "\x89PNG\r\n\x1a\n", "", "read_image shows images that are files of the working folder"},
		{"a lie", "text/plain", "a\x00b", "", "text/plain that is not text"},
		{"video", "video/mp4", "....", "", "video/mp4"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := answering(t, tc.contentType, tc.body)
			got, err := use(t, local(t), object("url", server.URL))
			switch {
			case tc.fails != "" && err == nil:
				t.Errorf("got %q, want an error", got)
			case tc.fails != "":
				contains(t, err.Error(), tc.fails)
			case err != nil:
				t.Error(err)
			default:
				contains(t, got, tc.want)
			}
		})
	}
}

func TestFetchPaging(t *testing.T) {
	t.Parallel()
	server := answering(t, "text/plain; charset=utf-8", strings.Repeat("ä", 50)+strings.Repeat("b", 50))
	fetch := local(t)
	tests := []struct {
		input []any
		want  []string
	}{
		{[]any{"max_chars", 60}, []string{"[characters 0-60 of 100; read on with offset 60]\n", "\n\n" + strings.Repeat("ä", 50) + strings.Repeat("b", 10)}},
		{[]any{"offset", 49, "max_chars", 2}, []string{"[characters 49-51 of 100; read on with offset 51]\n", "\n\näb"}},
		{[]any{"offset", 98.0}, []string{"[characters 98-100 of 100]\n", "\n\nbb"}},
	}
	for _, tc := range tests {
		got, err := use(t, fetch, object(append(tc.input, "url", server.URL)...))
		if err != nil {
			t.Fatal(err)
		}
		contains(t, got, tc.want...)
		if !strings.HasSuffix(got, tc.want[1]) {
			t.Errorf("%v: there is more at the end: %q", tc.input, got)
		}
	}
	if got, err := use(t, fetch, object("url", server.URL, "offset", 100)); err == nil {
		t.Errorf("got %q", got)
	} else {
		contains(t, err.Error(), "the page has 100 characters")
	}
	for _, bad := range [][]any{{"offset", -1}, {"max_chars", 0}, {"max_chars", 100_001}, {"cookie", "a"}, {"raw", "yes"}} {
		if got, err := use(t, fetch, object(append(bad, "url", server.URL)...)); err == nil {
			t.Errorf("%v: got %q", bad, got)
		}
	}
}

func TestFetchDefaultLengthIsBounded(t *testing.T) {
	t.Parallel()
	server := answering(t, "text/plain", strings.Repeat("x", 1_000_000))
	got, err := use(t, local(t), object("url", server.URL))
	if err != nil || len(got) > fetchChars+500 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestFetchBodyIsBounded(t *testing.T) {
	t.Parallel()
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 64<<10/16)
	endless := func(w io.Writer) {
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"plain": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			endless(w)
		},
		"a bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			endless(z)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := use(t, local(t), object("url", serve(t, handler).URL, "offset", fetchBody-10))
			if err != nil {
				t.Fatal(err)
			}
			contains(t, got, fmt.Sprintf("of %d]", fetchBody), "[only the first 5.0 MB were read]")
		})
	}
}

func TestFetchRedirects(t *testing.T) {
	t.Parallel()
	other := answering(t, "text/plain", "the other one")
	asked := make(chan string, 100)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		step, _ := fmt.Sscanf(r.URL.Path, "/hop%d", new(int))
		switch to := r.URL.Query().Get("to"); {
		case to != "":
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		case step == 1:
			n := 0
			_, _ = fmt.Sscanf(r.URL.Path, "/hop%d", &n)
			if n == 0 {
				_, _ = io.WriteString(w, "arrived")
				return
			}
			http.Redirect(w, r, fmt.Sprintf("/hop%d", n-1), http.StatusMovedPermanently)
		}
	})
	fetch := local(t)
	to := func(location string) string { return server.URL + "/go?to=" + url.QueryEscape(location) }

	got, err := use(t, fetch, object("url", server.URL+"/hop5"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "arrived", "URL: "+server.URL+"/hop0")
	if _, err := use(t, fetch, object("url", server.URL+"/hop6")); err == nil || !strings.Contains(err.Error(), "redirects more than 5 times") {
		t.Errorf("six hops: %v", err)
	}

	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for location, want := range map[string]string{
		other.URL + "/x":                "redirects to " + other.URL + "/x. It was not followed",
		"https://example.com/a?b=c#d":   "redirects to https://example.com/a?b=c. It was not followed",
		"//example.com/a":               "redirects to http://example.com/a. It was not followed",
		"http://localhost" + port + "/": "It was not followed",
		"https://127.0.0.1" + port:      "It was not followed",
		"file:///etc/passwd":            "which cannot be fetched: only http and https",
		"http://a:b@example.com/":       "which cannot be fetched: the URL contains a user name",
		"gopher://127.0.0.1/":           "which cannot be fetched",
		"http://0x7f000001/":            "which cannot be fetched",
	} {
		if got, err := use(t, fetch, object("url", to(location))); err == nil {
			t.Errorf("%s was followed: %q", location, got)
		} else {
			contains(t, err.Error(), want)
		}
	}
	if len(asked) > 30 {
		t.Errorf("%d requests", len(asked))
	}
}

// The allowance of a name covers its addresses, not the address by itself.
func TestFetchLoopbackIsRefusedWithoutLeave(t *testing.T) {
	t.Parallel()
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") })
	fetch, err := Fetch(Options{AllowHosts: []string{"somewhere.example"}, AllowNets: []string{"10.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = use(t, fetch, object("url", server.URL))
	var refused *refusal
	if !errors.As(err, &refused) || refused.kind != "a loopback" {
		t.Errorf("got %v", err)
	}
}

func TestFetchFailures(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/404":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<title>x</title><p>Moved to the archive</p>"+strings.Repeat("<p>and so on</p>", 1000))
		case "/429":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/304":
			w.WriteHeader(http.StatusNotModified)
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 2*fetchHeaders))
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "short")
		}
	})
	for path, wants := range map[string][]string{
		"/404":     {"answered 404 Not Found.", untrusted, "Moved to the archive"},
		"/429":     {"answered 429 Too Many Requests. It says to try again after: 120."},
		"/304":     {"answered 304 Not Modified"},
		"/headers": {"GET " + server.URL + "/headers: "},
		"/cut":     {"reading the answer"},
	} {
		got, err := use(t, local(t), object("url", server.URL+path))
		if err == nil {
			t.Errorf("%s: got %q", path, got)
			continue
		}
		contains(t, err.Error(), wants...)
		if len(err.Error()) > 1500 {
			t.Errorf("%s: the error has %d bytes", path, len(err.Error()))
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if _, err := use(t, local(t), object("url", gone.URL)); err == nil || !strings.Contains(err.Error(), "GET "+gone.URL) {
		t.Errorf("a closed port: %v", err)
	}
	fetch, err := Fetch(Options{Resolver: nameServer(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := use(t, fetch, object("url", "https://nowhere.example/")); err == nil || !strings.Contains(err.Error(), "there is no host nowhere.example") {
		t.Errorf("an unknown host: %v", err)
	}
}

// slow never finishes its answer.
type slow struct{}

func (slow) RoundTrip(r *http.Request) (*http.Response, error) {
	body, end := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = end.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
}

func TestFetchTimeIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fetcher{client: &http.Client{Transport: slow{}}}
		start := time.Now()
		_, err := f.run(t.Context(), tool.Env{}, object("url", "https://slow.example/"))
		if err == nil || !strings.Contains(err.Error(), "no complete answer within 30s") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != fetchTimeout {
			t.Errorf("it took %v", took)
		}
	})
}

func TestFetchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	})
	_, err := local(t).Run(ctx, tool.Env{}, object("url", server.URL))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFetchSendsNothingOfOurs(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 1)
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header })
	if _, err := use(t, local(t), object("url", server.URL)); err != nil {
		t.Fatal(err)
	}
	for name := range <-headers {
		switch name {
		case "Accept", "Accept-Encoding", "User-Agent", "Connection":
		default:
			t.Errorf("header %s was sent", name)
		}
	}
}

func TestFetchThroughProxy(t *testing.T) {
	// The environment names a proxy that does not exist; it must not be asked.
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	asked := make(chan string, 10)
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.String()
		_, _ = io.WriteString(w, "by proxy")
	})
	fetch, err := Fetch(Options{Proxy: proxy.URL, Resolver: nameServer(t, []string{"8.8.8.8"}, []string{"8.8.8.8", "10.0.0.1"})})
	if err != nil {
		t.Fatal(err)
	}
	got, err := use(t, fetch, object("url", "http://public.example/a"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "by proxy")
	if u := <-asked; u != "http://public.example/a" {
		t.Errorf("the proxy was asked for %s", u)
	}
	var refused *refusal
	for _, u := range []string{"http://private.example/a", "http://127.0.0.1/", "http://localhost/"} {
		if _, err := use(t, fetch, object("url", u)); !errors.As(err, &refused) {
			t.Errorf("%s: %v", u, err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the proxy was asked for %s", <-asked)
	}

	direct, err := Fetch(Options{AllowHosts: []string{"direct.example"}, Resolver: nameServer(t, []string{"127.0.0.1"})})
	if err != nil {
		t.Fatal(err)
	}
	target := answering(t, "text/plain", "directly")
	got, err = use(t, direct, object("url", strings.Replace(target.URL, "127.0.0.1", "direct.example", 1)))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "directly")
}

// A page made to keep the converter busy or to fill the memory must come back
// at once, as bare words.
func TestReadableIsBounded(t *testing.T) {
	t.Parallel()
	page := &url.URL{Scheme: "https", Host: "a.example"}
	for name, source := range map[string]string{
		"deep":            strings.Repeat("<div>", 5000) + "word",
		"deep lists":      strings.Repeat("<ul><li>", 100) + strings.Repeat("<li>word", 20_000),
		"deep quotes":     strings.Repeat("<blockquote>", 150) + strings.Repeat("<p>word</p>", 10_000),
		"many":            strings.Repeat("<p>word", 200_000),
		"large":           "<p>" + strings.Repeat("word *_[]`", 400_000),
		"ragged table":    "<table><tr>" + strings.Repeat("<td>word", 20_000) + "</tr>" + strings.Repeat("<tr><td>", 20_000),
		"wide table":      "<table><tr><th>" + strings.Repeat("word", 50_000) + "</th></tr>" + strings.Repeat("<tr><td>a</td></tr>", 9000) + "</table>",
		"many tables":     strings.Repeat("<table><tr>"+strings.Repeat("<td>word", 90)+strings.Repeat("<tr><td>", 90)+"</table>", 100),
		"tables in cells": strings.Repeat("<table><tr><td>word", 100),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if doc, ok := parse(source); ok {
				t.Errorf("it is worked on as a tree: %v", doc.Type)
			}
			_, text := readable(source, page)
			if !strings.Contains(text, "word") || len(text) > 2*len(source) {
				t.Errorf("%d bytes: %.100q", len(text), text)
			}
		})
	}
	_, got := readable(`<table><tr><th>a</th></tr><tr><td rowspan="999999999" colspan="999999999">b</td></tr></table>`, page)
	if len(got) > 100 {
		t.Errorf("%d bytes of a small table", len(got))
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	title, text := words("<title>A &amp; B</title><style>p{}</style><p>one <b>two</b><script>x<y</script><li>three &lt;\n four<!-- no -->")
	if title != "A & B" || text != "one two \nthree < four" {
		t.Errorf("got %q, %q", title, text)
	}
}

func FuzzReadable(f *testing.F) {
	f.Add(articlePage)
	f.Add("<table><tr><td><table><ul><li><blockquote><pre>")
	f.Add("<a href='::://%zz'>x</a><img src=data:x>\x00\xff")
	page := &url.URL{Scheme: "https", Host: "a.example"}
	f.Fuzz(func(t *testing.T, source string) {
		text, ok := decode([]byte(source), "text/html")
		if !ok {
			return
		}
		title, out := readable(text, page)
		if !utf8.ValidString(title) || !utf8.ValidString(out) || strings.Contains(title, "\n") {
			t.Errorf("%q: %q, %q", source, title, out)
		}
	})
}

func FuzzParseURL(f *testing.F) {
	for _, u := range hostile {
		f.Add(u)
	}
	f.Add("https://example.com:8443/a?b c#d")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := parseURL(raw)
		if err != nil {
			return
		}
		again, err := parseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("%q gives %q, which gives %v, %v", raw, u, again, err)
		}
		if u.User != nil || u.Hostname() != strings.ToLower(u.Hostname()) || strings.HasSuffix(u.Hostname(), ".") {
			t.Errorf("%q gives the host %q", raw, u.Hostname())
		}
	})
}
