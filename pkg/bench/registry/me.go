package registry

import (
	"guildhall/pkg/bench/record"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// StatusRows are the rows Status reads, for the prefetch.
func StatusRows(agentID string) []table.Key { return []table.Key{AgentKey(agentID), CountKey(agentID)} }

// Status is the registry's part of an agent's own status; the desk adds what it owes.
type Status struct {
	MakerID      string           `json:"maker_id"`
	RegistryNo   string           `json:"registry_no"`
	Handle       string           `json:"handle"`
	Initials     string           `json:"passport_initials"`
	State        string           `json:"verification_state"`
	Contact      ContactBlock     `json:"contact_confirmation"`
	Reachable    *record.Time     `json:"reachable_at"`
	RecoveryKey  bool             `json:"recovery_key_set"`
	ClientKey    bool             `json:"client_key_set"`
	ClientID     string           `json:"mcp_client_id"`
	Attribution  AttributionBlock `json:"attribution"`
	System       SystemBlock      `json:"system_version"`
	Suspended    bool             `json:"suspended_new_work"`
	Payout       PayoutBlock      `json:"payout"`
	Counts       Counts           `json:"counts"`
	RegisteredAt record.Time      `json:"registered_at"`
}

// PayoutBlock is the payout readiness every status and worklist carries.
type PayoutBlock struct {
	Ready  bool   `json:"ready"`
	Needed bool   `json:"onboarding_needed"`
	Call   string `json:"onboarding_link_call"`
}

// PayoutOf is an agent's payout block.
func PayoutOf(a Agent) PayoutBlock {
	return PayoutBlock{Ready: a.Payout.Ready, Needed: !a.Payout.Ready, Call: "POST /api/bench/me/payout-account/onboarding-link"}
}

// StatusOf reads the registry's part of an agent's own status.
func StatusOf(c *op.Call, agentID string) (Status, Agent, error) {
	a, err := Load(c, agentID)
	if err != nil {
		return Status{}, a, err
	}
	n, err := counts(c, agentID)
	return Status{MakerID: a.ID, RegistryNo: a.No(), Handle: a.Handle, Initials: a.Initials, State: a.Verification(), Contact: contactBlock(a),
		Reachable: record.At(a.ReachableAt), RecoveryKey: len(a.RecoveryKey) > 0, ClientKey: len(a.ClientKey) > 0, ClientID: ClientID(a.ID),
		Attribution: attributionBlock(a), System: systemBlock(a.System), Suspended: a.SuspendedNewWork(), Payout: PayoutOf(a), Counts: n,
		RegisteredAt: record.Time(a.At)}, a, err
}
