package peers

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/catalog"
	"guildhall/pkg/edge/mcp"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
)

// second is another process over the store of an exchange: no memory is shared, and no
// signal.
func second(b *bubble) http.Handler {
	e := b.x.Engine
	other := &op.Engine{Store: e.Store, Now: e.Now, Rand: rand.Reader, Keys: e.Keys, BaseURL: e.BaseURL, Auth: account.Authenticators()}
	d := catalog.Doors()[0]
	return mcp.Handler(other, catalog.Behind(d), d, mcp.Options{BaseURL: e.BaseURL})
}

func tell(h http.Handler, token, message string) (int, string) {
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Code, rec.Body.String()
}

func TestTwoProcessesOverOneStoreBehaveAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		other := second(b)
		hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
		status := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_my_status","arguments":{}}}`
		if code, body := tell(b.h, b.mcp, hello); code != 200 || !strings.Contains(body, "protocolVersion") {
			t.Fatalf("initialised in the first: %d %s", code, body)
		}
		if code, body := tell(other, b.mcp, status); code != 200 || !strings.Contains(body, `"http_status":200`) {
			t.Fatalf("called in the second: %d %s", code, body)
		}
		who, _ := id.ParseToken(b.mcp)
		b.issue("bench", func(c *op.Call) error { return account.MCPToken.Revoke(c, who.Account) })
		for _, h := range []http.Handler{b.h, other} {
			if code, body := tell(h, b.mcp, status); code != 401 {
				t.Errorf("after a rotation: %d %s", code, body)
			}
		}
	})
}

func TestAPollInOneProcessHearsWhatHappensInAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		other := second(b)
		target := b.post()
		bid := b.bid(target)
		start := time.Now()
		later(7*time.Second, func() {
			b.rest(b.alice, 201, "POST", "/api/person/wants/"+target+"/finalists", `{"proposal_id":"`+bid+`"}`)
		})
		_, body := tell(other, b.mcp, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_attention","arguments":{"wait":20}}}`)
		var got struct {
			Result struct {
				Body struct {
					Count int `json:"attention_count"`
				} `json:"structuredContent"`
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || got.Result.Body.Count != 1 {
			t.Errorf("%v %s", err, body)
		}
		if took := time.Since(start); took < 7*time.Second || took > 9*time.Second {
			t.Errorf("heard after %v", took)
		}
	})
}
