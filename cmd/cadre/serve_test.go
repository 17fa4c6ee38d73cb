// cadre serve, users and tokens as processes: who comes in, how, and who does
// not.

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is a server under way.
type served struct {
	*process
	address, link string
}

// server starts a server and waits until it serves.
func (f *folder) server(args ...string) *served {
	f.t.Helper()
	if !strings.Contains(strings.Join(args, " "), "--addr") {
		args = append([]string{"--addr", "127.0.0.1:0"}, args...)
	}
	s := &served{process: f.start(append([]string{"serve"}, args...)...)}
	for _, line := range s.await("it serves", func(line string) bool { return strings.HasPrefix(line, "Open ") }) {
		if a, ok := strings.CutPrefix(line, "Cadre serves "); ok {
			s.address = a
		}
		if l, ok := strings.CutPrefix(line, "Open "); ok {
			s.link, _, _ = strings.Cut(l, " ")
		}
	}
	return s
}

// end shuts it down.
func (s *served) end() result {
	s.signal(syscall.SIGTERM)
	return s.wait()
}

func (f *folder) token() string {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.data, "token"))
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

var noRedirects = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// answer is what a server said.
type answer struct {
	status int
	header http.Header
	body   string
}

// get asks; header is a list of names and values.
func get(t *testing.T, c *http.Client, address string, header ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }() // it is read
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

func wantStatus(t *testing.T, want int, address string, header ...string) string {
	t.Helper()
	a := get(t, noRedirects, address, header...)
	if a.status != want {
		t.Errorf("%s got %d, want %d: %s", address, a.status, want, a.body)
	}
	return a.body
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

func TestServeLetsItsOwnerIn(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := f.server()
	for _, name := range []string{"token", "server.json", "cadre.db"} {
		info, err := os.Stat(filepath.Join(f.data, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	me := s.address + "/v1/users/me"
	wantStatus(t, http.StatusUnauthorized, me)
	if body := wantStatus(t, http.StatusOK, me, bearer(f.token())...); !strings.Contains(body, `"scope":"admin"`) {
		t.Errorf("me is %s", body)
	}
	res := get(t, noRedirects, s.link)
	cookie := res.header.Get("Set-Cookie")
	if res.status != http.StatusSeeOther || res.header.Get("Location") != "/" || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Fatalf("the link leads to %d %v", res.status, res.header)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	wantStatus(t, http.StatusOK, me, "Cookie", pair)
	wantStatus(t, http.StatusForbidden, me, "Cookie", pair, "Origin", "http://evil.example")
	wantStatus(t, http.StatusUnauthorized, s.link) // it works once
	more := strings.TrimSpace(f.run(0, "open", "--print").out)
	if res := get(t, noRedirects, more); res.status != http.StatusSeeOther || res.header.Get("Set-Cookie") == "" {
		t.Errorf("the link of cadre open, %s, leads to %d", more, res.status)
	}
	if body := wantStatus(t, http.StatusOK, s.address+"/"); !strings.Contains(body, "<!doctype html>") {
		t.Errorf("the page is %.100s", body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, me, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example"
	rebound, err := noRedirects.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = rebound.Body.Close() // its status says it all
	if rebound.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another host gets %d", rebound.StatusCode)
	}
	if r := s.end(); r.code != 0 {
		t.Errorf("SIGTERM: exit code %d\n%s", r.code, r.errs)
	}
	if _, err := os.Stat(filepath.Join(f.data, "server.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("server.json is left: %v", err)
	}
	f.run(exitFailed, "open").wants(t, "no server runs", "cadre serve --open")
	again := f.server() // the session outlives the server, the token stays
	wantStatus(t, http.StatusOK, again.address+"/v1/users/me", bearer(f.token())...)
	again.end()
}

func TestTokensAndUsers(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.run(0, "users", "add", "berta").wants(t, "added berta") // without a server
	before := strings.TrimSpace(f.run(0, "tokens", "create", "--user", "berta", "--scope", "read").out)
	s := f.server()
	me := s.address + "/v1/users/me"
	if body := wantStatus(t, http.StatusOK, me, bearer(before)...); !strings.Contains(body, `"id":"berta"`) {
		t.Errorf("berta is %s", body)
	}
	wantStatus(t, http.StatusForbidden, s.address+"/v1/users", bearer(before)...)
	f.run(0, "users", "add", "carl").wants(t, "added carl") // and through one
	f.run(exitFailed, "users", "add", "carl").wants(t, "there is, or was, a user carl")
	f.run(exitUsage, "users", "remove", "nobody").wants(t, "there is no user")
	f.run(exitUsage, "tokens", "create", "--user", "nobody").wants(t, "there is no user")
	f.run(exitUsage, "tokens", "create", "--scope", "all").wants(t, "--scope")
	short := strings.TrimSpace(f.run(0, "tokens", "create", "--user", "carl", "--expires", "1ms", "--scope", "admin").out)
	wantStatus(t, http.StatusUnauthorized, me, bearer(short)...)
	made := f.run(0, "tokens", "create", "--user", "carl", "--scope", "write", "--name", "ci")
	secret := strings.TrimSpace(made.out)
	id, _, _ := strings.Cut(strings.TrimPrefix(made.errs, "Token "), ",")
	wantStatus(t, http.StatusOK, me, bearer(secret)...)
	list := f.run(0, "tokens", "list")
	list.wants(t, id, "ci", "carl", "write")
	for _, hidden := range []string{secret, before, f.token()} {
		if strings.Contains(list.out, hidden) {
			t.Error("the list shows a secret")
		}
		f.nowhere(hidden)
	}

	// What is open with a token ends with it.
	feed := follow(t, s.address+"/v1/users/me/changes", secret)
	f.run(0, "tokens", "revoke", id).wants(t, "revoked "+id)
	if _, err := io.ReadAll(feed); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the feed ends with %v", err)
	}
	wantStatus(t, http.StatusUnauthorized, me, bearer(secret)...)
	f.run(0, "users", "remove", "berta").wants(t, "removed berta")
	wantStatus(t, http.StatusUnauthorized, me, bearer(before)...)
	if users := f.run(0, "users", "list").out; strings.Contains(users, "berta") || !strings.Contains(users, "carl") {
		t.Errorf("the users are\n%s", users)
	}
	s.end()
	f.run(exitUsage, "tokens", "revoke", "key-none").wants(t, "there is no key")
}

// nowhere makes sure that a secret is in no file of the data folder but its own.
func (f *folder) nowhere(secret string) {
	f.t.Helper()
	files, err := filepath.Glob(filepath.Join(f.data, "cadre.*"))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), secret) {
			f.t.Errorf("%s holds a secret", name)
		}
	}
}

// follow opens a feed.
func follow(t *testing.T, address, token string) io.Reader {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() }) // it is left open on purpose
	return res.Body
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := f.server()
	other := newFolder(t)
	port := strings.TrimPrefix(s.address, "http://")
	for _, test := range []struct {
		f    *folder
		code int
		args []string
		want string
	}{
		{other, exitUsage, []string{"--addr", "0.0.0.0:0"}, "--tls-cert"},
		{other, exitUsage, []string{"--addr", "[::]:0"}, "--insecure"},
		{other, exitUsage, []string{"--addr", "example.org:80"}, "other machines"},
		{other, exitUsage, []string{"--addr", "7777"}, "HOST:PORT"},
		{other, exitUsage, []string{"--tls-cert", "c.pem"}, "belong together"},
		{other, exitFailed, []string{"--addr", "127.0.0.1:0", "--tls-cert", "none.pem", "--tls-key", "none.pem"}, "certificate"},
		{other, exitUsage, []string{"--log-format", "xml"}, "text or json"},
		{other, exitFailed, []string{"--addr", port}, "in use by another program"},
		{f, exitFailed, []string{"--addr", "127.0.0.1:0"}, "in use by another process"},
	} {
		test.f.run(test.code, append([]string{"serve"}, test.args...)...).wants(t, test.want)
	}
	if _, err := os.Stat(filepath.Join(other.data, "token")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server that did not start has left a token: %v", err)
	}
	wantStatus(t, http.StatusOK, s.address+"/healthz") // the first one goes on
	if body := wantStatus(t, http.StatusOK, s.address+"/debug/pprof/", bearer(f.token())...); !strings.Contains(body, "<title>Cadre</title>") {
		t.Errorf("profiles are served unasked: %.200s", body)
	}
	open := other.server("--addr", "0.0.0.0:0", "--insecure", "--log-format", "json")
	wantStatus(t, http.StatusOK, open.address+"/readyz")
	if r := open.end(); !strings.Contains(r.errs, `"msg":"serving"`) {
		t.Errorf("the log is %s", r.errs)
	}
}

