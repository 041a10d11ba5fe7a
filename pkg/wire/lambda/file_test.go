//go:build !devclock

package lambda

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"mime/multipart"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/memblob"
	"guildhall/pkg/config"
	"guildhall/pkg/op"
)

// linked is a store that gives links to its objects, as S3 does.
type linked struct{ *memblob.Store }

func (linked) SignGet(_ context.Context, key string, _ blob.Download) (string, error) {
	return "https://files.example/" + key, nil
}

type sentFile struct {
	Type string    `header:"Content-Type"`
	Body io.Reader `body:"stream"`
}

type tookFile struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// takeFile stores the one part of a form, or the whole body.
func takeFile(c *op.Call, in sentFile) (tookFile, error) {
	body := in.Body
	if _, boundary, ok := strings.Cut(in.Type, "boundary="); ok {
		p, err := multipart.NewReader(body, boundary).NextPart()
		if err != nil {
			return tookFile{}, err
		}
		body = p
	}
	info, err := blob.From(c).Put(c, "taken", body, blob.PutOptions{})
	return tookFile{info.Size, info.SHA256}, err
}

// gaveFile is a stored file: its bytes, or a link where it is longer than a call carries.
type gaveFile struct{ raw *op.Raw }

func (g gaveFile) Raw() *op.Raw { return g.raw }

func giveFile(c *op.Call, _ nothing) (gaveFile, error) {
	info, err := blob.From(c).Head(c, "taken")
	if err != nil {
		return gaveFile{}, err
	}
	if info.Size > directBytes {
		link, err := blob.From(c).SignGet(c, "taken", blob.Download{})
		return gaveFile{&op.Raw{Location: link}}, err
	}
	o, err := blob.From(c).Get(c, "taken", blob.Range{})
	return gaveFile{&op.Raw{Size: info.Size, Body: o.Body}}, err
}

func form(t *testing.T, file []byte) (body []byte, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("file", "a.bin")
	if err == nil {
		_, err = part.Write(file)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// noise is n bytes that are no text, so that they travel in base64.
func noise(n int) []byte {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// A file of four megabytes passes a function whole in either direction and in either form;
// a larger one is told of the upload address, and fetched from a link (surface.md 7).
func TestFilesPassAFunctionWholeUpToFourMegabytes(t *testing.T) {
	store := linked{memblob.New(time.Now, blob.Signer{})}
	kept := adapters
	t.Cleanup(func() { adapters = kept })
	Provide(op.Blobs, config.S3, func(Opening) (Port, error) {
		return func(ctx context.Context) context.Context { return blob.With(ctx, store) }, nil
	})
	p, _ := open(t, environment("http://127.0.0.1:1", "GUILDHALL_BLOBS=s3://guildhall-files"))
	put := op.Declare(op.Meta{ID: "test.file.put", Method: "POST", Path: "/api/file", Auth: op.Public, Summary: "A test.", Touches: op.Blobs, MaxBody: 50 << 20}, takeFile)
	get := op.Declare(op.Meta{ID: "test.file.get", Method: "GET", Path: "/api/file", Auth: op.Public, Summary: "A test.", Touches: op.Blobs}, giveFile)
	take, err := p.serve(put)
	if err != nil {
		t.Fatal(err)
	}
	give, err := p.serve(get)
	if err != nil {
		t.Fatal(err)
	}
	send := func(body []byte, contentType string) events.APIGatewayV2HTTPResponse {
		e := request("POST", "/api/file")
		e.Headers = map[string]string{"content-type": contentType}
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
		res, err := take(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	file := noise(directBytes)
	want, err := blob.Sum(t.Context(), bytes.NewReader(file), directBytes)
	if err != nil {
		t.Fatal(err)
	}
	asForm, formType := form(t, file)
	for kind, body := range map[string][]byte{"application/octet-stream": file, formType: asForm} {
		if res := send(body, kind); res.StatusCode != 200 || !strings.Contains(res.Body, want.SHA256) {
			t.Fatalf("%s: %d %s", kind, res.StatusCode, res.Body)
		}
		res, err := give(t.Context(), request("GET", "/api/file"))
		got, coded := base64.StdEncoding.DecodeString(res.Body)
		if err != nil || coded != nil || res.StatusCode != 200 || !res.IsBase64Encoded || !bytes.Equal(got, file) {
			t.Fatalf("%s came back %d with %d bytes, %v %v", kind, res.StatusCode, len(got), err, coded)
		}
	}
	if res := send(append(file, 1), "application/octet-stream"); res.StatusCode != 413 || !strings.Contains(res.Body, `"use_upload_url"`) {
		t.Errorf("one byte more: %d %s", res.StatusCode, res.Body)
	}
	if _, err := store.Put(t.Context(), "taken", bytes.NewReader(append(file, 1)), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if res, err := give(t.Context(), request("GET", "/api/file")); err != nil || res.StatusCode != 302 || res.Headers["Location"] != "https://files.example/taken" {
		t.Errorf("a larger one is answered %d %v, %v", res.StatusCode, res.Headers, err)
	}
}
