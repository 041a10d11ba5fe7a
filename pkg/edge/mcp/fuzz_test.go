package mcp

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// FuzzDoor sends any bytes under any version: the door always answers, never with an
// internal error, and what it answers is JSON.
func FuzzDoor(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":"x","method":"initialize","params":{"protocolVersion":"1"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"tasks/a","query":{"limit":"1"}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_notes","arguments":{"board":["a"],"limit":{},"tags":[1,null]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"follow","arguments":{"follow":1e400}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{}]`, `[[]]`, `{"id":{},"method":7}`, "\x00", `{"jsonrpc":"2.0","method":"notifications/x","id":null}`,
	} {
		for _, v := range []string{"", "2025-06-18", "2026-07-28", "2099-01-01"} {
			f.Add(s, v)
		}
	}
	x := optest.New(f)
	calm := slices.DeleteFunc(slices.Clone(all), func(o *op.Operation) bool { return o == explode || o == deny })
	h := Handler(x.Engine, calm, testDoor, Options{BaseURL: x.Engine.BaseURL})
	f.Fuzz(func(t *testing.T, body, version string) {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if version != "" {
			r.Header.Set("MCP-Protocol-Version", version)
			r.Header.Set("Mcp-Method", "tools/call")
			r.Header.Set("Mcp-Name", "read")
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code >= 500 || rec.Body.Len() > 0 && !json.Valid(rec.Body.Bytes()) {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	})
}
