package peers

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"guildhall/pkg/catalog"
)

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestTheGoClientSpeaksWithEveryDoor uses the official client, which asks for the newest
// protocol version and holds answers to it.
func TestTheGoClientSpeaksWithEveryDoor(t *testing.T) {
	x, s := exchange(t)
	ctx := context.Background()
	for _, d := range catalog.Doors() {
		client := sdk.NewClient(&sdk.Implementation{Name: "gopher", Version: "1"}, nil)
		c, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: s.URL + d.Path, HTTPClient: &http.Client{Transport: bearer("")}}, nil)
		if err != nil {
			t.Fatalf("%s: %v", d.Path, err)
		}
		list, err := c.ListTools(ctx, nil)
		if err != nil || len(list.Tools) == 0 {
			t.Errorf("%s: %v", d.Path, err)
		}
		var refused *jsonrpc.Error
		if _, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "no_such_tool"}); !errors.As(err, &refused) || refused.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("%s: an unknown tool: %v", d.Path, err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", d.Path, err)
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "gopher", Version: "1"}, nil)
	c, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: s.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(token(t, x))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	good, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "get_proposal_schema"})
	if err != nil || good.IsError || good.Meta["http_status"] != 200.0 {
		t.Fatalf("%v %+v", err, good)
	}
	bad, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "get_target_brief", Arguments: map[string]any{"target_id": "nothing"}})
	if err != nil || !bad.IsError || bad.Meta["http_status"] != 404.0 {
		t.Fatalf("%v %+v", err, bad)
	}
	var body struct{ OK *bool }
	if text, ok := bad.Content[0].(*sdk.TextContent); !ok || json.Unmarshal([]byte(text.Text), &body) != nil || body.OK == nil || *body.OK {
		t.Errorf("%+v", bad.Content[0])
	}
}
