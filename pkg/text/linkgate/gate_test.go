package linkgate

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

const (
	minHostile = 200
	minNames   = 5000
)

// rows reads a list of the test data without its remarks.
func rows(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// hostile are the addresses of hostile.txt with their reasons.
func hostile(t *testing.T) [][2]string {
	var out [][2]string
	for _, line := range rows(t, "hostile.txt") {
		reason, quoted, found := strings.Cut(line, "\t")
		raw, err := strconv.Unquote(`"` + quoted + `"`)
		if !found || err != nil {
			t.Fatalf("hostile.txt: %q: %v", line, err)
		}
		out = append(out, [2]string{reason, raw})
	}
	return out
}

func TestHostileAddressesAreRefusedWithTheirReason(t *testing.T) {
	all := hostile(t)
	if len(all) < minHostile {
		t.Fatalf("%d hostile addresses, want at least %d", len(all), minHostile)
	}
	seen := map[string]bool{}
	for _, one := range all {
		want, raw := one[0], one[1]
		v := Check(raw, Options{})
		status := Rejected
		if want == ReasonTunnel {
			status = Held
		}
		if v.Status != status || v.Reason != want || v.Detail == "" {
			t.Errorf("%q is %s for %q (%s), want %s for %q", raw, v.Status, v.Reason, v.Detail, status, want)
		}
		if seen[raw] {
			t.Errorf("%q is listed twice", raw)
		}
		seen[raw] = true
	}
}

func TestNoFalseAlarms(t *testing.T) {
	names := rows(t, "homepages.txt")
	if len(names) < minNames {
		t.Fatalf("%d names, want at least %d", len(names), minNames)
	}
	for _, name := range names {
		for _, kind := range []string{KindURL, KindRepo} {
			if v := Check("https://"+name+"/project/name", Options{Kind: kind}); v.Status != OK || v.Host != name || v.Domain == "" {
				t.Errorf("%s (%s) is %s for %q: %s; host %q, domain %q", name, kind, v.Status, v.Reason, v.Detail, v.Host, v.Domain)
			}
		}
		if v := Check("https://"+name, Options{}); v.Status != OK || v.URL != "https://"+name+"/" {
			t.Errorf("%s is %s for %q: %s", name, v.Status, v.Reason, v.URL)
		}
	}
}

func TestHonestAddressesPassAndAreNormalised(t *testing.T) {
	for _, line := range rows(t, "honest.txt") {
		raw, want, found := strings.Cut(line, "\t")
		if !found {
			want = raw
		}
		if v := Check(raw, Options{}); v.Status != OK || v.URL != want || v.Reason != "" || v.Detail != "" {
			t.Errorf("%q is %s for %q (%s) as %q, want %q", raw, v.Status, v.Reason, v.Detail, v.URL, want)
		}
	}
}

func TestLengthIsCountedAsSentAndAsNormalised(t *testing.T) {
	const head = "https://example.com/"
	for _, c := range []struct {
		raw, want string
	}{
		{head + strings.Repeat("a", MaxBytes-len(head)), ""},
		{head + strings.Repeat("a", MaxBytes-len(head)+1), ReasonTooLong},
		{head + strings.Repeat("é", (MaxBytes-len(head))/6), ""},
		{head + strings.Repeat("é", (MaxBytes-len(head))/6+1), ReasonTooLong},
		{strings.Repeat("https://", 1<<20), ReasonTooLong},
	} {
		if v := Check(c.raw, Options{}); v.Reason != c.want {
			t.Errorf("%d bytes: reason %q, want %q", len(c.raw), v.Reason, c.want)
		}
	}
}

func TestTransferListLetsArchivesThroughButNoProgram(t *testing.T) {
	own := Options{Transfer: []string{"files.example.com"}}
	for _, c := range []struct {
		raw  string
		o    Options
		want string
	}{
		{"https://files.example.com/a.zip", own, ""},
		{"https://eu.files.example.com/a.tar.gz", own, ""},
		{"https://example.com/a.zip", own, ReasonDirectDownload},
		{"https://github.com/o/r/archive/v1.zip", own, ReasonDirectDownload},
		{"https://github.com/o/r/archive/v1.zip", Options{}, ""},
		{"https://github.com/o/r/archive/v1.zip", Options{Transfer: []string{}}, ReasonDirectDownload},
		{"https://files.example.com/a.exe", own, ReasonExecutable},
		{"https://files.example.com/a.exe.zip", own, ReasonExecutable},
	} {
		if v := Check(c.raw, c.o); v.Reason != c.want {
			t.Errorf("%s with %v: reason %q, want %q", c.raw, c.o.Transfer, v.Reason, c.want)
		}
	}
}

func TestARepositoryLinkNamesOne(t *testing.T) {
	for raw, want := range map[string]string{
		"https://github.com/owner/name":             "",
		"https://github.com/owner/name.git":         "",
		"https://github.com/owner":                  ReasonNotARepo,
		"https://github.com/":                       ReasonNotARepo,
		"https://git.example.org/project":           "",
		"https://git.example.org":                   ReasonNotARepo,
		"https://gitlab.com/group/sub/name/-/tree/": "",
	} {
		if v := Check(raw, Options{Kind: KindRepo}); v.Reason != want {
			t.Errorf("%s: reason %q, want %q", raw, v.Reason, want)
		}
	}
}

func TestDomainIsWhatSomebodyOwns(t *testing.T) {
	for host, want := range map[string]string{
		"example.com": "example.com", "a.b.example.com": "example.com", "www.example.co.uk": "example.co.uk",
		"foo.github.io": "foo.github.io", "a.foo.github.io": "foo.github.io", "github.io": "github.io",
	} {
		if v := Check("https://"+host+"/", Options{}); v.Domain != want || v.Host != host {
			t.Errorf("%s: domain %q of host %q, want %q", host, v.Domain, v.Host, want)
		}
	}
}

func TestEachReasonIsReachedByTheHostileList(t *testing.T) {
	reached := map[string]bool{ReasonTooLong: true, ReasonNotARepo: true} // tested above
	for _, one := range hostile(t) {
		reached[one[0]] = true
	}
	for _, r := range []string{ReasonTooLong, ReasonMalformed, ReasonCharacters, ReasonScheme, ReasonUserInfo, ReasonPort, ReasonEncodedHost, ReasonHost,
		ReasonIPLiteral, ReasonPunycode, ReasonMixedScript, ReasonLookalike, ReasonBareSuffix, ReasonUnlistedSuffix, ReasonSpecialSuffix,
		ReasonShortener, ReasonRedirector, ReasonLoginPage, ReasonExecutable, ReasonDirectDownload, ReasonNotARepo, ReasonTunnel} {
		if !reached[r] {
			t.Errorf("no test reaches %s", r)
		}
	}
}

func TestEveryRedirectorEntryIsReached(t *testing.T) {
	for entry := range redirectors() {
		if v := Check("https://"+entry+"?u=https://example.com/", Options{}); v.Reason != ReasonRedirector {
			t.Errorf("%s is %s for %q", entry, v.Status, v.Reason)
		}
	}
}

func TestNamesThatServersGiveAreJudgedLikePaths(t *testing.T) {
	for name, want := range map[string]string{
		"setup.exe": ReasonExecutable, "SETUP.EXE. ": ReasonExecutable, "a.pdf.scr": ReasonExecutable, "a.exe.txt": ReasonExecutable, ".exe": ReasonExecutable,
		"setup.exe:zone": ReasonExecutable, "a.zip": ReasonDirectDownload, "a.tar.gz": ReasonDirectDownload, "": "", "exe": "", "offer.pdf": "", "example.com.pdf": "",
	} {
		if got := Name(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
