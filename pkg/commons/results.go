package commons

import (
	"slices"
	"strings"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// ResultRecord is a result as everybody reads it (commons.md 4.2).
type ResultRecord struct {
	ID         string     `json:"id"`
	TaskID     string     `json:"task_id"`
	Author     string     `json:"author"`
	Kind       string     `json:"result_kind"`
	Content    string     `json:"content"`
	Premise    *Premise   `json:"premise"`
	Evidence   []string   `json:"evidence"`
	Confidence *float64   `json:"confidence"`
	Valid      bool       `json:"output_valid"`
	Problems   []string   `json:"output_problems"`
	Revision   int64      `json:"task_revision"`
	CreatedAt  Time       `json:"created_at"`
	URL        *string    `json:"result_url,omitempty"`
	Consensus  Consensus  `json:"consensus"`
	Review     string     `json:"review_status"`
	OwnerState string     `json:"owner_review_state"`
	History    []Decision `json:"owner_verification_history"`
	Holds      []Hold     `json:"holds"`
	Accepted   bool       `json:"accepted"`
}

// Consensus is what the reviews of a result say. It qualifies by rule and proves nothing.
type Consensus struct {
	ResultID string `json:"result_id"`
	Counts   Counts `json:"counts"`
	State    string `json:"state"`
	Votes    []Vote `json:"votes"` // newest first, at most 100
	Meaning  string `json:"meaning"`
}

// meaning stands beside every consensus (commons.md 9).
const meaning = "Mechanical qualification by counted reviews; no proof, and no completion."

func (s *state) consensus() Consensus {
	votes := slices.DeleteFunc(slices.Clone(s.Votes), func(v Vote) bool { return v.Hidden })
	return Consensus{s.ResultID, s.Counts, s.Counts.State(), some(votes), meaning}
}

func (s *state) holds() []Hold {
	all := []Hold{}
	for _, h := range []*Hold{s.Failure, s.Operator} {
		if h != nil {
			all = append(all, *h)
		}
	}
	return all
}

// record is the result as it stands at now.
func (r *Result) record(c *op.Call, s *state, t *Task) ResultRecord {
	url := resultURL(c, r.ID)
	return ResultRecord{ID: r.ID, TaskID: r.TaskID, Author: r.Author.ID, Kind: r.Kind, Content: r.Content, Premise: r.Premise,
		Evidence: some(r.Evidence), Confidence: r.Confidence, Valid: r.Valid, Problems: some(r.Problems), Revision: r.Revision,
		CreatedAt: Time(r.CreatedAt), URL: &url, Consensus: s.consensus(), Review: s.reviewStatus(t, c.Now), OwnerState: s.ownerState(t),
		History: some(s.History), Holds: s.holds(), Accepted: s.Accepted}
}

func resultURL(c *op.Call, id string) string {
	return strings.TrimSuffix(c.BaseURL, "/") + "/api/v1/results/" + id
}

// resultsShown makes the records of list rows: results, their states and their tasks, read
// together.
func resultsShown(c *op.Call) func([]string) ([]ResultRecord, error) {
	return func(ids []string) ([]ResultRecord, error) {
		var pairs []table.Key
		for _, id := range ids {
			pairs = append(pairs, stateKey(id), ResultKey(id))
		}
		if err := c.Fetch(pairs...); err != nil {
			return nil, err
		}
		states, err := statesOf(c, ids)
		if err != nil {
			return nil, err
		}
		states = states[:fitting(states, len(states), maxPageBytes, func(s state) int { return s.Bytes + len(s.Votes)*voteBytes })]
		keys, tasks := make([]table.Key, len(states)), make([]string, len(states))
		for i, s := range states {
			keys[i], tasks[i] = ResultKey(s.ResultID), s.TaskID
		}
		rows, err := scan(c, keys)
		if err != nil {
			return nil, err
		}
		known, err := tasksOfResults(c, tasks)
		if err != nil {
			return nil, err
		}
		out := make([]ResultRecord, 0, len(states))
		for i := range states {
			r, found, err := decode[Result](rows[i])
			if err != nil {
				return nil, err
			}
			if t := known[states[i].TaskID]; found && t != nil && !states[i].Hidden {
				out = append(out, r.record(c, &states[i], t))
			}
		}
		return out, nil
	}
}

// voteBytes is about what a vote takes on a page.
const voteBytes = 180

// statesOf reads the states of results.
func statesOf(c *op.Call, ids []string) ([]state, error) {
	keys := make([]table.Key, len(ids))
	for i, id := range ids {
		keys[i] = stateKey(id)
	}
	rows, err := scan(c, keys)
	if err != nil {
		return nil, err
	}
	states := make([]state, len(rows))
	for i, r := range rows {
		if states[i], _, err = decode[state](r); err != nil {
			return nil, err
		}
	}
	return states, nil
}

// tasksOfResults reads tasks by id, each once.
func tasksOfResults(c *op.Call, ids []string) (map[string]*Task, error) {
	known := map[string]*Task{}
	var keys []table.Key
	for _, id := range ids {
		if _, seen := known[id]; !seen && id != "" {
			known[id] = nil
			keys = append(keys, TaskKey(id))
		}
	}
	rows, err := scan(c, keys)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		t, found, err := decode[Task](r)
		if err != nil {
			return nil, err
		}
		if found {
			t.settle(c.Now)
			known[t.ID] = &t
		}
	}
	return known, nil
}

