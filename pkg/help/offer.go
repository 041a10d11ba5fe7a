package help

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// The statuses of an offer (help.md 3.2). Only a withdrawal is written; the others follow
// from the request.
const (
	Pending     = "pending"
	Accepted    = "accepted"
	NotSelected = "not-selected"
	Withdrawn   = "withdrawn"
)

// Offer is a stored offer.
type Offer struct {
	ID          string     `json:"id"`
	RequestID   string     `json:"request_id"`
	Contributor Ref        `json:"contributor"`
	Plan        string     `json:"plan"`
	Limitations string     `json:"limitations"`
	CreatedAt   time.Time  `json:"created_at"`
	WithdrawnAt time.Time  `json:"withdrawn_at,omitzero"`
	Hidden      bool       `json:"hidden,omitempty"`
	Place       roll.Place `json:"place"`
	Mark        string     `json:"mark"`
}

func (o Offer) hidden() bool { return o.Hidden }

func offerKey(id string) table.Key { return table.Key{PK: "help.OFFER#" + id, SK: "ROOT"} }

// pendingKey is the pending offer of an account on a request.
func pendingKey(requestID, accountID string) table.Key {
	return table.Key{PK: requestKey(requestID).PK, SK: "PENDING#" + accountID}
}

// pending names an account's pending offer.
type pending struct {
	OfferID string `json:"offer_id"`
}

// offersOf is the list of a request's offers, oldest first.
func offersOf(requestID string) roll.Roll {
	return roll.Roll{PK: requestKey(requestID).PK, Member: "OFFER#", Count: "COUNT", Field: "offers_", Oldest: true}
}

// status is an offer's status, and when it was decided.
func (o Offer) status(r Request) (status string, decided time.Time) {
	switch {
	case !o.WithdrawnAt.IsZero():
		return Withdrawn, o.WithdrawnAt
	case r.AcceptedOffer == o.ID:
		return Accepted, r.AcceptedAt
	case r.Status == Open:
		return Pending, time.Time{}
	case r.AcceptedOffer != "":
		return NotSelected, r.AcceptedAt
	}
	return NotSelected, r.CancelledAt
}

// OfferOut is an offer on the wire (help.md 4.3).
type OfferOut struct {
	ID          string `json:"id"`
	RequestID   string `json:"requestId"`
	Contributor Ref    `json:"contributor"`
	Plan        string `json:"plan"`
	Limitations string `json:"limitations"`
	Status      string `json:"status" rule:"enum=pending|accepted|not-selected|withdrawn"`
	CreatedAt   Time   `json:"createdAt"`
	DecidedAt   *Time  `json:"decidedAt"`
}

func (o Offer) out(r Request) OfferOut {
	status, decided := o.status(r)
	return OfferOut{o.ID, o.RequestID, o.Contributor, o.Plan, o.Limitations, status, Time(o.CreatedAt), at(decided)}
}

// OfferAnswer wraps an offer.
type OfferAnswer struct {
	Offer OfferOut `json:"offer"`
}

// Refusals of offers (help.md 4.4).
var (
	OwnRequest         = fault.New(fault.Forbidden, "own_request", "You cannot offer help on your own request.")
	RequestNotOpen     = fault.New(fault.Conflict, "request_not_open", "This request does not wait for offers any more.")
	OfferExists        = fault.New(fault.Conflict, "offer_exists", "You already have a pending offer here. Withdraw it before you make another.")
	OfferNotSelectable = fault.New(fault.Conflict, "offer_not_selectable", "This offer is withdrawn or already decided.")
	OfferAuthorOnly    = fault.New(fault.Forbidden, "offer_author_only", "Only the account that made the offer may do this.")
)

// notOpen is the refusal of a request that left open.
func (r Request) notOpen() error {
	return r.state(RequestNotOpen, "acceptedOfferId", r.AcceptedOffer)
}

// OfferIn is an offer to help.
type OfferIn struct {
	RequestID   string `path:"requestId"`
	Plan        string `json:"plan" rule:"required,min=1,max=3000" doc:"What you would do."`
	Limitations string `json:"limitations" rule:"required,min=1,max=1500" doc:"What you cannot or will not do."`
}

// Validate implements op.Validator.
func (in OfferIn) Validate() error { return screen(in) }

// Rows implements op.Prefetcher.
func (in OfferIn) Rows(accountID string) []table.Key {
	keys := requestRows(in.RequestID)
	if accountID == "" || keys == nil {
		return nil
	}
	return append(keys, accountKey(accountID), pendingKey(in.RequestID, accountID))
}

// MakeOffer offers help on an open request.
var MakeOffer = op.Declare(noted(write("offer.make", "/api/requests/{requestId}/offers", "help_make_offer", "4.1 H4", 201, &offerLimit,
	"Offer help on another account's open request.",
	append([]string{"not_found", "own_request", "request_not_open", "offer_exists"}, textFaults...)...), warning), makeOffer)

func makeOffer(c *op.Call, in OfferIn) (out OfferAnswer, err error) {
	r, err := loadRequest(c, in.RequestID)
	if err != nil {
		return out, err
	}
	live, _, err := op.Load[pending](c, pendingKey(r.ID, c.Caller.ID))
	if err != nil {
		return out, err
	}
	if err := mayOffer(r, c.Caller.ID, live.OfferID); err != nil {
		return out, err
	}
	o := Offer{ID: c.NewID(), RequestID: r.ID, Plan: trim(in.Plan), Limitations: trim(in.Limitations), CreatedAt: c.Now}
	if o.Contributor, err = caller(c); err != nil {
		return out, err
	}
	if o.Place, err = offersOf(r.ID).Open(c, 0); err != nil {
		return out, err
	}
	o.Mark = offersOf(r.ID).Add(c, o.ID, o.Place)
	c.Create(offerKey(o.ID), o)
	c.Put(pendingKey(r.ID, o.Contributor.ID), pending{o.ID})
	c.Check(requestKey(r.ID)) // still open, still visible
	return OfferAnswer{o.out(r)}, nil
}

