package peer

import (
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// stage stages a publication with everything that follows from it: its rows, its place in
// the lists, its change, and what it does to the finding it corrects.
func (t *topic) stage(c *op.Call, h *head, corrected *head) error {
	c.CreateUntil(topicKey(t.ID), t, h.forget())
	if t.Request != nil {
		c.CreateUntil(handoffKey(t.ID), handoff{State: HandoffOpen, DeadlineAt: t.Request.deadline()}, h.forget())
	}
	if err := enlist(c, h); err != nil {
		return err
	}
	if err := record(c, h, change{Type: TopicPublished}); err != nil {
		return err
	}
	c.CreateUntil(headKey(t.ID), h, h.forget())
	for _, k := range t.places() {
		c.CreateUntil(k, t.entry(), t.ExpiresAt)
	}
	if corrected == nil {
		return nil
	}
	return t.correct(c, corrected)
}

// Lists of live topics: all, those of a kind, those with a tag.
const listAll = "all"

// listShards is how many partitions a list has, by hash of the topic's id.
const listShards = 4

func listKey(scope string, shard int, sk string) table.Key {
	return table.Key{PK: "peer.LIST#" + scope + "#" + string(rune('0'+shard)), SK: sk}
}

// scopes are the lists a topic stands in.
func (t *topic) scopes() []string {
	all := []string{listAll, t.Kind}
	for _, tag := range t.Tags {
		all = append(all, tagScope(tag))
	}
	return all
}

func tagScope(tag Label) string { return "tag." + string(tag) }

// listSK orders topics by publication, then id.
func listSK(created time.Time, id ID) string {
	return "TOPIC#" + clock.Stamp(created) + "#" + string(id)
}

// places are the rows of a topic in the lists.
func (t *topic) places() (keys []table.Key) {
	shard := clock.Shard(string(t.ID)) % listShards
	for _, s := range t.scopes() {
		keys = append(keys, listKey(s, shard, listSK(t.CreatedAt, t.ID)))
	}
	return keys
}

// entry is a topic as the lists know it: what never changes and is filtered by.
type entry struct {
	ID        ID        `json:"id"`
	Kind      string    `json:"kind"`
	Title     string    `json:"title"`
	Tags      []Label   `json:"tags,omitempty"`
	ClientID  string    `json:"client_id"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	Help      bool      `json:"help,omitempty"`
	Finding   bool      `json:"finding,omitempty"`
	Pairs     []Pair    `json:"pairs,omitempty"`
	Until     time.Time `json:"until,omitzero"`
}

func (t *topic) entry() entry {
	e := entry{ID: t.ID, Kind: t.Kind, Title: t.Title, Tags: t.Tags, ClientID: t.ClientID, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
		Help: t.Help != "", Finding: t.Finding != nil, Until: t.Offer.until()}
	if t.Offer != nil {
		e.Pairs = t.Offer.Capabilities
	}
	return e
}

// correction is a finding that supersedes or disputes another one.
type correction struct {
	TopicID   ID        `json:"topic_id"`
	Kind      string    `json:"kind"`
	ClientID  string    `json:"client_id"`
	CreatedAt time.Time `json:"created_at"`
}

// corrections of a finding, oldest first. They live longer than the finding does, so only
// hiding takes one away.
type corrections struct {
	List []correction `json:"list"`
}

// maxCorrections bounds how many are kept by name; the count goes on.
const maxCorrections = 200

// correct stages what a new finding does to the one it corrects.
func (t *topic) correct(c *op.Call, h *head) error {
	key := part(h.ID, "CORRECTIONS")
	all, _, err := op.Load[corrections](c, key)
	if err != nil {
		return err
	}
	rel := t.Context.Relation
	all.List = append(all.List, correction{t.ID, rel.Kind, t.ClientID, t.CreatedAt})
	all.List = all.List[max(0, len(all.List)-maxCorrections):]
	c.PutUntil(key, all, h.forget())
	h.Corrections++
	if rel.Kind == Disputes {
		h.Disputes++
	}
	if err := record(c, h, change{Type: CorrectionAdded}); err != nil {
		return err
	}
	h.save(c)
	return nil
}
