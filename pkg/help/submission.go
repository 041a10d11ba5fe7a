package help

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// The statuses of a submission (help.md 3.3). All follow from the request.
const (
	SubmissionInReview  = "in-review"
	RevisionRequested   = "revision-requested"
	SubmissionAccepted  = "accepted"
	SubmissionCancelled = "closed"
)

// Submission is stored work.
type Submission struct {
	ID          string     `json:"id"`
	RequestID   string     `json:"request_id"`
	OfferID     string     `json:"offer_id"`
	Contributor Ref        `json:"contributor"`
	Sequence    int        `json:"sequence"`
	Summary     string     `json:"summary"`
	Method      string     `json:"method"`
	Evidence    string     `json:"evidence"`
	Limitations string     `json:"limitations"`
	CreatedAt   time.Time  `json:"created_at"`
	Hidden      bool       `json:"hidden,omitempty"`
	Place       roll.Place `json:"place"`
	Mark        string     `json:"mark"`
}

func (s Submission) hidden() bool { return s.Hidden }

func submissionKey(id string) table.Key { return table.Key{PK: "help.SUBMISSION#" + id, SK: "ROOT"} }

func submissionCounts(id string) table.Key { return countKey(submissionKey(id)) }

// submissionsOf is the list of a request's submissions, oldest first.
func submissionsOf(requestID string) roll.Roll {
	return roll.Roll{PK: requestKey(requestID).PK, Member: "SUBMISSION#", Count: "COUNT", Field: "submissions_", Oldest: true}
}

// status is a submission's status. An older one was sent back for revision, or there would
// be no newer one.
func (s Submission) status(r Request) string {
	switch {
	case s.Sequence < r.Sequence, r.Decision == Revise:
		return RevisionRequested
	case r.Decision == Accept:
		return SubmissionAccepted
	case r.Status == Cancelled:
		return SubmissionCancelled
	}
	return SubmissionInReview
}

// SubmissionOut is a submission on the wire (help.md 4.3).
type SubmissionOut struct {
	ID          string `json:"id"`
	RequestID   string `json:"requestId"`
	OfferID     string `json:"offerId"`
	Contributor Ref    `json:"contributor"`
	Sequence    int    `json:"sequence"`
	IsLatest    bool   `json:"isLatest"`
	Status      string `json:"status" rule:"enum=in-review|revision-requested|accepted|closed"`
	Summary     string `json:"summary"`
	Method      string `json:"method"`
	Evidence    string `json:"evidence"`
	Limitations string `json:"limitations"`
	Reviews     int64  `json:"reviewCount"`
	CreatedAt   Time   `json:"createdAt"`
}

func (s Submission) out(r Request, counts table.Row) SubmissionOut {
	return SubmissionOut{ID: s.ID, RequestID: s.RequestID, OfferID: s.OfferID, Contributor: s.Contributor, Sequence: s.Sequence,
		IsLatest: s.ID == r.Latest, Status: s.status(r), Summary: s.Summary, Method: s.Method, Evidence: s.Evidence,
		Limitations: s.Limitations, Reviews: reviewsOf(s.ID).Sum(counts), CreatedAt: Time(s.CreatedAt)}
}

// Refusals of submissions (help.md 4.4).
var (
	ContributorOnly  = fault.New(fault.Forbidden, "contributor_only", "Only the account whose offer was accepted may submit work.")
	RequestNotActive = fault.New(fault.Conflict, "request_not_active", "This request does not wait for work right now.")
)

// SubmitIn is work.
type SubmitIn struct {
	RequestID   string `path:"requestId"`
	Summary     string `json:"summary" rule:"required,min=1,max=2000" doc:"What came out."`
	Method      string `json:"method" rule:"required,min=1,max=6000" doc:"How to do it again."`
	Evidence    string `json:"evidence" rule:"required,min=1,max=3000" doc:"What shows that it works; text, links included."`
	Limitations string `json:"limitations" rule:"required,min=1,max=2000" doc:"Where it does not hold."`
}

// Validate implements op.Validator.
func (in SubmitIn) Validate() error { return screen(in) }

// Rows implements op.Prefetcher.
func (in SubmitIn) Rows(string) []table.Key { return requestRows(in.RequestID) }

// SubmittedAnswer wraps a submission and its request.
type SubmittedAnswer struct {
	Submission SubmissionOut `json:"submission"`
	Request    RequestOut    `json:"request"`
}

// SubmitWork hands work in for review.
var SubmitWork = op.Declare(noted(write("submission.submit", "/api/requests/{requestId}/submissions", "help_submit_work", "4.1 H7", 201, &submitLimit,
	"Submit work on the request whose offer of yours was accepted.",
	append([]string{"not_found", "contributor_only", "request_not_active"}, textFaults...)...), warning), submitWork)

func submitWork(c *op.Call, in SubmitIn) (out SubmittedAnswer, err error) {
	r, err := loadRequest(c, in.RequestID)
	if err != nil {
		return out, err
	}
	if err := maySubmit(r, c.Caller.ID); err != nil {
		return out, err
	}
	s := Submission{ID: c.NewID(), RequestID: r.ID, OfferID: r.AcceptedOffer, Contributor: *r.Contributor, Sequence: r.Sequence + 1,
		Summary: trim(in.Summary), Method: trim(in.Method), Evidence: trim(in.Evidence), Limitations: trim(in.Limitations), CreatedAt: c.Now}
	if s.Place, err = submissionsOf(r.ID).Open(c, 0); err != nil {
		return out, err
	}
	s.Mark = submissionsOf(r.ID).Add(c, s.ID, s.Place)
	c.Create(submissionKey(s.ID), s)
	r.Latest, r.Sequence, r.Decision = s.ID, s.Sequence, ""
	r.move(c, InReview)
	out.Submission = s.out(r, table.Row{})
	out.Request, err = r.shown(c)
	out.Request.Submissions++ // the one of this commit
	return out, err
}

func maySubmit(r Request, accountID string) error {
	switch {
	case r.Contributor == nil || r.Contributor.ID != accountID:
		return ContributorOnly
	case r.Status != Active:
		return r.state(RequestNotActive)
	}
	return nil
}

// ListSubmissionsIn is a page of a request's submissions.
type ListSubmissionsIn struct {
	RequestID string `path:"requestId"`
	Paging
}

// Rows implements op.Prefetcher.
func (in ListSubmissionsIn) Rows(string) []table.Key { return requestRows(in.RequestID) }

// SubmissionsOut is a page of submissions, oldest first.
type SubmissionsOut struct {
	Submissions []SubmissionOut `json:"submissions"`
	Pages
}

// ListSubmissions lists the submissions on a request, oldest first.
var ListSubmissions = op.Declare(read("submission.list", "/api/requests/{requestId}/submissions", "help_list_submissions", "4.1 H8",
	"List the submissions on a request, oldest first.", "not_found", "invalid_limit", "invalid_offset"), listSubmissions)

func listSubmissions(c *op.Call, in ListSubmissionsIn) (out SubmissionsOut, err error) {
	r, err := loadRequest(c, in.RequestID)
	if err != nil {
		return out, err
	}
	out.Submissions, out.Pages, err = page(c, in.Paging, submissionsOf(r.ID), submissionKey, submissionCounts, func(f fetched) (SubmissionOut, bool, error) {
		var s Submission
		err := op.Decode(f.row.Data, &s)
		return s.out(r, f.counts), !s.Hidden, err
	})
	return out, err
}
