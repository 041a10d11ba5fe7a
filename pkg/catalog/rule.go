package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"guildhall/pkg/op"
)

var (
	idForm   = regexp.MustCompile(`^[a-z]+(\.[a-z0-9_-]+)+$`)
	wildcard = regexp.MustCompile(`\{[^}]*\}`)
	auths    = []op.Auth{op.Public, op.Maker, op.Person, op.Steward, op.Admin, op.Account, op.Visitor, op.Agent, op.Webhook}
	methods  = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
)

// Groups are the folders below functions/ and the first words of ids.
var Groups = []string{"bench", "person", "steward", "help", "peer", "commons", "edge"}

// Door is the MCP endpoint whose tools an operation's tool stands among.
func Door(o *op.Operation) string { return o.Context() }

// Problems lists what no catalog may hold: two operations of one id, route, function folder
// or tool, an operation that serves nobody, an id of no group, a fault named twice.
func Problems(ops []*op.Operation) []string {
	var found []string
	seen := map[string]string{}
	once := func(what, name, id string) {
		if other, ok := seen[what+" "+name]; ok {
			found = append(found, fmt.Sprintf("%s: %s %s is also that of %s", id, what, name, other))
		}
		seen[what+" "+name] = id
	}
	for _, o := range ops {
		once("id", o.ID, o.ID)
		once("folder", o.Folder(), o.ID)
		once("route", o.Method+" "+wildcard.ReplaceAllString(o.Path, "{}"), o.ID)
		if o.Tool != "" {
			once("tool", strings.TrimSpace(Door(o)+"/"+o.Tool+" "+o.ToolCase), o.ID)
		}
		for _, a := range o.Also {
			once("tool", Door(o)+"/"+a.Tool, o.ID)
		}
		found = append(found, faulty(o)...)
	}
	return found
}

// faulty lists what is wrong with one declaration by itself.
func faulty(o *op.Operation) []string {
	var found []string
	say := func(bad bool, format string, args ...any) {
		if bad {
			found = append(found, o.ID+": "+fmt.Sprintf(format, args...))
		}
	}
	say(!idForm.MatchString(o.ID), "an id is words joined by dots, the first its group")
	say(!slices.Contains(Groups, o.Context()), "no group is called %s", o.Context())
	say(!slices.Contains(auths, o.Auth), "the operation serves nobody: auth is %q", o.Auth)
	say(!slices.Contains(methods, o.Method), "method %s is not routed", o.Method)
	say(strings.HasSuffix(o.Path, "/") && o.Path != "/", "path %s ends with a slash", o.Path)
	say(o.Success() < 200 || o.Success() > 399, "status %d is no success", o.Success())
	say(o.Reads() && o.Idempotent != op.KeyIgnored, "a read takes no Idempotency-Key")
	for i, f := range o.Faults {
		say(slices.Contains(o.Faults[:i], f), "fault %s is named twice", f)
	}
	for _, p := range o.Params() {
		say(p.From == "path" && !strings.Contains(o.Path, "{"+p.Name), "input %s is not in the path %s", p.Name, o.Path)
	}
	return found
}
