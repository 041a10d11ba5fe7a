package help

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// The statuses of a request (help.md 3.1).
const (
	Open      = "open"
	Active    = "active"
	InReview  = "review"
	Completed = "completed"
	Cancelled = "cancelled"
)

// Request is a stored request.
type Request struct {
	ID                 string `json:"id"`
	Title              string `json:"title"`
	Problem            string `json:"problem"`
	PreviousAttempts   string `json:"previous_attempts"`
	AcceptanceCriteria string `json:"acceptance_criteria"`
	ResourcePolicy     string `json:"resource_policy"`
	Status             string `json:"status"`
	Requester          Ref    `json:"requester"`
	AcceptedOffer      string `json:"accepted_offer,omitempty"`
	Contributor        *Ref   `json:"contributor,omitempty"`
	// Latest is the submission with the highest sequence, Decision what the requester said
	// to it: "", revise or accept.
	Latest       string `json:"latest,omitempty"`
	Sequence     int    `json:"sequence,omitempty"`
	Decision     string `json:"decision,omitempty"`
	Knowledge    string `json:"knowledge,omitempty"`
	CancelReason string `json:"cancel_reason,omitempty"`

	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	AcceptedAt  time.Time `json:"accepted_at,omitzero"` // of an offer
	CompletedAt time.Time `json:"completed_at,omitzero"`
	CancelledAt time.Time `json:"cancelled_at,omitzero"`

	Hidden bool       `json:"hidden,omitempty"`
	Place  roll.Place `json:"place"`
	// Marks of the rows in the list of all requests and in that of the status.
	InAll    string `json:"in_all"`
	InStatus string `json:"in_status"`
}

func requestKey(id string) table.Key { return table.Key{PK: "help.REQUEST#" + id, SK: "ROOT"} }

// countKey is the counter row beside a row.
func countKey(root table.Key) table.Key { return table.Key{PK: root.PK, SK: "COUNT"} }

func requestCounts(id string) table.Key { return countKey(requestKey(id)) }

// requestRows names what most calls on a request read; none for an id that is none.
func requestRows(requestID string) []table.Key {
	if !id.Valid(requestID) {
		return nil
	}
	return []table.Key{requestKey(requestID), requestCounts(requestID)}
}

// requestsIn is the list of the requests of a status, "all" for all of them.
func requestsIn(status string) roll.Roll {
	return roll.Roll{PK: "help.ROLL#requests#" + status, Member: "MEMBER#", Count: "COUNT", Field: "n_", Shards: shards}
}

const everything = "all"

// load reads a row by id; a row that is missing or hidden, and an id that is none, answer
// NotFound.
func load[T interface{ hidden() bool }](c *op.Call, rowID string, key func(string) table.Key) (v T, err error) {
	if !id.Valid(rowID) {
		return v, NotFound
	}
	v, found, err := op.Load[T](c, key(rowID))
	if err == nil && (!found || v.hidden()) {
		err = NotFound
	}
	return v, err
}

func (r Request) hidden() bool { return r.Hidden }

func loadRequest(c *op.Call, requestID string) (Request, error) {
	return load[Request](c, requestID, requestKey)
}

func (r *Request) save(c *op.Call) {
	r.UpdatedAt = c.Now
	c.Put(requestKey(r.ID), r)
}

// list stages the request's place among all requests and those of its status.
func (r *Request) list(c *op.Call) {
	r.InAll = requestsIn(everything).Add(c, r.ID, r.Place)
	r.InStatus = requestsIn(r.Status).Add(c, r.ID, r.Place)
}

// unlist stages that the request leaves its lists.
func (r *Request) unlist(c *op.Call) {
	requestsIn(everything).Drop(c, r.ID, r.Place, r.InAll)
	requestsIn(r.Status).Drop(c, r.ID, r.Place, r.InStatus)
}

// move stages a new status.
func (r *Request) move(c *op.Call, status string) {
	requestsIn(r.Status).Drop(c, r.ID, r.Place, r.InStatus)
	r.Status = status
	r.InStatus = requestsIn(status).Add(c, r.ID, r.Place)
	r.save(c)
}

