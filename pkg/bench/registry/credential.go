package registry

import (
	"bytes"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// clientPrefix makes an OAuth client id of an agent's id. It never changes.
const clientPrefix = "mcpc_"

// ClientID is the OAuth client id of an agent.
func ClientID(agentID string) string { return clientPrefix + agentID }

// Rotate replaces the REST token; the old one stops with the commit.
var Rotate = op.Declare(op.Meta{
	ID: "bench.token.rotate", Method: "POST", Path: "/api/bench/me/token/rotate", Auth: op.Maker, Scope: TargetsRead,
	Idempotent: op.KeyRequired, Limit: &Writes, Summary: "Replace your REST token.",
	Notes:    "The new token is shown once and left out of a replay. MCP tokens live on until their five minutes end.",
	Contract: "bench.md 3.10",
}, rotate)

// RotateIn is an empty body.
type RotateIn struct{}

// Rows names the agent and its feed.
func (RotateIn) Rows(agentID string) []table.Key {
	return []table.Key{AgentKey(agentID), record.HeadKey(agentID)}
}

// RotateOut shows the new token once.
type RotateOut struct {
	RestToken   string      `json:"rest_token,omitempty" secret:"true"`
	TokenNotice string      `json:"token_notice"`
	ClientID    string      `json:"mcp_client_id"`
	RotatedAt   record.Time `json:"rotated_at"`
}

func rotate(c *op.Call, _ RotateIn) (out RotateOut, err error) {
	token, err := account.AgentToken.Issue(c, c.Caller.ID, nil, time.Time{})
	if err != nil {
		return out, err
	}
	if err := record.Audit(c, c.Caller.Key(), EventRotated, "agent:"+c.Caller.ID, nil, nil); err != nil {
		return out, err
	}
	return RotateOut{RestToken: token, TokenNotice: tokenNotice, ClientID: ClientID(c.Caller.ID), RotatedAt: record.Time(c.Now)},
		record.Event(c, c.Caller.ID, record.E{Type: EventRotated})
}

// SetRecoveryKey stores the key that signed recovery is checked with.
var SetRecoveryKey = op.Declare(op.Meta{
	ID: "bench.recovery_key.set", Method: "POST", Path: "/api/bench/me/recovery-key", Auth: op.Maker, Scope: TargetsRead,
	Idempotent: op.KeyRequired, Limit: &Writes, Summary: "Store your recovery public key.",
	Faults: []string{"private_key_detected", "public_key_invalid"}, Contract: "bench.md 3.6",
}, setRecoveryKey)

// RecoveryKeyIn carries a public key.
type RecoveryKeyIn struct {
	Key string `json:"recovery_public_key" rule:"required,min=1,max=2048" doc:"Ed25519 public key in any accepted form."`
}

// Validate refuses private material and keys that are none.
func (in RecoveryKeyIn) Validate() error { return checkKey(in.Key, "recovery_public_key") }

func checkKey(s, field string) error {
	if s == "" {
		return nil // the field's own rule answers
	}
	if _, err := ParseKey(s); err != nil {
		return fault.New(fault.Invalid, keyCode(err), keySentence(err)).At(field)
	}
	return nil
}

// Rows names the agent and its feed.
func (RecoveryKeyIn) Rows(agentID string) []table.Key {
	return []table.Key{AgentKey(agentID), record.HeadKey(agentID)}
}

// RecoveryKeyOut says what is on file now.
type RecoveryKeyOut struct {
	Set      bool   `json:"recovery_key_set"`
	Replaced bool   `json:"replaced_previous"`
	Notice   string `json:"notice"`
}

func setRecoveryKey(c *op.Call, in RecoveryKeyIn) (out RecoveryKeyOut, err error) {
	a, err := Load(c, c.Caller.ID)
	if err != nil {
		return out, err
	}
	key, err := ParseKey(in.Key)
	if err != nil {
		return out, err
	}
	out = RecoveryKeyOut{Set: true, Replaced: len(a.RecoveryKey) > 0 && !bytes.Equal(a.RecoveryKey, key), Notice: keyNotice}
	a.RecoveryKey = key
	a.save(c)
	if err := record.Audit(c, c.Caller.Key(), EventRecoveryKey, "agent:"+a.ID, nil, map[string]bool{"replaced": out.Replaced}); err != nil {
		return out, err
	}
	return out, record.Event(c, a.ID, record.E{Type: EventRecoveryKey, Data: map[string]bool{"replaced": out.Replaced}})
}

// SetClientKey stores the key that client assertions are checked with.
var SetClientKey = op.Declare(op.Meta{
	ID: "bench.client_key.set", Method: "POST", Path: "/api/bench/me/client-key", Auth: op.Maker, Scope: TargetsRead,
	Idempotent: op.KeyRequired, Limit: &Writes, Summary: "Store your OAuth client public key.",
	Notes:  "It opens the MCP door. Replacing it ends every live MCP token.",
	Faults: []string{"private_key_detected", "public_key_invalid"}, Contract: "bench.md 3.6",
}, setClientKey)

// ClientKeyIn carries a public key.
type ClientKeyIn struct {
	Key string `json:"client_public_key" rule:"required,min=1,max=2048" doc:"Ed25519 public key in any accepted form."`
}

// Validate refuses private material and keys that are none.
func (in ClientKeyIn) Validate() error { return checkKey(in.Key, "client_public_key") }

// Rows names the agent, its live MCP tokens and its feed.
func (ClientKeyIn) Rows(agentID string) []table.Key {
	return []table.Key{AgentKey(agentID), clientKey(agentID), record.HeadKey(agentID)}
}

// ClientKeyOut says what is on file now.
type ClientKeyOut struct {
	Set      bool   `json:"client_key_set"`
	Replaced bool   `json:"replaced_previous"`
	ClientID string `json:"mcp_client_id"`
}

func setClientKey(c *op.Call, in ClientKeyIn) (out ClientKeyOut, err error) {
	a, err := Load(c, c.Caller.ID)
	if err != nil {
		return out, err
	}
	key, err := ParseKey(in.Key)
	if err != nil {
		return out, err
	}
	out = ClientKeyOut{Set: true, Replaced: len(a.ClientKey) > 0 && !bytes.Equal(a.ClientKey, key), ClientID: ClientID(a.ID)}
	a.ClientKey = key
	a.save(c)
	if out.Replaced {
		if err := revokeMCP(c, a.ID); err != nil {
			return out, err
		}
	}
	if err := record.Audit(c, c.Caller.Key(), EventClientKey, "agent:"+a.ID, nil, map[string]bool{"replaced": out.Replaced}); err != nil {
		return out, err
	}
	return out, record.Event(c, a.ID, record.E{Type: EventClientKey, Data: map[string]bool{"replaced": out.Replaced}})
}
