package rest

import (
	"cmp"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// metadataPath is where clients learn how to get a credential (RFC 9728).
const metadataPath = "/.well-known/oauth-protected-resource"

// answer writes a response.
func (c *exchange) answer(res *op.Response) {
	c.res = res
	h := c.w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	for n, v := range res.Header {
		h.Set(n, v)
	}
	if res.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", c.challenge(res.Fault))
	}
	if res.Raw != nil {
		if closer, ok := res.Raw.Body.(io.Closer); ok {
			defer closer.Close()
		}
	}
	switch {
	case c.unchanged(res):
		c.w.WriteHeader(http.StatusNotModified)
	case res.Raw != nil:
		c.raw(res)
	default:
		c.json(res)
	}
}

func (c *exchange) json(res *op.Response) {
	body := res.Body
	switch {
	case res.Fault == nil && c.route != nil:
		body = c.route.op.Envelope(res)
	case res.Fault != nil && res.Fault.Kind == fault.Internal:
		body = op.FaultBody(res.Fault.With("request_id", c.id))
	}
	if res.Status == http.StatusNoContent {
		c.w.WriteHeader(res.Status)
		return
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(res.Status)
	if c.r.Method != http.MethodHead {
		c.w.Write(body) // the client may be gone; there is nobody to tell
	}
}

// raw writes an answer that is no JSON: bytes, a download or a redirect.
func (c *exchange) raw(res *op.Response) {
	raw, h := res.Raw, c.w.Header()
	status := res.Status
	if raw.Location != "" {
		h.Set("Location", raw.Location)
		if status < 300 || status > 399 {
			status = http.StatusFound
		}
	}
	if raw.Filename != "" {
		h.Set("Content-Disposition", Attachment(raw.Filename))
	}
	if raw.Body == nil {
		h.Set("Content-Length", "0")
		c.w.WriteHeader(status)
		return
	}
	h.Set("Content-Type", cmp.Or(raw.ContentType, "application/octet-stream"))
	if raw.Size > 0 {
		h.Set("Content-Length", strconv.FormatInt(raw.Size, 10))
	}
	c.w.WriteHeader(status)
	if c.r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(c.w, raw.Body); err != nil && c.r.Context().Err() == nil {
		// Half an answer is out: only a cut connection tells the client.
		c.cause = err.Error()
		panic(http.ErrAbortHandler)
	}
}

// unchanged tells whether the client has this very answer already (RFC 9110 13.1.2).
func (c *exchange) unchanged(res *op.Response) bool {
	tag := c.w.Header().Get("Etag")
	if tag == "" || res.Status != http.StatusOK || c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return false
	}
	for have := range strings.SplitSeq(c.header("If-None-Match"), ",") {
		have = strings.TrimSpace(have)
		if have == "*" || strings.TrimPrefix(have, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

// challenge tells a client without a good credential where to get one (RFC 6750, 9728).
func (c *exchange) challenge(f *fault.Fault) string {
	s := `Bearer resource_metadata="` + strings.TrimSuffix(c.h.opt.BaseURL, "/") + metadataPath + `"`
	if f == nil || c.r.Header.Get("Authorization") == "" {
		return s
	}
	if scope, ok := f.Extra["missing_scope"].(string); ok {
		return s + `, error="insufficient_scope", scope="` + scope + `"`
	}
	return s + `, error="invalid_token"`
}

// Bounds of the name of a download, in bytes of its escaped form.
const (
	maxFilename = 600
	maxEnding   = 60
)

// shortName cuts a name before its ending: a cut never makes another ending of it.
func shortName(name string) string {
	if escaped(name) <= maxFilename {
		return name
	}
	stem, end := name, "_"
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && escaped(name[dot:]) <= maxEnding {
		stem, end = name[:dot], name[dot:]
	}
	for room := maxFilename - escaped(end); escaped(stem) > room; {
		_, n := utf8.DecodeLastRuneInString(stem)
		stem = stem[:len(stem)-max(n, (escaped(stem)-room)/12)] // an escaped rune has at most 12 bytes
	}
	return strings.ToValidUTF8(stem, "") + end
}

// escaped is the length of a name's escaped form.
func escaped(name string) int {
	var b strings.Builder
	for _, r := range name {
		escape(&b, r)
	}
	return b.Len()
}

// Attachment is the Content-Disposition of a download under a name (RFC 6266): plain ASCII
// for old clients and, where that loses something, UTF-8 for the others.
func Attachment(name string) string {
	name = shortName(name[strings.LastIndexAny(name, `/\`)+1:])
	var plain, coded strings.Builder
	same := true
	for _, r := range strings.ToValidUTF8(name, "_") {
		switch {
		case r < ' ' || r == 0x7f:
			same = false
		case r > '~' || r == '"' || r == '%':
			plain.WriteByte('_')
			same = false
		default:
			plain.WriteRune(r)
		}
		if r >= ' ' && r != 0x7f {
			escape(&coded, r)
		}
	}
	s := `attachment; filename="` + cmp.Or(plain.String(), "download") + `"`
	if !same && coded.Len() > 0 {
		s += "; filename*=UTF-8''" + coded.String()
	}
	return s
}

// escape writes a rune as RFC 8187 wants it.
func escape(b *strings.Builder, r rune) {
	const hex = "0123456789ABCDEF"
	for _, c := range []byte(string(r)) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
}
