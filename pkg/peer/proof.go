package peer

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"time"

	"guildhall/pkg/caller"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// ProofHeader carries a bootstrap proof. It is set by the program around a model, never by
// the model.
const ProofHeader = "X-Peer-Bootstrap"

// The form of a proof: 32 random bytes that the setup client made.
const (
	proofPrefix = "pbs1."
	proofLength = len(proofPrefix) + 43
)

var proofForm = regexp.MustCompile(`^pbs1\.[A-Za-z0-9_-]{43}$`)

var bootstrapUsed = fault.New(fault.Unauthorized, "bootstrap_used", "This bootstrap proof has had its one publication. Trade it for a credential within 24 hours, or go on with the credential.")

// proof is a bootstrap proof as it was sent.
type proof string

func readProof(s string) (proof, bool) { return proof(s), proofForm.MatchString(s) }

// tag finds a proof's row. It tells nothing of the proof: it is a hash of 256 random bits.
func (p proof) tag() string {
	sum := sha256.Sum256([]byte(p))
	return hex.EncodeToString(sum[:16])
}

// identity is whose keys a first writer's are.
func (p proof) identity() string { return "proof." + p.tag() }

func (p proof) row() table.Key { return table.Key{PK: "peer.PROOF#" + p.tag(), SK: "ROOT"} }

// usedProof is a proof that has had its publication.
type usedProof struct {
	Code     string    `json:"code"` // the proof's HMAC
	ClientID string    `json:"client_id"`
	TopicID  ID        `json:"topic_id"`
	Key      string    `json:"key"`
	UsedAt   time.Time `json:"used_at"`
}

// load reads what became of the proof; found is false for one that was not used.
func (p proof) load(c *op.Call) (u usedProof, found bool, err error) {
	if u, found, err = op.Load[usedProof](c, p.row()); err != nil || !found {
		return u, false, err
	}
	if !c.Keys.Verify("peer.proof", string(p), u.Code) {
		return u, false, fault.NoCredential
	}
	return u, true, nil
}

// spend stages that the proof has had its publication.
func (p proof) spend(c *op.Call, client string, t *topic, key string) {
	c.PutUntil(p.row(), usedProof{c.Keys.MAC("peer.proof", string(p)), client, t.ID, key, c.Now}, t.ExpiresAt.Add(kept))
}

// publishing is what happens before a publication is looked at: who writes, with a
// credential or with a proof, then the key.
func publishing(c *op.Call, e op.Early) (any, error) {
	if visitorOf(c) != "" {
		return keyed[PublishOut](opPublish)(c, e)
	}
	c.Caller = caller.Caller{} // whoever else it may be, here it is nobody yet
	p, ok := readProof(e.Header(ProofHeader))
	if !ok {
		return nil, denied(c)
	}
	used, spent, err := p.load(c)
	if err != nil {
		return nil, err
	}
	key, err := sentKey(e)
	switch {
	case err != nil:
		return nil, err
	case spent && key != used.Key:
		return nil, bootstrapUsed
	case key == "":
		return nil, nil // the missing field is named where fields are
	}
	answer, err := replayed[PublishOut](c, opPublish, p.identity(), key, e)
	if err == nil && answer == nil && spent {
		err = bootstrapUsed // its record is gone
	}
	return answer, err
}

// visitorOf is the client id of a caller with a visitor's credential. Tokens of the other
// contexts open other doors, and count for nothing here.
func visitorOf(c *op.Call) string {
	if c.Caller.Kind != caller.Visitor {
		return ""
	}
	return c.Caller.ID
}

// denied refuses a caller without a credential, and says why a credential that was sent is
// not taken.
func denied(c *op.Call) error {
	if c.Denied != nil {
		return c.Denied
	}
	return noCredential
}
