package laws

import (
	"slices"
	"strings"

	"guildhall/scripts/source"
)

// layer is a set of folders with one rule: what its files may import of our own packages
// ("pkg/x" with everything below it, "pkg/x." alone) and which foreign packages they may not.
type layer struct {
	name   string
	dirs   []string
	may    []string
	never  []string // prefixes of import paths
	reason string
}

var (
	kernel = []string{"pkg/fault", "pkg/op.", "pkg/id", "pkg/caller", "pkg/limit", "pkg/clock", "pkg/table."}
	// ports are interfaces: the adapters below them are for wire alone.
	ports = []string{"pkg/queue.", "pkg/blob.", "pkg/mail.", "pkg/mail/outbox", "pkg/pay.", "pkg/sms.", "pkg/sms/outbox", "pkg/linkprobe."}
	// shelves keep rows of any context in an order that is cheap to read.
	shelves = []string{"pkg/roll", "pkg/textindex", "pkg/audit"}
	// published are texts of bench that are served as they are: the rule book and the schema.
	published = []string{"pkg/bench/rulebook", "pkg/bench/proposal"}
	cloud     = []string{"github.com/aws/", "github.com/awslabs/", "github.com/guregu/", "github.com/stripe/"}
	// outside are the ways out of the process.
	outside = append([]string{"net/http", "os", "os/", "net", "syscall"}, cloud...)
)

// layers, the first that holds a folder rules it. Contexts are added by init.
var layers = []layer{
	{"the kernel", []string{"pkg/fault", "pkg/op", "pkg/id", "pkg/caller", "pkg/limit", "pkg/clock"}, kernel, outside,
		"the kernel knows nothing above it; it knows the table port because a unit of work is a table commit"},
	{"the table port", []string{"pkg/table."}, nil, outside, "a port is an interface: it links no adapter and no SDK"},
	{"text", []string{"pkg/text"}, []string{"pkg/text"}, outside, "the text rules are pure functions that everybody can use"},
	{"the link port", []string{"pkg/linkprobe."}, []string{"pkg/text"}, outside, "it speaks in the link gate's words and asks nobody itself"},
	{"an adapter of the link port", []string{"pkg/linkprobe"}, []string{"pkg/text", "pkg/linkprobe"}, cloud, "it asks the net under the link gate's rules and knows no context"},
	{"a port", ports, slices.Concat(kernel, ports), cloud, "a port links no SDK and knows no context"},
	{"an adapter", []string{"pkg/table", "pkg/queue", "pkg/blob", "pkg/mail", "pkg/pay", "pkg/sms"},
		slices.Concat(kernel, ports, []string{"pkg/atomicfile", "pkg/awshttp", "pkg/table", "pkg/queue", "pkg/blob", "pkg/mail", "pkg/pay", "pkg/sms"}), nil,
		"an adapter implements a port for any exchange: it knows no context, edge or configuration"},
	{"a shelf", shelves, kernel, outside, "lists and indexes over the table serve any context: they know none of them"},
	{"files", []string{"pkg/atomicfile"}, nil, cloud, "it writes files and nothing else"},
	{"the AWS transport", []string{"pkg/awshttp"}, nil, []string{"os", "os/"}, "it sends requests for the AWS adapters and knows none of them"},
	{"accounts", []string{"pkg/account"}, slices.Concat(kernel, ports, []string{"pkg/text", "pkg/account"}), outside,
		"accounts are shared by all contexts, so they know none of them, and no way out of the process"},
	{"an edge", []string{"pkg/edge"}, slices.Concat(kernel, ports, []string{"pkg/edge", "pkg/account"}), nil,
		"a transport serves any operation: it imports op and fault, never a context, an adapter or the catalog"},
	{"the served files", []string{"pkg/files"}, slices.Concat(kernel, []string{"pkg/spec", "pkg/site/assets", "pkg/bench/rulebook", "pkg/bench/proposal"}), outside,
		"it serves finished documents and decides nothing"},
	{"the assets", []string{"pkg/site/assets"}, nil, outside, "files and nothing else"},
	{"a door", []string{"pkg/catalog/door"}, kernel, outside, "a door is data: a function imports it without the catalog"},
	{"the catalog", []string{"pkg/catalog"}, slices.Concat(kernel, ports, contexts, []string{"pkg/account", "pkg/files", "pkg/catalog/door"}), outside,
		"infrastructure and documents read the catalog: it links no AWS, no server"},
	{"the documents", []string{"pkg/spec"}, slices.Concat(kernel, []string{"pkg/catalog", "pkg/spec"}), outside,
		"documents read declarations, so they cannot say what a context does not declare"},
	{"the pages", []string{"pkg/site"}, slices.Concat(kernel, published, []string{"pkg/site", "pkg/catalog", "pkg/spec", "pkg/account", "pkg/text", "pkg/edge"}), cloud,
		"pages call operations and nothing else"},
	{"the configuration", []string{"pkg/config"}, slices.Concat(kernel, ports, []string{"pkg/config", "pkg/atomicfile"}), cloud,
		"configuration is values: it opens nothing"},
	{"the wiring", []string{"pkg/wire"}, []string{"pkg"}, nil, "wire puts everything together"},
	{"a function", []string{"functions"}, slices.Concat(contexts, []string{"pkg/account", "pkg/files", "pkg/catalog/door", "pkg/mail/outbox", "pkg/sms/outbox", "pkg/wire"}), cloud,
		"a function links its operation's package and its wiring: what it does not import does not redeploy it"},
	{"a program", []string{"cmd"}, []string{"pkg", "cmd"}, nil, "programs may use everything"},
	{"a script", []string{"scripts"}, []string{"pkg", "scripts"}, nil, "scripts may use everything"},
}

