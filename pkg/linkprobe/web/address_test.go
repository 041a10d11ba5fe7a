package web

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// refusedAddresses are what the default policy keeps away from, as a link's name could lead there.
const refusedAddresses = `
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.254 127.0.0.1 127.1.2.3 127.255.255.255 168.63.129.16
169.254.0.1 169.254.169.254 169.254.170.2 169.254.100.1 172.16.0.1 172.17.0.1 172.31.255.255 192.0.0.1 192.0.0.170 192.0.0.192 192.0.2.1 192.31.196.1
192.52.193.1 192.88.99.1 192.168.0.1 192.168.1.254 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.5 224.0.0.1 239.255.255.250 240.0.0.1
255.255.255.255 254.1.1.1
:: ::1 ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:0:0 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:192.168.0.1 ::ffff:0:127.0.0.1
64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:0:4136:e378::1 2001:2::1 2001:10::1 2001:20::1 2001:1::1 2001:1ff::1
2001:db8::1 2001:db8:ffff::1 2002:7f00:1::1 2002:a00:1::1 2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff::1 5f00::1 4000::1 1fff::1
fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::a9fe:a9fe fec0::1 ff02::1 ff05::2 ff0e::1 2400::5efe:10.0.0.1 2a00::200:5efe:a00:1`

const publicAddresses = `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.1 172.15.255.255 172.32.0.1
192.0.1.1 192.0.3.1 192.167.255.255 192.169.0.1 198.17.255.255 198.20.0.1 198.51.101.1 203.0.114.1 223.255.255.255 168.63.129.15
2001:200::1 2001:4860:4860::8888 2003::1 2400:cb00::1 2606:4700:4700::1111 2a00:1450:4001::1 2620:fe::fe ::ffff:8.8.8.8`

func TestTheDefaultPolicyKeepsAwayFromEverythingInside(t *testing.T) {
	all := strings.Fields(refusedAddresses)
	if len(all) < 60 {
		t.Fatalf("%d addresses", len(all))
	}
	for _, s := range all {
		if err := Public(netip.AddrPortFrom(netip.MustParseAddr(s), 443)); !errors.Is(err, ErrAddress) {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range strings.Fields(publicAddresses) {
		a := netip.MustParseAddr(s)
		if err := Public(netip.AddrPortFrom(a, 443)); err != nil {
			t.Errorf("%s: %v", s, err)
		}
		for _, port := range []uint16{0, 22, 80, 444, 8443, 65535} {
			if err := Public(netip.AddrPortFrom(a, port)); !errors.Is(err, ErrAddress) {
				t.Errorf("%s port %d: %v", s, port, err)
			}
		}
	}
	for _, a := range []netip.AddrPort{{}, netip.AddrPortFrom(netip.MustParseAddr("2606:4700::1").WithZone("eth0"), 443)} {
		if err := Public(a); !errors.Is(err, ErrAddress) {
			t.Errorf("%v: %v", a, err)
		}
	}
}

func TestEveryAddressOfAClosedRangeIsRefusedToItsEnds(t *testing.T) {
	for _, p := range closed {
		first, last := p.Masked().Addr(), lastOf(p)
		for _, a := range []netip.Addr{first, last} {
			if err := Public(netip.AddrPortFrom(a, 443)); !errors.Is(err, ErrAddress) {
				t.Errorf("%v of %v: %v", a, p, err)
			}
		}
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestTheSocketIsCheckedWithTheAddressItGets(t *testing.T) {
	p := New(Options{})
	for address, want := range map[string]bool{"8.8.8.8:443": true, "127.0.0.1:443": false, "[::1]:443": false, "8.8.8.8:80": false, "nonsense": false, "[fe80::1%eth0]:443": false} {
		if err := p.control("tcp", address, nil); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}
