package web

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrAddress refuses to connect to an address that is not on the public net.
var ErrAddress = errors.New("web: no public address")

const securePort = 443

// global is where public IPv6 addresses are given out of; everything outside is refused without being named: unspecified,
// loopback, mapped, NAT64, discard, unique local (fd00:ec2::254 among them), link-local, site-local, multicast, segment ids.
var global = netip.MustParsePrefix("2000::/3")

// closed are the parts of the rest that lead inside, nowhere, or around the check.
var closed = prefixes(
	"0.0.0.0/8",         // this network; 0.0.0.0 is this machine
	"10.0.0.0/8",        // private
	"100.64.0.0/10",     // carrier-grade NAT; cloud metadata of some
	"127.0.0.0/8",       // loopback
	"168.63.129.16/32",  // a cloud's own services
	"169.254.0.0/16",    // link-local; cloud metadata
	"172.16.0.0/12",     // private
	"192.0.0.0/24",      // protocol assignments
	"192.0.2.0/24",      // documentation
	"192.31.196.0/24",   // AS112
	"192.52.193.0/24",   // AMT
	"192.88.99.0/24",    // 6to4 relays
	"192.168.0.0/16",    // private
	"192.175.48.0/24",   // AS112
	"198.18.0.0/15",     // benchmarks
	"198.51.100.0/24",   // documentation
	"203.0.113.0/24",    // documentation
	"224.0.0.0/4",       // multicast
	"240.0.0.0/4",       // reserved, broadcast
	"2001::/23",         // Teredo (2001::/32), benchmarks, ORCHID and other protocol assignments
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4: an IPv4 address in disguise
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// Public is the policy of a prober that talks to the real net: port 443 of a globally routable address, else ErrAddress.
func Public(to netip.AddrPort) error {
	a := to.Addr()
	if !a.IsValid() || a.Zone() != "" || to.Port() != securePort {
		return fmt.Errorf("%w: %v", ErrAddress, to)
	}
	a = a.Unmap()
	if a.Is6() && (!global.Contains(a) || isatap(a)) {
		return fmt.Errorf("%w: %v", ErrAddress, to)
	}
	for _, p := range closed {
		if p.Contains(a) {
			return fmt.Errorf("%w: %v", ErrAddress, to)
		}
	}
	return nil
}

// isatap finds IPv6 addresses that carry an IPv4 address for a tunnel at their end.
func isatap(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}

// control asks the policy once more about the address that a socket is really about to be connected to.
func (p *Prober) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s", ErrAddress, address)
	}
	return p.allow(to)
}
