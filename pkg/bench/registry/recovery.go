package registry

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/caller"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of signed recovery.
const (
	challengeLife   = 10 * time.Minute
	challengePrefix = "bookofhouses_recovery_"
)

// perMaker counts challenges for one reference, whether an agent stands behind it or not.
var perMaker = limit.Rule{Name: "bench.recovery.maker", N: 10, Per: time.Hour, Exact: true}

var recoveryFailed = fault.New(fault.Unauthorized, "recovery_failed", "The challenge or the signature is not good. Ask for a new challenge.")

// Challenge starts signed recovery. It answers alike for every reference, so it does not
// tell whether an agent exists or has a key.
var Challenge = op.Declare(op.Meta{
	ID: "bench.recovery.challenge", Method: "POST", Path: "/api/bench/agents/recovery/challenge", Status: 201, Auth: op.Public, Limit: &challengeLimit,
	Summary: "Ask for a recovery challenge to sign.", Contract: "bench.md 3.7",
}, challengeAgent)

// ChallengeIn names an agent.
type ChallengeIn struct {
	Ref string `json:"maker_ref" rule:"required,min=1,max=64" doc:"maker_id or A-number."`
}

// ChallengeOut is what to sign.
type ChallengeOut struct {
	ID        string      `json:"challenge_id"`
	Challenge string      `json:"challenge"`
	Expires   record.Time `json:"expires_at"`
}

// challenge is a stored challenge. AgentID is "" on a dummy.
type challenge struct {
	AgentID string    `json:"agent_id"`
	Code    string    `json:"code"` // HMAC of the challenge
	Expires time.Time `json:"expires"`
}

func challengeKey(challengeID string) table.Key {
	return table.Key{PK: "bench.CHALLENGE#" + challengeID, SK: "ROOT"}
}

// resolve finds the agent behind a maker_id or an A-number; "" when there is none.
func resolve(c *op.Call, ref string) (string, error) {
	ref = strings.ToLower(strings.TrimSpace(ref))
	if id.Valid(ref) {
		return ref, nil
	}
	n, ok := parseNumber(ref)
	if !ok {
		return "", nil
	}
	k, _, err := op.Load[claim](c, numberKey(n))
	return k.AgentID, err
}

func challengeAgent(c *op.Call, in ChallengeIn) (out ChallengeOut, err error) {
	agentID, err := resolve(c, in.Ref)
	if err != nil {
		return out, err
	}
	a := Agent{}
	if agentID != "" {
		if a, _, err = op.Load[Agent](c, AgentKey(agentID)); err != nil {
			return out, err
		}
	}
	if err := takeChallenge(c, agentID, in.Ref); err != nil {
		return out, err
	}
	ch := challenge{Expires: c.Now.Add(challengeLife)}
	if len(a.RecoveryKey) > 0 && a.DelistedAt.IsZero() {
		ch.AgentID = a.ID
	}
	out = ChallengeOut{ID: c.NewID(), Challenge: challengePrefix + base64.RawURLEncoding.EncodeToString(c.Random(32)), Expires: record.Time(ch.Expires)}
	ch.Code = c.Keys.MAC("challenge", out.ID+"."+out.Challenge)
	c.CreateUntil(challengeKey(out.ID), ch, ch.Expires)
	return out, nil
}

// takeChallenge takes one call from the limit of a reference.
func takeChallenge(c *op.Call, agentID, ref string) error {
	if agentID == "" {
		agentID = strings.ToLower(strings.TrimSpace(ref))
	}
	sum := sha256.Sum256([]byte(agentID))
	key := table.Key{PK: "bench.LIMIT#recovery.maker#" + hex.EncodeToString(sum[:16]), SK: "ROOT"}
	state, _, err := op.Load[limit.State](c, key)
	if err != nil {
		return err
	}
	next, v := perMaker.Take(state, c.Now)
	if !v.OK {
		f := *fault.TooManyCalls
		f.RetryAfter = max(1, int((v.Wait+time.Second-1)/time.Second))
		return f.With("retry_after_seconds", f.RetryAfter)
	}
	c.PutUntil(key, next, c.Now.Add(2*perMaker.Per))
	return nil
}

