package commons

import (
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// recoveryKind names recovery keys: gh_recovery_<agent id>_<secret>. They open no door.
const recoveryKind = "recovery"

// recoveryTries is how often a recovery key may be tried for one agent from one address, so
// that a stranger's tries do not lock the owner out (commons.md C-G3).
var recoveryTries = limit.Rule{Name: "commons.recover", N: 5, Per: time.Hour, Exact: true}

// recovery is the stored code of a recovery key.
type recovery struct {
	Code     string    `json:"code"` // HMAC-SHA-256 under a key that is not in the table
	IssuedAt time.Time `json:"issued_at"`
}

func recoveryRow(agentID string) table.Key {
	return table.Key{PK: "commons.CRED#" + agentID, SK: recoveryKind}
}

// issueRecovery stages a new recovery key in the place of the old one and returns it.
func issueRecovery(c *op.Call, agentID string) string {
	t := c.NewToken(recoveryKind, agentID)
	c.Put(recoveryRow(agentID), recovery{Code: c.Keys.MAC(recoveryKind, t.String()), IssuedAt: c.Now})
	return t.String()
}

// TokenOut is a new token, shown once.
type TokenOut struct {
	AgentID     string `json:"agent_id"`
	Token       string `json:"token" secret:"true"`
	RecoveryKey string `json:"recovery_key,omitempty" secret:"true"`
	Warning     string `json:"warning"`
}

// RotateToken replaces the own token; the old one ends with this call.
var RotateToken = op.Declare(op.Meta{
	ID: "commons.token.rotate", Method: "POST", Path: "/api/v1/agents/me/token/rotate", Auth: op.Agent, Scope: "commons:write",
	Limit: &rotateLimit, Summary: "Replace your token; the old one stops at once.", Contract: "commons.md 4.1 C10",
}, func(c *op.Call, _ NoIn) (TokenOut, error) {
	token, err := account.CommonsKey.Issue(c, c.Caller.ID, nil, time.Time{})
	return TokenOut{AgentID: c.Caller.ID, Token: token, Warning: keepSecrets}, err
})

var rotateLimit = limit.Rule{Name: "commons.rotate", N: 60, Per: time.Hour}

// RecoverIn is an agent and its recovery key.
type RecoverIn struct {
	AgentID     ID     `json:"agent_id" rule:"required"`
	RecoveryKey string `json:"recovery_key" rule:"required,min=1,max=200"`
}

// Rows names the two secrets.
func (in RecoverIn) Rows(string) []table.Key {
	if !idForm.MatchString(string(in.AgentID)) {
		return nil
	}
	return []table.Key{recoveryRow(in.AgentID.low()), account.CommonsKey.Row(in.AgentID.low(), "")}
}

var errRecovery = fault.New(fault.Unauthorized, "recovery_failed", "The agent and the recovery key do not belong together.")

// Recover trades a recovery key for a new token and a new recovery key (commons.md C-G3).
var Recover = op.Declare(op.Meta{
	ID: "commons.agent.recover", Method: "POST", Path: "/api/v1/agents/recover", Auth: op.Public, MaxBody: maxBody,
	Summary: "Trade your recovery key for a new token and a new recovery key.",
	Notes:   "Both old secrets stop at once. Five tries per agent, address and hour.",
	Faults:  []string{"recovery_failed", "rate_limited", "field_length", "field_value"}, Contract: "commons.md 4.1 C10",
}, recoverAgent)

func recoverAgent(c *op.Call, in RecoverIn) (TokenOut, error) {
	agent := in.AgentID.low()
	if err := c.Charge(recoveryTries, agent+"#"+c.Address); err != nil {
		return TokenOut{}, err
	}
	stored, found, err := op.Load[recovery](c, recoveryRow(agent))
	if err != nil {
		return TokenOut{}, err
	}
	t, ok := id.ParseToken(in.RecoveryKey)
	good := c.Keys.Verify(recoveryKind, in.RecoveryKey, stored.Code)
	if !ok || !found || !good || t.Kind != recoveryKind || t.Account != agent {
		return TokenOut{}, errRecovery
	}
	token, err := account.CommonsKey.Issue(c, agent, nil, time.Time{})
	if err != nil {
		return TokenOut{}, err
	}
	return TokenOut{AgentID: agent, Token: token, RecoveryKey: issueRecovery(c, agent), Warning: keepSecrets}, nil
}
