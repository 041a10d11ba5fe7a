package spec_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/spec"
)

type makeIn struct {
	Shelf string `path:"shelf" doc:"Which shelf."`
	Dry   *bool  `query:"dry_run"`
	Note  string `header:"X-Note" rule:"max=80"`
	Name  string `json:"name" rule:"required,min=1,max=20" doc:"What it is called."`
	Size  *int   `json:"size" rule:"min=1"`
}

type part struct {
	N    int    `json:"n"`
	Text string `json:"text,omitempty"`
}

type makeOut struct {
	ID    string          `json:"id"`
	Parts []part          `json:"parts"`
	Next  *string         `json:"next"`
	Extra map[string]part `json:"extra,omitempty"`
}

type streamIn struct {
	Body interface{ Read([]byte) (int, error) } `body:"stream"`
}

type rawOut struct{}

func (rawOut) Raw() *op.Raw { return nil }

type bodyIn struct {
	Body json.RawMessage `body:"raw"`
}

var hourly = limit.Rule{Name: "help.make", N: 10, Per: time.Hour}

func operations() []*op.Operation {
	op.Speak("commons", op.Dialect{Data: true})
	return []*op.Operation{
		op.Declare(op.Meta{ID: "help.thing.make", Method: "POST", Path: "/api/help/shelves/{shelf}/things", Status: 201, Auth: op.Account, Scope: "help:write",
			Tool: "make_thing", Idempotent: op.KeyRequired, Limit: &hourly, Summary: "Make a thing.", Notes: "Once.", Faults: []string{"shelf_full", "shelf_moved", "nowhere made"}},
			func(*op.Call, makeIn) (makeOut, error) { return makeOut{}, nil }),
		op.Declare(op.Meta{ID: "commons.thing.read", Method: "GET", Path: "/api/commons/things/{id}", Auth: op.Public, Summary: "Read a thing."},
			func(*op.Call, struct{}) (makeOut, error) { return makeOut{}, nil }),
		op.Declare(op.Meta{ID: "bench.file.send", Method: "POST", Path: "/api/bench/files", Auth: op.Maker, Idempotent: op.KeyOptional, Summary: "Send a file."},
			func(*op.Call, streamIn) (rawOut, error) { return rawOut{}, nil }),
		op.Declare(op.Meta{ID: "bench.bid.file", Method: "POST", Path: "/api/bench/bids", Auth: op.Maker, Summary: "File a bid.", BodySchema: func() []byte {
			return []byte(`{"$schema":"x","$id":"y","type":"object","required":["step"],"properties":{"step":{"$ref":"#/$defs/step"}},
				"$defs":{"step":{"type":"object","if":true,"anyOf":[{"required":["a"]}]}}}`)
		}}, func(*op.Call, bodyIn) (struct{}, error) { return struct{}{}, nil }),
		op.Declare(op.Meta{ID: "steward.thing.hide", Method: "POST", Path: "/api/steward/things/{id...}", Auth: op.Steward, Summary: "Hide a thing.", LooseBody: true},
			func(*op.Call, struct {
				Why string `json:"why"`
			}) (struct{}, error) {
				return struct{}{}, nil
			}),
		op.Declare(op.Meta{ID: "edge.old.address", Method: "GET", Path: "/old", Status: 301, Auth: op.Public, Summary: "Moved."},
			func(*op.Call, struct{}) (rawOut, error) { return rawOut{}, nil }),
		op.Declare(op.Meta{ID: "edge.hidden.helper", Method: "GET", Path: "/hidden", Auth: op.Public, Summary: "Hidden.", Hidden: true},
			func(*op.Call, struct{}) (rawOut, error) { return rawOut{}, nil }),
	}
}

// codes knows two codes: one of them is answered with two statuses.
func codes(_ *op.Operation, code string) []fault.Kind {
	return map[string][]fault.Kind{"shelf_full": {fault.Conflict}, "shelf_moved": {fault.Gone, fault.Conflict}}[code]
}

