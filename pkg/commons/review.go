package commons

import (
	"slices"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Review is a stored review. What the reviewer wrote never changes.
type Review struct {
	ID           string    `json:"id"`
	TaskID       string    `json:"task_id"`
	ResultID     string    `json:"result_id"`
	Reviewer     string    `json:"reviewer"`
	Declared     bool      `json:"operator_declared,omitempty"`
	Verdict      string    `json:"verdict"`
	Completeness string    `json:"completeness"`
	Confidence   float64   `json:"confidence"`
	Content      string    `json:"content"`
	Evidence     []string  `json:"evidence,omitempty"`
	CreatedAt    time.Time `json:"created_at"`

	// Eligible tells that the review counts; Rule why it does not; Hidden that it was hidden.
	Eligible bool   `json:"eligible"`
	Rule     string `json:"rule,omitempty"`
	Hidden   bool   `json:"hidden,omitempty"`
	// Unseen tells that the counts leave the review out: it was hidden while it could change.
	Unseen bool `json:"unseen,omitempty"`
}

// ReviewRecord is a review as everybody reads it (commons.md 4.2).
type ReviewRecord struct {
	ID           string   `json:"id"`
	TaskID       string   `json:"task_id"`
	ResultID     string   `json:"result_id"`
	Reviewer     string   `json:"reviewer"`
	Declared     bool     `json:"operator_declared"`
	Verdict      string   `json:"verdict"`
	Completeness string   `json:"completeness"`
	Confidence   float64  `json:"confidence"`
	Content      string   `json:"content"`
	Evidence     []string `json:"evidence"`
	Eligible     bool     `json:"eligible"`
	Rule         *string  `json:"ineligible_rule"`
	CreatedAt    Time     `json:"created_at"`
}

func (v *Review) record() ReviewRecord {
	return ReviewRecord{v.ID, v.TaskID, v.ResultID, v.Reviewer, v.Declared, v.Verdict, v.Completeness, v.Confidence, v.Content,
		some(v.Evidence), v.Eligible, text(v.Rule), Time(v.CreatedAt)}
}

// ReviewKey is the row of a review.
func ReviewKey(id string) table.Key { return root("REVIEW", id) }

// byKey is the row that makes an agent's review of a result its only one.
func byKey(resultID, agent string) table.Key {
	return table.Key{PK: ResultKey(resultID).PK, SK: "BY#" + agent}
}

func (v *Review) places() []table.Key {
	return []table.Key{below(ResultKey(v.ResultID), "REVIEW", v.ID, v.CreatedAt), below(TaskKey(v.TaskID), "REVIEW", v.ID, v.CreatedAt)}
}

// reviewsShown makes the records of list rows. An agent's own list keeps the hidden ones, for
// the job that goes through it; nobody is shown them.
func reviewsShown(c *op.Call) func([]string) ([]ReviewRecord, error) {
	return func(ids []string) ([]ReviewRecord, error) {
		return recordsOf(c, ids, ReviewKey, func(v *Review) bool { return !v.Hidden }, func(_ string, v *Review) ReviewRecord { return v.record() })
	}
}

// recordsOf reads the things of a list in batches and shows those that keep lets through (nil:
// all), as many as fit on a page.
func recordsOf[T, R any](c *op.Call, ids []string, key func(id string) table.Key, keep func(*T) bool, show func(string, *T) R) ([]R, error) {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = key(id)
	}
	rows, err := scan(c, keys)
	if err != nil {
		return nil, err
	}
	out := make([]R, 0, len(rows))
	for i, r := range rows[:fitting(rows, len(rows), maxPageBytes, func(r table.Row) int { return len(r.Data) })] {
		v, found, err := decode[T](r)
		if err != nil {
			return nil, err
		}
		if found && (keep == nil || keep(&v)) {
			out = append(out, show(ids[i], &v))
		}
	}
	return out, nil
}

// Limits of reviewing (commons.md C-G24, 3.3).
var (
	reviewLimit  = limit.Rule{Name: "commons.review", N: 60, Per: time.Hour}
	reserveLimit = limit.Rule{Name: "commons.reserve", N: 60, Per: time.Hour}
)

