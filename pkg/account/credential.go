// Package account has what all contexts share about identity: credentials (issue,
// verify, rotate, revoke), people, their sessions and roles.
//
// Rows:
//
//	<context>.CRED#<account id> / <kind>          the one live credential of a kind
//	<context>.CRED#<account id> / <kind>#<tag>    one of many (sessions, MCP tokens)
//	person.PERSON#<person id> / ROOT              a person
//	person.EMAIL#<hash of the address> / ROOT     who owns an address
//	<context>.LINK#<hash of the secret> / ROOT    a single-use link that was mailed
package account

import (
	"time"

	"guildhall/pkg/caller"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Kind is one kind of credential.
type Kind struct {
	Name    string // in tokens: gh_<name>_…
	Context string // owner of the rows
	Caller  caller.Kind
	Many    bool     // several live at once, each in a row of its own
	Doors   []string // transports it opens: rest, page, mcp
	Scopes  []string // given when a credential names none
}

// The kinds of credentials.
var (
	AgentToken = Kind{Name: "agent", Context: "bench", Caller: caller.Maker, Doors: []string{"rest"}, Scopes: BenchScopes}
	MCPToken   = Kind{Name: "mcp", Context: "bench", Caller: caller.Maker, Many: true, Doors: []string{"mcp"}, Scopes: BenchScopes}
	Session    = Kind{Name: "person", Context: "person", Caller: caller.Person, Many: true, Doors: []string{"rest", "page"}}
	HelpKey    = Kind{Name: "help", Context: "help", Caller: caller.Account, Doors: []string{"rest", "mcp"}, Scopes: []string{"help:write"}}
	PeerToken  = Kind{Name: "peer", Context: "peer", Caller: caller.Visitor, Doors: []string{"rest", "mcp"}, Scopes: []string{"peer:visitor"}}
	CommonsKey = Kind{Name: "commons", Context: "commons", Caller: caller.Agent, Doors: []string{"rest", "mcp"}, Scopes: []string{"commons:write"}}
)

// Kinds lists every kind, for the engine.
func Kinds() []Kind { return []Kind{AgentToken, MCPToken, Session, HelpKey, PeerToken, CommonsKey} }

// BenchScopes are the six scopes of bench.md 2.2.
var BenchScopes = []string{"targets:read", "proposals:write", "deals:write", "events:read", "wallet:read", "payouts:write"}

// Credential is a stored credential. The secret itself is never stored.
type Credential struct {
	// Code is the HMAC-SHA-256 of the secret under a key that is not in the table; empty
	// when no token is issued.
	Code       string    `json:"code"`
	Scopes     []string  `json:"scopes,omitempty"`
	IssuedAt   time.Time `json:"issued_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`
	Restricted bool      `json:"restricted,omitempty"`
	// RevokedAt is when the operator ended the credential: whoever still holds it is told so.
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	// Watch is when somebody last began to wait for a sign of life of this account, Seen
	// the first authenticated call after each such moment, the last maxSeen of them.
	Watch time.Time   `json:"watch,omitzero"`
	Seen  []time.Time `json:"seen,omitempty"`
}

// maxSeen bounds the signs of life that are kept.
const maxSeen = 16

// SeenBetween tells whether a sign of life came from a to b, both included.
func (cr Credential) SeenBetween(a, b time.Time) bool {
	for _, t := range cr.Seen {
		if !t.Before(a) && !t.After(b) {
			return true
		}
	}
	return false
}

// see notes a sign of life at now when somebody waits for one.
func (cr *Credential) see(now time.Time) bool {
	if cr.Watch.IsZero() || len(cr.Seen) > 0 && !cr.Seen[len(cr.Seen)-1].Before(cr.Watch) {
		return false
	}
	cr.Seen = append(cr.Seen, now)
	cr.Seen = cr.Seen[max(0, len(cr.Seen)-maxSeen):]
	return true
}

func (k Kind) purpose() string { return "token:" + k.Name }

// Row is the key of a credential's row.
func (k Kind) Row(account, tag string) table.Key {
	sk := k.Name
	if k.Many {
		sk += "#" + tag
	}
	return table.Key{PK: k.Context + ".CRED#" + account, SK: sk}
}

// Issue stages a new credential and returns its token, to be shown once. For a kind with
// one live credential it replaces the old one, so that one stops at this very commit.
func (k Kind) Issue(c *op.Call, account string, scopes []string, expires time.Time) (string, error) {
	t := c.NewToken(k.Name, account)
	key := k.Row(account, t.Tag())
	cred := Credential{Code: c.Keys.MAC(k.purpose(), t.Account+"."+t.Secret), Scopes: scopes, IssuedAt: c.Now, ExpiresAt: expires}
	if k.Many {
		c.CreateUntil(key, cred, expires)
		return t.String(), nil
	}
	old, found, err := op.Load[Credential](c, key)
	if err != nil {
		return "", err
	}
	if found {
		cred.Restricted, cred.RevokedAt, cred.Watch, cred.Seen = old.Restricted, old.RevokedAt, old.Watch, old.Seen
	}
	c.Put(key, cred)
	return t.String(), nil
}

// maxLive bounds how many live credentials of one account are revoked in one commit.
const maxLive = 60

// Revoke stages the end of every credential of a kind that an account holds.
func (k Kind) Revoke(c *op.Call, account string) error {
	if !k.Many {
		key := k.Row(account, "")
		old, found, err := op.Load[Credential](c, key)
		if err == nil && found {
			old.Code = ""
			c.Put(key, old)
		}
		return err
	}
	p, err := c.Query(table.Query{PK: k.Row(account, "").PK, Limit: maxLive}.Prefix(k.Name + "#"))
	if err != nil {
		return err
	}
	for _, r := range p.Rows {
		c.Delete(r.Key)
	}
	return nil
}

// Restrict stages the loss (or return) of an account's right to write.
func (k Kind) Restrict(c *op.Call, account string, restricted bool) error {
	key := k.Row(account, "")
	cred, found, err := op.Load[Credential](c, key)
	if err != nil || !found {
		return err
	}
	cred.Restricted = restricted
	c.Put(key, cred)
	return nil
}

// Revoked is what the holder of a credential is told that the operator ended.
var Revoked = fault.New(fault.Unauthorized, "credential_revoked", "The operator has ended this credential.")

// End stages that the operator ends an account's credential, or lets it count again.
func (k Kind) End(c *op.Call, account string, ended bool) error {
	key := k.Row(account, "")
	cred, found, err := op.Load[Credential](c, key)
	if err != nil || !found {
		return err
	}
	cred.RevokedAt = time.Time{}
	if ended {
		cred.RevokedAt = c.Now
	}
	c.Put(key, cred)
	return nil
}

// Wait stages that somebody waits for a sign of life of an account since now: the next
// authenticated call, over any door, is noted in Seen.
func (k Kind) Wait(c *op.Call, account string) error {
	key := k.Row(account, "")
	cred, found, err := op.Load[Credential](c, key)
	if err != nil || !found {
		return err
	}
	cred.Watch = c.Now
	c.Put(key, cred)
	return nil
}

// Accepts implements op.Authenticator.
func (k Kind) Accepts(transport string) bool {
	for _, d := range k.Doors {
		if d == transport {
			return true
		}
	}
	return false
}

// Rows implements op.Authenticator.
func (k Kind) Rows(t id.Token) []table.Key {
	keys := []table.Key{k.Row(t.Account, t.Tag())}
	switch {
	case k.Caller == caller.Person:
		keys = append(keys, PersonKey(t.Account))
	case k.Name == MCPToken.Name:
		keys = append(keys, AgentToken.Row(t.Account, ""))
	}
	return keys
}

// Verify implements op.Authenticator: 401 for an unknown account, no token issued, a
// revoked or expired credential and a wrong secret, all alike.
func (k Kind) Verify(c *op.Call, t id.Token) (caller.Caller, error) {
	cred, found, err := op.Load[Credential](c, k.Row(t.Account, t.Tag()))
	if err != nil {
		return caller.Caller{}, err
	}
	good := c.Keys.Verify(k.purpose(), t.Account+"."+t.Secret, cred.Code)
	if !found || !good || cred.Code == "" || (!cred.ExpiresAt.IsZero() && !c.Now.Before(cred.ExpiresAt)) {
		return caller.Caller{}, fault.NoCredential
	}
	if !cred.RevokedAt.IsZero() {
		return caller.Caller{}, Revoked
	}
	who := caller.Caller{Kind: k.Caller, ID: t.Account, Scopes: cred.Scopes, Restricted: cred.Restricted,
		Credential: k.Row(t.Account, t.Tag()).SK}
	if len(who.Scopes) == 0 {
		who.Scopes = k.Scopes
	}
	if k.Caller == caller.Person {
		return asPerson(c, who)
	}
	return who, k.note(c, t.Account, cred)
}

// note stages a sign of life. An agent's is kept with its REST credential, whichever
// door it came through.
func (k Kind) note(c *op.Call, account string, cred Credential) (err error) {
	key := k.Row(account, "")
	if k.Name == MCPToken.Name {
		key = AgentToken.Row(account, "")
		if cred, _, err = op.Load[Credential](c, key); err != nil {
			return err
		}
	}
	if !k.Many || k.Name == MCPToken.Name {
		if cred.see(c.Now) {
			c.Put(key, cred)
		}
	}
	return nil
}

// Authenticators is the engine's table of credentials.
func Authenticators() map[string]op.Authenticator {
	m := map[string]op.Authenticator{}
	for _, k := range Kinds() {
		m[k.Name] = k
	}
	return m
}
