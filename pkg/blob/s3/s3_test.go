package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"guildhall/pkg/blob"
)

var now = time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC)

// request is what the server was asked.
type request struct {
	*http.Request
	body string
}

// answer is what it says: a status, headers and a body.
type answer struct {
	status int
	header map[string]string
	body   string
}

// server answers requests in turn and remembers them. A status of 0 breaks the connection.
type server struct {
	*Store
	dir string

	mu      sync.Mutex
	asked   []request
	answers []answer
}

func serve(t *testing.T, answers ...answer) *server {
	t.Helper()
	s := &server{answers: answers, dir: t.TempDir()}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	var err error
	s.Store, err = New(Options{Bucket: "files", Region: "eu-west-1", BaseEndpoint: web.URL, Now: func() time.Time { return now },
		NewID: func() string { return "ours" }, TempDir: s.dir, Credentials: Credentials{"key", "secret", "session"}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, request{r, string(b)})
	if len(s.answers) == 0 {
		http.Error(w, "nothing more to say", http.StatusTeapot)
		return
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	if a.status == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

func (s *server) unused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.answers)
}

func refused(status int, code string) answer {
	return answer{status: status, body: "<Error><Code>" + code + "</Code><Message>no</Message></Error>"}
}

func digest(data string) blob.Digest {
	h := sha256.Sum256([]byte(data))
	return blob.Digest{Size: int64(len(data)), SHA256: hex.EncodeToString(h[:])}
}

const helloSum = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=" // SHA-256 of hello, base64

func TestAPutAnnouncesWhatItSendsAndSendsItAnewEachTime(t *testing.T) {
	s := serve(t, answer{}, refused(503, "SlowDown"), answer{status: 200})
	info, err := s.Put(t.Context(), "deals/1/a b", iotest.OneByteReader(strings.NewReader("hello")), blob.PutOptions{ContentType: "text/plain", IfAbsent: true})
	if err != nil || info.Digest != digest("hello") || info.StoredAt != now {
		t.Fatalf("%+v, %v", info, err)
	}
	if len(s.asked) != 3 {
		t.Fatalf("%d requests, want 3", len(s.asked))
	}
	for _, r := range s.asked {
		if r.Method != "PUT" || r.URL.Path != "/files/deals/1/a b" || r.body != "hello" || r.ContentLength != 5 {
			t.Errorf("%s %s with %q of %d bytes", r.Method, r.URL.Path, r.body, r.ContentLength)
		}
		for name, want := range map[string]string{"X-Amz-Checksum-Sha256": helloSum, "If-None-Match": "*", "Content-Type": "text/plain",
			"X-Amz-Meta-Sha256": digest("hello").SHA256, "X-Amz-Meta-Write": "ours", "X-Amz-Security-Token": "session", "Content-Encoding": ""} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
			if signed := r.Header.Get("Authorization"); want != "" && !strings.Contains(signed, strings.ToLower(name)) {
				t.Errorf("%s is not signed: %s", name, signed)
			}
		}
	}
}

func TestALongBodyWaitsInAFileThatGoes(t *testing.T) {
	s := serve(t, refused(500, "InternalError"), answer{status: 200})
	body := strings.Repeat("0123456789abcdef", memoryBytes/16+1)
	info, err := s.Put(t.Context(), "k", iotest.HalfReader(strings.NewReader(body)), blob.PutOptions{})
	if err != nil || info.Digest != digest(body) {
		t.Fatalf("%+v, %v", info, err)
	}
	for _, r := range s.asked {
		if r.body != body {
			t.Errorf("%d bytes were sent, want %d", len(r.body), len(body))
		}
	}
	k, err := s.keep(strings.NewReader(body))
	if err != nil || k.file == nil || k.size != int64(len(body)) {
		t.Fatalf("kept %+v, %v; want a file", k, err)
	}
	k.release()
	if k, err = s.keep(strings.NewReader(body[:memoryBytes])); err != nil || k.file != nil || k.size != memoryBytes {
		t.Errorf("%d bytes kept as %+v, %v; want memory", memoryBytes, k, err)
	}
	if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	s.tempDir = "/nonexistent"
	if _, err := s.Put(t.Context(), "k", strings.NewReader(body), blob.PutOptions{}); !errors.Is(err, blob.ErrUnavailable) {
		t.Errorf("without room: %v, want ErrUnavailable", err)
	}
}

