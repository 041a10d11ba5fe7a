package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"guildhall/pkg/linkprobe"
	"guildhall/pkg/text/linkgate"
)

// fetch asks for one address. next is where the answer leads on to, "" when it is the page itself.
func (v *visit) fetch(ctx context.Context, g linkgate.Verdict) (next string, bad *finding) {
	res, err := v.get(ctx, g.URL, "text/html,application/xhtml+xml,*/*;q=0.8")
	if err != nil {
		return "", failure(ctx, err)
	}
	defer res.Body.Close()
	v.out.Code, v.out.ContentType = res.StatusCode, contentType(res.Header)
	switch {
	case moves(res.StatusCode):
		return leadsTo(g.URL, res.Header.Get("Location"))
	case res.StatusCode == http.StatusUnauthorized, res.StatusCode == http.StatusProxyAuthRequired:
		return "", rejected(linkgate.ReasonLoginPage, "The link's server asks for a login.")
	case res.StatusCode < 200 || res.StatusCode > 299:
		return "", held(linkprobe.ReasonNoPage, "The link's server answers that there is no page.")
	}
	if to := refreshTarget(res.Header.Get("Refresh")); to != "" {
		return leadsTo(g.URL, to)
	}
	if e := res.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", held(linkprobe.ReasonUnreadable, "The link's server sends its page in a form that was not asked for.")
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, linkprobe.MaxBody))
	if err == nil {
		err = ctx.Err() // a body may seem to end as it is given up
	}
	if err != nil {
		return "", failure(ctx, err)
	}
	return v.judge(g, res.Header, body)
}

// get sends one request with what every server may know, and nothing else.
func (p *Prober) get(ctx context.Context, address, accept string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if req.URL.Scheme != "https" || req.URL.User != nil {
		return nil, errors.New("web: only https, and no credentials")
	}
	req.Header.Set("User-Agent", UserAgent)
	req.Header.Set("Accept", accept)
	return p.transport.RoundTrip(req)
}

func moves(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// leadsTo is the address a page leads on to. What a browser would repair is not followed: it may lead elsewhere there.
func leadsTo(from, to string) (string, *finding) {
	to = strings.Trim(to, " \t")
	base, err := url.Parse(from)
	if err != nil || to == "" {
		return "", held(linkprobe.ReasonRedirects, "The link leads on, but nowhere.")
	}
	if strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
		return "", rejected(linkgate.ReasonCharacters, "The link leads on to an address with characters that no address holds.")
	}
	u, err := base.Parse(to)
	if err != nil {
		return "", held(linkprobe.ReasonRedirects, "The link leads on to something that is no web address.")
	}
	if u.Opaque != "" {
		return u.String(), nil // the gate says which scheme it is
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), nil
}

// maxTypeBytes bounds what is kept of a content type.
const maxTypeBytes = 100

// contentType is the media type of an answer, lower case, without parameters; "" when there is none that can be read.
func contentType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || len(t) > maxTypeBytes {
		return ""
	}
	return t
}

// attachment tells whether a server sends a file to be kept, and under which name.
func attachment(h http.Header) (name string, kept bool) {
	raw := h.Get("Content-Disposition")
	kind, params, err := mime.ParseMediaType(raw)
	if err != nil { // browsers read more than the standard allows
		_, after, found := strings.Cut(strings.ToLower(raw), "filename")
		if found {
			_, after, _ = strings.Cut(after, "=")
			name = strings.Trim(strings.TrimSpace(after), "\"'; ")
		}
		return base(name), raw != "" && !strings.HasPrefix(strings.ToLower(raw), "inline")
	}
	return base(params["filename"]), kind == "attachment"
}

func base(name string) string {
	return name[strings.LastIndexAny(name, "/\\")+1:]
}

// programTypes are the media types of programs and installers.
var programTypes = map[string]bool{}

func init() {
	for t := range strings.FieldsSeq(`application/x-msdownload application/x-msdos-program application/x-dosexec application/x-executable
		application/vnd.microsoft.portable-executable application/x-msi application/x-ms-installer application/x-ms-shortcut application/hta
		application/vnd.android.package-archive application/x-apple-diskimage application/java-archive application/x-java-archive
		application/x-java-jnlp-file application/x-sh application/x-shellscript application/x-csh application/x-bat application/x-elf
		application/x-mach-binary application/x-debian-package application/vnd.debian.binary-package application/x-rpm
		application/x-redhat-package-manager application/x-deb application/x-pkg application/x-newton-compatible-pkg application/x-sharedlib
		application/x-pie-executable application/x-ms-application application/vnd.ms-appx application/msix application/x-xpinstall
		application/x-chrome-extension application/vnd.appimage application/vnd.flatpak application/vbscript text/vbscript`) {
		programTypes[t] = true
	}
}

// judge looks at the page itself.
func (v *visit) judge(g linkgate.Verdict, h http.Header, body []byte) (next string, bad *finding) {
	name, kept := attachment(h)
	if programTypes[v.out.ContentType] || linkgate.Name(name) == linkgate.ReasonExecutable || runs(body) {
		return "", rejected(linkgate.ReasonExecutable, "The link's server sends a program. People are never sent programs.")
	}
	binary := kept && (v.out.ContentType == "application/octet-stream" || v.out.ContentType == "")
	if (archived(body) || binary || linkgate.Name(name) == linkgate.ReasonDirectDownload) && !v.gate.Transfers(g.Host) {
		return "", rejected(linkgate.ReasonDirectDownload, "The link's server sends an archive. Deliver it as a file, or put it on a host of the transfer list.")
	}
	if !kept && isPage(v.out.ContentType, body) {
		return readPage(g.URL, unpack(h.Get("Content-Type"), body))
	}
	return "", nil
}

// isPage says whether a browser shows the answer as a page of HTML.
func isPage(kind string, body []byte) bool {
	switch kind {
	case "text/html", "application/xhtml+xml":
		return true
	case "", "unknown/unknown", "application/unknown", "*/*":
		return strings.HasPrefix(http.DetectContentType(body), "text/html")
	case "text/xml", "application/xml", "image/svg+xml":
		return bytes.Contains(body, []byte("http://www.w3.org/1999/xhtml"))
	}
	return false
}
