package help

import (
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// The decisions of a review, and the verdict that accepts (help.md 2).
const (
	Comment = "comment"
	Revise  = "revise"
	Accept  = "accept"
	Pass    = "pass"
)

// Review is a stored review.
type Review struct {
	ID           string     `json:"id"`
	SubmissionID string     `json:"submission_id"`
	RequestID    string     `json:"request_id"`
	Reviewer     Ref        `json:"reviewer"`
	Role         string     `json:"role"`
	Decision     string     `json:"decision"`
	Verdict      string     `json:"verdict"`
	Body         string     `json:"body"`
	Evidence     string     `json:"evidence"`
	CreatedAt    time.Time  `json:"created_at"`
	Hidden       bool       `json:"hidden,omitempty"`
	Place        roll.Place `json:"place"`
	Mark         string     `json:"mark"`
}

func (v Review) hidden() bool { return v.Hidden }

func reviewKey(id string) table.Key { return table.Key{PK: "help.REVIEW#" + id, SK: "ROOT"} }

// reviewsOf is the list of a submission's reviews, oldest first.
func reviewsOf(submissionID string) roll.Roll {
	return roll.Roll{PK: submissionKey(submissionID).PK, Member: "REVIEW#", Count: "COUNT", Field: "reviews_", Oldest: true}
}

// ReviewOut is a review on the wire (help.md 4.3).
type ReviewOut struct {
	ID           string `json:"id"`
	SubmissionID string `json:"submissionId"`
	RequestID    string `json:"requestId"`
	Reviewer     Ref    `json:"reviewer"`
	Role         string `json:"reviewerRole" rule:"enum=requester|other"`
	Decision     string `json:"decision" rule:"enum=comment|revise|accept"`
	Verdict      string `json:"verdict" rule:"enum=pass|fail|uncertain"`
	Body         string `json:"body"`
	Evidence     string `json:"evidence"`
	CreatedAt    Time   `json:"createdAt"`
}

func (v Review) out() ReviewOut {
	return ReviewOut{v.ID, v.SubmissionID, v.RequestID, v.Reviewer, v.Role, v.Decision, v.Verdict, v.Body, v.Evidence, Time(v.CreatedAt)}
}

// Refusals of reviews (help.md 4.4).
var (
	OwnSubmission       = fault.New(fault.Forbidden, "own_submission", "You cannot review your own work.")
	RequestNotInReview  = fault.New(fault.Conflict, "request_not_in_review", "This request does not wait for a review right now.")
	NotLatestSubmission = fault.New(fault.Conflict, "not_latest_submission", "Only the latest submission can be accepted or sent back.")
	VerdictMustBePass   = fault.New(fault.Invalid, "verdict_must_be_pass", "To accept work is to say that your criteria are met: the verdict must be pass.").At("verdict")
)

// ReviewIn is a review.
type ReviewIn struct {
	SubmissionID string `path:"submissionId"`
	Decision     string `json:"decision" rule:"required,enum=comment|revise|accept" doc:"Anybody may comment; the requester may ask for a revision, or accept."`
	Verdict      string `json:"verdict" rule:"required,enum=pass|fail|uncertain" doc:"Accepting takes pass."`
	Body         string `json:"body" rule:"required,min=1,max=3000"`
	Evidence     string `json:"evidence" rule:"required,min=1,max=3000" doc:"What the verdict rests on."`
}

// Validate implements op.Validator.
func (in ReviewIn) Validate() error { return screen(in) }

// Rows implements op.Prefetcher.
func (in ReviewIn) Rows(accountID string) []table.Key {
	if accountID == "" || !id.Valid(in.SubmissionID) {
		return nil
	}
	keys := []table.Key{accountKey(accountID), submissionKey(in.SubmissionID), submissionCounts(in.SubmissionID)}
	if in.Decision == Accept {
		keys = append(keys, knowledge.CountKey(shardOf(in.SubmissionID)))
	}
	return keys
}

// ReviewedAnswer wraps a review, its request and, when it accepted, the new entry.
type ReviewedAnswer struct {
	Review  ReviewOut  `json:"review"`
	Request RequestOut `json:"request"`
	Entry   *EntryOut  `json:"entry,omitempty"`
}

// ReviewSubmission comments on work, sends it back, or accepts it.
var ReviewSubmission = op.Declare(noted(write("submission.review", "/api/submissions/{submissionId}/reviews", "help_review_submission", "4.1 H9", 201, &reviewLimit,
	"Comment on work, or, as its requester, ask for a revision or accept it.",
	append([]string{"not_found", "own_submission", "requester_only", "request_closed", "request_not_in_review", "not_latest_submission", "verdict_must_be_pass"}, textFaults...)...),
	warning+" Accepting publishes the result as knowledge; it is your own judgement and no proof."), reviewSubmission)

func reviewSubmission(c *op.Call, in ReviewIn) (out ReviewedAnswer, err error) {
	s, r, err := reviewed(c, in)
	if err != nil {
		return out, err
	}
	if err := mayReview(r, s, c.Caller.ID, in.Decision, in.Verdict); err != nil {
		return out, err
	}
	v := Review{ID: c.NewID(), SubmissionID: s.ID, RequestID: r.ID, Role: "other", Decision: in.Decision, Verdict: in.Verdict,
		Body: trim(in.Body), Evidence: trim(in.Evidence), CreatedAt: c.Now}
	if v.Reviewer, err = caller(c); err != nil {
		return out, err
	}
	if v.Reviewer.ID == r.Requester.ID {
		v.Role = "requester"
	}
	if v.Place, err = reviewsOf(s.ID).Open(c, 0); err != nil {
		return out, err
	}
	v.Mark = reviewsOf(s.ID).Add(c, v.ID, v.Place)
	c.Create(reviewKey(v.ID), v)
	if out.Entry, err = r.decide(c, s, v); err != nil {
		return out, err
	}
	out.Review = v.out()
	out.Request, err = r.shown(c)
	return out, err
}

// reviewed reads a submission and its request. A hidden submission is there for nobody but
// its requester, and for him only to send it back: it must not trap the request (help.md 9).
func reviewed(c *op.Call, in ReviewIn) (s Submission, r Request, err error) {
	if !id.Valid(in.SubmissionID) {
		return s, r, NotFound
	}
	s, found, err := op.Load[Submission](c, submissionKey(in.SubmissionID))
	if err != nil || !found {
		return s, r, orNotFound(err)
	}
	if err := c.Fetch(requestRows(s.RequestID)...); err != nil {
		return s, r, err
	}
	if r, err = loadRequest(c, s.RequestID); err != nil {
		return s, r, err
	}
	if s.Hidden && (in.Decision != Revise || c.Caller.ID != r.Requester.ID || s.ID != r.Latest) {
		return s, r, NotFound
	}
	return s, r, nil
}

func orNotFound(err error) error {
	if err == nil {
		return NotFound
	}
	return err
}

func mayReview(r Request, s Submission, accountID, decision, verdict string) error {
	switch {
	case s.Contributor.ID == accountID:
		return OwnSubmission
	case decision != Comment && r.Requester.ID != accountID:
		return RequesterOnly
	case decision == Comment && r.Status == Cancelled:
		return r.state(RequestClosed)
	case decision != Comment && r.Status != InReview:
		return r.state(RequestNotInReview)
	case decision != Comment && s.ID != r.Latest:
		return r.state(NotLatestSubmission, "latestSubmissionId", r.Latest)
	case decision == Accept && verdict != Pass:
		return VerdictMustBePass
	}
	return nil
}

// decide stages what a review changes besides being there.
func (r *Request) decide(c *op.Call, s Submission, v Review) (*EntryOut, error) {
	switch v.Decision {
	case Revise:
		r.Decision = Revise
		r.move(c, Active)
		return nil, nil
	case Accept:
		e, err := publish(c, *r, s, v)
		if err != nil {
			return nil, err
		}
		r.Decision, r.Knowledge, r.CompletedAt = Accept, e.ID, c.Now
		r.move(c, Completed)
		c.Check(submissionKey(s.ID)) // not hidden
		out := e.out(table.Row{})
		return &out, nil
	}
	c.Check(requestKey(r.ID)) // not cancelled
	return nil, nil
}

// ListReviewsIn is a page of a submission's reviews.
type ListReviewsIn struct {
	SubmissionID string `path:"submissionId"`
	Paging
}

// Rows implements op.Prefetcher.
func (in ListReviewsIn) Rows(string) []table.Key {
	if !id.Valid(in.SubmissionID) {
		return nil
	}
	return []table.Key{submissionKey(in.SubmissionID), submissionCounts(in.SubmissionID)}
}

// ReviewsOut is a page of reviews, oldest first.
type ReviewsOut struct {
	Reviews []ReviewOut `json:"reviews"`
	Pages
}

// ListReviews lists the reviews of a submission, oldest first.
var ListReviews = op.Declare(read("review.list", "/api/submissions/{submissionId}/reviews", "help_list_reviews", "4.1 H10",
	"List the reviews of a submission, oldest first.", "not_found", "invalid_limit", "invalid_offset"), listReviews)

func listReviews(c *op.Call, in ListReviewsIn) (out ReviewsOut, err error) {
	s, err := load[Submission](c, in.SubmissionID, submissionKey)
	if err != nil {
		return out, err
	}
	if _, err := loadRequest(c, s.RequestID); err != nil {
		return out, err
	}
	out.Reviews, out.Pages, err = page(c, in.Paging, reviewsOf(s.ID), reviewKey, nil, func(f fetched) (ReviewOut, bool, error) {
		var v Review
		err := op.Decode(f.row.Data, &v)
		return v.out(), !v.Hidden, err
	})
	return out, err
}
