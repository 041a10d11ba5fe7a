package proposal

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write golden files anew")

func TestTheServedSchemaIsTheGoldenFile(t *testing.T) {
	const golden = "testdata/" + SchemaName
	if *update {
		if err := os.WriteFile(golden, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, SchemaName); !bytes.Equal(Schema(), want) {
		t.Fatalf("the schema changed; look at the difference and run: go test ./pkg/bench/proposal -run Golden -update")
	}
}

func resolved(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheSchemaNamesTheContractVersion(t *testing.T) {
	var s struct {
		Version string `json:"x-contract-version"`
		Draft   string `json:"$schema"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	if s.Version != "2.15" || s.Draft != "https://json-schema.org/draft/2020-12/schema" {
		t.Fatalf("%+v", s)
	}
}

func TestTheSchemaTakesTheSampleBids(t *testing.T) {
	r := resolved(t)
	for _, name := range []string{"easy.json", "full.json"} {
		var v any
		if err := json.Unmarshal(read(t, name), &v); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
