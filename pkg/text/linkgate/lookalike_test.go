package linkgate

import (
	"strings"
	"testing"
)

// TestOneForeignLetterHidesNoProtectedName swaps each letter of each protected name for each letter that is drawn like it.
func TestOneForeignLetterHidesNoProtectedName(t *testing.T) {
	byLike := map[string][]string{}
	for r, like := range likes() {
		byLike[like] = append(byLike[like], string(r))
	}
	n := 0
	for name := range guard().byName {
		for i := range name {
			for _, other := range byLike[name[i:i+1]] {
				n++
				for _, host := range []string{name[:i] + other + name[i+1:] + ".com", "www." + name[:i] + other + name[i+1:] + ".com"} {
					if v := Check("https://"+host+"/", Options{}); v.Reason != ReasonLookalike {
						t.Errorf("%s is %s for %q", host, v.Status, v.Reason)
					}
				}
			}
		}
	}
	if n < 5000 {
		t.Errorf("%d spellings tried: the tables are too small", n)
	}
}

// TestDigitsHideNoProtectedName swaps o and l for the digits they are drawn like.
func TestDigitsHideNoProtectedName(t *testing.T) {
	for name := range guard().byName {
		for _, other := range []string{strings.ReplaceAll(name, "o", "0"), strings.ReplaceAll(name, "l", "1"), strings.ReplaceAll(name, "m", "rn")} {
			if other == name {
				continue
			}
			if v := Check("https://"+other+".com/", Options{}); v.Reason != ReasonLookalike {
				t.Errorf("%s.com is %s for %q", other, v.Status, v.Reason)
			}
		}
	}
}

func TestProtectedNamesPassAtHome(t *testing.T) {
	for home := range guard().homes {
		if !strings.Contains(home, ".") {
			continue // a suffix of the brand's own
		}
		for _, host := range []string{home, "www." + home, "status.eu." + home} {
			v := Check("https://"+host+"/about", Options{})
			if v.Status != OK && v.Reason != ReasonLoginPage { // some are login hosts
				t.Errorf("%s is %s for %q", host, v.Status, v.Reason)
			}
		}
	}
}

// TestListsAreInOrder holds what the readers of the lists rely on.
func TestListsAreInOrder(t *testing.T) {
	for _, name := range []string{"shorteners", "redirectors", "special", "tunnels", "codehosts", "loginhosts", "transfer"} {
		seen := map[string]bool{}
		for _, line := range lines(name) {
			if seen[line] || line != strings.ToLower(line) || strings.ContainsAny(line, " \t") {
				t.Errorf("%s: %q is there twice, or is no lower-case name", name, line)
			}
			seen[line] = true
		}
	}
	if n := len(shorteners()); n < 100 {
		t.Errorf("%d shorteners", n)
	}
	for host := range transfer() {
		if shorteners().hosts(host) || special().hosts(host) {
			t.Errorf("%s is on the transfer list and refused", host)
		}
	}
	for host := range shorteners() {
		if v := Check("https://"+host+"/x", Options{}); v.Reason != ReasonShortener {
			t.Errorf("%s is %s for %q", host, v.Status, v.Reason)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, raw := range []string{"https://example.com/report/2026/final.html?lang=en#top", "https://paypal.com.evil.net/a", "https://a.b.c.d.e.f.example.co.uk/x/y/z.pdf"} {
		b.Run(raw[8:20], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Check(raw, Options{})
			}
		})
	}
}
