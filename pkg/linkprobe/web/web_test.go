package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/text/linkgate"
)

func TestAnHonestPageIsOKAndDescribed(t *testing.T) {
	w := newWorld(t)
	w.moved("shop.example.com/old", "/new?x=1#part")
	w.moved("shop.example.com/new", "//other.example.net/final")
	w.text("other.example.net/final", "Text/HTML; charset=utf-8", "<p>Here it is")
	f := w.expect("https://shop.example.com/old", linkgate.OK, "")
	want := linkprobe.Finding{URL: "https://shop.example.com/old", Status: linkgate.OK, Final: "https://other.example.net/final", Hops: 2, Code: 200,
		ContentType: "text/html", Registered: time.Date(1995, 8, 14, 4, 0, 0, 0, time.UTC), At: now}
	if f != want {
		t.Errorf("%+v", f)
	}
}

func TestTheDefaultPolicyReachesNothingOnThisMachine(t *testing.T) {
	w := newWorld(t)
	loopback := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), 443)
	for name, at := range map[string][]netip.AddrPort{"the server": {w.addr()}, "port 443": {loopback}, "behind a public one": {netip.MustParseAddrPort("8.8.8.8:443"), loopback}} {
		p := New(Options{Now: func() time.Time { return now }, Roots: w.roots, Resolve: func(context.Context, string) ([]netip.AddrPort, error) { return at, nil }})
		f, err := p.Probe(t.Context(), "https://github.com/owner/name")
		if err != nil || f.Status != linkgate.Rejected || f.Reason != linkprobe.ReasonPrivateAddress {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	if len(w.seen()) != 0 {
		t.Errorf("asked %v", w.asked())
	}
}

// TestANameThatChangesIsNotFollowedInside: the name is public when it is first resolved and private a moment later.
func TestANameThatChangesIsNotFollowedInside(t *testing.T) {
	w := newWorld(t)
	w.page("shop.example.com/a", func(rw http.ResponseWriter, r *http.Request) {
		w.leads("shop.example.com", netip.MustParseAddrPort("127.0.0.1:443"))
		http.Redirect(rw, r, "/b", http.StatusFound)
	})
	w.expect("https://shop.example.com/a", linkgate.Rejected, linkprobe.ReasonPrivateAddress)
	if got := w.asked(); !slices.Equal(got, []string{"shop.example.com/a"}) {
		t.Errorf("asked %v", got)
	}
}

// TestTheSocketIsCheckedAgain: a policy that changes its mind between the name and the socket keeps the connection closed.
func TestTheSocketIsCheckedAgain(t *testing.T) {
	w := newWorld(t)
	p, calls := w.prober(), 0
	p.allow = func(netip.AddrPort) error {
		if calls++; calls > 1 {
			return ErrAddress
		}
		return nil
	}
	f, err := p.Probe(t.Context(), "https://github.com/owner/name")
	if err != nil || f.Reason != linkprobe.ReasonPrivateAddress || calls != 2 || len(w.seen()) != 0 {
		t.Errorf("%+v, %v, policy asked %d times, server %d", f, err, calls, len(w.seen()))
	}
}

func TestWhereALinkLeadsIsJudgedLikeALink(t *testing.T) {
	w := newWorld(t)
	w.leads("inside.example.com", netip.MustParseAddrPort("10.0.0.7:443"))
	for to, want := range map[string]string{
		"https://inside.example.com/": linkprobe.ReasonPrivateAddress, "https://127.0.0.1/": linkgate.ReasonIPLiteral, "https://[::1]/": linkgate.ReasonIPLiteral,
		"https://2130706433/": linkgate.ReasonIPLiteral, "http://shop.example.com/": linkgate.ReasonScheme, "ftp://shop.example.com/": linkgate.ReasonScheme,
		"javascript:alert(1)": linkgate.ReasonScheme, "https://localhost/": linkgate.ReasonSpecialSuffix, "https://metadata.google.internal/": linkgate.ReasonSpecialSuffix,
		"https://bit.ly/x": linkgate.ReasonShortener, "/setup.exe": linkgate.ReasonExecutable, "/login?next=/": linkgate.ReasonLoginPage,
		"https://user:pass@shop.example.com/": linkgate.ReasonUserInfo, "https://shop.example.com:8443/": linkgate.ReasonPort, "/a.zip": linkgate.ReasonDirectDownload,
		`\\evil.example.net\x`: linkgate.ReasonCharacters, "//paypal.com.evil.net/": linkgate.ReasonLookalike, "file:///etc/passwd": linkgate.ReasonScheme,
	} {
		w.moved("shop.example.com/go", to)
		f := w.expect("https://shop.example.com/go", linkgate.Rejected, want)
		if f.Final != "https://shop.example.com/go" && want != linkprobe.ReasonPrivateAddress {
			t.Errorf("to %s: final %s", to, f.Final)
		}
	}
	for to, want := range map[string]string{"": linkprobe.ReasonRedirects, "https://%zz/": linkprobe.ReasonRedirects, "https://abc.ngrok.io/": linkgate.ReasonTunnel} {
		w.moved("shop.example.com/go", to)
		w.expect("https://shop.example.com/go", linkgate.Held, want)
	}
	for _, one := range w.asked() {
		if one != "shop.example.com/go" {
			t.Errorf("%s was asked", one)
		}
	}
}

func TestFiveRedirectsAreFollowedAndNotSix(t *testing.T) {
	w := newWorld(t)
	for i, at := range []string{"0", "1", "2", "3", "4", "5", "6"} {
		w.moved("shop.example.com/"+at, "/"+string(rune('1'+i)))
	}
	w.text("shop.example.com/6", "text/html", "<p>end")
	if f := w.expect("https://shop.example.com/1", linkgate.OK, ""); f.Hops != linkprobe.MaxRedirects {
		t.Errorf("%d hops", f.Hops)
	}
	w.expect("https://shop.example.com/0", linkgate.Held, linkprobe.ReasonRedirects)
	w.moved("shop.example.com/loop", "/loop")
	w.expect("https://shop.example.com/loop", linkgate.Held, linkprobe.ReasonRedirects)
}

func TestPagesThatLeadOnByThemselvesAreFollowed(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{
		`<meta http-equiv="refresh" content="0;url=/setup.exe">`, `<META HTTP-EQUIV=Refresh CONTENT='3; URL="/setup.exe"'>`, `<meta content="0, /setup.exe" http-equiv=" refresh">`,
	} {
		w.text("shop.example.com/page", "text/html", "<!doctype html>"+body)
		w.expect("https://shop.example.com/page", linkgate.Rejected, linkgate.ReasonExecutable)
	}
	w.page("shop.example.com/header", func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Refresh", "0; url=https://bit.ly/x") })
	w.expect("https://shop.example.com/header", linkgate.Rejected, linkgate.ReasonShortener)
	w.text("shop.example.com/again", "text/html", `<meta http-equiv=refresh content="60"><meta http-equiv=refresh content="60;url=/again">`)
	w.expect("https://shop.example.com/again", linkgate.OK, "")
}

func TestPagesThatAskForAPasswordAreRejected(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		`<form><input type="password" name=p></form>`:            linkgate.ReasonLoginPage,
		`<INPUT TYPE=PASSWORD>`:                                  linkgate.ReasonLoginPage,
		`<input name=a  type = 'pass&#119;ord'/>`:                linkgate.ReasonLoginPage,
		`<input type=text autocomplete="current-password">`:      linkgate.ReasonLoginPage,
		`<input autocomplete="section-a one-time-code">`:         linkgate.ReasonLoginPage,
		strings.Repeat("<p>x", 100000) + `<input type=password>`: linkgate.ReasonLoginPage,
		`<!-- <input type=password> --><p>none`:                  "",
		`<p>&lt;input type=password&gt;`:                         "",
		`<script>var s = "<input type=password>"</script>`:       "",
		`<input type=text name=password>`:                        "",
		`<input type=text type=password>`:                        "",
		`<p>Choose a good password: type password in the box`:    "",
	} {
		reason, status := want, linkgate.Rejected
		if want == "" {
			status = linkgate.OK
		}
		w.text("shop.example.com/p", "text/html; charset=utf-8", body)
		w.expect("https://shop.example.com/p", status, reason)
	}
	w.text("shop.example.com/p", "", "<html><input type=password>")
	w.expect("https://shop.example.com/p", linkgate.Rejected, linkgate.ReasonLoginPage)
	w.text("shop.example.com/p", "text/plain", "<input type=password>")
	w.expect("https://shop.example.com/p", linkgate.OK, "")
	var wide bytes.Buffer
	wide.WriteString("\xff\xfe")
	for _, u := range utf16.Encode([]rune("<html><input type=password>")) {
		wide.Write([]byte{byte(u), byte(u >> 8)})
	}
	w.text("shop.example.com/p", "text/html", wide.String())
	w.expect("https://shop.example.com/p", linkgate.Rejected, linkgate.ReasonLoginPage)
	w.page("shop.example.com/p", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("WWW-Authenticate", "Basic")
		rw.WriteHeader(http.StatusUnauthorized)
	})
	w.expect("https://shop.example.com/p", linkgate.Rejected, linkgate.ReasonLoginPage)
}

