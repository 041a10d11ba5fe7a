package laws

import (
	"fmt"
	"strings"
	"testing"

	"guildhall/scripts/source"
)

// tree parses files given as path and source.
func tree(t *testing.T, files ...string) *source.Tree {
	t.Helper()
	tr := &source.Tree{}
	for i := 0; i < len(files); i += 2 {
		f, err := source.Parse(files[i], files[i+1])
		if err != nil {
			t.Fatal(err)
		}
		tr.Files = append(tr.Files, f)
	}
	return tr
}

// importing is a file of a folder that imports one path.
func importing(t *testing.T, dir, path string) *source.Tree {
	return tree(t, dir+"/x.go", fmt.Sprintf("package x\n\nimport _ %q\n", path))
}

func expect(t *testing.T, got []Finding, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) > 0:
		t.Errorf("unexpected finding: %v", got)
	case want != "" && (len(got) == 0 || !strings.Contains(got[0].String(), want)):
		t.Errorf("found %v, want %q", got, want)
	}
}

func TestPlantedImportsAreFound(t *testing.T) {
	cases := []struct{ dir, path, want string }{
		{"pkg/op", "guildhall/pkg/table", ""},
		{"pkg/op", "guildhall/pkg/table/mem", "the kernel knows nothing above it"},
		{"pkg/fault", "guildhall/pkg/account", "the kernel knows nothing above it"},
		{"pkg/limit", "os", "the kernel imports os"},
		{"pkg/table", "guildhall/pkg/op", "a port is an interface"},
		{"pkg/table", "github.com/guregu/dynamo/v2", "links no adapter and no SDK"},
		{"pkg/table/ddb", "github.com/guregu/dynamo/v2", ""},
		{"pkg/table/ddb", "guildhall/pkg/bench/bids", "an adapter implements a port"},
		{"pkg/queue", "github.com/aws/aws-sdk-go-v2/service/sqs", "a port links no SDK"},
		{"pkg/queue", "guildhall/pkg/queue/sqs", "a port imports"},
		{"pkg/mail/outbox", "guildhall/pkg/op", ""},
		{"pkg/text", "guildhall/pkg/fault", "pure functions"},
		{"pkg/bench/wants", "guildhall/pkg/account", ""},
		{"pkg/bench/wants", "guildhall/pkg/blob", ""},
		{"pkg/bench/wants", "guildhall/pkg/blob/fileblob", "never another context"},
		{"pkg/bench/wants", "guildhall/pkg/help", "never another context"},
		{"pkg/help", "guildhall/pkg/bench/wants", "never another context"},
		{"pkg/peer", "guildhall/pkg/commons", "never another context"},
		{"pkg/commons", "guildhall/pkg/edge/rest", "never another context"},
		{"pkg/help", "guildhall/pkg/wire", "never another context"},
		{"pkg/help", "guildhall/pkg/catalog", "never another context"},
		{"pkg/help", "net/http", "net/http, os or AWS"},
		{"pkg/help", "os", "net/http, os or AWS"},
		{"pkg/help", "os/exec", "net/http, os or AWS"},
		{"pkg/help", "github.com/aws/aws-lambda-go/lambda", "net/http, os or AWS"},
		{"pkg/help/sub", "guildhall/pkg/help", ""},
		{"pkg/account", "guildhall/pkg/peer", "accounts are shared"},
		{"pkg/edge/rest", "guildhall/pkg/op", ""},
		{"pkg/edge/rest", "net/http", ""},
		{"pkg/edge/mcp", "guildhall/pkg/help", "never a context"},
		{"pkg/edge/mcp", "guildhall/pkg/catalog", "never a context"},
		{"pkg/catalog", "guildhall/pkg/peer", ""},
		{"pkg/catalog", "net/http", "links no AWS, no server"},
		{"pkg/catalog", "github.com/aws/aws-lambda-go/lambda", "links no AWS, no server"},
		{"pkg/catalog", "guildhall/pkg/catalog/door", ""},
		{"pkg/catalog/door", "guildhall/pkg/peer", "a door is data"},
		{"functions/help/mcp", "guildhall/pkg/catalog/door", ""},
		{"pkg/spec", "guildhall/pkg/bench/bids", "documents read declarations"},
		{"pkg/site", "guildhall/pkg/help", "pages call operations"},
		{"pkg/config", "guildhall/pkg/wire", "configuration is values"},
		{"functions/help/a-b", "guildhall/pkg/wire/lambda", ""},
		{"functions/help/a-b", "guildhall/pkg/catalog", "a function links its operation's package"},
		{"functions/help/a-b", "guildhall/pkg/table/ddb", "a function links its operation's package"},
		{"cmd/guildhall", "guildhall/cmd/other", ""},
		{"pkg/newcomer", "fmt", "stands in no layer"},
		{"pkg/queue/queuetest", "guildhall/pkg/op", ""}, // suites are no part of the product
	}
	for _, c := range cases {
		t.Run(c.dir+" imports "+c.path, func(t *testing.T) { expect(t, Imports(importing(t, c.dir, c.path)), c.want) })
	}
}

