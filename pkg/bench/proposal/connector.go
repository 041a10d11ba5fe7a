package proposal

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kinds of a grant (bench contract 5.8). The first three are connected: the platform brokers them and the agent never holds
// the credential.
const (
	ActionGateway    = "action_gateway"
	OAuthConnection  = "oauth_connection"
	MCPServer        = "mcp_server"
	OwnedAutomation  = "owned_automation"
	ServiceAccount   = "service_account"
	ScopedMachineKey = "scoped_machine_key"
)

var grantKinds = []string{ActionGateway, OAuthConnection, OwnedAutomation, MCPServer, ServiceAccount, ScopedMachineKey}

// What a connected grant must say.
const (
	UntilTargetEnd    = "target_end"
	ExposureConnected = "agent_acts_through_connection"
)

// Modes of a connector action: a read the grant itself allows, or one the person approves call by call.
const (
	ReadGrantOnce = "read_grant_once"
	ApproveEach   = "approve_each"
)

// Connected says whether a grant of this kind goes through a connector.
func Connected(kind string) bool {
	return kind == ActionGateway || kind == OAuthConnection || kind == MCPServer
}

// Provider is one entry of the connector catalog.
type Provider struct {
	Provider     string            `json:"provider"`
	Title        string            `json:"title"`
	Kind         string            `json:"kind"`
	Actions      []ConnectorAction `json:"actions"`
	Resources    []ResourcePattern `json:"resources"`
	ExposureNote string            `json:"exposure_note"`
}

// ConnectorAction is one thing a provider can be asked to do. ActionPattern stands where the names are the server's own (the
// tools of an MCP server); Action is then the form to write them in.
type ConnectorAction struct {
	Action        string          `json:"action"`
	ActionPattern string          `json:"action_pattern,omitempty"`
	Mode          string          `json:"mode"`
	Summary       string          `json:"summary"`
	ParamsSchema  json.RawMessage `json:"params_schema"`
}

// ResourcePattern is a kind of thing an action may touch; Pattern is an anchored regular expression for the whole text.
type ResourcePattern struct {
	Type    string `json:"type"`
	Pattern string `json:"pattern"`
	Example string `json:"example"`
}

//go:embed connectors.json
var connectorsFile []byte

// catalog is the file read once, its patterns compiled. The file is part of the program: a fault in it is a bug a test finds.
var catalog = sync.OnceValue(func() []Provider {
	var file struct {
		Providers []Provider `json:"providers"`
	}
	if err := json.Unmarshal(connectorsFile, &file); err != nil {
		panic("proposal: connectors.json: " + err.Error())
	}
	return file.Providers
})

var compiled sync.Map // pattern -> *regexp.Regexp

func fits(pattern, s string) bool {
	re, ok := compiled.Load(pattern)
	if !ok {
		re, _ = compiled.LoadOrStore(pattern, regexp.MustCompile(pattern))
	}
	return re.(*regexp.Regexp).MatchString(s)
}

// Connectors is the catalog, in the order it is listed. The answer is shared: do not change it.
func Connectors() []Provider { return catalog() }

// FindProvider looks up a provider by its exact catalog name.
func FindProvider(name string) (Provider, bool) {
	for _, p := range catalog() {
		if p.Provider == name {
			return p, true
		}
	}
	return Provider{}, false
}

// Action looks up an action by its exact name, or by the provider's pattern where the names are a server's own.
func (p Provider) Action(name string) (ConnectorAction, bool) {
	for _, a := range p.Actions {
		if a.ActionPattern == "" && a.Action == name || a.ActionPattern != "" && fits(a.ActionPattern, name) {
			return a, true
		}
	}
	return ConnectorAction{}, false
}

// Bounds says whether a resource is one the provider knows, written out in full: wildcards never match.
func (p Provider) Bounds(resource string) bool {
	if strings.ContainsAny(resource, "*?%") {
		return false
	}
	return slices.ContainsFunc(p.Resources, func(r ResourcePattern) bool { return fits(r.Pattern, resource) })
}

var connectorShape = object{fields: []field{
	{name: "provider", shape: phrase{min: 1, max: MaxResourceChars, line: true}, must: true, doc: "Exact name from the connector catalog."},
	{name: "actions", shape: list{noun: "action", min: 1, max: MaxActions, of: phrase{min: 1, max: MaxResourceChars, line: true}}, must: true, doc: "Exact names from the connector catalog."},
	{name: "resources", shape: list{noun: "resource", min: 1, max: MaxResources, of: phrase{min: 1, max: MaxResourceChars, line: true}}, must: true, doc: "What may be touched, each written out; no wildcards."},
	{name: "operation_limit", shape: whole{1, MaxOperationLimit}, must: true, doc: "Most calls over the life of the grant."},
}}

// connectorProblem applies REJ-26 to a checked grant_request.
func connectorProblem(grant map[string]any) *problem {
	kind, _ := grant["kind"].(string)
	given, has := grant["connector"]
	switch {
	case !Connected(kind) && has:
		return wrong("needs kind %s, %s or %s", ActionGateway, OAuthConnection, MCPServer).in("connector")
	case !Connected(kind):
		return nil
	case grant["until"] != UntilTargetEnd:
		return wrong("must be %s for kind %s", UntilTargetEnd, kind).in("until")
	case grant["exposure"] != ExposureConnected:
		return wrong("must be %s for kind %s", ExposureConnected, kind).in("exposure")
	case !has:
		return wrong("is required for kind %s", kind).in("connector")
	}
	stored, p := connectorShape.check(given)
	if p == nil {
		grant["connector"] = stored
		p = catalogProblem(stored.(map[string]any), kind)
	}
	if p != nil && len(p.where) == 0 {
		return p.in("connector")
	}
	return p
}

func catalogProblem(c map[string]any, kind string) *problem {
	provider, ok := FindProvider(c["provider"].(string))
	if !ok {
		return wrong("is not in the connector catalog").in("provider")
	}
	if provider.Kind != kind {
		return wrong("is connected with kind %s, not %s", provider.Kind, kind).in("provider")
	}
	for i, a := range c["actions"].([]any) {
		if _, ok := provider.Action(a.(string)); !ok {
			return wrong("is not an action of %s", provider.Provider).at("action", i+1)
		}
	}
	for i, r := range c["resources"].([]any) {
		if !provider.Bounds(r.(string)) {
			return wrong("is not a bounded resource of %s", provider.Provider).at("resource", i+1)
		}
	}
	return nil
}
