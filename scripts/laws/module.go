package laws

import (
	"slices"
	"strings"

	"guildhall/scripts/source"
)

// modules are the foreign modules the product and its tests may import, with the reason.
// A new one is explained here and in its commit.
var modules = map[string]string{
	"modernc.org/sqlite":                         "the embedded store: pure Go, one file, survives a kill",
	"github.com/aws/aws-lambda-go":               "the Lambda runtime",
	"github.com/awslabs/aws-lambda-go-api-proxy": "API Gateway events as net/http requests",
	"github.com/aws/aws-sdk-go-v2":               "AWS clients",
	"github.com/aws/smithy-go":                   "errors and middleware of the AWS clients",
	"github.com/guregu/dynamo/v2":                "the DynamoDB client in plain Go values",
	"github.com/modelcontextprotocol/go-sdk":     "MCP",
	"github.com/google/jsonschema-go":            "the published bid schema; the second opinion of our schema checker",
	"github.com/golang-jwt/jwt/v5":               "signed client assertions",
	"filippo.io/edwards25519":                    "refusing small-order public keys",
	"golang.org/x/crypto":                        "OpenSSH key lines",
	"github.com/stripe/stripe-go/v85":            "the payment processor",
	"github.com/gowebpki/jcs":                    "canonical JSON of public events",
	"golang.org/x/mod":                           "the Merkle log and signed notes",
	"filippo.io/torchwood":                       "checkpoints with witness cosignatures",
	"golang.org/x/net":                           "international domain names and public suffixes",
	"golang.org/x/text":                          "Unicode normal forms of screened texts",
	"github.com/mtibben/confusables":             "tests: the published table of look-alike letters, which the link gate keeps a short form of",
	"go.yaml.in/yaml/v3":                         "tests: the generator of the rule book's texts",
	"pgregory.net/rapid":                         "tests: generated values that shrink",
	"github.com/anishathalye/porcupine":          "tests: linearizability of the stores",
	"github.com/chromedp/chromedp":               "tests: pages in a browser",
	"github.com/chromedp/cdproto":                "tests: pages in a browser",
}

// Modules finds imports of modules that nobody gave a reason for.
func Modules(t *source.Tree) []Finding {
	var all []Finding
	for _, f := range t.Files {
		if underAny(f.Dir, "infra", "tests/emulators", "tools") {
			continue // modules of their own
		}
		for _, i := range f.Imports() {
			if foreign(i) && moduleOf(i) == "" {
				all = append(all, Finding{f.Path, "imports " + i, "every module is listed in scripts/laws/module.go with its reason; the standard library comes first"})
			}
		}
	}
	return all
}

// foreign tells whether an import path begins with a host name.
func foreign(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return strings.Contains(first, ".")
}

// moduleOf is the listed module an import path belongs to, "" for none.
func moduleOf(importPath string) string {
	for m := range modules {
		if under(importPath, m) {
			return m
		}
	}
	return ""
}

// Required finds direct requirements of a go.mod that are not listed.
func Required(goMod string) []Finding {
	var all []Finding
	for line := range strings.Lines(goMod) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") || !foreign(fields[0]) || slices.Contains(fields, "indirect") {
			continue
		}
		if moduleOf(fields[0]) == "" {
			all = append(all, Finding{"go.mod", "requires " + fields[0], "every module is listed in scripts/laws/module.go with its reason"})
		}
	}
	return all
}
