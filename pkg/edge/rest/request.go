package rest

import (
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// The session cookie. The prefix __Host- makes browsers refuse it from any other host or
// path; it needs TLS, so plain http has a name of its own.
const (
	secureCookie = "__Host-guildhall"
	plainCookie  = "guildhall"
)

var (
	errQuery  = fault.New(fault.BadRequest, "invalid_query", "The query string is not well formed.")
	errCut    = fault.New(fault.BadRequest, "body_incomplete", "The body ended before it was complete.")
	errUpload = fault.New(fault.TooLarge, "use_upload_url", "This file is too large for the call itself. Announce it there as JSON "+
		"{filename, content_type, size_bytes, sha256}, PUT its bytes to the upload_url, then send the upload_id.")
	errCoded = fault.BadMediaType.Say("Send the body as it is, without a Content-Encoding.")
	errCross = fault.New(fault.Forbidden, "cross_origin", "A page of another site may not make this call with your session.")
)

// CookieName is the name of the session cookie of an exchange served at baseURL.
func CookieName(baseURL string) string {
	if strings.HasPrefix(strings.ToLower(baseURL), "https:") {
		return secureCookie
	}
	return plainCookie
}

// originOf is the origin of the public address; ok is false when there is none.
func originOf(baseURL string) (string, bool) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}

// request makes the operation's request. The body is read to MaxBody+1 bytes and no
// further: the engine refuses the excess.
func (c *exchange) request(values []string) (*op.Request, error) {
	r, t := c.r, c.route
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || !cleanQuery(query) {
		return nil, errQuery
	}
	req := &op.Request{ID: c.id, Transport: "rest", Query: query, QueryBytes: len(r.URL.RawQuery), Address: Address(r.RemoteAddr),
		Header: c.header, ContentType: c.header("Content-Type"), Key: c.header("Idempotency-Key")}
	if len(values) > 0 {
		req.Path = make(map[string]string, len(values))
		for i, v := range values {
			req.Path[t.names[i]] = v
		}
	}
	if req.Token, err = c.credential(); err != nil {
		return nil, err
	}
	if t.body || t.stream {
		err = c.body(req)
	}
	return req, err
}

// body reads the body, or hands it on as a stream that ends with a refusal when it is
// longer than the operation takes.
func (c *exchange) body(req *op.Request) error {
	o := c.route.op
	streamed := o.Streamed(req.ContentType)
	r, limit := c.r, o.MaxJSON()
	if streamed {
		limit = o.MaxBody
	}
	if r.ContentLength > limit {
		return fault.BodyTooLarge.With("limit_bytes", limit)
	}
	if streamed && c.carries(req.ContentType) < r.ContentLength {
		return errUpload.With("limit_bytes", c.h.opt.DirectBytes).FixedBy(o.Method + " " + o.Path)
	}
	if e := c.header("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return errCoded
	}
	if streamed {
		req.Stream = streamOf(r.Body, limit)
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return readFault(err)
	}
	req.Body = b
	return nil
}

// multipartOverhead is what a form may add to its file, in bytes.
const multipartOverhead = 64 << 10

// carries is how many bytes a streamed body may have here, where its operation has another
// way for longer ones.
func (c *exchange) carries(contentType string) int64 {
	direct := c.h.opt.DirectBytes
	switch {
	case direct == 0 || !c.route.op.Touches.Has(op.Blobs):
		return math.MaxInt64
	case strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "multipart/"):
		return direct + multipartOverhead
	}
	return direct
}

// streamOf bounds a body; one that can begin again, as those in memory can, still can: an
// operation that lost a race then decides again.
func streamOf(body io.Reader, limit int64) io.Reader {
	s := &stream{r: body, left: limit, limit: limit}
	if again, ok := body.(io.Seeker); ok {
		return &replayable{stream: s, again: again}
	}
	return s
}

// replayable is a stream that can begin again.
type replayable struct {
	*stream
	again io.Seeker
}

// Seek goes back to the beginning; it goes nowhere else.
func (r *replayable) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return 0, errors.New("rest: a body only begins again")
	}
	r.left = r.limit
	return r.again.Seek(0, io.SeekStart)
}

// stream is a body of at most limit bytes whose errors are refusals.
type stream struct {
	r           io.Reader
	left, limit int64
}

func (s *stream) Read(p []byte) (int, error) {
	if s.left == 0 {
		var one [1]byte
		switch n, err := io.ReadFull(s.r, one[:]); {
		case n > 0:
			return 0, fault.BodyTooLarge.With("limit_bytes", s.limit)
		case errors.Is(err, io.EOF):
			return 0, io.EOF
		default:
			return 0, readFault(err)
		}
	}
	n, err := s.r.Read(p[:min(int64(len(p)), s.left)])
	s.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = readFault(err)
	}
	return n, err
}

// readFault words what went wrong with a body on its way.
func readFault(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fault.BodyTooLarge.With("limit_bytes", tooLarge.Limit)
	}
	return errCut
}

// credential is the bearer token, else, for people and stewards, the session cookie; a
// call that changes something with the cookie must come from our own pages.
func (c *exchange) credential() (string, error) {
	if t := op.Bearer(c.header("Authorization")); t != "" || !c.route.cookie {
		return t, nil
	}
	cookie, err := c.r.Cookie(c.h.cookie)
	if err != nil || cookie.Value == "" {
		return "", nil
	}
	if c.h.origins.Check(c.r) != nil {
		return "", errCross
	}
	return cookie.Value, nil
}

// header is a request header as text. Lines of one name are joined with commas, as API
// Gateway does, so that a call means the same on both edges.
func (c *exchange) header(name string) string {
	return headerText(strings.Join(c.r.Header.Values(name), ","))
}

// headerText reads a header as UTF-8, or else as ISO-8859-1, in which some clients write
// headers: no letter of a delivery note is lost.
func headerText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

func cleanQuery(q url.Values) bool {
	for name, values := range q {
		for _, v := range append(values, name) {
			if !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0 {
				return false
			}
		}
	}
	return true
}

// Address is the client address of a transport's "host:port", in one spelling; the port
// and an IPv6 zone are left out.
func Address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().WithZone("").String()
	}
	return host
}