// The answer to a first attempt can be lost after S3 has stored the object.
func TestAConditionalPutKnowsItsOwnFirstAttempt(t *testing.T) {
	exists := func(write string) answer {
		return answer{status: 200, header: map[string]string{"Content-Length": "5", "X-Amz-Meta-Sha256": digest("hello").SHA256, "X-Amz-Meta-Write": write}}
	}
	for name, c := range map[string]struct {
		answers []answer
		want    error
	}{
		"ours":                  {[]answer{{}, refused(412, codePrecondition), exists("ours")}, nil},
		"another's":             {[]answer{refused(412, codePrecondition), exists("theirs")}, blob.ErrExists},
		"gone since":            {[]answer{refused(412, codePrecondition), {status: 404}}, blob.ErrExists},
		"after a race":          {[]answer{refused(409, codeRace), {status: 200}}, nil},
		"nobody can tell whose": {[]answer{refused(412, codePrecondition), {status: 500}, {status: 500}, {status: 500}, {status: 500}}, blob.ErrUnavailable},
	} {
		s := serve(t, c.answers...)
		_, err := s.Put(t.Context(), "k", strings.NewReader("hello"), blob.PutOptions{IfAbsent: true})
		if !errors.Is(err, c.want) || s.unused() > 0 {
			t.Errorf("%s: %v, want %v; %d answers unused", name, err, c.want, s.unused())
		}
	}
}

func signed(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("path", u.Path)
	return q
}

