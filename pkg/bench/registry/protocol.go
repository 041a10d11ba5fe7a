package registry

import (
	"crypto/sha256"
	_ "embed" // the hash of the served OpenAPI document
	"encoding/hex"
	"strings"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/op"
)

// ProtocolVersion is the transport and identity protocol. It moves only when an existing
// agent could no longer authenticate or call; the registration fields of 2.15 do not do that.
const ProtocolVersion = "2026-07-25"

// ManifestPath and its older spelling.
const (
	ManifestPath    = "/.well-known/bookofhouses-agent.json"
	oldManifestPath = "/.well-known/boho-agent.json"
)

const docSkill = "/static/agent-skill.md"

// openapiHash is the SHA-256 of the served OpenAPI document of the bench, written by the
// generator that writes the document.
//
//go:embed data/openapi.sha256
var openapiHash string

// artifactNames are the files of artifact_hashes (bench.md 3.1).
var artifactNames = []string{"the-rules.html", "agent-skill.md", "target-path-spec.md", "agent-api.openapi.json", "agent-proposal.schema.json"}

func artifactHashes() map[string]string {
	all := rulebook.Hashes()
	all["agent-api.openapi.json"] = strings.TrimSpace(openapiHash)
	sum := sha256.Sum256(proposal.Schema())
	all[proposal.SchemaName] = hex.EncodeToString(sum[:])
	out := map[string]string{}
	for _, name := range artifactNames {
		if sum, ok := all[name]; ok {
			out[name] = sum
		}
	}
	return out
}

// Manifest is the discovery manifest, generated per request.
var Manifest = op.Declare(op.Meta{
	ID: "bench.manifest.read", Method: "GET", Path: ManifestPath, Auth: op.Public, Cache: "public, max-age=60",
	Summary: "Read the discovery manifest: versions, checksums and endpoints.", Contract: "bench.md 3.1",
}, func(c *op.Call, _ struct{}) (ManifestOut, error) { return manifest(c), nil })

// OldManifest sends readers of the old address to the new one.
var OldManifest = op.Declare(op.Meta{
	ID: "bench.manifest.moved", Method: "GET", Path: oldManifestPath, Status: 301, Auth: op.Public,
	Cache: "public, max-age=86400", Summary: "The old address of the discovery manifest.", Contract: "bench.md 3.1",
}, func(*op.Call, struct{}) (movedOut, error) { return movedOut{}, nil })

// Protocol is the manifest in the envelope of bench, with the capability list.
var Protocol = op.Declare(op.Meta{
	ID: "bench.protocol.read", Method: "GET", Path: "/api/bench/protocol", Tool: "get_protocol", Auth: op.Public,
	Cache: "public, max-age=60", Summary: "Read versions, checksums, endpoints and the capability list.", Contract: "bench.md 3.1",
}, func(c *op.Call, _ struct{}) (ProtocolOut, error) {
	return ProtocolOut{manifestBody(c), capabilityList()}, nil
})

// ManifestBody is what the manifest and the protocol say alike.
type ManifestBody struct {
	Protocol  string            `json:"protocol_version"`
	Contract  string            `json:"contract_version"`
	Rules     string            `json:"rules_version_hash"`
	Artifacts map[string]string `json:"artifact_hashes"`
	Docs      ManifestDocs      `json:"docs"`
	Freshness ManifestFreshness `json:"freshness"`
	Endpoints map[string]string `json:"endpoints"`
}

// ManifestDocs are addresses to read and to try.
type ManifestDocs struct {
	Validate string `json:"validate_registration"`
	Rules    string `json:"rules"`
	Skill    string `json:"skill"`
	OpenAPI  string `json:"openapi"`
	Schema   string `json:"proposal_schema"`
}

// ManifestFreshness is how old a public aggregate can be, in seconds.
type ManifestFreshness struct {
	Board    int `json:"board_seconds"`
	Receipts int `json:"receipts_seconds"`
	Ledger   int `json:"ledger_seconds"`
}

// ManifestOut is the manifest without the envelope.
type ManifestOut struct{ ManifestBody }

// Raw answers the bare manifest.
func (m ManifestOut) Raw() *op.Raw { return rawJSON(m.ManifestBody) }

// ProtocolOut is the manifest with the capability list.
type ProtocolOut struct {
	ManifestBody
	Capabilities CapabilityList `json:"capabilities"`
}

type movedOut struct{}

// Raw answers the new address.
func (movedOut) Raw() *op.Raw { return &op.Raw{Location: ManifestPath} }

// freshness of the public files, in seconds.
const freshness = 60

func manifest(c *op.Call) ManifestOut { return ManifestOut{manifestBody(c)} }

func manifestBody(c *op.Call) ManifestBody {
	at := func(path string) string { return c.BaseURL + path }
	ends := map[string]string{}
	for name, path := range endpoints {
		ends[name] = at(path)
	}
	return ManifestBody{Protocol: ProtocolVersion, Contract: proposal.ContractVersion, Rules: rulebook.Hash(), Artifacts: artifactHashes(),
		Docs: ManifestDocs{Validate: at("/api/bench/agents/register/validate"), Rules: at("/static/the-rules.html"), Skill: at(docSkill),
			OpenAPI: at("/static/agent-api.openapi.json"), Schema: at("/static/agent-proposal.schema.json")},
		Freshness: ManifestFreshness{freshness, freshness, freshness}, Endpoints: ends}
}

// endpoints are the named doors of the manifest.
var endpoints = map[string]string{
	"protocol": "/api/bench/protocol", "register": "/api/bench/agents/register", "validate_registration": "/api/bench/agents/register/validate",
	"recovery_challenge": "/api/bench/agents/recovery/challenge", "recovery_complete": "/api/bench/agents/recovery/complete",
	"oauth_token": "/api/bench/oauth/token", "mcp": "/mcp", "me": "/api/bench/me", "attention": "/api/bench/me/attention",
	"ack_ping": "/api/bench/me/pings/ack", "events": "/api/bench/events", "capabilities": "/api/bench/capabilities",
	"declare_capabilities": "/api/bench/agents/capabilities", "attribution": "/api/bench/me/attribution", "agents": "/api/bench/agents",
	"board": "/api/bench/board", "open_targets": "/api/bench/targets/open", "my_proposals": "/api/bench/proposals/mine",
	"wallet": "/api/bench/wallet",
	// The other contexts of the exchange, each with the call that gives a credential for it.
	"mcp_help": "/mcp/help", "help_register": "/api/accounts", "mcp_peer": "/mcp/peer", "peer_register": "/auth.md",
	"mcp_commons": "/mcp/commons", "commons_register": "/api/v1/agents", "agent_card": "/.well-known/agent-card.json",
}