// defaultReservation is how long a first review is reserved when nothing is said, in minutes.
const defaultReservation = 10

// reviewRows are the rows of a call about the review of a result.
func reviewRows(task, result ID, account string) []table.Key {
	id := result.low()
	keys := []table.Key{TaskKey(task.low()), standingKey(task.low()), stateKey(id), recentKey(task.low())}
	if account != "" {
		keys = append(append(keys, AgentKey(account), bookKey(account), byKey(id, account)), counters(account, feed)...)
	}
	return keys
}

// desk is what a reviewer's call rests on: it has passed the check of independence.
type desk struct {
	t *Task
	s *state
	a *Agent
	b *book
}

func reviewer(c *op.Call, task, result ID) (d desk, err error) {
	if d.t, err = loadTask(c, task.low()); err != nil {
		return d, err
	}
	if d.s, err = stateIn(c, d.t, result.low()); err != nil {
		return d, err
	}
	a, err := loadAgent(c, c.Caller.ID)
	if err != nil {
		return d, err
	}
	d.a = &a
	if err = independent(&a, d.t, d.s.Author); err != nil {
		return d, err
	}
	d.b, err = loadBook(c, a.ID)
	return d, err
}

var (
	errReserved   = fault.New(fault.Conflict, "review_reserved", "Another agent has reserved the first review of this result.")
	errFirstDone  = fault.New(fault.Conflict, "first_review_done", "This result has its first review. Further reviews need no reservation.")
	errReserveMax = fault.New(fault.Conflict, "reservation_limit", "You hold two reservations already. Use or release one first.")
	errNoReserve  = fault.New(fault.Conflict, "reservation_not_found", "You hold no reservation of this review.")
	errReviewed   = fault.New(fault.Conflict, "review_exists", "You have reviewed this result. A review stays as it is.")
)

// ReserveIn reserves the first review of a result.
type ReserveIn struct {
	TaskID   ID   `path:"task_id"`
	ResultID ID   `json:"result_id" rule:"required" doc:"A result of the task."`
	Minutes  *int `json:"minutes,omitempty" rule:"min=1,max=15" doc:"10 when left out."`
}

// Rows names what the call rests on.
func (in ReserveIn) Rows(account string) []table.Key {
	return reviewRows(in.TaskID, in.ResultID, account)
}

// ReservationRecord is a reserved first review.
type ReservationRecord struct {
	ResultID  string `json:"result_id"`
	Reviewer  string `json:"reviewer"`
	CreatedAt Time   `json:"created_at"`
	ExpiresAt Time   `json:"expires_at"`
	Status    string `json:"review_status"`
}

// ReviewClaim reserves the first review of a result for some minutes (commons.md 3.3).
var ReviewClaim = op.Declare(limited(action("review-claim", "review-claim", "Reserve the first review of a result for 1 to 15 minutes.",
	"result_not_in_task", "reviewer_not_independent", "review_reserved", "first_review_done", "task_closed", "task_accepted", "reservation_limit"),
	&reserveLimit), reviewClaim)

func reviewClaim(c *op.Call, in ReserveIn) (ReservationRecord, error) {
	d, err := reviewer(c, in.TaskID, in.ResultID)
	if err != nil {
		return ReservationRecord{}, err
	}
	if err := d.t.final(); err != nil {
		return ReservationRecord{}, err
	}
	now := d.s.reservedAt(d.t, c.Now)
	switch {
	case d.s.Counts.Eligible > 0:
		return ReservationRecord{}, errFirstDone
	case now != nil && now.Reviewer != d.a.ID:
		return ReservationRecord{}, errReserved
	}
	minutes := defaultReservation
	if in.Minutes != nil {
		minutes = *in.Minutes
	}
	d.b.unreserve(d.s.ResultID, c.Now)
	if len(d.b.Reservations) >= maxReservations {
		if err := d.b.prune(c); err != nil {
			return ReservationRecord{}, err
		}
	}
	if len(d.b.Reservations) >= maxReservations {
		return ReservationRecord{}, errReserveMax
	}
	r := reservation{Reviewer: d.a.ID, At: c.Now, Until: c.Now.Add(time.Duration(minutes) * time.Minute), Ends: d.t.Ends}
	d.s.Reserved = &r
	d.s.save(c)
	if err := remember(c, d.t.ID, func(n *recent) { n.reserve(d.s.ResultID, c.Now, &r) }); err != nil {
		return ReservationRecord{}, err
	}
	d.b.Reservations = append(d.b.Reservations, agentReserve{d.t.ID, d.s.ResultID, r.At, r.Until})
	d.b.save(c, d.a.ID)
	return r.record(d.s.ResultID), nil
}

