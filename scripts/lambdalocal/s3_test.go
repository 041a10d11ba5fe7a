package lambdalocal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/s3"
)

const aBucket = "hall-files"

func digestOf(s string) blob.Digest {
	h := sha256.Sum256([]byte(s))
	return blob.Digest{Size: int64(len(s)), SHA256: hex.EncodeToString(h[:])}
}

// file does with S3 what the query says; "sign" answers an upload address for the body, "claim"
// makes it a file, "link" answers a download address.
func init() {
	parts["file"] = func(ctx context.Context, e request) (response, error) {
		s, err := s3.New(s3.Options{Bucket: aBucket, Region: os.Getenv("AWS_REGION"), BaseEndpoint: os.Getenv("AWS_ENDPOINT_URL_S3"), Now: time.Now,
			NewID: func() string { return e.RequestContext.RequestID }, Credentials: s3.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"),
				SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN")}})
		out := ""
		if err == nil {
			out, err = fileCall(ctx, s, e.RawQueryString, e.Body)
		}
		if err != nil {
			return said(err)
		}
		return response{StatusCode: 200, Body: out}, nil
	}
}

func fileCall(ctx context.Context, s *s3.Store, call, body string) (out string, err error) {
	const name, key = "u1", "kept/a b"
	switch call {
	case "sign":
		return s.SignPut(ctx, blob.Upload{ID: name, Digest: digestOf(body), ContentType: "text/plain", Expires: time.Now().Add(time.Hour)})
	case "claim":
		_, err = s.Claim(ctx, name, key, digestOf(body))
		return "", err
	case "link":
		return s.SignGet(ctx, key, blob.Download{Filename: "a.txt", Expires: time.Now().Add(time.Hour)})
	case "elsewhere":
		_, err = s.Put(ctx, "elsewhere/x", strings.NewReader(body), blob.PutOptions{})
		return "", err
	case "list":
		_, err = s.List(ctx, "", "", 1)
		return "", err
	}
	return "", s.Delete(ctx, key)
}

// shelf is as much of S3 as these tests need.
type shelf struct {
	mu      sync.Mutex
	objects map[string]string
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.TrimPrefix(r.URL.Path, "/"+aBucket+"/")
	switch source := r.Header.Get("X-Amz-Copy-Source"); {
	case r.Method == http.MethodPut && source != "":
		s.objects[key] = s.objects[strings.TrimPrefix(source, aBucket+"/")]
		io.WriteString(w, "<CopyObjectResult/>")
	case r.Method == http.MethodPut:
		s.objects[key] = string(b)
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
	default:
		o, ok := s.objects[key]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", `"tag"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(o))
	}
}

// withFiles runs the part "file" with a role and a stand-in for S3, started as a program.
func withFiles(t *testing.T, allowed map[string][]string) (*Runner, *shelf) {
	t.Helper()
	s := &shelf{objects: map[string]string{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	program := filepath.Join(t.TempDir(), "s3")
	if err := os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\necho listening on %s\ncat >/dev/null\n", web.URL), 0o755); err != nil {
		t.Fatal(err)
	}
	var statements []any
	for below, actions := range allowed {
		statements = append(statements, map[string]any{"Effect": "Allow", "Action": actions, "Resource": "arn:aws:s3:::" + aBucket + below})
	}
	d := deploy(t)
	d.function("file", nil)
	d.add("fileRole", "AWS::IAM::Role", map[string]any{"Policies": []any{map[string]any{"PolicyDocument": map[string]any{"Statement": statements}}}})
	d.route("file", "POST /file")
	r, err := Open(t.Context(), Options{Templates: d.write(t), S3: program})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, s
}

// put does what a client with an address does: it PUTs bytes there and sends no header that
// it was not told of.
func put(t *testing.T, method, address, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func TestAFileGoesThroughSignedAddressesAndAFunctionsRole(t *testing.T) {
	r, s := withFiles(t, map[string][]string{"": {"s3:ListBucket"}, "/uploads/*": {"s3:PutObject", "s3:GetObject"}, "/kept/*": {"s3:PutObject", "s3:GetObject"}})
	status, address, _ := ask(t, r, "POST", "/file?sign", "hello", "Content-Type", "text/plain")
	if status != 200 {
		t.Fatalf("no address: %d %s", status, address)
	}
	for what, c := range map[string]struct{ method, address, body string }{
		"another length":   {"PUT", address, "hello!"},
		"another key":      {"PUT", strings.Replace(address, "uploads/u1", "uploads/u2", 1), "hello"},
		"another method":   {"GET", address, ""},
		"a longer life":    {"PUT", strings.Replace(address, "Expires=35", "Expires=45", 1), "hello"},
		"no signature":     {"PUT", strings.Split(address, "?")[0], "hello"},
		"another signer":   {"PUT", strings.Replace(address, "hall-file", "hall-fils", 1), "hello"},
		"an expired one":   {"PUT", strings.Replace(address, "X-Amz-Date=2", "X-Amz-Date=1", 1), "hello"},
		"an unsigned call": {"DELETE", strings.Split(address, "?")[0], ""},
	} {
		if status, answer := put(t, c.method, c.address, c.body); status != 403 || len(s.objects) > 0 {
			t.Errorf("%s: %d %s", what, status, answer)
		}
	}
	if status, answer := put(t, "PUT", address, "hello"); status != 200 || s.objects["uploads/u1"] != "hello" {
		t.Fatalf("the address takes nothing: %d %s", status, answer)
	}
	if status, answer, _ := ask(t, r, "POST", "/file?claim", "hello", "Content-Type", "text/plain"); status != 200 || s.objects["kept/a b"] != "hello" {
		t.Fatalf("no claim: %d %s, %v", status, answer, s.objects)
	}
	_, link, _ := ask(t, r, "POST", "/file?link", "")
	if status, answer := put(t, "GET", link, ""); status != 200 || answer != "hello" {
		t.Errorf("the link gives %d %q", status, answer)
	}
	if status, answer, _ := ask(t, r, "POST", "/file?elsewhere", "x"); status != 500 || !strings.Contains(answer, "AccessDenied") {
		t.Errorf("another prefix: %d %s", status, answer)
	}
	if status, answer, _ := ask(t, r, "POST", "/file?delete", ""); status != 500 || !strings.Contains(answer, "AccessDenied") {
		t.Errorf("a deletion: %d %s", status, answer)
	}
	if want := 2; len(r.Denied()) != want {
		t.Errorf("denied %q, want %d", r.Denied(), want)
	}
}

// An address allows what its signer may when it is used.
func TestAnAddressOfWhoMayNotPutTakesNothing(t *testing.T) {
	r, s := withFiles(t, map[string][]string{"/uploads/*": {"s3:GetObject"}})
	_, address, _ := ask(t, r, "POST", "/file?sign", "hello", "Content-Type", "text/plain")
	if status, answer := put(t, "PUT", address, "hello"); status != 403 || !strings.Contains(answer, "s3:PutObject") || len(s.objects) > 0 {
		t.Errorf("%d %s", status, answer)
	}
	if status, answer, _ := ask(t, r, "POST", "/file?list", ""); status != 500 || !strings.Contains(answer, "s3:ListBucket") {
		t.Errorf("a list: %d %s", status, answer)
	}
}