// certificate makes a self-signed one, for a name that nobody uses here.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"cadre.example"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestServeWithTLS(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	cert, key := certificate(t)
	s := f.server("--addr", "0.0.0.0:0", "--host", "cadre.example", "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(s.address, "https://") {
		t.Fatalf("it serves %s", s.address)
	}
	pool := x509.NewCertPool()
	b, err := os.ReadFile(cert)
	if err != nil || !pool.AppendCertsFromPEM(b) {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.address, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	there := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DialContext: there}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport, CheckRedirect: noRedirects.CheckRedirect}
	res := get(t, c, "https://cadre.example:"+port+"/?"+strings.SplitN(s.link, "?", 2)[1])
	if res.status != http.StatusSeeOther || !strings.Contains(res.header.Get("Set-Cookie"), "Secure") {
		t.Errorf("the link leads to %d %v", res.status, res.header)
	}
	// The command line trusts the certificate that the server wrote down,
	// though it is for another name, and no other one.
	f.run(0, "run", "--model", "offline", "Say hello").wants(t, "completed")
	other, _ := certificate(t)
	f.env = []string{"SSL_CERT_FILE=" + other, "CADRE_TOKEN=" + f.token()}
	f.run(exitFailed, "run", "--server", s.address, "--model", "offline", "Say hello").wants(t, "certificate")
	f.env = nil
	s.end()
}

func TestServeOpensTheBrowserAndProfiles(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	bin, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	script := fmt.Sprintf("#!/bin/sh\nprintf %%s \"$1\" >%s.new && mv %s.new %s\n", opened, opened, opened)
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	f.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	s := f.server("--open", "--pprof")
	var link []byte
	for deadline := time.Now().Add(patience); len(link) == 0 && time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		link, _ = os.ReadFile(opened) // it comes
	}
	if string(link) != s.link {
		t.Errorf("the browser was sent to %q, printed was %q", link, s.link)
	}
	read := strings.TrimSpace(f.run(0, "tokens", "create", "--scope", "write").out)
	wantStatus(t, http.StatusUnauthorized, s.address+"/debug/pprof/")
	wantStatus(t, http.StatusForbidden, s.address+"/debug/pprof/", bearer(read)...)
	wantStatus(t, http.StatusOK, s.address+"/debug/pprof/heap", bearer(f.token())...)
	s.end()
}