func mayOffer(r Request, accountID, live string) error {
	switch {
	case r.Requester.ID == accountID:
		return OwnRequest
	case r.Status != Open:
		return r.notOpen()
	case live != "":
		return OfferExists.With("detail", map[string]any{"offerId": live})
	}
	return nil
}

// ListOffersIn is a page of a request's offers.
type ListOffersIn struct {
	RequestID string `path:"requestId"`
	Paging
}

// Rows implements op.Prefetcher.
func (in ListOffersIn) Rows(string) []table.Key { return requestRows(in.RequestID) }

// OffersOut is a page of offers, oldest first.
type OffersOut struct {
	Offers []OfferOut `json:"offers"`
	Pages
}

// ListOffers lists the offers on a request, oldest first.
var ListOffers = op.Declare(read("offer.list", "/api/requests/{requestId}/offers", "help_list_offers", "4.1 H5",
	"List the offers on a request, oldest first.", "not_found", "invalid_limit", "invalid_offset"), listOffers)

func listOffers(c *op.Call, in ListOffersIn) (out OffersOut, err error) {
	r, err := loadRequest(c, in.RequestID)
	if err != nil {
		return out, err
	}
	out.Offers, out.Pages, err = page(c, in.Paging, offersOf(r.ID), offerKey, nil, func(f fetched) (OfferOut, bool, error) {
		var o Offer
		err := op.Decode(f.row.Data, &o)
		return o.out(r), !o.Hidden, err
	})
	return out, err
}

// OneOfferIn names an offer; the body is empty.
type OneOfferIn struct {
	OfferID string `path:"offerId"`
}

// Rows implements op.Prefetcher.
func (in OneOfferIn) Rows(string) []table.Key {
	if !id.Valid(in.OfferID) {
		return nil
	}
	return []table.Key{offerKey(in.OfferID)}
}

// loadOffer reads an offer and its request.
func loadOffer(c *op.Call, offerID string) (o Offer, r Request, err error) {
	if o, err = load[Offer](c, offerID, offerKey); err != nil {
		return o, r, err
	}
	if err = c.Fetch(append(requestRows(o.RequestID), pendingKey(o.RequestID, o.Contributor.ID))...); err != nil {
		return o, r, err
	}
	r, err = loadRequest(c, o.RequestID)
	return o, r, err
}

// AcceptedAnswer wraps a request and the offer it accepted.
type AcceptedAnswer struct {
	Request RequestOut `json:"request"`
	Offer   OfferOut   `json:"offer"`
}

// AcceptOffer picks one offer. Every other pending offer reads as not selected from then on.
var AcceptOffer = op.Declare(write("offer.accept", "/api/offers/{offerId}/accept", "help_accept_offer", "4.1 H6", 200, nil,
	"Accept one offer on your request; its author becomes the contributor.",
	"not_found", "requester_only", "request_not_open", "offer_not_selectable", "unknown_field"), acceptOffer)

func acceptOffer(c *op.Call, in OneOfferIn) (out AcceptedAnswer, err error) {
	o, r, err := loadOffer(c, in.OfferID)
	if err != nil {
		return out, err
	}
	if err := mayAccept(r, o, c.Caller.ID); err != nil {
		return out, err
	}
	r.AcceptedOffer, r.Contributor, r.AcceptedAt = o.ID, &o.Contributor, c.Now
	r.move(c, Active)
	c.Check(offerKey(o.ID)) // not withdrawn, not hidden
	out.Offer = o.out(r)
	out.Request, err = r.shown(c)
	return out, err
}

func mayAccept(r Request, o Offer, accountID string) error {
	switch {
	case r.Requester.ID != accountID:
		return RequesterOnly
	case r.Status != Open:
		return r.notOpen()
	case !o.WithdrawnAt.IsZero():
		return OfferNotSelectable.With("detail", map[string]any{"status": Withdrawn})
	}
	return nil
}

// WithdrawOffer takes a pending offer back.
var WithdrawOffer = op.Declare(write("offer.withdraw", "/api/offers/{offerId}/withdraw", "help_withdraw_offer", "4.1 H19", 200, nil,
	"Take your pending offer back; you may then make another.",
	"not_found", "offer_author_only", "request_not_open", "offer_not_selectable", "unknown_field"), withdrawOffer)

func withdrawOffer(c *op.Call, in OneOfferIn) (out OfferAnswer, err error) {
	o, r, err := loadOffer(c, in.OfferID)
	if err != nil {
		return out, err
	}
	if err := mayWithdraw(r, o, c.Caller.ID); err != nil {
		return out, err
	}
	o.WithdrawnAt = c.Now
	c.Put(offerKey(o.ID), o)
	c.Delete(pendingKey(r.ID, o.Contributor.ID))
	c.Check(requestKey(r.ID)) // still open
	return OfferAnswer{o.out(r)}, nil
}

func mayWithdraw(r Request, o Offer, accountID string) error {
	status, _ := o.status(r)
	switch {
	case o.Contributor.ID != accountID:
		return OfferAuthorOnly
	case status == Withdrawn || status == Accepted:
		return OfferNotSelectable.With("detail", map[string]any{"status": status})
	case r.Status != Open:
		return r.notOpen()
	}
	return nil
}
