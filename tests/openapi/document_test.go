package openapi_test

import (
	"testing"

	"guildhall/tests/openapi"
)

const small = `{"openapi":"3.1.0","paths":{
 "/a/{id}":{"post":{"operationId":"a.do","parameters":[{"name":"id","in":"path","required":true},{"$ref":"#/components/parameters/Q"}],
  "requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}}},
  "responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}},"202":{}}}},
 "/a/b":{"post":{"operationId":"a.b","responses":{}}}},
 "components":{"parameters":{"Q":{"name":"q","in":"query","required":true}},
  "schemas":{"A":{"type":"object","required":["b"],"properties":{"b":{"$ref":"#/components/schemas/B"}}},"B":{"type":"string"}}}}`

func TestADocumentRefusesWhatItDoesNotSay(t *testing.T) {
	d, err := openapi.Read([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	o := d.Operations["a.do"]
	if d.At("POST", "/a/b").ID != "a.b" || d.At("POST", "/a/c") != o || d.At("GET", "/a/c") != nil || d.At("POST", "/a/b/c") != nil {
		t.Error("operations are not found by their paths")
	}
	for body, right := range map[string]bool{`{"b":"x"}`: true, `{"b":1}`: false, `{}`: false, `[]`: false, `{`: false} {
		if err := d.Answers(o, 200, "application/json", []byte(body)); (err == nil) != right {
			t.Errorf("%s: %v", body, err)
		}
	}
	if d.Answers(o, 201, "application/json", nil) == nil || d.Answers(o, 200, "text/html", nil) == nil || d.Answers(o, 202, "", []byte("x")) == nil {
		t.Error("an answer that the document does not name is one it names")
	}
	if d.Sends(o, []byte(`{"n":1}`)) != nil || d.Sends(o, []byte(`{"n":"1"}`)) == nil || d.Sends(d.Operations["a.b"], []byte(`{}`)) == nil {
		t.Error("bodies are not held against the document")
	}
	if path, rest, err := o.Address(map[string]any{"id": "x/y", "q": 1, "n": 2}); path != "/a/x%2Fy?q=1" || len(rest) != 1 || err != nil {
		t.Errorf("%s %v %v", path, rest, err)
	}
	for _, in := range []map[string]any{{"id": "x"}, {"q": "1"}} {
		if path, _, err := o.Address(in); err == nil {
			t.Errorf("%v makes %s", in, path)
		}
	}
}
