// Hostile addresses: none of them may be planned, let alone reached.

package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/cadre-dev/cadre/internal/tool"
)

// hostile are URLs that lead, or by some reading could lead, to a place that
// is not public, or that are not for fetching at all.
var hostile = []string{
	// loopback in every spelling
	"http://127.0.0.1/", "http://127.0.0.1:8080/", "https://127.0.0.1/", "http://127.1/", "http://127.0.1/",
	"http://127.255.255.254/", "http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://0x7f.0.0.1/",
	"http://0x7f.1/", "http://0177.0.0.1/", "http://127.0.0.1./", "http://127.0.0.01/", "http://127.00.00.1/",
	"http://0/", "http://0.0.0.0/", "http://0.0.0.0:22/", "http://00000000/", "http://1/",
	"http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://localhost:9200/", "http://a.localhost/",
	"http://foo.bar.localhost./", "http://ｌｏｃａｌｈｏｓｔ/", "http://%6c%6f%63%61%6c%68%6f%73%74/",
	// other digits and dots
	"http://①②⑦.⓪.⓪.①/", "http://１２７.０.０.１/", "http://127。0。0。1/", "http://127．0．0．1/", "http://%31%32%37.0.0.1/",
	"http://٠/", "http://١٢٧.٠.٠.١/", "http://127.0.0.1\u3002/",
	// IPv6
	"http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
	"http://[::127.0.0.1]/", "http://[::ffff:0:127.0.0.1]/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/",
	"http://[fc00::1]/", "http://[fd00:ec2::254]/", "http://[ff02::1]/", "http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::a9fe:a9fe]/",
	"http://[64:ff9b:1::a00:1]/", "http://[2002:7f00:1::]/", "http://[2002:a00:1::1]/", "http://[2001:0:0:0:0:0:80ff:fffe]/", "http://[2001:db8::1]/",
	"http://[100::1]/", "http://[fec0::1]/", "http://[3fff::1]/", "http://[5f00::1]/", "http://[::1]:80:80/",
	// private, shared, link-local, reserved
	"http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/", "http://192.168.1.1/",
	"http://169.254.169.254/latest/meta-data/", "http://0xa9fea9fe/", "http://2852039166/", "http://[::ffff:169.254.169.254]/", "http://100.64.0.1/",
	"http://100.100.100.200/", "http://100.127.255.255/", "http://192.0.0.192/", "http://168.63.129.16/", "http://192.0.2.1/",
	"http://198.18.0.1/", "http://198.51.100.1/", "http://203.0.113.1/", "http://224.0.0.1/", "http://239.255.255.250/",
	"http://240.0.0.1/", "http://255.255.255.255/", "http://192.88.99.1/",
	// who is the host?
	"http://%A0/", "http://a.%ff.example/", "http://user@example.com/", "http://user:pass@example.com/", "http://example.com@127.0.0.1/", "http://127.0.0.1@example.com/", "http://@example.com/",
	`http://example.com\@127.0.0.1/`, `http://127.0.0.1\.example.com/`, `http:\\127.0.0.1\`, "http:127.0.0.1", "http:/127.0.0.1", "http:///127.0.0.1",
	"http://", "http://:80/", "http://./", "http://..../", "http://a..b/", "http://[::1", "http://::1/", "http://exam ple.com/",
	"http://example.com:0/", "http://example.com:65536/", "http://example.com:80a/", "http://example.com:-1/",
	"http://exa\nmple.com/", "http://example.com/\x00", "http://example.com\r\nHost: localhost/", "http://1.2.3.4.5/", "http://256.256.256.256/", "http://1.2.3.0x4/",
	// other schemes
	"file:///etc/passwd", "FILE:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "data:text/html,hello", "ftp://example.com/",
	"javascript:alert(1)", "dict://127.0.0.1:11211/", "ldap://127.0.0.1/", "unix:///var/run/docker.sock", "about:blank",
	"view-source:http://example.com", "jar:http://example.com!/", "ws://example.com/", "//127.0.0.1/", "/etc/passwd", "example.com", "",
}

func TestHostileAddresses(t *testing.T) {
	t.Parallel()
	fetch, err := Fetch(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range hostile {
		if action, err := fetch.Plan(t.Context(), tool.Env{}, object("url", u)); err == nil {
			t.Errorf("%q: planned as %q", u, action.Shown)
		}
		if got, err := use(t, fetch, object("url", u)); err == nil {
			t.Errorf("%q: fetched %q", u, got)
		} else if strings.Contains(err.Error(), "pass@") {
			t.Errorf("%q: the error repeats a password: %v", u, err)
		}
	}
	if len(hostile) < 60 {
		t.Errorf("only %d hostile addresses", len(hostile))
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	fetch, err := Fetch(Options{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ url, shown, host string }{
		{"https://go.dev/doc", "GET https://go.dev/doc", "go.dev"},
		{"  HTTPS://Go.Dev:443/doc#here ", "GET https://go.dev/doc", "go.dev"},
		{"http://go.dev.:80", "GET http://go.dev", "go.dev"},
		{"http://go.dev:8080/?q=a b&r=ä%20<", "GET http://go.dev:8080/?q=a%20b&r=%C3%A4%20%3C", "go.dev"},
		{"https://bücher.example/ä", "GET https://xn--bcher-kva.example/%C3%A4", "xn--bcher-kva.example"},
		{"https://gооgle.com/", "GET https://xn--ggle-55da.com/", "xn--ggle-55da.com"}, // two Cyrillic o
		{"https://8.8.8.8/", "GET https://8.8.8.8/", "8.8.8.8"},
		{"https://[2606:4700:0:0::1111]:8443/", "GET https://[2606:4700::1111]:8443/", "2606:4700::1111"},
		{"https://[::ffff:8.8.8.8]/", "GET https://8.8.8.8/", "8.8.8.8"},
		{"http://example.com#@127.0.0.1/", "GET http://example.com", "example.com"},
		{"http://127.0.0.1.example.com/", "GET http://127.0.0.1.example.com/", "127.0.0.1.example.com"},
	}
	for _, tc := range tests {
		got, err := fetch.Plan(t.Context(), tool.Env{}, object("url", tc.url))
		if err != nil || got.Shown != tc.shown || !slices.Equal(got.Hosts, []string{tc.host}) || got.Class != tool.Network {
			t.Errorf("%q: %+v, %v", tc.url, got, err)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, public := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
		"168.63.129.15", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2001:200::1", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8",
	} {
		if kind := kindOf(netip.MustParseAddr(public)); kind != "" {
			t.Errorf("%s is taken for %s address", public, kind)
		}
	}
}

func TestAllowances(t *testing.T) {
	t.Parallel()
	g, err := newGuard([]string{"Wiki.Corp.example.", "*.lab.example", "localhost"}, []string{"10.1.0.0/16", "192.168.7.7", "fd12::/32"})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		host, ip string
		ok       bool
	}{
		{"wiki.corp.example", "10.9.9.9", true},
		{"a.wiki.corp.example", "10.9.9.9", false},
		{"a.lab.example", "127.0.0.1", true},
		{"lab.example", "127.0.0.1", false},
		{"evillab.example", "127.0.0.1", false},
		{"any.example", "10.1.255.255", true},
		{"any.example", "::ffff:10.1.0.1", true},
		{"any.example", "64:ff9b::10.1.0.1", true},
		{"any.example", "10.2.0.0", false},
		{"any.example", "192.168.7.7", true},
		{"any.example", "192.168.7.8", false},
		{"any.example", "fd12::1", true},
		{"any.example", "fd13::1", false},
		{"any.example", "8.8.8.8", true},
	}
	for _, tc := range tests {
		if err := g.checkIP(tc.host, "80", netip.MustParseAddr(tc.ip)); (err == nil) != tc.ok {
			t.Errorf("%s at %s: %v", tc.host, tc.ip, err)
		}
	}
	if err := g.checkName("localhost", "80"); err != nil {
		t.Error(err)
	}
	if g, err = newGuard([]string{"localhost:3000", "127.0.0.1:3000", "[::1]:3000", "*.lab.example:3000"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "a.lab.example"} {
		if err := g.checkIP(host, "3000", netip.MustParseAddr("127.0.0.1")); err != nil {
			t.Errorf("a port that is allowed: %v", err)
		}
		if g.checkIP(host, "3001", netip.MustParseAddr("127.0.0.1")) == nil || g.checkName("127.0.0.1", "80") == nil {
			t.Errorf("%s: another port is allowed, too", host)
		}
	}
	for _, o := range []Options{
		{AllowHosts: []string{"http://a"}},
		{AllowHosts: []string{"a:x"}},
		{AllowHosts: []string{"a:70000"}},
		{AllowHosts: []string{"*"}},
		{AllowHosts: []string{""}},
		{AllowHosts: []string{"a.*.b"}},
		{AllowNets: []string{"10.1"}},
		{AllowNets: []string{"10.0.0.0/33"}},
		{Proxy: "proxy"},
		{Proxy: "http://a b"},
	} {
		if _, err := Fetch(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// nameServer answers queries for IPv4 addresses with the answers in turn, and
// then with the last one for ever.
func nameServer(t *testing.T, answers ...[]string) *net.Resolver {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	t.Cleanup(func() { _ = conn.Close(); done.Wait() })
	done.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Authoritative, m.Additionals = true, true, nil
			if m.Questions[0].Type == dnsmessage.TypeA {
				for _, ip := range answers[0] {
					m.Answers = append(m.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr(ip).As4()},
					})
				}
				answers = answers[min(1, len(answers)-1):]
			}
			if packed, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// The name server says first an address that may be reached (127.0.0.2 stands
// for a public one here), then loopback.
func TestRebinding(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this system has one loopback address only: %v", err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/start" {
			http.Redirect(w, r, "/secret", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("reached " + r.URL.Path))
	})}}
	server.Start()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	fetchWith := func(answers ...[]string) (string, error) {
		fetch, err := Fetch(Options{AllowNets: []string{"127.0.0.2"}, Resolver: nameServer(t, answers...)})
		if err != nil {
			t.Fatal(err)
		}
		return use(t, fetch, object("url", "http://rebind.example:"+port+"/start"))
	}

	got, err := fetchWith([]string{"127.0.0.2"})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, got, "reached /secret")

	for _, answers := range [][][]string{
		{{"127.0.0.2"}, {"127.0.0.1"}},
		{{"127.0.0.1"}, {"127.0.0.2"}},
		{{"10.0.0.1", "192.168.0.1", "169.254.169.254"}},
	} {
		got, err := fetchWith(answers...)
		var refused *refusal
		if !errors.As(err, &refused) {
			t.Errorf("%v: got %q, %v", answers, got, err)
			continue
		}
		contains(t, err.Error(), "rebind.example (", "only public ones may be reached")
	}
	// Of several addresses only those that may be reached are.
	if got, err := fetchWith([]string{"127.0.0.1", "127.0.0.2"}); err != nil || !strings.Contains(got, "reached /secret") {
		t.Errorf("got %q, %v", got, err)
	}
}
