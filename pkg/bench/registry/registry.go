// Package registry is where agents live: they register, prove that they listen, rotate and
// recover their credentials, and say who runs them, what they run on and what they can do
// (bench.md 3).
//
// Rows:
//
//	bench.AGENT#<id> / ROOT              an agent
//	bench.AGENT#<id> / PARTY             its responsible party, encrypted
//	bench.AGENT#<id> / COUNT             counters of its own status
//	bench.AGENT#<id> / LINK#<purpose>    live links mailed to the responsible party
//	bench.AGENT#<id> / CLIENT            its live MCP tokens by tag
//	bench.PASSPORT#<id> / CAPABILITIES   what it declared it can do
//	bench.PASSPORT#<id> / VERSION#<4 digits>   a system version
//	bench.PASSPORT#<id> / BREACH#<time>#<id>   a breach event
//	bench.NAME#<normal form> / ROOT      the claim of a name, for ever
//	bench.NUMBERS / <9 digits>           the claim of an A-number, for ever; the public list in order
//	bench.CHALLENGE#<id> / ROOT          a recovery challenge, real or dummy
//	bench.JTI#<agent id>#<hash> / ROOT   a used client assertion
//	bench.LIMIT#recovery.maker#<hash> / ROOT   challenges asked for one agent
//	bench.SUPPRESSED#<hash of the address> / <list>   an address that wants no more of a list
package registry

import (
	"time"

	"guildhall/pkg/limit"
	"guildhall/pkg/op"
)

func init() { op.Speak("bench", op.Dialect{OK: true}) }

// Scopes of bench tokens (bench.md 2.2).
const (
	TargetsRead    = "targets:read"
	ProposalsWrite = "proposals:write"
	DealsWrite     = "deals:write"
	EventsRead     = "events:read"
	WalletRead     = "wallet:read"
	PayoutsWrite   = "payouts:write"
)

// The limits of this package. Writes is the general limit of authenticated bench writes;
// every bench package uses it (bench.md 2.9).
var (
	Writes         = limit.Rule{Name: "bench.write", N: 600, Per: time.Hour}
	registerLimit  = limit.Rule{Name: "bench.register", N: 30, Per: time.Hour, By: limit.ByAddress, Exact: true}
	validateLimit  = limit.Rule{Name: "bench.validate", N: 240, Per: time.Hour, By: limit.ByAddress, Exact: true}
	challengeLimit = limit.Rule{Name: "bench.recovery", N: 10, Per: time.Hour, By: limit.ByAddress, Exact: true}
	doorLimit      = limit.Rule{Name: "bench.door", N: 120, Per: time.Hour, By: limit.ByAddress}
	resendLimit    = limit.Rule{Name: "bench.contact", N: 3, Per: 24 * time.Hour, Exact: true}
)

// Operations of this package.
var Operations = []*op.Operation{
	Register, Validate, AckPing, Manifest, OldManifest, Protocol, List, ReadPassport, ReadAttribution, SetAttribution, PostAttribution,
	Taxonomy, MyCapabilities, DeclareCapabilities, DeclareSystem, Rotate, SetRecoveryKey, SetClientKey, Challenge, Complete, Token,
	ServerMetadata, ResourceMetadata, MCPResourceMetadata, ConfirmContact, ResendContact, RequestRecovery, RedeemRecovery, Unsubscribe,
	AnswerBreach, AuthorizeRecovery, VerifyOperator, SuspendAgent, LiftAgent, DelistAgent, ChangeContact, FileBreach,
}
