// Addresses as models write them: read strictly, so that the host that is
// shown and approved is the host that is spoken to.

package web

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const maxURL = 4096 // bytes

// parseURL reads an address that may be fetched. What it returns has a host in
// its one canonical form, and no fragment.
func parseURL(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if len(raw) > maxURL {
		return nil, fmt.Errorf("the URL is %d bytes long, at most %d are allowed", len(raw), maxURL)
	}
	if !utf8.ValidString(raw) {
		return nil, errors.New("the URL is not UTF-8 text")
	}
	u, err := url.Parse(raw)
	if err != nil {
		var detail *url.Error
		if errors.As(err, &detail) {
			err = detail.Err // without the URL, which may hold a password
		}
		return nil, fmt.Errorf("the URL is not valid: %w", err)
	}
	switch {
	case u.Scheme == "":
		return nil, errors.New("the URL has no scheme: begin it with https://")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("only http and https can be fetched, not %q", u.Scheme)
	case u.User != nil:
		return nil, errors.New("the URL contains a user name or an @ before its host: leave it out")
	case u.Host == "" || u.Opaque != "":
		return nil, errors.New("the URL names no host")
	case strings.Contains(u.Host, `\`):
		return nil, errors.New("the URL contains a backslash in its host")
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return nil, fmt.Errorf("%q is not a port", port)
	}
	if port == defaultPort(u.Scheme) {
		port = ""
	}
	switch {
	case port != "":
		u.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		u.Host = "[" + host + "]"
	default:
		u.Host = host
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = escapeQuery(u.RawQuery)
	return u, nil
}

// escapeQuery escapes what must not stand in a query, and which net/url leaves
// as it was written.
func escapeQuery(query string) string {
	var b strings.Builder
	for _, c := range []byte(query) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// portOf is the port that is connected to.
func portOf(u *url.URL) string { return cmp.Or(u.Port(), defaultPort(u.Scheme)) }

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// canonicalHost gives the one form of a host that programs agree on: an IP
// address as netip writes it, or a name in lower-case ASCII without a dot at
// its end. What some programs read as an IP address and others as a name is
// refused.
func canonicalHost(host string) (string, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return "", fmt.Errorf("%q names a network interface", host)
		}
		return ip.Unmap().String(), nil
	}
	ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil {
		return "", fmt.Errorf("%q is not a valid host name", host)
	}
	ascii = strings.ToLower(ascii)
	// Bytes that are no text become a name which stands for itself no more: what
	// is approved and what is fetched must be one name, however often it is read.
	again, err := idna.Lookup.ToASCII(ascii)
	if err != nil || again != ascii || strings.ContainsAny(ascii, ":%/@") {
		return "", fmt.Errorf("%q is not a valid host name", host)
	}
	labels := strings.Split(ascii, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 {
			return "", fmt.Errorf("%q is not a valid host name", host)
		}
	}
	// 127.1, 0x7f000001, 017700000001 and 1.2.3.4 in other digits or with a dot
	// at the end: a number for some, a name for others.
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", fmt.Errorf("%q is no usual form of an IP address: write four decimal numbers with dots", host)
	}
	return ascii, nil
}

// sameSite says whether an approval of from covers to: the same scheme, host
// and port, or the same host over https instead of http.
func sameSite(from, to *url.URL) bool {
	upgrade := from.Scheme == "http" && to.Scheme == "https" && from.Port() == "" && to.Port() == ""
	return from.Hostname() == to.Hostname() && (from.Scheme == to.Scheme && from.Port() == to.Port() || upgrade)
}