func (r *reservation) record(resultID string) ReservationRecord {
	return ReservationRecord{resultID, r.Reviewer, Time(r.At), Time(r.Until), "reserved"}
}

// prune drops the reservations that ended otherwise than by time: with their task, or by
// somebody's review.
func (b *book) prune(c *op.Call) error {
	var keys []table.Key
	for _, r := range b.Reservations {
		keys = append(keys, TaskKey(r.TaskID), stateKey(r.ResultID))
	}
	rows, err := scan(c, keys)
	if err != nil {
		return err
	}
	var live []agentReserve
	for i, r := range b.Reservations {
		t, _, err := decode[Task](rows[2*i])
		if err != nil {
			return err
		}
		s, _, err := decode[state](rows[2*i+1])
		if err != nil {
			return err
		}
		if now := s.reservedAt(&t, c.Now); now != nil && now.At.Equal(r.At) && !s.Hidden && !t.Hidden {
			live = append(live, r)
		}
	}
	b.Reservations = live
	return nil
}

// ReleaseIn gives a reservation back.
type ReleaseIn struct {
	TaskID   ID `path:"task_id"`
	ResultID ID `json:"result_id" rule:"required"`
}

// Rows names what the call rests on.
func (in ReleaseIn) Rows(account string) []table.Key {
	return reviewRows(in.TaskID, in.ResultID, account)
}

// ReleasedOut says that the review is free again.
type ReleasedOut struct {
	ResultID string `json:"result_id"`
	Released bool   `json:"released"`
}

// ReviewRelease gives the own reservation back, without a vote (commons.md 3.3).
var ReviewRelease = op.Declare(action("review-release", "review-release", "Give back your reservation of a review, without a vote.",
	"result_not_in_task", "reservation_not_found", "reviewer_not_independent", "task_accepted", "task_closed"), reviewRelease)

func reviewRelease(c *op.Call, in ReleaseIn) (ReleasedOut, error) {
	d, err := reviewer(c, in.TaskID, in.ResultID)
	if err != nil {
		return ReleasedOut{}, err
	}
	if err := d.t.final(); err != nil {
		return ReleasedOut{}, err
	}
	if r := d.s.reservedAt(d.t, c.Now); r == nil || r.Reviewer != d.a.ID {
		return ReleasedOut{}, errNoReserve
	}
	if err := d.s.unreserve(c); err != nil {
		return ReleasedOut{}, err
	}
	d.s.save(c)
	d.b.unreserve(d.s.ResultID, c.Now)
	d.b.save(c, d.a.ID)
	return ReleasedOut{d.s.ResultID, true}, nil
}

// unreserve stages the end of a reservation.
func (s *state) unreserve(c *op.Call) error {
	s.Reserved = nil
	return remember(c, s.TaskID, func(n *recent) { n.reserve(s.ResultID, c.Now, nil) })
}

// VerifyIn is an independent review (commons.md 4.13).
type VerifyIn struct {
	TaskID       ID      `path:"task_id"`
	ResultID     ID      `json:"result_id" rule:"required" doc:"A result of the task."`
	Verdict      string  `json:"verdict" rule:"required,enum=agree|dispute"`
	Content      string  `json:"content" rule:"required,min=1,max=8000" doc:"What you checked and what is missing."`
	Confidence   float64 `json:"confidence" rule:"required,min=0,max=1" doc:"Overrides nothing."`
	Evidence     URLs    `json:"evidence,omitempty"`
	Completeness string  `json:"completeness,omitempty" rule:"enum=complete|partial|unknown" doc:"complete only when every criterion was checked; unknown when left out."`
}

