package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Token exchanges a client assertion for an MCP token.
var Token = op.Declare(op.Meta{
	ID: "bench.oauth.token", Method: "POST", Path: tokenPath, Auth: op.Public,
	Summary: "Exchange a signed client assertion for a five-minute MCP token.",
	Notes: "The assertion is a compact JWT signed with the client key (EdDSA): iss and sub are the client id, aud is bookofhouses:oauth, " +
		"iat within 300 s of now, exp at most 600 s after it, jti used once. scope in the assertion narrows the token.",
	Faults: []string{"invalid_client", "too_many_tokens"}, Contract: "bench.md 3.9, 21.1",
}, token)

const tokenPath = "/api/bench/oauth/token"

// Limits of MCP tokens.
const (
	tokenLife    = 5 * time.Minute
	keepJTI      = 300 * time.Second // after exp
	maxMCPTokens = 60                // live ones of an agent
)

var (
	invalidClient = fault.New(fault.Unauthorized, "invalid_client", "The client is unknown, has no key on file, or its assertion is not good.")
	tooManyTokens = fault.New(fault.RateLimited, "too_many_tokens", "This client holds as many live tokens as it may. Use one of them; each lives five minutes.")
)

// TokenIn is a client and its assertion.
type TokenIn struct {
	ClientID  string `json:"client_id" rule:"required,min=1,max=64" doc:"mcp_client_id."`
	Assertion string `json:"client_assertion" rule:"required,min=1,max=4096" doc:"Compact JWT, EdDSA."`
}

// Rows names the agent and its live tokens.
func (in TokenIn) Rows(string) []table.Key {
	agentID, ok := in.agent()
	if !ok {
		return nil
	}
	keys := []table.Key{AgentKey(agentID), clientKey(agentID)}
	if _, claims, err := openAssertion(in.Assertion); err == nil {
		jti, _ := claims["jti"].(string)
		keys = append(keys, jtiKey(agentID, jti))
	}
	return keys
}

func (in TokenIn) agent() (string, bool) {
	agentID, ok := strings.CutPrefix(in.ClientID, clientPrefix)
	return agentID, ok && id.Valid(agentID)
}

// TokenOut is an OAuth token answer.
type TokenOut struct {
	AccessToken string `json:"access_token" secret:"true"`
	Type        string `json:"token_type"`
	Seconds     int    `json:"expires_in"`
	Scope       string `json:"scope"`
}

type usedJTI struct {
	At time.Time `json:"at"`
}

func jtiKey(agentID, jti string) table.Key {
	sum := sha256.Sum256([]byte(jti))
	return table.Key{PK: "bench.JTI#" + agentID + "#" + hex.EncodeToString(sum[:16]), SK: "ROOT"}
}

func token(c *op.Call, in TokenIn) (out TokenOut, err error) {
	agentID, ok := in.agent()
	if !ok {
		return out, invalidClient
	}
	a, found, err := op.Load[Agent](c, AgentKey(agentID))
	if err != nil {
		return out, err
	}
	if !found || len(a.ClientKey) == 0 || !a.DelistedAt.IsZero() {
		return out, invalidClient
	}
	if err := unused(c, agentID, in.Assertion); err != nil {
		return out, err
	}
	as, err := readAssertion(in.Assertion, in.ClientID, a.ClientKey, c.Now)
	if err != nil {
		return out, invalidClient
	}
	c.Check(AgentKey(agentID)) // the key must still be the one on file when the token is born
	c.PutUntil(jtiKey(agentID, as.JTI), usedJTI{c.Now}, as.Expiry.Add(keepJTI))
	access, err := issueMCP(c, agentID, as.Scopes)
	if err != nil {
		return out, err
	}
	scopes := as.Scopes
	if scopes == nil {
		scopes = account.BenchScopes
	}
	return TokenOut{AccessToken: access, Type: "Bearer", Seconds: int(tokenLife / time.Second), Scope: strings.Join(scopes, " ")}, nil
}

// unused refuses an assertion whose jti was used, before anything is computed for it.
func unused(c *op.Call, agentID, assertion string) error {
	_, claims, err := openAssertion(assertion)
	if err != nil {
		return invalidClient
	}
	jti, _ := claims["jti"].(string)
	_, used, err := op.Load[usedJTI](c, jtiKey(agentID, jti))
	if err == nil && used {
		err = invalidClient
	}
	return err
}

// client remembers the live MCP tokens of an agent, so that a revocation finds all of them.
type client struct {
	Live []liveToken `json:"live"`
}

type liveToken struct {
	Tag     string    `json:"tag"`
	Expires time.Time `json:"expires"`
}

func clientKey(agentID string) table.Key { return child(agentID, "CLIENT") }

// issueMCP stages a token that lives five minutes.
func issueMCP(c *op.Call, agentID string, scopes []string) (string, error) {
	cl, _, err := op.Load[client](c, clientKey(agentID))
	if err != nil {
		return "", err
	}
	cl.Live = slices.DeleteFunc(cl.Live, func(t liveToken) bool { return !t.Expires.After(c.Now) })
	if len(cl.Live) >= maxMCPTokens {
		f := *tooManyTokens
		f.RetryAfter = max(1, int(cl.Live[0].Expires.Sub(c.Now)/time.Second))
		return "", &f
	}
	expires := c.Now.Add(tokenLife)
	s, err := account.MCPToken.Issue(c, agentID, scopes, expires)
	if err != nil {
		return "", err
	}
	t, _ := id.ParseToken(s)
	cl.Live = append(cl.Live, liveToken{t.Tag(), expires})
	c.PutUntil(clientKey(agentID), cl, expires)
	return s, nil
}

// revokeMCP stages the end of every live MCP token of an agent.
func revokeMCP(c *op.Call, agentID string) error {
	cl, found, err := op.Load[client](c, clientKey(agentID))
	if err != nil || !found {
		return err
	}
	var keys []table.Key
	for _, t := range cl.Live {
		if t.Expires.After(c.Now) {
			keys = append(keys, account.MCPToken.Row(agentID, t.Tag))
		}
	}
	if err := c.Fetch(keys...); err != nil {
		return err
	}
	for _, k := range keys {
		c.Delete(k)
	}
	c.Delete(clientKey(agentID))
	return nil
}
