package help

import (
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Hiding is a steward's word on what readers see: the row vanishes from reads, lists,
// totals and searches, and stays stored. It changes no status of anything else (help.md 9).

// hideable is a row that can be hidden.
type hideable interface {
	hidden() bool
	// hide stages the row hidden, or shown again.
	hide(c *op.Call, on bool) error
}

// loaders read what can be hidden, by entity type.
var loaders = map[string]func(c *op.Call, key table.Key) (hideable, bool, error){
	"request":    loader[*Request],
	"offer":      loader[*Offer],
	"submission": loader[*Submission],
	"review":     loader[*Review],
	"knowledge":  loader[*Entry],
	"reuse":      loader[*Reuse],
}

func loader[T hideable](c *op.Call, key table.Key) (hideable, bool, error) {
	v, found, err := op.Load[T](c, key)
	return v, found, err
}

func (r *Request) hide(c *op.Call, on bool) error {
	if on {
		r.unlist(c)
	} else {
		r.list(c)
	}
	r.Hidden = on
	c.Put(requestKey(r.ID), r)
	return nil
}

// stillPending says why an offer cannot be shown again: its author made another one since,
// and an account has one pending offer on a request.
var stillPending = fault.New(fault.Conflict, "offer_exists", "The account has made another offer on this request since.")

func (o *Offer) hide(c *op.Call, on bool) error {
	key := pendingKey(o.RequestID, o.Contributor.ID)
	if err := c.Fetch(key, requestKey(o.RequestID)); err != nil {
		return err
	}
	live, _, err := op.Load[pending](c, key)
	if err != nil {
		return err
	}
	r, _, err := op.Load[Request](c, requestKey(o.RequestID))
	if err != nil {
		return err
	}
	status, _ := o.status(r)
	switch {
	case on && live.OfferID == o.ID:
		c.Delete(key) // the author may make another offer
	case !on && status == Pending && live.OfferID != "":
		return stillPending.With("offer_id", live.OfferID)
	case !on && status == Pending:
		c.Put(key, pending{o.ID})
		c.Check(requestKey(r.ID))
	}
	if on {
		offersOf(o.RequestID).Drop(c, o.ID, o.Place, o.Mark)
	} else {
		o.Mark = offersOf(o.RequestID).Add(c, o.ID, o.Place)
	}
	o.Hidden = on
	c.Put(offerKey(o.ID), o)
	return nil
}

func (s *Submission) hide(c *op.Call, on bool) error {
	if on {
		submissionsOf(s.RequestID).Drop(c, s.ID, s.Place, s.Mark)
	} else {
		s.Mark = submissionsOf(s.RequestID).Add(c, s.ID, s.Place)
	}
	s.Hidden = on
	c.Put(submissionKey(s.ID), s)
	return nil
}

func (v *Review) hide(c *op.Call, on bool) error {
	if on {
		reviewsOf(v.SubmissionID).Drop(c, v.ID, v.Place, v.Mark)
	} else {
		v.Mark = reviewsOf(v.SubmissionID).Add(c, v.ID, v.Place)
	}
	v.Hidden = on
	c.Put(reviewKey(v.ID), v)
	return nil
}

func (e *Entry) hide(c *op.Call, on bool) error {
	if on {
		knowledge.Drop(c, e.ID, e.Place, e.Mark)
	} else {
		e.Mark = knowledge.Add(c, e.ID, e.Place)
	}
	e.Hidden = on
	c.Put(entryKey(e.ID), e)
	return nil
}

func (u *Reuse) hide(c *op.Call, on bool) error {
	if on {
		reusesOf(u.KnowledgeID).Drop(c, u.ID, u.Place, u.Mark)
	} else {
		u.Mark = reusesOf(u.KnowledgeID).Add(c, u.ID, u.Place)
	}
	u.Hidden = on
	c.Put(reuseKey(u.ID), u)
	return nil
}
