// Which addresses may be reached: public ones, and what the configuration
// allows besides. The rule is applied to the address of a connection at the
// moment it is made, so that neither a name server that changes its mind nor a
// redirect gets around it.

package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
)

// special are the networks that are not public, by IANA's registries of
// special-purpose addresses. Among them are all places where clouds keep
// credentials for the machine.
var special = []struct {
	net  netip.Prefix
	kind string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's internal"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud platform's internal"}, // Azure's, though in public space
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a reserved"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "a test network's"},
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved"},

	{netip.MustParsePrefix("::/128"), "an unspecified"},
	{netip.MustParsePrefix("::1/128"), "a loopback"},
	{netip.MustParsePrefix("fc00::/7"), "a private"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast"},
	{netip.MustParsePrefix("2001::/23"), "a reserved"}, // Teredo, ORCHID and the like
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation"},
	{netip.MustParsePrefix("2002::/16"), "a 6to4"}, // an IPv4 address in disguise, of any kind
	{netip.MustParsePrefix("3fff::/20"), "a documentation"},
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")     // all public IPv6 addresses are in here
	nat64         = netip.MustParsePrefix("64:ff9b::/96") // how an IPv6-only network reaches IPv4
)

// embedded gives the IPv4 address that ip stands for, or ip itself.
func embedded(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	if nat64.Contains(ip) {
		b := ip.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip
}

// kindOf says what kind of address ip is, with its article; empty if it is a
// public one.
func kindOf(ip netip.Addr) string {
	if ip.Zone() != "" {
		return "a link-local"
	}
	ip = embedded(ip)
	for _, s := range special {
		if s.net.Contains(ip) {
			return s.kind
		}
	}
	if ip.Is4() || globalUnicast.Contains(ip) {
		return ""
	}
	return "a reserved"
}

// refusal says that an address may not be reached.
type refusal struct {
	host, address, kind string
}

func (r *refusal) Error() string {
	what := r.host
	if r.address != "" && r.address != r.host {
		what += " (" + r.address + ")"
	}
	return fmt.Sprintf("%s has %s address, and only public ones may be reached: the user can allow it in the configuration", what, r.kind)
}

// guard decides which hosts and addresses may be reached.
type guard struct {
	hosts []allowedHost
	nets  []netip.Prefix
}

type allowedHost struct {
	name string // lower case; "*.x" stands for all below x
	port string // empty: any
}

func newGuard(hosts, nets []string) (guard, error) {
	var g guard
	var errs []error
	for _, h := range hosts {
		name, port := strings.ToLower(strings.TrimSpace(h)), ""
		if host, number, err := net.SplitHostPort(name); err == nil {
			name, port = host, number
		}
		name = strings.TrimSuffix(name, ".")
		rest := strings.TrimPrefix(name, "*.")
		_, portErr := strconv.ParseUint(port, 10, 16)
		if _, err := netip.ParseAddr(rest); port != "" && portErr != nil || err != nil && (rest == "" || strings.ContainsAny(rest, "*/:@ ")) {
			errs = append(errs, fmt.Errorf("allowed host %q: write a name such as wiki.example.org, *.example.org or localhost:3000, without a scheme", h))
			continue
		}
		g.hosts = append(g.hosts, allowedHost{name, port})
	}
	for _, n := range nets {
		prefix, err := netip.ParsePrefix(n)
		if ip, addrErr := netip.ParseAddr(n); addrErr == nil {
			prefix, err = ip.Prefix(ip.BitLen())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("allowed network %q: write it as 10.1.0.0/16 or as one address", n))
			continue
		}
		g.nets = append(g.nets, prefix.Masked())
	}
	return g, errors.Join(errs...)
}

// exempts says whether the rule does not hold for host, whatever its address.
func (g guard) exempts(host, port string) bool {
	for _, h := range g.hosts {
		below, wild := strings.CutPrefix(h.name, "*")
		if (h.port == "" || h.port == port) && (host == h.name || wild && strings.HasSuffix(host, below)) {
			return true
		}
	}
	return false
}

// checkIP refuses an address of host that may not be reached.
func (g guard) checkIP(host, port string, ip netip.Addr) error {
	kind := kindOf(ip)
	if kind == "" || g.exempts(host, port) {
		return nil
	}
	for _, n := range g.nets {
		if n.Contains(ip.Unmap()) || n.Contains(embedded(ip)) {
			return nil
		}
	}
	return &refusal{host, ip.String(), kind}
}

// checkName refuses a host that need not be looked up to be refused.
func (g guard) checkName(host, port string) error {
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.checkIP(host, port, ip)
	}
	// Allowed networks do not make these pass: whoever wants them names them.
	if (host == "localhost" || strings.HasSuffix(host, ".localhost")) && !g.exempts(host, port) {
		return &refusal{host: host, kind: "a loopback"}
	}
	return nil
}

// dial connects to address, a host and a port. The operating system is given
// an address only after it has passed the rule.
func (g guard) dial(ctx context.Context, resolver *net.Resolver, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{
		Timeout:  dialTimeout,
		Resolver: resolver,
		ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return fmt.Errorf("reading the address of %s: %w", host, err)
			}
			return g.checkIP(host, port, to.Addr())
		},
	}
	return d.DialContext(ctx, network, address)
}

// checkResolved looks host up and refuses it if any of its addresses may not
// be reached. It is for requests through a proxy, which makes the connection
// itself: a name that only the proxy can look up passes.
func (g guard) checkResolved(ctx context.Context, resolver *net.Resolver, host, port string) error {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	ips, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return ctx.Err()
	}
	for _, ip := range ips {
		if err := g.checkIP(host, port, ip); err != nil {
			return err
		}
	}
	return nil
}