// document makes the document of the operations above and returns a reader of it by
// slash-separated path ("~" stands for a slash in a key).
func document(t *testing.T) func(path string) any {
	t.Helper()
	b, err := spec.OpenAPI(operations(), codes)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return func(path string) any {
		v := doc
		for part := range strings.SplitSeq(path, "/") {
			switch m := v.(type) {
			case map[string]any:
				v = m[strings.ReplaceAll(part, "~", "/")]
			case []any:
				i := int(part[0] - '0')
				if i >= len(m) {
					return nil
				}
				v = m[i]
			default:
				return nil
			}
		}
		return v
	}
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func TestTheDocumentSaysWhatTheDeclarationsSay(t *testing.T) {
	at := document(t)
	const mk = "paths/~api~help~shelves~{shelf}~things/post/"
	for path, want := range map[string]string{
		"openapi":                   `"3.1.0"`,
		"info/x-contract-version":   `"2.15"`,
		"info/license/identifier":   `"Apache-2.0"`,
		"tags/0/name":               `"bench"`,
		mk + "operationId":          `"help.thing.make"`,
		mk + "x-mcp-tool":           `"make_thing"`,
		mk + "x-scope":              `"help:write"`,
		mk + "description":          `"Once."`,
		mk + "security":             `[{"helpKey":[]}]`,
		mk + "tags":                 `["help"]`,
		mk + "parameters/0":         `{"description":"Which shelf.","in":"path","name":"shelf","required":true,"schema":{"type":"string"}}`,
		mk + "parameters/1":         `{"in":"query","name":"dry_run","required":false,"schema":{"type":["boolean","null"]}}`,
		mk + "parameters/2":         `{"in":"header","name":"X-Note","required":false,"schema":{"maxLength":80,"type":"string"}}`,
		mk + "parameters/3":         `{"$ref":"#/components/parameters/IdempotencyKey"}`,
		mk + "requestBody/required": `true`,
		mk + "requestBody/content/application~json/schema": `{"additionalProperties":false,"properties":{"name":{"description":"What it is called.","maxLength":20,"minLength":1,"type":"string"},` +
			`"size":{"minimum":1,"type":["integer","null"]}},"required":["name"],"type":"object"}`,
		mk + "responses/201/content/application~json/schema/required":                        `["ok","id","parts","next"]`,
		mk + "responses/201/content/application~json/schema/properties/ok":                   `{"const":true}`,
		mk + "responses/201/content/application~json/schema/properties/parts/items/required": `["n"]`,
		mk + "responses/201/content/application~json/schema/properties/next":                 `{"type":["string","null"]}`,
		mk + "responses/201/headers/RateLimit-Remaining":                                     `{"$ref":"#/components/headers/RateLimit-Remaining"}`,
		mk + "responses/429/headers/Retry-After":                                             `{"$ref":"#/components/headers/Retry-After"}`,
		mk + "responses/503/headers/Retry-After":                                             `{"$ref":"#/components/headers/Retry-After"}`,
		mk + "responses/400/content/application~json/schema/allOf/1/properties/error/enum":   `["idempotency_key_required","invalid_json"]`,
		mk + "responses/401/content/application~json/schema/allOf/1/properties/error/enum":   `["unauthorized"]`,
		mk + "responses/403/content/application~json/schema/allOf/1/properties/error/enum":   `["account_restricted"]`,
		mk + "responses/409/content/application~json/schema/allOf/1/properties/error/enum":   `["idempotency_conflict","shelf_full","shelf_moved"]`,
		mk + "responses/410/content/application~json/schema/allOf/1/properties/error/enum":   `["shelf_moved"]`,
		mk + "responses/413/content/application~json/schema/allOf/1/properties/error/enum":   `["body_too_large"]`,
		mk + "responses/415/content/application~json/schema/allOf/1/properties/error/enum":   `["unsupported_media_type"]`,
		mk + "responses/422/content/application~json/schema/allOf/1/properties/error/enum":   `["invalid_field","missing_field","unknown_field"]`,
		mk + "responses/500/content/application~json/schema/allOf/1/properties/error/enum":   `["internal_error"]`,
		mk + "responses/0": `null`,
	} {
		if got := text(at(path)); got != want {
			t.Errorf("%s\n got %s\nwant %s", path, got, want)
		}
	}
}

func TestOtherShapesAreDocumented(t *testing.T) {
	at := document(t)
	for path, want := range map[string]string{
		"paths/~api~commons~things~{id}/get/responses/200/content/application~json/schema/required":            `["data"]`,
		"paths/~api~commons~things~{id}/get/parameters/0/name":                                                 `"id"`,
		"paths/~api~commons~things~{id}/get/security":                                                          `[]`,
		"paths/~api~commons~things~{id}/get/requestBody":                                                       `null`,
		"paths/~api~bench~files/post/requestBody/content/application~octet-stream/schema/format":               `"binary"`,
		"paths/~api~bench~files/post/responses/200/content/application~octet-stream/schema/format":             `"binary"`,
		"paths/~api~bench~files/post/parameters/0":                                                             `{"$ref":"#/components/parameters/OptionalIdempotencyKey"}`,
		"paths/~api~bench~bids/post/requestBody/content/application~json/schema/properties/step":               `{"$ref":"#/components/schemas/bench.step"}`,
		"paths/~api~bench~bids/post/requestBody/content/application~json/schema/$id":                           `null`,
		"components/schemas/bench.step":                                                                        `{"if":{},"properties":{"a":{}},"required":["a"],"type":"object"}`,
		"paths/~api~steward~things~{id}/post/parameters/0/name":                                                `"id"`,
		"paths/~api~steward~things~{id}/post/requestBody/required":                                             `false`,
		"paths/~api~steward~things~{id}/post/requestBody/content/application~json/schema/additionalProperties": `null`,
		"paths/~api~steward~things~{id}/post/responses/404/description":                                        `"Refused: not found."`,
		"paths/~old":                                   `null`,
		"paths/~hidden":                                `null`,
		"components/securitySchemes/peerToken":         `null`,
		"components/securitySchemes/agentToken/scheme": `"bearer"`,
	} {
		if got := text(at(path)); got != want {
			t.Errorf("%s\n got %s\nwant %s", path, got, want)
		}
	}
}

func TestTwoSchemasOfOneNameAreRefused(t *testing.T) {
	with := func(id, path, def string) *op.Operation {
		return op.Declare(op.Meta{ID: id, Method: "POST", Path: path, Auth: op.Maker, Summary: "S.", BodySchema: func() []byte {
			return []byte(`{"$ref":"#/$defs/d","$defs":{"d":` + def + `}}`)
		}}, func(*op.Call, bodyIn) (struct{}, error) { return struct{}{}, nil })
	}
	one, same, other := with("bench.a.a", "/a", `{"type":"string"}`), with("bench.b.b", "/b", `{"type":"string"}`), with("bench.c.c", "/c", `{"type":"number"}`)
	if _, err := spec.OpenAPI([]*op.Operation{one, same}, codes); err != nil {
		t.Error(err)
	}
	if _, err := spec.OpenAPI([]*op.Operation{one, other}, codes); err == nil {
		t.Error("two different schemas share a name")
	}
}

func TestTheDocumentIsTheSameEveryTime(t *testing.T) {
	a, err := spec.OpenAPI(operations(), codes)
	if err != nil {
		t.Fatal(err)
	}
	ops := operations()
	slices.Reverse(ops)
	if b, err := spec.OpenAPI(ops, codes); err != nil || !bytes.Equal(a, b) {
		t.Error("the order of the operations shows in the document", err)
	}
}

func TestCodesAreListedWithStatusesAndOperations(t *testing.T) {
	found := map[string]bool{}
	for _, c := range spec.List(operations(), codes) {
		switch c.Code {
		case "shelf_moved":
			found[c.Code] = true
			if c.Status != 409 && c.Status != 410 || !slices.Equal(c.Operations, []string{"help.thing.make"}) || c.Everywhere {
				t.Errorf("%+v", c)
			}
		case "nowhere made":
			found[c.Code] = true
			if c.Status != 0 {
				t.Errorf("%+v", c)
			}
		case "busy":
			found[c.Code] = true
			if c.Status != 503 || !c.Everywhere || len(c.Operations) != 7 {
				t.Errorf("%+v", c)
			}
		}
	}
	if len(found) != 3 {
		t.Errorf("found %v", found)
	}
}

func TestRoutesArePrintedAsATableOrJSON(t *testing.T) {
	var table, list bytes.Buffer
	if err := spec.WriteRoutes(&table, operations(), false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	if len(lines) != 8 || !strings.HasPrefix(lines[0], "METHOD") || !strings.Contains(table.String(), "functions/help/thing-make") {
		t.Errorf("%s", table.String())
	}
	if err := spec.WriteRoutes(&list, operations(), true); err != nil {
		t.Fatal(err)
	}
	var routes []spec.Route
	if err := json.Unmarshal(list.Bytes(), &routes); err != nil || len(routes) != 7 {
		t.Fatal(err, len(routes))
	}
	want := spec.Route{Context: "help", ID: "help.thing.make", Method: "POST", Path: "/api/help/shelves/{shelf}/things", Auth: "account", Scope: "help:write",
		Tool: "make_thing", Function: "functions/help/thing-make", Summary: "Make a thing."}
	if !slices.Contains(routes, want) {
		t.Errorf("%+v", routes)
	}
}

func TestEmbeddedDocumentsAreFoundByGroup(t *testing.T) {
	if b, ok := spec.Document(spec.Whole); !ok || !json.Valid(b) {
		t.Error("the whole document is missing")
	}
	if _, ok := spec.Document("no such group"); ok {
		t.Error("a document of no group")
	}
}
