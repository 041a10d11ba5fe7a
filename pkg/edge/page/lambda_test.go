package page_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"guildhall/pkg/edge/apigw"
)

// TestPagesWorkBehindAPIGateway shows a page and sends its form through the wrapper that
// serves Lambda events.
func TestPagesWorkBehindAPIGateway(t *testing.T) {
	w := newWorld(t)
	serve := apigw.Wrap(w.h, nil)
	call := func(method, body string) events.APIGatewayV2HTTPResponse {
		e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: "/things/a", Cookies: []string{"other=1", "guildhall=" + w.token},
			Headers: map[string]string{"host": "guildhall.test", "sec-fetch-site": "same-origin"}}
		e.RequestContext.HTTP = events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: method, Path: "/things/a", SourceIP: "203.0.113.7"}
		if body != "" {
			e.Headers["content-type"] = "application/x-www-form-urlencoded"
			e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(body)), true
		}
		res, err := serve(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	get := call("GET", "")
	var s shown
	if err := json.Unmarshal([]byte(get.Body), &s); err != nil || get.StatusCode != 200 || s.View != "thing a" {
		t.Fatalf("%d %s", get.StatusCode, get.Body)
	}
	post := call("POST", "form=make&name=bell&token="+s.Token)
	if post.StatusCode != 303 || !strings.HasPrefix(post.Headers["Location"], "/things/") || !slices.Contains(post.Cookies, "kept=yes") || w.things != 1 {
		t.Errorf("%d %v %v, %d things", post.StatusCode, post.Headers, post.Cookies, w.things)
	}
}