var contexts = []string{"pkg/bench", "pkg/help", "pkg/peer", "pkg/commons"}

func init() {
	for _, c := range contexts {
		layers = append(layers, layer{"a context", []string{c}, slices.Concat(kernel, ports, shelves, []string{"pkg/text", "pkg/account", c}), outside,
			"a context imports the kernel, ports, shelves, accounts and itself: never another context, an edge, wire, net/http, os or AWS"})
	}
}

// Imports finds imports against the direction of the layers.
func Imports(t *source.Tree) []Finding {
	var all []Finding
	for _, f := range product(t) {
		if underAny(f.Dir, "infra", "tests", "tools", "localstack") || f.Dir == "." {
			continue // modules of their own, and the law tests
		}
		l := layerOf(f.Dir)
		if l == nil {
			all = append(all, Finding{f.Path, f.Dir + " stands in no layer", "every folder has a rule: give it one in scripts/laws"})
			continue
		}
		for _, i := range f.Imports() {
			if !l.allows(i) {
				all = append(all, Finding{f.Path, l.name + " imports " + i, l.reason})
			}
		}
	}
	return all
}

func layerOf(dir string) *layer {
	for i := range layers {
		if slices.ContainsFunc(layers[i].dirs, func(d string) bool { return holds(d, dir) }) {
			return &layers[i]
		}
	}
	return nil
}

// holds tells whether a folder fits a pattern: "pkg/x" with everything below it, "pkg/x."
// alone.
func holds(pattern, dir string) bool {
	if p, alone := strings.CutSuffix(pattern, "."); alone {
		return dir == p
	}
	return under(dir, pattern)
}

func (l *layer) allows(importPath string) bool {
	dir, own := strings.CutPrefix(importPath, source.Module+"/")
	if own {
		return slices.ContainsFunc(l.may, func(p string) bool { return holds(p, dir) })
	}
	return !slices.ContainsFunc(l.never, func(n string) bool {
		return importPath == n || strings.HasSuffix(n, "/") && strings.HasPrefix(importPath, n)
	})
}

// ranks orders the packages of bench: a package imports lower ranks only, and rank 0
// imports no bench package but others of rank 0 named in leaves.
var ranks = map[string]int{
	"money": 0, "record": 0, "access": 0, "drip": 0, "rulebook": 0, "proposal": 0, "path": 0,
	"registry": 1, "wants": 2, "bids": 3, "closing": 3, "deals": 4, "delivery": 5, "letters": 5, "desk": 6, "steward": 6,
}

// strict are the packages that give rows to a commit and import no bench package at all.
var strict = []string{"money", "record", "access", "drip"}

const benchOrder = "registry <- wants <- bids <- deals <- delivery, letters, with desk and steward on top; money, record, access and drip import no bench package"

// BenchOrder finds imports against the order of the bench packages.
func BenchOrder(t *source.Tree) []Finding {
	var all []Finding
	for _, f := range product(t) {
		from, ok := benchPackage(f.Dir)
		if !ok {
			continue
		}
		if _, known := ranks[from]; !known {
			all = append(all, Finding{f.Path, "bench/" + from + " has no rank", benchOrder})
			continue
		}
		for _, i := range f.Imports() {
			to, ok := benchPackage(strings.TrimPrefix(i, source.Module+"/"))
			if !ok || to == from {
				continue
			}
			leaves := ranks[from] == 0 && ranks[to] == 0 && !slices.Contains(strict, from)
			if slices.Contains(strict, from) || ranks[to] >= ranks[from] && !leaves {
				all = append(all, Finding{f.Path, "bench/" + from + " imports bench/" + to, benchOrder})
			}
		}
	}
	return all
}

// benchPackage is the first folder below pkg/bench.
func benchPackage(dir string) (string, bool) {
	rest, ok := strings.CutPrefix(dir, "pkg/bench/")
	name, _, _ := strings.Cut(rest, "/")
	return name, ok && name != ""
}