// Complete ends signed recovery: a new token for a signed challenge, at once, no human.
var Complete = op.Declare(op.Meta{
	ID: "bench.recovery.complete", Method: "POST", Path: "/api/bench/agents/recovery/complete", Auth: op.Public, Idempotent: op.KeyRequired, Limit: &doorLimit,
	Summary: "Trade a signed challenge for a new token.", Notes: "Every earlier token stops. The agent stays reachable.",
	Faults: []string{"recovery_failed"}, Contract: "bench.md 3.7",
}, complete)

// CompleteIn is a challenge and its signature.
type CompleteIn struct {
	ID        string `json:"challenge_id" rule:"required,min=1,max=64"`
	Challenge string `json:"challenge" rule:"required,min=1,max=200" doc:"As it came."`
	Signature string `json:"signature" rule:"required,min=1,max=200" doc:"base64 of the Ed25519 signature over the challenge's bytes."`
}

// Rows names the challenge.
func (in CompleteIn) Rows(string) []table.Key {
	if !id.Valid(in.ID) {
		return nil
	}
	return []table.Key{challengeKey(in.ID)}
}

// RecoveredOut shows the new token once.
type RecoveredOut struct {
	MakerID     string      `json:"maker_id"`
	RegistryNo  string      `json:"registry_no"`
	RestToken   string      `json:"rest_token,omitempty" secret:"true"`
	TokenNotice string      `json:"token_notice"`
	ClientID    string      `json:"mcp_client_id"`
	RecoveredAt record.Time `json:"recovered_at"`
}

func complete(c *op.Call, in CompleteIn) (out RecoveredOut, err error) {
	if !id.Valid(in.ID) {
		return out, recoveryFailed
	}
	ch, found, err := op.Load[challenge](c, challengeKey(in.ID))
	if err != nil {
		return out, err
	}
	if !found || ch.AgentID == "" || !c.Now.Before(ch.Expires) || !c.Keys.Verify("challenge", in.ID+"."+in.Challenge, ch.Code) {
		return out, recoveryFailed
	}
	a, err := Load(c, ch.AgentID)
	if err != nil {
		return out, err
	}
	sig := decode(in.Signature)
	if len(a.RecoveryKey) != ed25519.PublicKeySize || !a.DelistedAt.IsZero() || len(sig) != ed25519.SignatureSize ||
		!ed25519.Verify(a.RecoveryKey, []byte(in.Challenge), sig) {
		return out, recoveryFailed
	}
	c.Delete(challengeKey(in.ID))
	c.Check(AgentKey(a.ID)) // the key must still be the one on file
	return recovered(c, a, map[string]string{"by": "recovery key"})
}

// recovered stages a new token in place of every earlier one.
func recovered(c *op.Call, a Agent, how map[string]string) (out RecoveredOut, err error) {
	if err := c.Fetch(account.AgentToken.Row(a.ID, ""), clientKey(a.ID), record.HeadKey(a.ID)); err != nil {
		return out, err
	}
	if err := revokeMCP(c, a.ID); err != nil {
		return out, err
	}
	token, err := account.AgentToken.Issue(c, a.ID, nil, time.Time{})
	if err != nil {
		return out, err
	}
	if err := record.Audit(c, string(caller.Maker)+":"+a.ID, EventRecovered, "agent:"+a.ID, nil, how); err != nil {
		return out, err
	}
	return RecoveredOut{MakerID: a.ID, RegistryNo: a.No(), RestToken: token, TokenNotice: tokenNotice, ClientID: ClientID(a.ID), RecoveredAt: record.Time(c.Now)},
		record.Event(c, a.ID, record.E{Type: EventRecovered, Data: how})
}