func TestCompressedPagesAreReadAndOtherEncodingsHeld(t *testing.T) {
	w := newWorld(t)
	encoding := "gzip"
	w.page("shop.example.com/z", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		rw.Header().Set("Content-Encoding", encoding)
		z := gzip.NewWriter(rw)
		_, _ = z.Write([]byte("<input type=password>"))
		_ = z.Close()
	})
	w.expect("https://shop.example.com/z", linkgate.Rejected, linkgate.ReasonLoginPage)
	encoding = "br"
	w.expect("https://shop.example.com/z", linkgate.Held, linkprobe.ReasonUnreadable)
}

func TestServersThatSendProgramsAreRejected(t *testing.T) {
	w := newWorld(t)
	zip := "PK\x03\x04\x14\x00\x00\x00\x00\x00"
	for name, one := range map[string]struct{ kind, disposition, body, want string }{
		"ELF":               {"text/html", "", "\x7fELF\x02\x01\x01\x00", linkgate.ReasonExecutable},
		"PE":                {"application/octet-stream", "", "MZ\x90\x00\x03\x00\x00\x00", linkgate.ReasonExecutable},
		"Mach-O":            {"text/plain", "", "\xcf\xfa\xed\xfe\x07\x00\x00\x01", linkgate.ReasonExecutable},
		"universal Mach-O":  {"image/png", "", "\xca\xfe\xba\xbe\x00\x00\x00\x02", linkgate.ReasonExecutable},
		"DEX":               {"text/html", "", "dex\n035\x00", linkgate.ReasonExecutable},
		"APK":               {"application/zip", "", zip + "....AndroidManifest.xml....", linkgate.ReasonExecutable},
		"JAR":               {"application/zip", "", zip + "....META-INF/MANIFEST.MF", linkgate.ReasonExecutable},
		"IPA":               {"application/zip", "", zip + "Payload/Shop.app/Info.plist", linkgate.ReasonExecutable},
		"script":            {"text/plain", "", "#!/bin/sh\nrm -rf ~", linkgate.ReasonExecutable},
		"deb":               {"text/html", "", "!<arch>\ndebian-binary", linkgate.ReasonExecutable},
		"rpm":               {"text/html", "", "\xed\xab\xee\xdb\x03\x00", linkgate.ReasonExecutable},
		"pkg":               {"text/html", "", "xar!\x00\x1c\x00\x01", linkgate.ReasonExecutable},
		"MSI":               {"text/html", "", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600) + "\x84\x10\x0c\x00\x00\x00\x00\x00\xc0\x00\x00\x00\x00\x00\x00\x46", linkgate.ReasonExecutable},
		"disc image":        {"text/html", "", strings.Repeat("\x00", 0x8001) + "CD001\x01", linkgate.ReasonExecutable},
		"by type":           {"application/vnd.android.package-archive", "", "x", linkgate.ReasonExecutable},
		"by name":           {"text/plain", `attachment; filename="setup.exe"`, "x", linkgate.ReasonExecutable},
		"by encoded name":   {"text/plain", `attachment; filename*=UTF-8''a%20setup.msi`, "x", linkgate.ReasonExecutable},
		"by name in folder": {"text/plain", `attachment; filename="..\\..\\setup.bat"`, "x", linkgate.ReasonExecutable},
		"by broken name":    {"text/plain", `attachment; filename=my setup.exe`, "x", linkgate.ReasonExecutable},
		"inline name":       {"text/html", `inline; filename=run.ps1`, "x", linkgate.ReasonExecutable},
		"zip":               {"application/zip", "", zip + "photo.jpg", linkgate.ReasonDirectDownload},
		"zip as a page":     {"text/html", "", zip + "photo.jpg", linkgate.ReasonDirectDownload},
		"gzip":              {"application/gzip", "", "\x1f\x8b\x08\x00\x00\x00\x00\x00", linkgate.ReasonDirectDownload},
		"rar":               {"application/octet-stream", "", "Rar!\x1a\x07\x01\x00", linkgate.ReasonDirectDownload},
		"7z":                {"application/octet-stream", "", "7z\xbc\xaf\x27\x1c\x00\x04", linkgate.ReasonDirectDownload},
		"unknown octets":    {"application/octet-stream", "attachment", "\x00\x01\x02", linkgate.ReasonDirectDownload},
		"named archive":     {"application/pdf", `attachment; filename=a.zip`, "x", linkgate.ReasonDirectDownload},
		"office document":   {"application/octet-stream", "", zip + "[Content_Types].xml", ""},
		"book":              {"application/epub+zip", "", zip + "mimetypeapplication/epub+zip", ""},
		"PDF":               {"application/pdf", `attachment; filename="offer.pdf"`, "%PDF-1.7\n", ""},
		"picture":           {"image/png", "", "\x89PNG\r\n\x1a\n", ""},
		"words":             {"text/plain", "", "MZ is a district. #!", ""},
		"table":             {"text/csv", "attachment; filename=a.csv", "a,b\n", ""},
	} {
		w.page("shop.example.com/f", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", one.kind)
			if one.disposition != "" {
				rw.Header().Set("Content-Disposition", one.disposition)
			}
			_, _ = rw.Write([]byte(one.body))
		})
		f := w.probe("https://shop.example.com/f")
		if f.Reason != one.want || (one.want == "") != (f.Status == linkgate.OK) {
			t.Errorf("%s: %s for %q", name, f.Status, f.Reason)
		}
	}
}

