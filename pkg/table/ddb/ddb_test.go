package ddb

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"guildhall/pkg/table/ddb/stub"
	"guildhall/pkg/table/tabletest"
)

// attributeNames is more than an item's attribute names and expiry take: the port counts
// keys, version and data alone.
const attributeNames = 64

// open makes a store on a stub, with pauses of no length that are counted.
func open(t *testing.T, server *stub.Server) (*Store, *pauses) {
	t.Helper()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	p := &pauses{}
	s, err := New(Options{
		Table: "guildhall", Region: "eu-west-1", Endpoint: web.URL, AccessKey: "key", SecretKey: "secret",
		Backoff: func(int) time.Duration { return 0 }, Sleep: p.sleep,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// pauses counts the adapter's own pauses (the SDK's go by Backoff alone).
type pauses struct{ n int }

func (p *pauses) sleep(ctx context.Context, _ time.Duration) error {
	p.n++
	return ctx.Err()
}

// tokensKnowMore is the one case that DynamoDB's request tokens answer otherwise: nobody's row
// carries the commit's id any more, but the token does, for ten minutes. The answer nil is
// true and nothing is written; the suite expects what a store without tokens has to say.
const tokensKnowMore = "repeat: every marked row was written again since"

func TestPassesTheSuiteOnAStub(t *testing.T) {
	modes := map[string]func(*stub.Server){
		"by AWS's rules, with pages of 8 KB":    func(s *stub.Server) { s.PageBytes = 8 << 10 },
		"without old images and without tokens": func(s *stub.Server) { s.NoOldImages, s.NoTokens = true, true },
	}
	for name, set := range modes {
		t.Run(name, func(t *testing.T) {
			server := stub.New()
			server.Slack = attributeNames
			set(server)
			s, _ := open(t, server)
			for _, c := range tabletest.Cases() {
				if c.Name == tokensKnowMore && !server.NoTokens {
					continue
				}
				t.Run(c.Name, func(t *testing.T) { c.Run(t, s) })
			}
			if n := server.WeakReads(); n > 0 {
				t.Errorf("%d reads were not strongly consistent", n)
			}
		})
	}
}