// OfTaskIn pages through what belongs to a task, or through all.
type OfTaskIn struct {
	Pager
	TaskID string `query:"task_id"`
}

// list is the list the query means.
func (in *OfTaskIn) list(all roll.Roll, of func(task string) roll.Roll) (roll.Roll, error) {
	id, err := queryID("task_id", in.TaskID)
	if id == "" || err != nil {
		return all, err
	}
	return of(id), nil
}

// ListResults lists results, newest first (commons.md 4.2).
var ListResults = op.Declare(read("results", "result.list", "List results, newest first, of one task or of all.", "invalid_query"), listResults)

func listResults(c *op.Call, in OfTaskIn) (PageOf[ResultRecord], error) {
	list, err := in.list(allResults, resultsOf)
	if err != nil {
		return PageOf[ResultRecord]{}, err
	}
	return pageOfRoll(c, in.Pager, list, resultsShown(c))
}

// ResultIn names a result by its path.
type ResultIn struct {
	ResultID string `path:"result_id"`
}

// Rows names the result.
func (in ResultIn) Rows(string) []table.Key {
	id := strings.ToLower(in.ResultID)
	return []table.Key{ResultKey(id), stateKey(id)}
}

// ResultDetail is a result with its newest reviews.
type ResultDetail struct {
	ResultRecord
	Reviews     []ReviewRecord `json:"reviews"`
	ReviewsMore bool           `json:"reviews_more,omitempty"`
}

// ReadResult reads a result with its newest reviews (commons.md 4.2).
var ReadResult = op.Declare(read("results/{result_id}", "result.read", "Read a result: its consensus, holds and newest reviews.", "invalid_path", "not_found"), readResult)

func readResult(c *op.Call, in ResultIn) (d ResultDetail, err error) {
	id, err := pathID(in.ResultID)
	if err != nil {
		return d, err
	}
	r, s, err := loadResult(c, id)
	if err != nil {
		return d, err
	}
	reviews := s.newestReviews()
	keys := []table.Key{TaskKey(s.TaskID)}
	for _, id := range reviews[:min(len(reviews), embedded)] {
		keys = append(keys, ReviewKey(id))
	}
	if err := c.Fetch(keys...); err != nil {
		return d, err
	}
	known, err := tasksOfResults(c, []string{s.TaskID})
	if err != nil {
		return d, err
	}
	t := known[s.TaskID]
	if t == nil {
		return d, errNotFound
	}
	d.ResultRecord = r.record(c, s, t)
	d.Reviews, d.ReviewsMore, err = embed(reviews, reviewsShown(c))
	return d, err
}

// newestReviews are the newest reviews that everybody sees, one more than a detail shows.
func (s *state) newestReviews() []string {
	var ids []string
	for _, v := range s.Votes {
		if !v.Hidden && len(ids) <= embedded {
			ids = append(ids, v.ReviewID)
		}
	}
	return ids
}

// loadResult reads a result that everybody sees.
func loadResult(c *op.Call, id string) (*Result, *state, error) {
	if err := c.Fetch(ResultKey(id), stateKey(id)); err != nil {
		return nil, nil, err
	}
	r, found, err := op.Load[Result](c, ResultKey(id))
	if err != nil {
		return nil, nil, err
	}
	s, err := loadState(c, id)
	if err == nil && !found {
		err = errNotFound.At("result_id")
	}
	return &r, s, err
}

// loadState reads what changes about a result that everybody sees.
func loadState(c *op.Call, id string) (*state, error) {
	s, found, err := op.Load[state](c, stateKey(id))
	if err == nil && (!found || s.Hidden) {
		err = errNotFound.At("result_id")
	}
	return &s, err
}

// stateIn reads a result's state in a call on its task.
func stateIn(c *op.Call, t *Task, id string) (*state, error) {
	s, err := loadState(c, id)
	if err == nil && s.TaskID != t.ID {
		err = errElsewhere
	}
	return s, err
}

func (s *state) save(c *op.Call) { c.Put(stateKey(s.ResultID), s) }

// moved notes a change of what owner decisions rest on, and keeps the task in step: its
// status and its list follow the reviews of the latest candidate.
func (s *state) moved(c *op.Call, t *Task, before string) error {
	s.Seq++
	now := s.Counts.State()
	if now != before {
		s.Since = c.Now
	}
	if s.Kind != contribution {
		return nil
	}
	if s.needs() && !s.Waits {
		s.wait(c, t)
	} else if !s.needs() && s.Waits {
		if err := s.served(c, t); err != nil {
			return err
		}
	}
	if t.Latest.ID == s.ResultID {
		t.Latest.State, t.Latest.Since, t.Latest.Hidden = now, s.waitingSince(), s.Hidden
		t.Status = follow(t.Status, s.Counts)
	}
	return nil
}

// needs tells whether the candidate waits for its first eligible review.
func (s *state) needs() bool { return s.Kind == contribution && !s.Hidden && s.Counts.Eligible == 0 }

// waitingSince is since when the candidate needs somebody: a first review since it came, a
// completion check since its completeness was found unknown.
func (s *state) waitingSince() time.Time {
	if s.Counts.Eligible == 0 {
		return s.CreatedAt
	}
	return s.Since
}
