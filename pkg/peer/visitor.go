package peer

import (
	"cmp"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// client is a stored visitor. Its credential stands in its own row.
type client struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	// Recovery is the HMAC of the recovery key's secret, "" before a credential was issued.
	Recovery string `json:"recovery,omitempty"`
}

func clientKey(id string) table.Key { return table.Key{PK: "peer.CLIENT#" + id, SK: "ROOT"} }

// recoveryKind is the word in a recovery key: gh_peerrecovery_<client id>_<secret>. It opens
// no door.
const recoveryKind = "peerrecovery"

const recoveryPurpose = "peer.recovery"

// newRecovery gives the client a recovery key, shown once; an earlier one is dead.
func (k *client) newRecovery(c *op.Call) string {
	t := c.NewToken(recoveryKind, k.ID)
	k.Recovery = c.Keys.MAC(recoveryPurpose, t.Account+"."+t.Secret)
	return t.String()
}

// opens tells whether a recovery key is the client's.
func (k *client) opens(c *op.Call, recovery string) bool {
	t, ok := id.ParseToken(recovery)
	return ok && t.Kind == recoveryKind && t.Account == k.ID && k.Recovery != "" && c.Keys.Verify(recoveryPurpose, t.Account+"."+t.Secret, k.Recovery)
}

// IssueIn trades a used bootstrap proof for a credential.
type IssueIn struct {
	Proof  string `header:"X-Peer-Bootstrap" doc:"The proof the first publication was made with."`
	Key    string `json:"idempotency_key,omitempty" doc:"The key the first publication was made with."`
	Header string `header:"Idempotency-Key" doc:"The same as idempotency_key."`
}

// Rows implements op.Prefetcher.
func (in IssueIn) Rows(string) []table.Key {
	if p, ok := readProof(in.Proof); ok {
		return []table.Key{p.row()}
	}
	return nil
}

// IssueOut shows the credential and the recovery key, once.
type IssueOut struct {
	ClientID  string `json:"client_id"`
	Token     string `json:"token" secret:"true"`
	ExpiresAt Time   `json:"expires_at"`
	Recovery  string `json:"recovery_key" secret:"true"`
}

// Issue gives a first writer its credential (peer.md 3.7). It may be repeated within 24 hours
// as long as the token was not used; each time the earlier token dies.
var Issue = op.Declare(op.Meta{
	ID: "peer.visitor.issue", Method: "POST", Path: "/api/peer/visitor", Status: 201, Auth: op.Public, Limit: &visitorLimit, MaxBody: MaxBody,
	Summary: "Trade a bootstrap proof that has published for a credential.",
	Notes:   "For the program around a model, never for the model. Token and recovery key are shown once.",
	Faults:  []string{"unauthorized", "bootstrap_used", "credential_revoked"}, Contract: "peer.md 3.7, P-G3",
}, issue)

func issue(c *op.Call, in IssueIn) (IssueOut, error) {
	p, ok := readProof(in.Proof)
	if !ok {
		return IssueOut{}, noCredential
	}
	used, found, err := p.load(c)
	switch key := cmp.Or(in.Key, in.Header); {
	case err != nil:
		return IssueOut{}, err
	case !found || key != used.Key || in.Key != "" && in.Header != "" && in.Key != in.Header:
		return IssueOut{}, noCredential.Say("Send the proof and the key of a publication that was committed.")
	case !c.Now.Before(used.UsedAt.Add(ProofLife)):
		return IssueOut{}, bootstrapUsed
	}
	if err := c.Fetch(clientKey(used.ClientID), account.PeerToken.Row(used.ClientID, "")); err != nil {
		return IssueOut{}, err
	}
	k, cred, err := loadClient(c, used.ClientID)
	switch {
	case err != nil:
		return IssueOut{}, err
	case len(cred.Seen) > 0:
		return IssueOut{}, bootstrapUsed
	case !cred.RevokedAt.IsZero():
		return IssueOut{}, account.Revoked
	}
	out := IssueOut{ClientID: k.ID, ExpiresAt: Time(c.Now.Add(CredentialLife)), Recovery: k.newRecovery(c)}
	c.Put(clientKey(k.ID), k)
	if out.Token, err = account.PeerToken.Issue(c, k.ID, nil, c.Now.Add(CredentialLife)); err != nil {
		return out, err
	}
	return out, account.PeerToken.Wait(c, k.ID) // its first use ends the proof
}

func loadClient(c *op.Call, id string) (k client, cred account.Credential, err error) {
	if k, _, err = op.Load[client](c, clientKey(id)); err == nil {
		cred, _, err = op.Load[account.Credential](c, account.PeerToken.Row(id, ""))
	}
	return k, cred, err
}

// TokenOut is a new token, shown once. The earlier one is dead.
type TokenOut struct {
	Token     string `json:"token" secret:"true"`
	ExpiresAt Time   `json:"expires_at"`
}

// Rotate replaces the caller's token; the credential ends when it would have (peer.md 3.7).
var Rotate = op.Declare(op.Meta{
	ID: "peer.visitor.rotate", Method: "POST", Path: "/api/peer/visitor/rotate", Auth: op.Visitor, Scope: Scope, Limit: &visitorLimit, MaxBody: MaxBody,
	Summary: "Replace your token.", Faults: []string{"credential_revoked"}, Contract: "peer.md 3.7",
}, func(c *op.Call, _ struct{}) (TokenOut, error) {
	cred, _, err := op.Load[account.Credential](c, account.PeerToken.Row(c.Caller.ID, ""))
	if err != nil {
		return TokenOut{}, err
	}
	return issueUntil(c, cred.ExpiresAt)
})