func TestArchivesPassFromHostsOfTheTransferList(t *testing.T) {
	w := newWorld(t)
	w.text("files.example.com/a.zip", "application/zip", "PK\x03\x04....photo.jpg")
	ctx := linkprobe.WithTransfer(t.Context(), []string{"files.example.com"})
	f, err := w.prober().Probe(ctx, "https://files.example.com/a.zip")
	if err != nil || f.Status != linkgate.OK {
		t.Errorf("%+v, %v", f, err)
	}
	w.expect("https://files.example.com/a.zip", linkgate.Rejected, linkgate.ReasonDirectDownload)
}

func TestAnEndlessBodyIsLeftAfterItsFirstMegabyte(t *testing.T) {
	w := newWorld(t)
	left := make(chan int, 1)
	w.page("shop.example.com/endless", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		chunk, sent := bytes.Repeat([]byte("<p>more"), 4096), 0
		for sent < 1<<30 {
			n, err := rw.Write(chunk)
			if sent += n; err != nil {
				break
			}
		}
		left <- sent
	})
	w.expect("https://shop.example.com/endless", linkgate.OK, "")
	if sent := <-left; sent >= 1<<30 {
		t.Errorf("%d bytes were taken", sent)
	}
}

func TestServersThatDoNotAnswerAreHeld(t *testing.T) {
	w := newWorld(t)
	p := w.prober()
	p.resolve = func(_ context.Context, host string) ([]netip.AddrPort, error) {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if f, err := p.Probe(t.Context(), "https://shop.example.com/"); err != nil || f.Status != linkgate.Held || f.Reason != linkprobe.ReasonUnresolvable {
		t.Errorf("%+v, %v", f, err)
	}
	w.leads("shop.example.com")
	w.expect("https://shop.example.com/", linkgate.Held, linkprobe.ReasonUnresolvable)
	w.leads("other.example.net")
	w.expect("https://other.example.net/", linkgate.Held, linkprobe.ReasonUnresolvable)
	w.expect("https://unknown.example.com/", linkgate.Held, linkprobe.ReasonCertificate)
	w.expect("https://third.example.org/nothing", linkgate.Held, linkprobe.ReasonNoPage)
	w.page("third.example.org/heads", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("X", strings.Repeat("x", maxHeaderBytes))
	})
	w.expect("https://third.example.org/heads", linkgate.Held, linkprobe.ReasonUnreachable)
	w.page("third.example.org/cut", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "100")
		_, _ = rw.Write([]byte("short"))
	})
	w.expect("https://third.example.org/cut", linkgate.Held, linkprobe.ReasonUnreachable)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	shut := netip.MustParseAddrPort(l.Addr().String())
	l.Close()
	w.leads("data.example.org", shut)
	p = w.prober()
	p.allow = func(netip.AddrPort) error { return nil }
	w.leads("third.example.org", shut)
	if f, err := p.Probe(t.Context(), "https://third.example.org/"); err != nil || f.Reason != linkprobe.ReasonUnreachable {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestTheSecondAddressOfANameIsTriedWhenTheFirstIsShut(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	shut := netip.MustParseAddrPort(l.Addr().String())
	l.Close()
	w.leads("shop.example.com", shut, w.addr())
	p := w.prober()
	p.allow = func(netip.AddrPort) error { return nil }
	if f, err := p.Probe(t.Context(), "https://shop.example.com/"); err != nil || f.Status != linkgate.OK {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestASlowBodyIsHeldAfterFiveSeconds runs on a pipe with simulated time.
func TestASlowBodyIsHeldAfterFiveSeconds(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			for r.Context().Err() == nil {
				if _, err := rw.Write([]byte("<p>")); err != nil {
					return
				}
				_ = http.NewResponseController(rw).Flush()
				select {
				case <-time.After(time.Second):
				case <-r.Context().Done():
				}
			}
		})}
		p, conns := w.prober(), make(pipes)
		p.connect = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			client, far := net.Pipe()
			select {
			case conns <- tls.Server(far, &tls.Config{Certificates: []tls.Certificate{w.cert}}):
				return client, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		go func() { _ = server.Serve(conns) }()
		begun := time.Now()
		f, err := p.Probe(t.Context(), "https://third.example.org/slow")
		if took := time.Since(begun); err != nil || f.Status != linkgate.Held || f.Reason != linkprobe.ReasonTimeout || took != linkprobe.Limit {
			t.Errorf("%+v, %v after %v", f, err, took)
		}
		_ = server.Close()
		synctest.Wait()
	})
}