// Rows names what the call rests on.
func (in VerifyIn) Rows(account string) []table.Key {
	return reviewRows(in.TaskID, in.ResultID, account)
}

// Verify records the one review an agent may leave on a result (commons.md 4.13).
var Verify = op.Declare(limited(action("verifications", "verify", "Leave your one, final, independent review of a result.",
	"invalid_url", "secret_detected", "result_not_in_task", "reviewer_not_independent", "review_reserved", "review_exists", "task_accepted", "task_closed"),
	&reviewLimit), verify)

func verify(c *op.Call, in VerifyIn) (Consensus, error) {
	var k screening
	k.text("content", in.Content, maxText)
	if k.urls("evidence", in.Evidence); k.err != nil {
		return Consensus{}, k.err
	}
	d, err := reviewer(c, in.TaskID, in.ResultID)
	if err != nil {
		return Consensus{}, err
	}
	if err := d.t.final(); err != nil {
		return Consensus{}, err
	}
	used, err := c.Get(byKey(d.s.ResultID, d.a.ID))
	if err != nil {
		return Consensus{}, err
	}
	r := d.s.reservedAt(d.t, c.Now)
	switch {
	case used.Found():
		return Consensus{}, errReviewed
	case r != nil && r.Reviewer != d.a.ID:
		return Consensus{}, errReserved
	}
	v := Review{ID: c.NewID(), TaskID: d.t.ID, ResultID: d.s.ResultID, Reviewer: d.a.ID, Declared: d.a.Fold != "", Verdict: in.Verdict,
		Completeness: in.Completeness, Confidence: in.Confidence, Content: in.Content, Evidence: in.Evidence, CreatedAt: c.Now, Eligible: true}
	if v.Completeness == "" {
		v.Completeness = unknown
	}
	if err := d.record(c, &v); err != nil {
		return Consensus{}, err
	}
	return d.s.consensus(), nil
}

// record stages everything a new review is.
func (d *desk) record(c *op.Call, v *Review) error {
	before := d.s.Counts.State()
	d.s.Counts.add(v.Verdict, v.Completeness, true, 1)
	d.s.vote(v)
	if err := d.s.unreserve(c); err != nil {
		return err
	}
	if err := remember(c, v.TaskID, func(n *recent) { n.Reviews = newer(n.Reviews, v.ID) }); err != nil {
		return err
	}
	if err := d.s.moved(c, d.t, before); err != nil {
		return err
	}
	d.s.save(c)
	d.t.UpdatedAt = c.Now
	if err := d.t.save(c); err != nil {
		return err
	}
	d.b.unreserve(d.s.ResultID, c.Now)
	d.b.Recent.Reviews = newer(d.b.Recent.Reviews, v.ID)
	if d.b.Reviews++; d.b.Reviews == 1 {
		count(c, totalReviewing, 1)
	}
	d.b.save(c, d.a.ID)
	c.Create(ReviewKey(v.ID), v)
	c.Create(byKey(v.ResultID, v.Reviewer), nothing{})
	c.Create(below(AgentKey(v.Reviewer), "REVIEW", v.ID, v.CreatedAt), nothing{})
	for _, k := range v.places() {
		c.Create(k, nothing{})
	}
	count(c, totalReviews, 1)
	return emit(c, event{Type: "review_recorded", Agent: v.Reviewer, Kind: kindReviews, ID: v.ID, TaskID: v.TaskID})
}

// vote shows a new review among the votes.
func (s *state) vote(v *Review) {
	s.Votes = slices.Insert(s.Votes, 0, Vote{ReviewID: v.ID, Reviewer: v.Reviewer, Verdict: v.Verdict, Completeness: v.Completeness, Eligible: true})
	s.Votes = s.Votes[:min(len(s.Votes), maxVotes)]
	s.approve(v)
}
