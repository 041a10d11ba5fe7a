package peer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"strconv"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Limits of an idempotency key (peer.md 6).
const (
	KeyLife = 24 * time.Hour    // from the key's own time
	KeySkew = 300 * time.Second // that a key may lie ahead
)

// keyDoc describes the key in every schema.
const keyDoc = "plk1.<unix seconds>.<UUIDv4>. Store it with the exact input before you send; after an unclear result repeat exactly that or ask for the receipt, within 24 hours. Do not swap an unclear key for a new one."

var keyForm = regexp.MustCompile(`^plk1\.([0-9]{10})\.[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// Refusals of keys.
var (
	invalidKey  = fault.New(fault.Invalid, "invalid_key", "A key is plk1.<ten digits of unix seconds>.<lowercase UUIDv4>, the same in the body and the header.").At("idempotency_key")
	keyInFuture = fault.New(fault.Invalid, "key_in_future", "The key's time is more than 300 seconds ahead of ours.").At("idempotency_key")
	keyExpired  = fault.New(fault.Gone, "key_expired", "The key is older than 24 hours: its confirmation cannot be had any more. That does not mean that nothing was written.").At("idempotency_key")
	keyConflict = fault.New(fault.Conflict, "idempotency_conflict", "This key was used with another operation or input. Nothing was done.").At("idempotency_key")
)

// keyFaults are what every keyed write can answer.
var keyFaults = []string{"invalid_key", "key_in_future", "key_expired", "idempotency_conflict"}

// Operations that leave a receipt.
const (
	opPublish = "publish"
	opReply   = "reply"
	opHandoff = "handoff_action"
)

// Receipt confirms that a keyed operation was committed. It says nothing of what can be
// read today.
type Receipt struct {
	Key         string  `json:"key"`
	Operation   string  `json:"operation"`
	TopicID     ID      `json:"topic_id"`
	ReplyID     *ID     `json:"reply_id"`
	Action      *string `json:"action"`
	Revision    *int64  `json:"revision"`
	State       *string `json:"state"`
	CommittedAt Time    `json:"committed_at"`
}

// usedKey is the stored record of a used key.
type usedKey struct {
	Hash    string          `json:"hash"`
	Receipt Receipt         `json:"receipt"`
	Answer  json.RawMessage `json:"answer"`
}

// usedKeyRow is the row of a key of an identity: a client id or a proof.
func usedKeyRow(identity, key string) table.Key {
	return table.Key{PK: "peer.KEY#" + identity + "#" + key, SK: "ROOT"}
}

// keyTime checks a key's form and window and returns when it ends.
func keyTime(key string, now time.Time) (until time.Time, err error) {
	m := keyForm.FindStringSubmatch(key)
	if m == nil {
		return until, invalidKey
	}
	sec, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return until, invalidKey
	}
	made := time.Unix(sec, 0).UTC()
	switch {
	case now.Sub(made) > KeyLife:
		return until, keyExpired
	case made.Sub(now) > KeySkew:
		return until, keyInFuture
	}
	return made.Add(KeyLife), nil
}

// attempt is a keyed attempt as it came: whose it is and what exactly was asked.
type attempt struct {
	identity string
	key      string
	hash     string
	until    time.Time
}

type attemptKey struct{}

// attemptOf is the keyed attempt of a call; ok is false without a key.
func attemptOf(c *op.Call) (attempt, bool) {
	a, ok := c.Value(attemptKey{}).(attempt)
	return a, ok
}

// sentKey is the key of a request: in the body, in the header, or the same in both.
func sentKey(e op.Early) (string, error) {
	m, _ := e.Body.(map[string]any)
	raw, sent := m["idempotency_key"]
	key, isText := raw.(string)
	header := e.Key
	switch {
	case sent && !isText, sent && header != "" && header != key:
		return "", invalidKey
	case sent:
		return key, nil
	}
	return header, nil
}

// fingerprint hashes the operation, its path and its input without the key, after defaults.
func fingerprint(operation string, e op.Early) string {
	if m, ok := e.Body.(map[string]any); ok && operation == opReply && m["kind"] == nil {
		m = maps.Clone(m)
		m["kind"] = Note
		e.Body = m
	}
	b := append([]byte(operation+"\n"+e.Path["topic_id"]+"\n"), e.Canonical("idempotency_key")...)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// replayer is an output that can be shown again as the replay of an earlier call.
type replayer[O any] interface{ replay() O }

// keyed is what happens to the key of a write before anything else is looked at: its window,
// then its replay (peer.md 3.4, 6). The caller is known. A refused attempt binds nothing.
func keyed[O replayer[O]](operation string) func(*op.Call, op.Early) (any, error) {
	return func(c *op.Call, e op.Early) (any, error) {
		key, err := sentKey(e)
		if err != nil || key == "" {
			return nil, err
		}
		return replayed[O](c, operation, c.Caller.ID, key, e)
	}
}

func replayed[O replayer[O]](c *op.Call, operation, identity, key string, e op.Early) (any, error) {
	until, err := keyTime(key, c.Now)
	if err != nil {
		return nil, err
	}
	a := attempt{identity: identity, key: key, hash: fingerprint(operation, e), until: until}
	used, found, err := op.Load[usedKey](c, usedKeyRow(identity, key))
	switch {
	case err != nil:
		return nil, err
	case !found:
		c.Context = context.WithValue(c.Context, attemptKey{}, a)
		return nil, nil
	case used.Hash != a.hash:
		return nil, keyConflict
	}
	var out O
	if err := json.Unmarshal(used.Answer, &out); err != nil {
		return nil, err
	}
	return out.replay(), nil
}

// receipt makes the receipt of the call; nil without a key.
func receipt(c *op.Call, r Receipt) *Receipt {
	a, ok := attemptOf(c)
	if !ok {
		return nil
	}
	r.Key, r.CommittedAt = a.key, Time(c.Now)
	return &r
}

// remember stages the answer of a keyed call under its identity, and under another one that
// stands for the same visitor. A call without a key leaves nothing behind.
func remember(c *op.Call, r *Receipt, out any, also ...string) error {
	a, ok := attemptOf(c)
	if !ok {
		return nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		return err
	}
	for _, identity := range append([]string{a.identity}, also...) {
		c.CreateUntil(usedKeyRow(identity, a.key), usedKey{Hash: a.hash, Receipt: *r, Answer: b}, a.until.Add(time.Minute))
	}
	return nil
}

// keyRows are the rows of a key, to be read in the one batch.
func keyRows(identity string, keys ...string) (rows []table.Key) {
	for _, k := range keys {
		if identity != "" && keyForm.MatchString(k) {
			rows = append(rows, usedKeyRow(identity, k))
			break
		}
	}
	return rows
}

// ReceiptIn names a key.
type ReceiptIn struct {
	Key   string `path:"key" doc:"The key as you stored it."`
	Proof string `header:"X-Peer-Bootstrap" doc:"The bootstrap proof, for its own publication."`
}

// Rows implements op.Prefetcher.
func (in ReceiptIn) Rows(account string) []table.Key {
	rows := keyRows(account, in.Key)
	if p, ok := readProof(in.Proof); ok {
		rows = append(rows, keyRows(p.identity(), in.Key)...)
	}
	return rows
}

// ReceiptOut is a recovered confirmation.
type ReceiptOut struct {
	Receipt Receipt `json:"receipt"`
}

var receiptNotFound = fault.New(fault.NotFound, "receipt_not_found", "No receipt under this key for you. The first attempt may still be running: keep the key and ask again.").At("key")

// ReadReceipt recovers the confirmation of a keyed write (peer.md 4.13).
var ReadReceipt = op.Declare(op.Meta{
	ID: "peer.receipt.read", Method: "GET", Path: "/api/peer/receipts/{key}", Tool: "peerlookup_get_receipt", Auth: op.Public, Limit: &readLimit,
	Summary: "Recover the confirmation of a keyed write.",
	Notes:   "It proves that the write was committed and says nothing of what can be read today. A miss may mean that the first attempt still runs: keep the key. An expired key does not mean that nothing was written.",
	Faults:  []string{"unauthorized", "invalid_key", "key_in_future", "key_expired", "receipt_not_found"}, Contract: "peer.md 4.13",
}, readReceipt)

func readReceipt(c *op.Call, in ReceiptIn) (ReceiptOut, error) {
	identity := visitorOf(c)
	if identity == "" {
		p, ok := readProof(in.Proof)
		if !ok {
			return ReceiptOut{}, denied(c)
		}
		identity = p.identity()
	}
	until, err := keyTime(in.Key, c.Now)
	if err != nil {
		return ReceiptOut{}, fault.From(err).At("key")
	}
	used, found, err := op.Load[usedKey](c, usedKeyRow(identity, in.Key))
	if err == nil && (!found || c.Now.After(until)) {
		err = receiptNotFound
	}
	return ReceiptOut{used.Receipt}, err
}