// RequestOut is a request on the wire (help.md 4.3).
type RequestOut struct {
	ID                 string  `json:"id"`
	Title              string  `json:"title"`
	Problem            string  `json:"problem"`
	PreviousAttempts   string  `json:"previousAttempts"`
	AcceptanceCriteria string  `json:"acceptanceCriteria"`
	ResourcePolicy     string  `json:"resourcePolicy" doc:"What the requester permits; it is text and nothing enforces it."`
	Status             string  `json:"status" rule:"enum=open|active|review|completed|cancelled"`
	Requester          Ref     `json:"requester"`
	AcceptedOffer      *string `json:"acceptedOfferId"`
	Contributor        *Ref    `json:"contributor"`
	Latest             *string `json:"latestSubmissionId"`
	Knowledge          *string `json:"knowledgeId"`
	CancelReason       *string `json:"cancelReason"`
	Offers             int64   `json:"offerCount"`
	Submissions        int64   `json:"submissionCount"`
	CreatedAt          Time    `json:"createdAt"`
	UpdatedAt          Time    `json:"updatedAt"`
	CompletedAt        *Time   `json:"completedAt"`
	CancelledAt        *Time   `json:"cancelledAt"`
}

// out shows a request with what its counter row says.
func (r Request) out(counts table.Row) RequestOut {
	return RequestOut{ID: r.ID, Title: r.Title, Problem: r.Problem, PreviousAttempts: r.PreviousAttempts,
		AcceptanceCriteria: r.AcceptanceCriteria, ResourcePolicy: r.ResourcePolicy, Status: r.Status, Requester: r.Requester,
		AcceptedOffer: orNull(r.AcceptedOffer), Contributor: r.Contributor, Latest: orNull(r.Latest), Knowledge: orNull(r.Knowledge),
		CancelReason: orNull(r.CancelReason), Offers: offersOf(r.ID).Sum(counts), Submissions: submissionsOf(r.ID).Sum(counts),
		CreatedAt: Time(r.CreatedAt), UpdatedAt: Time(r.UpdatedAt), CompletedAt: at(r.CompletedAt), CancelledAt: at(r.CancelledAt)}
}

// shown reads the counters and shows the request.
func (r Request) shown(c *op.Call) (RequestOut, error) {
	counts, err := c.Get(requestCounts(r.ID))
	return r.out(counts), err
}

// RequestAnswer wraps a request.
type RequestAnswer struct {
	Request RequestOut `json:"request"`
}

// CreateIn is a new request.
type CreateIn struct {
	Title              string `json:"title" rule:"required,min=3,max=160" doc:"The problem in one line."`
	Problem            string `json:"problem" rule:"required,min=1,max=6000" doc:"What is wrong, and what you know about it."`
	PreviousAttempts   string `json:"previousAttempts" rule:"required,min=1,max=3000" doc:"What was tried, and what came of it."`
	AcceptanceCriteria string `json:"acceptanceCriteria" rule:"required,min=1,max=3000" doc:"How you will tell that it is solved."`
	ResourcePolicy     string `json:"resourcePolicy" rule:"required,min=1,max=1500" doc:"Which resources a contributor may use."`
}

// Validate implements op.Validator.
func (in CreateIn) Validate() error { return screen(in) }

// Rows implements op.Prefetcher.
func (in CreateIn) Rows(accountID string) []table.Key {
	if accountID == "" {
		return nil
	}
	return []table.Key{accountKey(accountID), requestsIn(everything).CountKey(shardOf(accountID))}
}

// CreateRequest states a problem.
var CreateRequest = op.Declare(noted(write("request.create", "/api/requests", "help_create_request", "4.1 H1", 201, &requestLimit,
	"Ask for help with one limited problem.", textFaults...), warning), createRequest)

func createRequest(c *op.Call, in CreateIn) (out RequestAnswer, err error) {
	r := Request{ID: c.NewID(), Title: trim(in.Title), Problem: trim(in.Problem), PreviousAttempts: trim(in.PreviousAttempts),
		AcceptanceCriteria: trim(in.AcceptanceCriteria), ResourcePolicy: trim(in.ResourcePolicy), Status: Open, CreatedAt: c.Now, UpdatedAt: c.Now}
	if r.Requester, err = caller(c); err != nil {
		return out, err
	}
	if r.Place, err = requestsIn(everything).Open(c, shardOf(r.Requester.ID)); err != nil {
		return out, err
	}
	r.list(c)
	c.Create(requestKey(r.ID), r)
	return RequestAnswer{r.out(table.Row{})}, nil
}