func TestPlantedBenchOrderIsFound(t *testing.T) {
	const order = "registry <- wants <- bids"
	cases := []struct{ from, to, want string }{
		{"wants", "registry", ""}, {"registry", "wants", order}, {"bids", "wants", ""}, {"wants", "bids", order},
		{"deals", "bids", ""}, {"bids", "deals", order}, {"delivery", "deals", ""}, {"letters", "deals", ""}, {"deals", "delivery", order},
		{"letters", "delivery", order}, {"delivery", "letters", order}, {"desk", "letters", ""}, {"steward", "delivery", ""}, {"desk", "steward", order},
		{"registry", "record", ""}, {"money", "record", order}, {"record", "rulebook", order}, {"access", "registry", order}, {"proposal", "rulebook", ""},
		{"deals/path", "deals", ""}, {"newcomer", "record", "has no rank"},
	}
	for _, c := range cases {
		t.Run(c.from+" imports "+c.to, func(t *testing.T) {
			expect(t, BenchOrder(importing(t, "pkg/bench/"+c.from, "guildhall/pkg/bench/"+c.to)), c.want)
		})
	}
}

func TestPlantedModulesAreFound(t *testing.T) {
	expect(t, Modules(importing(t, "pkg/text", "golang.org/x/net/idna")), "")
	expect(t, Modules(importing(t, "pkg/text", "example.org/clever")), "imports example.org/clever")
	expect(t, Modules(importing(t, "pkg/text", "github.com/google/jsonschema-go-fork")), "listed in scripts/laws/module.go")
	expect(t, Modules(importing(t, "infra", "github.com/aws/aws-cdk-go/awscdk/v2")), "")
	expect(t, Required("module guildhall\n\ngo 1.26.0\n\nrequire (\n\tgolang.org/x/net v0.62.0\n\tgithub.com/a/b v1.0.0 // indirect\n)\n"), "")
	expect(t, Required("require example.org/clever v1.2.3\n"), "requires example.org/clever")
	expect(t, Required("require (\n\texample.org/clever v1.2.3\n)\n"), "requires example.org/clever")
}

func TestPlantedTakersAreFound(t *testing.T) {
	cases := []struct{ path, src, want string }{
		{"pkg/help/a.go", `import "time"; var t = time.Now()`, "uses time.Now"},
		{"pkg/help/a.go", `import clock "time"; var t = clock.Now`, "uses clock.Now"},
		{"pkg/op/a.go", `import "time"; func f() { time.Sleep(1) }`, "uses time.Sleep"},
		{"pkg/queue/memqueue/a.go", `import "os"; var v = os.Getenv("A")`, "uses os.Getenv"},
		{"pkg/op/a.go", `import "os"; var v, _ = os.LookupEnv("A")`, "uses os.LookupEnv"},
		{"pkg/help/a.go", `import "math/rand/v2"; var v = rand.Int()`, "imports math/rand/v2"},
		{"pkg/help/a.go", `import _ "math/rand"`, "imports math/rand"},
		{"pkg/id/a.go", `import "crypto/rand"; var r = rand.Reader`, "imports crypto/rand"},
		{"pkg/help/a.go", `import "time"; var d = time.Second`, ""},
		{"pkg/help/a.go", `import "os"; var f, _ = os.Open("a")`, ""},
		{"pkg/help/a_test.go", `import "time"; var t = time.Now()`, ""},
		{"pkg/queue/queuetest/a.go", `import "time"; var t = time.Now()`, ""},
		{"pkg/wire/a.go", `import "time"; var t = time.Now()`, ""},
		{"cmd/guildhall/a.go", `import "os"; var v = os.Getenv("A")`, ""},
	}
	for _, c := range cases {
		expect(t, Bans(tree(t, c.path, "package x\n\n"+c.src+"\n")), c.want)
	}
}

func TestPlantedLongFunctionsAreFound(t *testing.T) {
	long := func(lines int) string {
		return "package x\n\nfunc f() {\n" + strings.Repeat("\tf()\n", lines-2) + "}\n"
	}
	expect(t, Lengths(tree(t, "pkg/help/a.go", long(MaxFunction))), "")
	expect(t, Lengths(tree(t, "pkg/help/a.go", long(MaxFunction+1))), "f has 71 lines")
	expect(t, Lengths(tree(t, "pkg/help/a_test.go", long(200))), "")
	expect(t, Lengths(tree(t, "pkg/help/a.go", "// Code generated by a test. DO NOT EDIT.\n"+long(200))), "")
}

func TestPlantedNamesAreFound(t *testing.T) {
	expect(t, Names(tree(t, "pkg/util/a.go", "package util\n")), "a package called util")
	expect(t, Names(tree(t, "pkg/help/models/a.go", "package models\n")), "a package called models")
	expect(t, Names(tree(t, "pkg/utility/a.go", "package utility\n")), "")
}