// pipes is a listener whose connections are handed to it.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestACallerWhoGivesUpLearnsNothing(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.page("shop.example.com/wait", func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if f, err := w.prober().Probe(ctx, "https://shop.example.com/wait"); err == nil || f != (linkprobe.Finding{}) {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestNothingOfOursTravels(t *testing.T) {
	proxied := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the proxy of the environment was used") }))
	defer proxied.Close()
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxied.URL)
	}
	w := newWorld(t)
	w.page("shop.example.com/a", func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "session", Value: "1", Path: "/"})
		http.Redirect(rw, r, "/b", http.StatusFound)
	})
	w.text("shop.example.com/b", "text/html", "<p>b")
	w.expect("https://shop.example.com/a#frag", linkgate.OK, "")
	for _, r := range w.seen() {
		if r.Method != http.MethodGet || r.UserAgent() != UserAgent || r.ContentLength != 0 || strings.Contains(r.RequestURI, "frag") {
			t.Errorf("%s %s from %q", r.Method, r.RequestURI, r.UserAgent())
		}
		for _, name := range []string{"Cookie", "Authorization", "Referer", "X-Forwarded-For", "Proxy-Authorization"} {
			if v := r.Header.Get(name); v != "" {
				t.Errorf("%s: %s is sent", name, v)
			}
		}
	}
}

func TestALinkTheGateRefusesIsNotAskedAbout(t *testing.T) {
	w := newWorld(t)
	for raw, want := range map[string]string{"http://shop.example.com/": linkgate.ReasonScheme, "https://127.0.0.1/": linkgate.ReasonIPLiteral, "": linkgate.ReasonMalformed} {
		w.expect(raw, linkgate.Rejected, want)
	}
	if len(w.seen()) != 0 {
		t.Errorf("asked %v", w.asked())
	}
}