func issueUntil(c *op.Call, until time.Time) (TokenOut, error) {
	token, err := account.PeerToken.Issue(c, c.Caller.ID, nil, until)
	return TokenOut{token, Time(until)}, err
}

// Renew lengthens the caller's credential in its last thirty days, with a new token.
var Renew = op.Declare(op.Meta{
	ID: "peer.visitor.renew", Method: "POST", Path: "/api/peer/visitor/renew", Auth: op.Visitor, Scope: Scope, Limit: &visitorLimit, MaxBody: MaxBody,
	Summary: "Renew your credential in its last 30 days.", Faults: []string{"credential_revoked", "renew_too_early"}, Contract: "peer.md 3.7",
}, func(c *op.Call, _ struct{}) (TokenOut, error) {
	cred, _, err := op.Load[account.Credential](c, account.PeerToken.Row(c.Caller.ID, ""))
	if err != nil {
		return TokenOut{}, err
	}
	if from := cred.ExpiresAt.Add(-RenewWindow); c.Now.Before(from) {
		return TokenOut{}, with(renewTooEarly, object{"renew_from": Time(from)})
	}
	return issueUntil(c, c.Now.Add(CredentialLife))
})

var (
	renewTooEarly  = fault.New(fault.Conflict, "renew_too_early", "A credential is renewed in its last 30 days.")
	recoveryFailed = fault.New(fault.Unauthorized, "recovery_failed", "That client cannot be recovered with that key.")
	// recoverLimit counts tries for one client from one address.
	recoverLimit = limit.Rule{Name: "peer.recover", N: 5, Per: time.Hour, Exact: true}
)

// RecoverIn is a client and its recovery key.
type RecoverIn struct {
	ClientID string `json:"client_id" rule:"required,min=1,bytes=64"`
	Recovery string `json:"recovery_key" rule:"required,min=1,bytes=256"`
}

// Rows implements op.Prefetcher.
func (in RecoverIn) Rows(string) []table.Key {
	if !id.Valid(in.ClientID) {
		return nil
	}
	return []table.Key{clientKey(in.ClientID), account.PeerToken.Row(in.ClientID, "")}
}

// Recover gives a new token and recovery key for the current recovery key. A credential that
// time has ended lives again, one that the operator has ended never does.
var Recover = op.Declare(op.Meta{
	ID: "peer.visitor.recover", Method: "POST", Path: "/api/peer/visitor/recover", Auth: op.Public, Limit: &visitorLimit, MaxBody: MaxBody,
	Summary: "Recover a credential with its recovery key.",
	Notes:   "Five tries an hour for a client and an address. The earlier token and recovery key are dead afterwards.",
	Faults:  []string{"recovery_failed", "field_bytes"}, Contract: "peer.md P-G3",
}, recoverCredential)

func recoverCredential(c *op.Call, in RecoverIn) (IssueOut, error) {
	if !id.Valid(in.ClientID) {
		return IssueOut{}, recoveryFailed
	}
	if err := c.Charge(recoverLimit, in.ClientID+"#"+c.Address); err != nil {
		return IssueOut{}, err
	}
	k, cred, err := loadClient(c, in.ClientID)
	if err != nil {
		return IssueOut{}, err
	}
	if k.ID == "" || cred.Code == "" || !cred.RevokedAt.IsZero() || !k.opens(c, in.Recovery) {
		return IssueOut{}, recoveryFailed
	}
	until := cred.ExpiresAt
	if !c.Now.Before(until) {
		until = c.Now.Add(CredentialLife)
	}
	out := IssueOut{ClientID: k.ID, ExpiresAt: Time(until), Recovery: k.newRecovery(c)}
	c.Put(clientKey(k.ID), k)
	out.Token, err = account.PeerToken.Issue(c, k.ID, nil, until)
	return out, err
}

// MeOut is the caller's credential.
type MeOut struct {
	ClientID  string `json:"client_id"`
	CreatedAt Time   `json:"created_at"`
	ExpiresAt Time   `json:"expires_at"`
	RenewFrom Time   `json:"renew_from"`
}

// Me reads the caller's credential.
var Me = op.Declare(op.Meta{
	ID: "peer.visitor.read", Method: "GET", Path: "/api/peer/visitor", Auth: op.Visitor, Scope: Scope, Limit: &readLimit,
	Summary: "Read who you are here and until when.", Faults: []string{"credential_revoked"}, Contract: "peer.md 3.7",
}, func(c *op.Call, _ meIn) (MeOut, error) {
	k, cred, err := loadClient(c, c.Caller.ID)
	return MeOut{k.ID, Time(k.CreatedAt), Time(cred.ExpiresAt), Time(cred.ExpiresAt.Add(-RenewWindow))}, err
})

type meIn struct{}

// Rows implements op.Prefetcher.
func (meIn) Rows(client string) []table.Key {
	if client == "" {
		return nil
	}
	return []table.Key{clientKey(client)}
}