// A client knows the address of an upload and nothing else: whatever is bound beyond what
// every client sends would have S3 refuse it.
func TestAnUploadAddressBindsKeyLengthAndEnd(t *testing.T) {
	s := serve(t)
	u := blob.Upload{ID: "u1", Digest: digest("hello"), ContentType: "text/plain", Expires: now.Add(blob.UploadLife)}
	address, err := s.SignPut(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	q := signed(t, address)
	for name, want := range map[string]string{"path": "/files/uploads/u1", "X-Amz-SignedHeaders": "content-length;host", "X-Amz-Expires": "900",
		"X-Amz-Security-Token": "session", "X-Amz-Checksum-Sha256": "", "X-Amz-Sdk-Checksum-Algorithm": "", "X-Amz-Algorithm": "AWS4-HMAC-SHA256"} {
		if got := q.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.HasPrefix(q.Get("X-Amz-Credential"), "key/") || !strings.HasSuffix(q.Get("X-Amz-Credential"), "/eu-west-1/s3/aws4_request") {
		t.Errorf("credential %q", q.Get("X-Amz-Credential"))
	}
	for what, end := range map[string]time.Time{"ended": now, "too long": now.Add(maxSigned + time.Second), "less than a second": now.Add(time.Millisecond)} {
		u.Expires = end
		if _, err := s.SignPut(t.Context(), u); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("signing called S3 %d times", len(s.asked))
	}
}

func TestADownloadAddressSavesUnderItsNameForFiveMinutes(t *testing.T) {
	s := serve(t)
	for name, want := range map[string]string{
		"plan.pdf":               `attachment; filename=plan.pdf`,
		"a b\"c.pdf":             `attachment; filename="a b\"c.pdf"`,
		"../../etc/pass\r\nwd":   `attachment; filename=pass__wd`,
		"Läufer.pdf":             `attachment; filename*=utf-8''L%C3%A4ufer.pdf`,
		"":                       `attachment; filename=download`,
		strings.Repeat("n", 300): `attachment; filename=` + strings.Repeat("n", maxFilename),
	} {
		address, err := s.SignGet(t.Context(), "deals/1/x", blob.Download{Filename: name, ContentType: "application/pdf", Expires: now.Add(5 * time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		q := signed(t, address)
		if got := q.Get("response-content-disposition"); got != want {
			t.Errorf("%q is saved as %s, want %s", name, got, want)
		}
		if q.Get("path") != "/files/deals/1/x" || q.Get("X-Amz-Expires") != "300" || q.Get("response-content-type") != "application/pdf" || q.Get("X-Amz-SignedHeaders") != "host" {
			t.Errorf("%v", q)
		}
	}
	if _, err := s.SignGet(t.Context(), "../x", blob.Download{Expires: now.Add(time.Minute)}); !errors.Is(err, blob.ErrInvalid) {
		t.Errorf("a bad key: %v", err)
	}
}

// found describes an upload that arrived.
func found(size int, tag string) answer {
	return answer{status: 200, header: map[string]string{"Content-Length": fmt.Sprint(size), "ETag": tag, "Content-Type": "text/plain"}}
}

func TestAClaimCopiesExactlyTheBytesItHashed(t *testing.T) {
	absent := answer{status: 404}
	copied := answer{status: 200, body: "<CopyObjectResult><ETag>c</ETag></CopyObjectResult>"}
	bytes := answer{status: 200, body: "hello"}
	// The first round meets an upload that is put again between hash and copy.
	s := serve(t, absent, found(5, `"one"`), bytes, refused(412, codePrecondition), absent, found(5, `"two"`), bytes, copied)
	info, err := s.Claim(t.Context(), "u 1", "deals/1/x", digest("hello"))
	if err != nil || info.Key != "deals/1/x" || info.Digest != digest("hello") || info.ContentType != "text/plain" {
		t.Fatalf("%+v, %v", info, err)
	}
	if got := s.asked[2].Header.Get("If-Match"); got != `"one"` {
		t.Errorf("hashed whatever is there: If-Match %q", got)
	}
	last := s.asked[7]
	for name, want := range map[string]string{"X-Amz-Copy-Source": "files/uploads/u%201", "X-Amz-Copy-Source-If-Match": `"two"`, "If-None-Match": "*",
		"X-Amz-Metadata-Directive": "REPLACE", "X-Amz-Meta-Sha256": digest("hello").SHA256, "X-Amz-Checksum-Algorithm": "SHA256"} {
		if got := last.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if last.Method != "PUT" || last.URL.Path != "/files/deals/1/x" {
		t.Errorf("copied by %s %s", last.Method, last.URL.Path)
	}
}

func TestAClaimThatCannotBeIsRefused(t *testing.T) {
	absent := answer{status: 404}
	taken := func(sum string) answer {
		return answer{status: 200, header: map[string]string{"Content-Length": "5", "X-Amz-Meta-Sha256": sum}}
	}
	again := []answer{absent, found(5, `"a"`), {status: 200, body: "hello"}, refused(412, codePrecondition)}
	for name, c := range map[string]struct {
		answers []answer
		want    error
	}{
		"nothing arrived":            {[]answer{absent, absent}, blob.ErrNotFound},
		"another size":               {[]answer{absent, found(4, `"a"`)}, blob.ErrMismatch},
		"other bytes":                {[]answer{absent, found(5, `"a"`), {status: 200, body: "jello"}}, blob.ErrMismatch},
		"longer than it was":         {[]answer{absent, found(5, `"a"`), {status: 200, body: "hello!"}}, blob.ErrMismatch},
		"claimed before":             {[]answer{taken(digest("hello").SHA256)}, nil},
		"the key is taken":           {[]answer{taken(digest("jello").SHA256)}, blob.ErrExists},
		"the key is taken meanwhile": {[]answer{absent, found(5, `"a"`), {status: 200, body: "hello"}, refused(412, codePrecondition), taken(digest("jello").SHA256)}, blob.ErrExists},
		"it never stands still":      {append(append(append([]answer{}, again...), again...), again...), blob.ErrUnavailable},
	} {
		s := serve(t, c.answers...)
		_, err := s.Claim(t.Context(), "u1", "k", digest("hello"))
		if !errors.Is(err, c.want) || s.unused() > 0 {
			t.Errorf("%s: %v, want %v; %d answers unused", name, err, c.want, s.unused())
		}
	}
}

func TestWhatS3SaysIsThePortsError(t *testing.T) {
	for name, c := range map[string]struct {
		answers []answer
		want    error // nil: an internal error, none of the port's
	}{
		"no such key":    {[]answer{refused(404, "NoSuchKey")}, blob.ErrNotFound},
		"no such bucket": {[]answer{refused(404, codeNoBucket)}, nil},
		"no right":       {[]answer{refused(403, "AccessDenied")}, nil},
		"behind the end": {[]answer{refused(416, codeRange)}, blob.ErrRange},
		"too busy":       {[]answer{refused(503, "SlowDown"), refused(503, "SlowDown"), refused(503, "SlowDown"), refused(503, "SlowDown")}, blob.ErrUnavailable},
		"out of order":   {[]answer{{status: 500}, {status: 502}, {status: 504}, {status: 500}}, blob.ErrUnavailable},
	} {
		s := serve(t, c.answers...)
		_, err := s.Get(t.Context(), "k", blob.Range{Offset: 7})
		if c.want != nil && !errors.Is(err, c.want) || s.unused() > 0 {
			t.Errorf("%s: %v, want %v; %d answers unused", name, err, c.want, s.unused())
		}
		for _, port := range []error{blob.ErrNotFound, blob.ErrUnavailable, blob.ErrRange, blob.ErrExists} {
			if err == nil || c.want == nil && errors.Is(err, port) {
				t.Errorf("%s: %v, want an internal error", name, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := serve(t).List(ctx, "", "", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

func TestDamagedBytesDoNotPassForWhole(t *testing.T) {
	head := map[string]string{"X-Amz-Meta-Sha256": digest("hello").SHA256}
	s := serve(t, answer{200, head, "hello"}, answer{200, head, "jello"})
	for _, want := range []error{nil, blob.ErrCorrupt} {
		o, err := s.Get(t.Context(), "k", blob.Range{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, o.Body); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		o.Body.Close()
	}
}

func TestAnObjectThatBreaksOffIsNotWhole(t *testing.T) {
	s := serve(t, answer{200, map[string]string{"Content-Length": "9"}, "hello"}, answer{206, map[string]string{"Content-Length": "9", "Content-Range": "bytes 0-8/9"}, "hello"})
	for _, r := range []blob.Range{{}, {Length: 9}} {
		o, err := s.Get(t.Context(), "k", r)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(o.Body); !errors.Is(err, blob.ErrUnavailable) {
			t.Errorf("%q, %v, want ErrUnavailable", b, err)
		}
		o.Body.Close()
	}
}

func TestAListFollowsEmptyAnswersButNotForEver(t *testing.T) {
	empty := answer{status: 200, body: "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>"}
	last := answer{status: 200, body: "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>b</Key><Size>5</Size></Contents></ListBucketResult>"}
	s := serve(t, empty, last)
	page, err := s.List(t.Context(), "b", "a", 7)
	if err != nil || page.More || len(page.Entries) != 1 || page.Entries[0].Key != "b" || page.Entries[0].Size != 5 {
		t.Errorf("%+v, %v", page, err)
	}
	q := s.asked[1].URL.Query()
	if q.Get("prefix") != "b" || q.Get("max-keys") != "7" || q.Get("continuation-token") != "t" || s.asked[0].URL.Query().Get("start-after") != "a" {
		t.Errorf("asked for %v", q)
	}
	s = serve(t, times(empty, emptyPages+1)...)
	if _, err := s.List(t.Context(), "", "", 1); !errors.Is(err, blob.ErrUnavailable) || s.unused() != 1 {
		t.Errorf("%v; %d answers unused, want 1", err, s.unused())
	}
}

func times(a answer, n int) (all []answer) {
	for range n {
		all = append(all, a)
	}
	return all
}

func TestAStoreSaysWhatItLacks(t *testing.T) {
	whole := Options{Bucket: "files", Region: "eu-west-1", Now: time.Now, NewID: func() string { return "" }, Credentials: Credentials{"k", "s", ""}}
	for name, lack := range map[string]func(*Options){
		"bucket": func(o *Options) { o.Bucket = "" }, "region": func(o *Options) { o.Region = "" }, "access key": func(o *Options) { o.Credentials.AccessKeyID = "" },
		"secret": func(o *Options) { o.Credentials.SecretAccessKey = "" }, "clock": func(o *Options) { o.Now = nil }, "ids": func(o *Options) { o.NewID = nil },
	} {
		o := whole
		lack(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	if _, err := New(whole); err != nil {
		t.Error(err)
	}
	var buf bytes.Buffer
	s := serve(t, answer{status: 404}, answer{status: 200})
	fmt.Fprint(&buf, s.Ping(t.Context()), s.Ping(t.Context()))
	if got := buf.String(); !strings.Contains(got, "bucket files") || !strings.HasSuffix(got, "<nil>") {
		t.Errorf("pings said %s", got)
	}
}
