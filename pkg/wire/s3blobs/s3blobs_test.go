package s3blobs

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/config"
	"guildhall/pkg/wire/lambda"
)

func TestAFunctionPutsFilesIntoTheConfiguredBucket(t *testing.T) {
	var asked string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.URL.Path + " " + string(b) + " " + r.Header.Get("Authorization") + " " + r.Header.Get("X-Amz-Security-Token")
	}))
	defer web.Close()
	cfg, err := config.FromEnviron([]string{"GUILDHALL_BLOBS=s3://guildhall-files", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s",
		"AWS_SESSION_TOKEN=token", "AWS_ENDPOINT_URL_S3=" + web.URL})
	if err != nil {
		t.Fatal(err)
	}
	port, err := open(lambda.Opening{Config: cfg, Now: time.Now, NewID: func() string { return "id" }})
	if err != nil {
		t.Fatal(err)
	}
	s := blob.From(port(t.Context()))
	if _, err := s.Put(t.Context(), "deals/1/x", strings.NewReader("hello"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(asked, "PUT /guildhall-files/deals/1/x hello ") || !strings.Contains(asked, "Credential=k/") || !strings.Contains(asked, "/eu-west-1/s3/") ||
		!strings.HasSuffix(asked, " token") {
		t.Errorf("asked %s", asked)
	}
}
