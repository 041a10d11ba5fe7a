package deals

import (
	"slices"

	"guildhall/pkg/bench/access"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// The nine tests and four exceptions of a material change of access (bench.md 12.2).
var (
	MaterialityTests = []string{"asks_person_to_do_agent_work", "needs_undisclosed_access", "needs_broader_permissions",
		"raises_price_or_resources", "extends_timeline", "reduces_or_changes_outcome", "moves_responsibility", "adds_material_risk",
		"needs_different_service_or_system"}
	Exceptions = []string{"person_misrepresented_access", "person_revoked_access", "provider_changed_capability", "unforeseeable_outside_failure"}
)

// AccessView is the access block (bench.md 16.2): what the person granted and the agent
// declared, read back.
type AccessView struct {
	Grants   []GrantView   `json:"grants"`
	Count    int           `json:"grants_count"`
	Homework string        `json:"your_homework"`
	Swap     SwapGuide     `json:"equivalent_swap"`
	Material MaterialGuide `json:"material_change"`
}

// GrantView is a grant on the wire.
type GrantView struct {
	ID         string       `json:"grant_id"`
	Capability *string      `json:"capability"`
	What       string       `json:"what"`
	Scope      string       `json:"scope"`
	Until      string       `json:"until"`
	Status     string       `json:"status"`
	StepID     string       `json:"step_id"`
	GrantedAt  record.Time  `json:"granted_at"`
	RevokedAt  *record.Time `json:"revoked_at"`
	Swaps      []SwapView   `json:"swaps"`
}

// SwapView is an equivalent swap on the wire.
type SwapView struct {
	From     string      `json:"from"`
	To       string      `json:"to"`
	When     record.Time `json:"when"`
	Why      string      `json:"why"`
	Material *string     `json:"material_declaration,omitempty"`
}

// SwapGuide says how an equivalent swap is recorded.
type SwapGuide struct {
	Rule     int    `json:"rule"`
	Endpoint string `json:"endpoint"`
	Tool     string `json:"mcp_tool"`
	Note     string `json:"note"`
}

// MaterialGuide says what a material change of access is.
type MaterialGuide struct {
	Rule       int      `json:"rule"`
	Endpoint   string   `json:"endpoint"`
	Tool       string   `json:"mcp_tool"`
	Tests      []string `json:"materiality_tests"`
	TestsNote  string   `json:"materiality_tests_note"`
	Exceptions []string `json:"exceptions"`
}

func grantView(g *access.Grant) GrantView {
	v := GrantView{ID: g.ID, Capability: Given(g.Capability), What: g.What, Scope: g.Scope, Until: g.Until, Status: g.Status,
		StepID: g.StepID, GrantedAt: record.Time(g.GrantedAt), RevokedAt: record.At(g.RevokedAt), Swaps: []SwapView{}}
	for _, s := range g.Swaps {
		v.Swaps = append(v.Swaps, swapView(s))
	}
	return v
}

func grantViews(g *access.Grants) []GrantView {
	out := []GrantView{}
	for i := range g.List {
		out = append(out, grantView(&g.List[i]))
	}
	return out
}

func accessOf(d *path.Deal, g *access.Grants) AccessView {
	grants := grantViews(g)
	return AccessView{Grants: grants, Count: len(grants),
		Homework: "Use each permission for this deal only, within its scope, and keep your own record of what you did with it.",
		Swap: SwapGuide{107, "/api/bench/deals/" + d.ID + "/grants/{grant_id}/swap", "record_connector_swap",
			"A different tool with the same capability and limits is recorded here, costs nothing and opens no ask."},
		Material: MaterialGuide{108, "/api/bench/deals/" + d.ID + "/steps/{step_id}/fail", "declare_step_failed", slices.Clone(MaterialityTests),
			"If any of these holds, the change is material: declare the step failed and bid again.", slices.Clone(Exceptions)}}
}

// RevokeIn revokes a grant.
type RevokeIn struct {
	OfDeal
	GrantID string `path:"grant_id"`
}

// Rows implements op.Prefetcher.
func (in RevokeIn) Rows(string) []table.Key { return in.with("", access.Key) }

// RevokeOut is the grant after its revocation.
type RevokeOut struct {
	Grant GrantView `json:"grant"`
}

// RevokeGrant takes a permission back at any time (bench.md 16.3).
var RevokeGrant = op.Declare(op.Meta{
	ID: "person.grant.revoke", Method: "POST", Path: "/api/person/deals/{deal_id}/grants/{grant_id}/revoke",
	Destructive: true, Auth: op.Person, Idempotent: op.KeyRequired, Limit: &wants.PersonWrites, Summary: "Take a permission back.",
	Faults: []string{"grant_not_active"}, Contract: "surface.md 3, bench.md 16.3",
}, revokeGrant)

func revokeGrant(c *op.Call, in RevokeIn) (RevokeOut, error) {
	d, err := Own(c, in.DealID)
	if err != nil {
		return RevokeOut{}, err
	}
	x := &change{c: c, d: d}
	g, err := x.theGrants()
	if err != nil {
		return RevokeOut{}, err
	}
	one := g.Find(in.GrantID)
	if one == nil {
		return RevokeOut{}, fault.BareNotFound
	}
	if !one.Revoke(path.WhoPerson, c.Now) {
		return RevokeOut{}, fault.New(fault.Conflict, "grant_not_active", "This permission has ended already.")
	}
	if err := x.tellRevoked(one, &path.Event{At: c.Now}); err != nil {
		return RevokeOut{}, err
	}
	return RevokeOut{grantView(one)}, x.commit()
}