// ListRequestsIn is a page of requests.
type ListRequestsIn struct {
	Paging
	Status string `query:"status" rule:"enum=open|active|review|completed|cancelled" doc:"Only requests of this status."`
}

// RequestsOut is a page of requests, newest first.
type RequestsOut struct {
	Requests []RequestOut `json:"requests"`
	Pages
}

// ListRequests lists requests, newest first.
var ListRequests = op.Declare(read("request.list", "/api/requests", "help_list_requests", "4.1 H2", "List requests, newest first.",
	"invalid_limit", "invalid_offset", "invalid_status"), listRequests)

func listRequests(c *op.Call, in ListRequestsIn) (out RequestsOut, err error) {
	list := requestsIn(everything)
	if in.Status != "" {
		list = requestsIn(in.Status)
	}
	out.Requests, out.Pages, err = page(c, in.Paging, list, requestKey, requestCounts, func(f fetched) (RequestOut, bool, error) {
		var r Request
		err := op.Decode(f.row.Data, &r)
		return r.out(f.counts), !r.Hidden && (in.Status == "" || r.Status == in.Status), err
	})
	return out, err
}

// RequestIn names a request.
type RequestIn struct {
	RequestID string `path:"requestId"`
}

// Rows implements op.Prefetcher.
func (in RequestIn) Rows(string) []table.Key { return requestRows(in.RequestID) }

// ReadRequest reads one request.
var ReadRequest = op.Declare(read("request.read", "/api/requests/{requestId}", "help_read_request", "4.1 H3", "Read one request.", "not_found"),
	func(c *op.Call, in RequestIn) (out RequestAnswer, err error) {
		r, err := loadRequest(c, in.RequestID)
		if err != nil {
			return out, err
		}
		out.Request, err = r.shown(c)
		return out, err
	})

// CancelIn says why a request is withdrawn.
type CancelIn struct {
	RequestID string `path:"requestId"`
	Reason    string `json:"reason" rule:"required,min=1,max=1000" doc:"Why nobody needs to help any more. Public."`
}

// Validate implements op.Validator.
func (in CancelIn) Validate() error { return screen(in) }

// Rows implements op.Prefetcher.
func (in CancelIn) Rows(string) []table.Key { return requestRows(in.RequestID) }

// Refusals of requests (help.md 4.4).
var (
	RequesterOnly = fault.New(fault.Forbidden, "requester_only", "Only the account that made the request may do this.")
	RequestClosed = fault.New(fault.Conflict, "request_closed", "This request is completed or cancelled; neither ever opens again.")
)

// state is a refusal because of a request's state.
func (r Request) state(f *fault.Fault, more ...string) *fault.Fault {
	detail := map[string]any{"status": r.Status}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			detail[more[i]] = more[i+1]
		}
	}
	return f.With("detail", detail)
}

// CancelRequest ends a request that nobody needs to help with any more.
var CancelRequest = op.Declare(noted(write("request.cancel", "/api/requests/{requestId}/cancel", "help_cancel_request", "4.1 H11", 200, nil,
	"Cancel your request. Offers, submissions and reviews stay readable.", append([]string{"not_found", "requester_only", "request_closed"}, textFaults...)...), warning),
	cancelRequest)

func cancelRequest(c *op.Call, in CancelIn) (out RequestAnswer, err error) {
	r, err := loadRequest(c, in.RequestID)
	if err != nil {
		return out, err
	}
	if err := mayCancel(r, c.Caller.ID); err != nil {
		return out, err
	}
	r.CancelReason, r.CancelledAt = trim(in.Reason), c.Now
	r.move(c, Cancelled)
	out.Request, err = r.shown(c)
	return out, err
}

func mayCancel(r Request, accountID string) error {
	switch {
	case r.Requester.ID != accountID:
		return RequesterOnly
	case r.Status == Completed || r.Status == Cancelled:
		return r.state(RequestClosed)
	}
	return nil
}
