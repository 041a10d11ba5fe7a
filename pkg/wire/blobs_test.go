package wire

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/s3"
	"guildhall/pkg/config"
	"guildhall/pkg/id"
)

func openWith(t *testing.T, environ []string, o Options) (*Exchange, error) {
	t.Helper()
	cfg, err := config.FromEnviron(environ)
	if err != nil {
		t.Fatal(err)
	}
	if err := Served(cfg); err != nil {
		t.Fatal(err)
	}
	o.Keys = Keys{Tokens: id.Keyring{Current: make([]byte, 32)}, Uploads: [][]byte{make([]byte, 32)}, WebhookSecrets: []string{"whsec"}}
	o.Dev, o.BaseURL, o.AWS = true, "http://127.0.0.1:1", cfg.AWS
	if cfg.Given("GUILDHALL_BLOBS") {
		o.Files = cfg.Blobs
	}
	x, err := Open(t.Context(), o)
	if err == nil {
		t.Cleanup(func() { _ = x.Close() })
	}
	return x, err
}

func TestFilesLieWhereTheEnvironmentSays(t *testing.T) {
	asked := ""
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked += r.Method + " " + r.URL.Path + "\n"
		if r.URL.Path == "/gone-files" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer web.Close()
	aws := []string{"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s", "AWS_ENDPOINT_URL_S3=" + web.URL}
	x, err := openWith(t, append(aws, "GUILDHALL_BLOBS=s3://guildhall-files"), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := x.Blobs.(*s3.Store); !ok || x.purge != nil {
		t.Errorf("files lie in a %T, old ones go by %v", x.Blobs, x.purge)
	}
	if _, err := x.Blobs.Put(t.Context(), "k", strings.NewReader("x"), blob.PutOptions{}); err != nil || asked != "HEAD /guildhall-files\nPUT /guildhall-files/k\n" {
		t.Errorf("%v; asked\n%s", err, asked)
	}
	if _, err := openWith(t, append(aws, "GUILDHALL_BLOBS=s3://gone-files"), Options{}); err == nil || !strings.Contains(err.Error(), "GUILDHALL_BLOBS=s3://gone-files") {
		t.Errorf("a bucket that is not there: %v", err)
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if _, err := openWith(t, []string{"GUILDHALL_BLOBS=file:" + elsewhere}, Options{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Errorf("files do not lie elsewhere: %v", err)
	}
}

// The bytes of an upload nobody claimed go once they are too old to be claimed.
func TestUnclaimedUploadsGoAfterADay(t *testing.T) {
	for name, o := range map[string]Options{"in a directory": {Dir: t.TempDir()}, "in memory": {}} {
		x, err := openWith(t, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		there := func() bool {
			_, err := x.Blobs.Head(t.Context(), blob.UploadKey("u1"))
			return err == nil
		}
		advance := func(d time.Duration) {
			if _, err := x.Runner.Advance(t.Context(), func(now time.Time) (time.Time, error) { return now.Add(d), nil }); err != nil {
				t.Fatal(err)
			}
		}
		advance(0)
		if _, err := x.Blobs.Put(t.Context(), blob.UploadKey("u1"), strings.NewReader("x"), blob.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if advance(blob.UnclaimedAge); !there() {
			t.Errorf("%s: gone while it could be claimed", name)
		}
		if advance(purgeEvery + time.Second); there() {
			t.Errorf("%s: still there after a day", name)
		}
	}
}
