package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/text/linkgate"
)

// FuzzAnswer feeds everything a strange server can say to what judges it. Nothing may panic, every judgement is whole, and
// where an answer leads on, the gate can say something of it.
func FuzzAnswer(f *testing.F) {
	f.Add("text/html", "", "", "<input type=password>")
	f.Add("text/html; charset=utf-16", "attachment; filename=a", "0;url=//x", "\xff\xfe<\x00i\x00")
	f.Add("application/octet-stream", `attachment; filename*=UTF-8''%e2%82%ac.exe`, "5", "MZ\x90")
	f.Add("", "inline; filename=\"\\\"", "url=", "PK\x03\x04[Content_Types].xml")
	f.Add("a/b;c", "filename", "0;URL='\\\\x'", `<meta http-equiv=refresh content="0;url=https://example.com/">`)
	f.Add("application/xml", "attachment", ",,", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
	g := linkgate.Check("https://shop.example.com/page", linkgate.Options{})
	f.Fuzz(func(t *testing.T, kind, disposition, refresh, body string) {
		if len(body) > linkprobe.MaxBody {
			return
		}
		h := http.Header{"Content-Type": {kind}, "Content-Disposition": {disposition}}
		v := &visit{Prober: New(Options{Now: func() time.Time { return now }})}
		v.out.ContentType = contentType(h)
		next, bad := v.judge(g, h, []byte(body))
		checkStep(t, next, bad)
		next, bad = leadsTo(g.URL, refreshTarget(refresh))
		checkStep(t, next, bad)
	})
}

func checkStep(t *testing.T, next string, bad *finding) {
	t.Helper()
	if bad != nil && (next != "" || bad.reason == "" || bad.detail == "" || bad.status != linkgate.Held && bad.status != linkgate.Rejected) {
		t.Fatalf("next %q, %+v", next, bad)
	}
	if next == "" {
		return
	}
	if g := linkgate.Check(next, linkgate.Options{}); g.Status == linkgate.OK {
		if u, err := url.Parse(g.URL); err != nil || u.Scheme != "https" || u.Host != g.Host {
			t.Fatalf("%q leads to %+v, %v", next, u, err)
		}
	}
}

// FuzzRegistry feeds what a registry's servers can say to what reads it.
func FuzzRegistry(f *testing.F) {
	f.Add(`{"services":[[["com"],["https://rdap.example.org/"]]]}`)
	f.Add(`{"services":[[[],[]],[["a"]],[],[["COM",""],["http://x","https://"]]]}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var file struct {
			Services [][][]string `json:"services"`
		}
		if json.Unmarshal([]byte(raw), &file) != nil {
			return
		}
		all := serversOf(file.Services)
		if len(all) > maxRegistryNames {
			t.Fatalf("%d suffixes", len(all))
		}
		for suffix, server := range all {
			if suffix != strings.ToLower(suffix) || !strings.HasPrefix(server, "https://") {
				t.Fatalf("%q: %q", suffix, server)
			}
		}
	})
}
