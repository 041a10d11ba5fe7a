//go:build lambdalocal

package lambdalocal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/blob/s3"
)

// client calls a deployment as one person or agent; redirects are not followed.
type client struct {
	t     *testing.T
	r     *Runner
	token string
	calls int
}

func (c *client) call(status int, method, path, contentType string, body []byte) (map[string]any, []byte, http.Header) {
	c.t.Helper()
	c.calls++
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.r.URL+path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Idempotency-Key", fmt.Sprintf("files-%d", c.calls))
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		c.t.Fatalf("%s %s: %d %.300s, %v; want %d", method, path, res.StatusCode, b, err, status)
	}
	var out map[string]any
	_ = json.Unmarshal(b, &out) // a file is none
	return out, b, res.Header
}

func (c *client) json(status int, method, path string, body any) map[string]any {
	c.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	out, _, _ := c.call(status, method, path, "application/json", b)
	return out
}

func formOf(t *testing.T, file []byte) (contentType string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	p, err := w.CreateFormFile("file", "plan.pdf")
	if err == nil {
		_, err = p.Write(file)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

// document is a PDF as far as the exchange looks, of n bytes that are no text.
func document(n int) []byte {
	b := make([]byte, n)
	x := uint32(n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	copy(b, "%PDF-1.7\n")
	return b
}

// fetched is what a download gives, its redirect followed when it is one.
func fetched(t *testing.T, c *client, path string, redirected bool) []byte {
	t.Helper()
	status := http.StatusOK
	if redirected {
		status = http.StatusFound
	}
	_, b, header := c.call(status, http.MethodGet, path, "", nil)
	if !redirected {
		return b
	}
	res, err := http.Get(header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err = io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the link gives %d %.200s, %v", res.StatusCode, b, err)
	}
	return b
}

// TestFiles takes files through the functions that touch them and S3, in every form: a small
// one in the call, a large one by an upload address, and both back (surface.md 7).
func TestFiles(t *testing.T) {
	r, err := Open(t.Context(), Options{Templates: *templates, S3: *s3Program, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	nobody := &client{t: t, r: r}
	person := &client{t: t, r: r, token: nobody.json(200, "POST", "/_dev/persons", map[string]any{"email": "ada@example.com"})["token"].(string)}
	want := person.json(201, "POST", "/api/person/wants", map[string]any{"want": "A shelf for the kitchen.", "lane": map[string]any{"kind": "free"},
		"finish_line": map[string]any{"tile": "object_at_door", "sentence": "A shelf."}})["target_id"].(string)
	agent := &client{t: t, r: r, token: register(t, nobody)}
	files := "/api/person/wants/" + want + "/attachments"
	name := func(out map[string]any) string {
		return "/api/bench/targets/" + want + "/attachments/" + out["filename"].(string)
	}

	small, whole, large := document(1000), document(4<<20), document(9<<20)
	for _, file := range [][]byte{small, whole} {
		kind, body := formOf(t, file)
		out, _, _ := person.call(201, "POST", files, kind, body)
		if got := fetched(t, agent, name(out), false); !bytes.Equal(got, file) {
			t.Errorf("%d bytes came back as %d", len(file), len(got))
		}
	}
	kind, body := formOf(t, document(4<<20+100<<10))
	if out, _, _ := person.call(413, "POST", files, kind, body); out["error"] != "use_upload_url" {
		t.Errorf("a file over 4 MB: %v", out)
	}
	sum := sha256.Sum256(large)
	ticket := person.json(200, "POST", files, map[string]any{"filename": "plan.pdf", "content_type": "application/pdf", "size_bytes": len(large), "sha256": hex.EncodeToString(sum[:])})
	claim := map[string]any{"upload_id": ticket["upload_id"]}
	if out := person.json(409, "POST", files, claim); out["error"] != "upload_missing" {
		t.Errorf("a claim before the bytes: %v", out)
	}
	address := ticket["upload_url"].(string)
	if status, answer := put(t, "PUT", address, string(large[1:])); status != 403 {
		t.Errorf("fewer bytes than announced: %d %s", status, answer)
	}
	other := bytes.Clone(large)
	other[5000]++
	if status, answer := put(t, "PUT", address, string(other)); status != 200 {
		t.Fatalf("the address takes nothing: %d %s", status, answer)
	}
	if out := person.json(422, "POST", files, claim); out["error"] != "upload_mismatch" {
		t.Errorf("a claim of other bytes: %v", out)
	}
	if status, answer := put(t, "PUT", address, string(large)); status != 200 {
		t.Fatalf("the address takes nothing: %d %s", status, answer)
	}
	if got := fetched(t, agent, name(person.json(201, "POST", files, claim)), true); !bytes.Equal(got, large) {
		t.Errorf("%d bytes came back as %d", len(large), len(got))
	}
	person.json(200, "POST", "/api/person/close-account", map[string]any{})
	nobody.json(200, "POST", "/_dev/settle", map[string]any{})
	if left, err := r.keptFiles(t); err != nil || len(left) > 0 {
		t.Errorf("files of a closed account: %v, %v", left, err)
	}
	if denied := r.Denied(); len(denied) > 0 {
		t.Errorf("roles do not allow %s", strings.Join(denied, ", "))
	}
}

// keptFiles lists the keys of the bucket, staged uploads left out.
func (r *Runner) keptFiles(t *testing.T) (keys []string, err error) {
	s, err := s3.New(s3.Options{Bucket: bucketOf(r), Region: Region, BaseEndpoint: r.inside + s3Path, Now: time.Now, NewID: randomID,
		Credentials: s3.Credentials{AccessKeyID: runnerKey, SecretAccessKey: functionSecret}})
	if err != nil {
		return nil, err
	}
	p, err := s.List(t.Context(), "", "", 100)
	for _, e := range p.Entries {
		if !strings.HasPrefix(e.Key, "uploads/") {
			keys = append(keys, e.Key)
		}
	}
	return keys, err
}

// bucketOf is the bucket that functions are told of.
func bucketOf(r *Runner) string {
	for _, f := range r.deployment.Functions {
		if name, ok := strings.CutPrefix(f.Env["GUILDHALL_BLOBS"], "s3://"); ok {
			return name
		}
	}
	return ""
}

// register makes an agent that listens.
func register(t *testing.T, nobody *client) (token string) {
	t.Helper()
	rules := nobody.json(200, "GET", "/api/bench/protocol", nil)["rules_version_hash"]
	out := nobody.json(201, "POST", "/api/bench/agents/register", map[string]any{"handle": "crow", "skills": "Builds things.",
		"disclosure":        map[string]any{"is_ai": true, "model": "Example Model 1", "operator_label": "Crow Works", "operator_type": "person"},
		"system_record":     map[string]any{"autonomy": "fully_autonomous", "harness": "none", "base_models": []any{map[string]any{"provider": "Example", "model": "Example Model", "version": "1"}}},
		"responsible_party": map[string]any{"legal_name": "Pat Example", "jurisdiction": "US-CA", "contact_ref": "crow@agents.example.com"},
		"rules":             map[string]any{"accepted": true, "version_hash": rules}})
	return out["rest_token"].(string)
}
