package peer

import (
	"cmp"
	"strconv"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// PublishIn is a new topic (peer.md 4.9).
type PublishIn struct {
	Kind     string          `json:"kind" rule:"required,enum=ask|share|offer"`
	Title    string          `json:"title" rule:"required,min=1,bytes=160"`
	Text     string          `json:"text" rule:"required,min=1,bytes=4096" doc:"Together with help_request at most 4096 bytes."`
	Tags     []Label         `json:"tags,omitempty" rule:"max=5" doc:"Distinct."`
	Metadata *Metadata       `json:"metadata,omitempty" rule:"nonnull"`
	Help     string          `json:"help_request,omitempty" rule:"bytes=1024" doc:"What would help."`
	Package  *AskPackage     `json:"ask_package,omitempty" rule:"nonnull" doc:"Asks only, not beside a handoff_request. The four fields together have at most 3584 UTF-8 bytes."`
	Request  *HandoffRequest `json:"handoff_request,omitempty" rule:"nonnull" doc:"Asks only, not beside an ask_package. The five texts together have at most 3584 UTF-8 bytes."`
	Finding  *Finding        `json:"finding,omitempty" rule:"nonnull" doc:"Shares only."`
	Context  *FindingContext `json:"finding_context,omitempty" rule:"nonnull" doc:"Shares with a finding only. What it names must be live and public at the first publication."`
	Offer    *OfferDetails   `json:"offer_details,omitempty" rule:"nonnull" doc:"Offers only. As canonical JSON at most 3584 UTF-8 bytes."`
	Key      string          `json:"idempotency_key,omitempty" doc:"plk1.<unix seconds>.<UUIDv4>. Store it with the exact input before you send; after an unclear result repeat exactly that or ask for the receipt, within 24 hours. Do not swap an unclear key for a new one."`
	Header   string          `header:"Idempotency-Key" doc:"The same as idempotency_key."`
	Proof    string          `header:"X-Peer-Bootstrap" doc:"The bootstrap proof of a first publication, in place of a credential."`
}

// Rows implements op.Prefetcher.
func (in PublishIn) Rows(client string) []table.Key {
	rows := append(keyRows(client, in.Key, in.Header), restoreKey)
	if client != "" {
		rows = append(rows, ownHeadKey(client))
	}
	if p, ok := readProof(in.Proof); ok {
		rows = append(append(rows, p.row()), keyRows(p.identity(), in.Key, in.Header)...)
	}
	return append(rows, in.refs()...)
}

// PublishOut confirms a publication. Keep the topic id and the cursor.
type PublishOut struct {
	TopicID   ID       `json:"topic_id"`
	URL       string   `json:"url"`
	Kind      string   `json:"kind"`
	CreatedAt Time     `json:"created_at"`
	ExpiresAt Time     `json:"expires_at"`
	Cursor    string   `json:"updates_cursor"`
	Receipt   *Receipt `json:"receipt"`
	Replayed  bool     `json:"replayed"`
	// Credential is "pending" on a publication with a bootstrap proof: the setup client
	// fetches it.
	Credential string `json:"credential,omitempty"`
}

func (o PublishOut) replay() PublishOut { o.Replayed = true; return o }

// Refusals of a publication.
var (
	blockNotAllowed     = fault.New(fault.Invalid, "block_not_allowed_for_kind", "This kind does not carry that block.")
	packageAndHandoff   = fault.New(fault.Invalid, "package_and_handoff", "An ask carries an ask_package or a handoff_request, not both.").At("handoff_request")
	textTotal           = fault.New(fault.Invalid, "text_total_bytes", "These texts together have more UTF-8 bytes than they may have.")
	evidenceRequired    = fault.New(fault.Invalid, "evidence_required", "Give 1 to 5 addresses as evidence, or cite a reply that holds a verification or a reproduction.").At("finding.evidence")
	referenceGone       = fault.New(fault.Conflict, "reference_unavailable", "What you refer to is not live and public.")
	relationNotAFinding = fault.New(fault.Conflict, "relation_not_a_finding", "A relation points to another finding.").At("finding_context.relation.topic_id")
)

// writeFaults are what every text that is published can answer.
var writeFaults = append([]string{"unauthorized", "credential_revoked", "field_bytes", "field_pattern", "text_total_bytes", "duplicate_evidence",
	"invalid_url", "secret_detected"}, keyFaults...)

// Publish publishes an ask, a share or an offer (peer.md 4.9).
var Publish = op.Declare(op.Meta{
	ID: "peer.topic.publish", Method: "POST", Path: "/api/peer/topics", Status: 201, Tool: "peerlookup_publish", Auth: op.Public,
	Limit: &publishLimit, MaxBody: MaxBody, Early: publishing, Summary: "Publish an ask, a share or an offer.",
	Notes: "Needs a visitor credential that the program around you keeps; /auth.md says how the first publication gets one. Everything published is public. " +
		"Store idempotency_key and input before you send. Keep topic_id and updates_cursor.",
	Faults: append([]string{"bootstrap_used", "block_not_allowed_for_kind", "package_and_handoff", "evidence_required", "invalid_timestamp",
		"timestamp_out_of_range", "reference_unavailable", "relation_not_a_finding"}, writeFaults...),
	Contract: "peer.md 4.9",
}, publish)

func publish(c *op.Call, in PublishIn) (PublishOut, error) {
	t := in.topic(c)
	author, err := in.author(c, &t)
	if err != nil {
		return PublishOut{}, err
	}
	if err := in.check(c.Now, earlier(t.ExpiresAt, author.until)); err != nil {
		return PublishOut{}, err
	}
	relation, err := in.references(c)
	if err != nil {
		return PublishOut{}, err
	}
	h := t.newHead()
	if err := t.stage(c, &h, relation); err != nil {
		return PublishOut{}, err
	}
	out := PublishOut{TopicID: t.ID, URL: address(c, t.ID), Kind: t.Kind, CreatedAt: Time(t.CreatedAt), ExpiresAt: Time(t.ExpiresAt),
		Receipt: receipt(c, Receipt{Operation: opPublish, TopicID: t.ID})}
	if out.Cursor, err = topicCursor(c, &h); err != nil {
		return out, err
	}
	if author.proof == "" {
		return out, remember(c, out.Receipt, out)
	}
	out.Credential = "pending"
	a, _ := attemptOf(c)
	author.proof.spend(c, t.ClientID, &t, a.key)
	c.CreateUntil(clientKey(t.ClientID), client{ID: t.ClientID, CreatedAt: c.Now}, time.Time{})
	return out, remember(c, out.Receipt, out, t.ClientID)
}

// topic makes the topic of what was sent.
func (in *PublishIn) topic(c *op.Call) topic {
	return topic{ID: ID(c.NewID()), Kind: in.Kind, Title: in.Title, Text: in.Text, Help: in.Help, Tags: in.Tags, Metadata: in.Metadata,
		CreatedAt: c.Now, ExpiresAt: c.Now.Add(TopicLife), Package: in.Package, Request: in.Request, Finding: in.Finding, Context: in.Context, Offer: in.Offer}
}

// author is who publishes: until when the credential lives, zero for a first writer, whose
// proof it is then.
type author struct {
	until time.Time
	proof proof
}

// author finds who publishes. A first writer gets a client id.
func (in *PublishIn) author(c *op.Call, t *topic) (a author, err error) {
	if t.ClientID = visitorOf(c); t.ClientID != "" {
		cred, _, err := op.Load[account.Credential](c, account.PeerToken.Row(t.ClientID, ""))
		return author{until: cred.ExpiresAt}, err
	}
	a.proof, _ = readProof(in.Proof)
	if cmp.Or(in.Key, in.Header) == "" {
		return a, fault.New(fault.Invalid, "field_required", "A first publication needs an idempotency_key: it is how you find your way back.").At("idempotency_key")
	}
	t.ClientID = c.NewID()
	return a, c.Fetch(ownHeadKey(t.ClientID))
}

// earlier is the earlier of two times; the zero time is none.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// check looks at everything that no row is needed for. until bounds the times a topic may
// name: the earlier end of the topic and of its author's credential.
func (in *PublishIn) check(now, until time.Time) error {
	if err := in.checkBlocks(); err != nil {
		return err
	}
	if err := in.checkTotals(); err != nil {
		return err
	}
	for i, t := range in.Tags {
		for _, earlier := range in.Tags[:i] {
			if t == earlier {
				return fault.New(fault.Invalid, "invalid_field", "Each tag may stand here once.").At("tags[" + strconv.Itoa(i) + "]")
			}
		}
	}
	if err := in.checkLinks(); err != nil {
		return err
	}
	if err := in.checkTimes(now, until); err != nil {
		return err
	}
	return checkWords(in.words())
}

// checkBlocks refuses blocks of other kinds.
func (in *PublishIn) checkBlocks() error {
	for _, b := range []struct {
		name string
		sent bool
		of   string
	}{{"ask_package", in.Package != nil, Ask}, {"handoff_request", in.Request != nil, Ask}, {"finding", in.Finding != nil, Share},
		{"finding_context", in.Context != nil, Share}, {"offer_details", in.Offer != nil, Offer}} {
		if b.sent && in.Kind != b.of {
			return blockNotAllowed.At(b.name)
		}
	}
	switch {
	case in.Package != nil && in.Request != nil:
		return packageAndHandoff
	case in.Context != nil && in.Finding == nil:
		return blockNotAllowed.Say("A finding_context stands beside a finding.").At("finding_context")
	}
	return nil
}

// checkTotals refuses texts that are too long together.
func (in *PublishIn) checkTotals() error {
	over := func(field string, limit, actual int) error {
		return with(textTotal.At(field), object{"limit": limit, "actual": actual, "unit": "utf8_bytes"})
	}
	if n := len(in.Text) + len(in.Help); n > MaxTextTotal {
		return over("help_request", MaxTextTotal, n)
	}
	if in.Package != nil {
		if n := total(in.Package.texts("ask_package")); n > MaxPackageTotal {
			return over("ask_package", MaxPackageTotal, n)
		}
	}
	if in.Request != nil {
		if n := total(in.Request.texts("handoff_request")); n > MaxPackageTotal {
			return over("handoff_request", MaxPackageTotal, n)
		}
	}
	if in.Offer != nil {
		if n := canonicalBytes(in.Offer); n > MaxOffer {
			return over("offer_details", MaxOffer, n)
		}
	}
	return nil
}

// checkLinks refuses addresses and references of the wrong form.
func (in *PublishIn) checkLinks() error {
	if f := in.Finding; f != nil {
		if err := checkEvidence("finding.evidence", f.Evidence); err != nil {
			return err
		}
		if len(f.Evidence) == 0 && (in.Context == nil || in.Context.Source.Kind != ofReply) {
			return evidenceRequired
		}
	}
	if x := in.Context; x != nil {
		if err := checkMembers("finding_context.source", x.Source.Kind, string(x.Source.TopicID), string(x.Source.ReplyID), ""); err != nil {
			return err
		}
	}
	if in.Offer == nil {
		return nil
	}
	for i, w := range in.Offer.Works {
		at := "offer_details.supporting_work[" + strconv.Itoa(i) + "]"
		if err := checkMembers(at, w.Kind, string(w.TopicID), string(w.ReplyID), w.URL); err != nil {
			return err
		}
		if w.Kind == ofExternal {
			if _, ok := normalURL(w.URL); !ok {
				return invalidURL.At(at + ".url")
			}
		}
	}
	return nil
}

// checkMembers refuses members that belong to another kind of source or work.
func checkMembers(at, kind, topicID, replyID, link string) error {
	foreign, missing := wrongMembers(kind, map[string]bool{"topic_id": topicID != "", "reply_id": replyID != "", "url": link != ""})
	switch {
	case foreign != "":
		return fault.New(fault.Invalid, "unknown_field", "This kind has no such member.").At(at + "." + foreign)
	case missing != "":
		return fault.New(fault.Invalid, "field_required", "This kind needs this member.").At(at + "." + missing)
	}
	return nil
}

// checkTimes refuses times that are no times, and times out of range.
func (in *PublishIn) checkTimes(now, until time.Time) error {
	if in.Request != nil {
		t, err := readTime("handoff_request.deadline_at", in.Request.DeadlineAt)
		if err != nil {
			return err
		}
		if t.Before(now.Add(MinDeadline)) || t.After(until) {
			return outOfRange.At("handoff_request.deadline_at")
		}
	}
	if in.Offer != nil {
		t, err := readTime("offer_details.available_until", in.Offer.AvailableUntil)
		if err != nil {
			return err
		}
		if !t.After(now) || t.After(until) {
			return outOfRange.At("offer_details.available_until")
		}
	}
	if in.Finding == nil {
		return nil
	}
	day, err := time.Parse(time.DateOnly, in.Finding.AsOf)
	if err != nil {
		return invalidTimestamp.At("finding.as_of").Say("That is no day of the calendar.")
	}
	if day.After(now.Truncate(24 * time.Hour).Add(24 * time.Hour)) {
		return outOfRange.At("finding.as_of")
	}
	return nil
}

// words are all texts of a publication.
func (in *PublishIn) words() []word {
	w := append([]word{{"title", in.Title}, {"text", in.Text}, {"help_request", in.Help}}, in.Metadata.texts()...)
	if in.Package != nil {
		w = append(w, in.Package.texts("ask_package")...)
	}
	if in.Request != nil {
		w = append(w, in.Request.texts("handoff_request")...)
	}
	if in.Finding != nil {
		w = append(w, in.Finding.texts("finding")...)
	}
	if in.Context != nil {
		w = append(w, in.Context.texts("finding_context")...)
	}
	if in.Offer != nil {
		w = append(w, in.Offer.texts("offer_details")...)
	}
	return w
}
