package peer

import (
	"slices"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
)

// maxHidden bounds how many replies of a topic are hidden one by one.
const maxHidden = 1000

var tooManyHidden = fault.New(fault.Conflict, "too_many_hidden", "A thousand replies of this topic are hidden. Hide the topic.")

// hide stages that a topic is hidden or shown again: its places in the lists, its mark on
// the finding it corrects, and the news for its author.
func (h *head) hide(c *op.Call, hidden bool) error {
	t, _, err := op.Load[topic](c, topicKey(h.ID))
	if err != nil {
		return err
	}
	places := t.places()
	if err := c.Fetch(places...); err != nil {
		return err
	}
	h.HiddenAt = time.Time{}
	if hidden {
		h.HiddenAt = c.Now
	}
	for _, k := range places {
		switch {
		case hidden:
			c.Delete(k)
		case c.Now.Before(t.ExpiresAt):
			c.PutUntil(k, t.entry(), t.ExpiresAt)
		}
	}
	if t.Context != nil && t.Context.Relation != nil {
		if err := t.uncorrect(c, hidden); err != nil {
			return err
		}
	}
	if !hidden {
		return nil
	}
	return record(c, h, change{Type: TopicGone})
}

// uncorrect takes a hidden correction off the finding it corrects, or puts it back.
func (t *topic) uncorrect(c *op.Call, hidden bool) error {
	rel := t.Context.Relation
	key := part(rel.TopicID, "CORRECTIONS")
	if err := c.Fetch(headKey(rel.TopicID), key); err != nil {
		return err
	}
	h, found, err := op.Load[head](c, headKey(rel.TopicID))
	if err != nil || !found {
		return err
	}
	all, _, err := op.Load[corrections](c, key)
	if err != nil {
		return err
	}
	n := 1
	if hidden {
		n = -1
		all.List = slices.DeleteFunc(all.List, func(x correction) bool { return x.TopicID == t.ID })
	} else {
		all.List = append(all.List, correction{t.ID, rel.Kind, t.ClientID, t.CreatedAt})
		slices.SortStableFunc(all.List, func(a, b correction) int { return a.CreatedAt.Compare(b.CreatedAt) })
		all.List = all.List[max(0, len(all.List)-maxCorrections):]
	}
	h.Corrections += n
	if rel.Kind == Disputes {
		h.Disputes += n
	}
	c.PutUntil(key, all, h.forget())
	h.save(c)
	return nil
}

// hideReply stages that a reply is hidden or shown again. A handoff keeps its state; a
// finding's confidence is worked out anew.
func (h *head) hideReply(c *op.Call, id ID, hidden bool) error {
	r, found, err := op.Load[reply](c, replyKey(h.ID, id))
	if err != nil || !found {
		return err
	}
	if hidden {
		if len(h.Hidden) >= maxHidden {
			return tooManyHidden
		}
		h.Hidden = append(h.Hidden, id)
		h.Replies--
	} else {
		h.Hidden = slices.DeleteFunc(h.Hidden, func(x ID) bool { return x == id })
		h.Replies++
	}
	switch r.Kind {
	case ReproOK, FailedRepro:
		return h.recount(c, &r)
	case UseReportKind:
		return h.reuse(c, &r, hidden)
	}
	return nil
}

// recount works out what a client's reproductions count for, from those that can be read.
func (h *head) recount(c *op.Call, r *reply) error {
	if r.ClientID == h.ClientID {
		return nil
	}
	key := reproKey(h.ID, r.ClientID)
	old, _, err := op.Load[reproduction](c, key)
	if err != nil {
		return err
	}
	looking := *h
	looking.Replies = max(1, h.Replies) // also where the last one is being hidden
	all, err := visible(c, &looking)
	if err != nil {
		return err
	}
	before, latest := h.confidence(), reproduction{}
	for _, x := range all {
		if x.ClientID == r.ClientID && (x.Kind == ReproOK || x.Kind == FailedRepro) {
			latest = reproduction{x.ID, x.Kind}
		}
	}
	h.count(old.Kind, -1)
	h.count(latest.Kind, 1)
	c.PutUntil(key, latest, h.forget())
	if h.confidence() == before {
		return nil
	}
	return record(c, h, change{Type: ConfidenceChanged})
}

// reuse takes a hidden use report off the finding's tally, or puts it back.
func (h *head) reuse(c *op.Call, r *reply, hidden bool) error {
	key := part(h.ID, "USES")
	all, _, err := op.Load[uses](c, key)
	if err != nil {
		return err
	}
	if hidden {
		h.Uses.add(r.Use.Result, -1)
		all.List = slices.DeleteFunc(all.List, func(x use) bool { return x.ReplyID == r.ID })
	} else {
		h.Uses.add(r.Use.Result, 1)
		all.List = append(all.List, use{r.ID, r.ClientID, r.Use.Result, r.Use.TaskID, r.CreatedAt})
		slices.SortStableFunc(all.List, func(a, b use) int { return a.At.Compare(b.At) })
	}
	c.PutUntil(key, all, h.forget())
	return nil
}
