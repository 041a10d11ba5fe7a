package commons

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"time"

	"guildhall/pkg/fault"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Premise is why a task cannot be done as it stands (commons.md 4.11).
type Premise struct {
	Assumption string `json:"failed_assumption" rule:"required,min=1,max=8000"`
	Source     string `json:"affected_source" rule:"required,min=1,max=2000" doc:"Public https source; not fetched."`
	Repairable bool   `json:"repairable" rule:"required"`
	Suggestion string `json:"suggested_creator_action" rule:"required,min=1,max=8000"`
}

// Result is a result as submitted. It never changes.
type Result struct {
	ID         string    `json:"id"`
	TaskID     string    `json:"task_id"`
	Author     Party     `json:"author"`
	Kind       string    `json:"result_kind"`
	Content    string    `json:"content"`
	SHA256     string    `json:"sha256"` // of the content
	Evidence   []string  `json:"evidence,omitempty"`
	Confidence *float64  `json:"confidence,omitempty"`
	Premise    *Premise  `json:"premise,omitempty"`
	Valid      bool      `json:"output_valid"`
	Problems   []string  `json:"output_problems,omitempty"`
	Revision   int64     `json:"task_revision"`
	CreatedAt  time.Time `json:"created_at"`
}

// ResultKey is the row of a result as submitted.
func ResultKey(id string) table.Key { return root("RESULT", id) }

func submissionRow(task, agent, key string) table.Key {
	return table.Key{PK: TaskKey(task).PK, SK: "KEY#" + agent + "#" + key}
}

// submission is a used submission_key.
type submission struct {
	ResultID string `json:"result_id"`
	Hash     string `json:"hash"`
}

var resultLimit = limit.Rule{Name: "commons.result", N: 30, Per: time.Hour}

// SubmitIn is work handed in.
type SubmitIn struct {
	TaskID     ID       `path:"task_id"`
	Content    string   `json:"content" rule:"required,min=1,max=8000" doc:"Public text in the task's output_format."`
	Evidence   URLs     `json:"evidence,omitempty" doc:"Public https sources; recorded, never fetched."`
	Confidence *float64 `json:"confidence,omitempty" rule:"min=0,max=1" doc:"Your own, from 0 to 1."`
	Kind       string   `json:"result_kind,omitempty" rule:"enum=contribution|premise_stale" doc:"contribution when left out; premise_stale with premise and evidence."`
	Premise    *Premise `json:"premise,omitempty" doc:"Only with premise_stale."`
	Key        string   `json:"submission_key,omitempty" rule:"pattern=^[A-Za-z0-9_-]{8,100}$" doc:"Send the same one when you retry the same submission."`
}

// Rows names the task, its caller and the used key.
func (in SubmitIn) Rows(account string) []table.Key {
	keys := append(append(actRows(in.TaskID, account), recentKey(in.TaskID.low())), counters(account, allResults, resultsOf(in.TaskID.low()))...)
	if in.Key != "" && account != "" {
		keys = append(keys, submissionRow(in.TaskID.low(), account, in.Key))
	}
	return keys
}

// replay answers a repeated submission before any limit is charged; everything else goes on.
func replay(c *op.Call, e op.Early) (any, error) {
	body, _ := e.Body.(map[string]any)
	key, _ := body["submission_key"].(string)
	if key == "" || !submissionForm.MatchString(key) || !idForm.MatchString(e.Path["task_id"]) {
		return nil, nil
	}
	var in SubmitIn
	b, err := json.Marshal(body)
	if err != nil || json.Unmarshal(b, &in) != nil {
		return nil, nil
	}
	in.TaskID = ID(e.Path["task_id"])
	t, found, err := op.Load[Task](c, TaskKey(in.TaskID.low()))
	if err != nil || !found || t.Hidden {
		return nil, err
	}
	out, err := repeated(c, in, &t)
	if errors.Is(err, errKeyUsed) || out == nil {
		return nil, nil
	}
	return *out, err
}

var submissionForm = regexp.MustCompile(`^[A-Za-z0-9_-]{8,100}$`)

// hash is that of what a repeated submission must have in common, after defaults.
func (in *SubmitIn) hash() string {
	b, _ := json.Marshal(struct {
		Content    string
		Evidence   []string
		Confidence *float64
		Kind       string
		Premise    *Premise
	}{in.Content, some([]string(in.Evidence)), in.Confidence, in.kind(), in.Premise})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (in *SubmitIn) kind() string {
	if in.Kind == "" {
		return contribution
	}
	return in.Kind
}

var (
	errPremiseNeeded    = fault.New(fault.Invalid, "premise_required", "A stale-premise report says in premise what failed.").At("premise")
	errPremiseForbidden = fault.New(fault.Invalid, "premise_forbidden", "Only a stale-premise report has a premise.").At("premise")
	errEvidence         = fault.New(fault.Invalid, "evidence_required", "A stale-premise report cites at least one https source.").At("evidence")
	errClaimFirst       = fault.New(fault.Conflict, "claim_required", "Claim the task before you contribute to it.")
	errLeased           = fault.New(fault.Conflict, "task_leased", "Another agent holds this task; only it can report a stale premise now.")
	errKeyUsed          = fault.New(fault.Conflict, "submission_key_conflict", "This submission_key was used for another submission to this task.").At("submission_key")
)

func (in *SubmitIn) screen() error {
	var k screening
	k.text("content", in.Content, maxText)
	k.urls("evidence", in.Evidence)
	if p := in.Premise; p != nil {
		k.text("premise.failed_assumption", p.Assumption, maxText)
		k.url("premise.affected_source", p.Source)
		k.text("premise.suggested_creator_action", p.Suggestion, maxText)
	}
	switch {
	case k.err != nil:
		return k.err
	case in.kind() == contribution && in.Premise != nil:
		return errPremiseForbidden
	case in.kind() == premiseResult && in.Premise == nil:
		return errPremiseNeeded
	case in.kind() == premiseResult && len(in.Evidence) == 0:
		return errEvidence
	}
	return nil
}

// SubmitOut is the result, and whether it was there before.
type SubmitOut struct {
	ResultRecord
	repeated bool
	url      string
}

// StatusCode implements op.Statuser: a repeated submission is nothing new.
func (o SubmitOut) StatusCode() int {
	if o.repeated {
		return 200
	}
	return 201
}

// Beside implements op.Besider: where REST finds the result.
func (o SubmitOut) Beside() map[string]any { return map[string]any{"result_url": o.url} }

// Submit hands in work, or reports that the task's premise does not hold (commons.md 4.11).
var Submit = op.Declare(limited(submitting(action("results", "results", "Hand in work, or report that the task's premise does not hold.",
	"invalid_url", "secret_detected", "premise_required", "premise_forbidden", "evidence_required", "output_invalid", "submission_key_conflict",
	"claim_required", "not_assignee", "lease_expired", "task_leased", "task_not_approved", "task_expired", "task_accepted", "task_closed", "task_state")),
	&resultLimit), submit)

func submitting(m op.Meta) op.Meta {
	m.Status, m.OrStatus, m.Early = 201, 200, replay
	return m
}

func submit(c *op.Call, in SubmitIn) (SubmitOut, error) {
	if err := in.screen(); err != nil {
		return SubmitOut{}, err
	}
	t, found, err := op.Load[Task](c, TaskKey(in.TaskID.low()))
	if err != nil {
		return SubmitOut{}, err
	}
	if !found || t.Hidden {
		return SubmitOut{}, errNotFound.At("task_id")
	}
	if in.Key != "" {
		if out, err := repeated(c, in, &t); err != nil || out != nil {
			return deref(out), err
		}
	}
	t.settle(c.Now)
	if err := t.takes(in.kind(), c.Caller.ID, c.Now); err != nil {
		return SubmitOut{}, err
	}
	k, _, err := op.Load[Contract](c, contractKey(t.ID))
	if err != nil {
		return SubmitOut{}, err
	}
	r := Result{ID: c.NewID(), TaskID: t.ID, Kind: in.kind(), Content: in.Content, SHA256: digest(in.Content), Evidence: in.Evidence,
		Confidence: in.Confidence, Premise: in.Premise, Valid: true, Revision: t.Revision, CreatedAt: c.Now}
	if r.Kind == contribution {
		problems, ok := checkOutput(k, in.Content)
		if !ok {
			return SubmitOut{}, errOutput
		}
		r.Problems, r.Valid = problems, len(problems) == 0
	}
	s, err := r.write(c, &t)
	if err != nil {
		return SubmitOut{}, err
	}
	if in.Key != "" {
		c.Create(submissionRow(t.ID, c.Caller.ID, in.Key), submission{r.ID, in.hash()})
	}
	return submitted(c, &r, s, &t, false), nil
}

func deref(o *SubmitOut) SubmitOut {
	if o == nil {
		return SubmitOut{}
	}
	return *o
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func submitted(c *op.Call, r *Result, s *state, t *Task, repeated bool) SubmitOut {
	rec := r.record(c, s, t)
	url := value(rec.URL)
	rec.URL = nil
	return SubmitOut{ResultRecord: rec, repeated: repeated, url: url}
}

// repeated answers a submission whose key was used: the first result for the same content,
// whatever has become of the task; a conflict for other content; nil for a new key.
func repeated(c *op.Call, in SubmitIn, t *Task) (*SubmitOut, error) {
	used, found, err := op.Load[submission](c, submissionRow(t.ID, c.Caller.ID, in.Key))
	if err != nil || !found {
		return nil, err
	}
	if used.Hash != in.hash() {
		return nil, errKeyUsed
	}
	if err := c.Fetch(ResultKey(used.ResultID), stateKey(used.ResultID)); err != nil {
		return nil, err
	}
	r, _, err := op.Load[Result](c, ResultKey(used.ResultID))
	if err != nil {
		return nil, err
	}
	s, _, err := op.Load[state](c, stateKey(used.ResultID))
	if err != nil {
		return nil, err
	}
	out := submitted(c, &r, &s, t, true)
	return &out, nil
}

// takes refuses a result the task does not take from an agent at now (commons.md 4.11).
func (t *Task) takes(kind, agent string, now time.Time) error {
	if err := t.final(); err != nil {
		return err
	}
	held := t.Status == Claimed || t.Status == InProgress
	switch {
	case t.Status == Open && kind == contribution && t.Lapsed && t.Last.ID == agent:
		return errLease
	case held && t.Assignee.ID != agent && kind == contribution:
		return errNotAssignee
	case held && t.Assignee.ID != agent:
		return errLeased
	case !t.Approved:
		return errNotApproved
	case t.Status == Open && kind == contribution:
		return errClaimFirst
	case t.Status == PremiseStale:
		return errState
	case !held && t.expired(now):
		return errExpired
	}
	return nil
}

// write stages everything a new result is.
func (r *Result) write(c *op.Call, t *Task) (*state, error) {
	a, err := loadAgent(c, c.Caller.ID)
	if err != nil {
		return nil, err
	}
	b, err := loadBook(c, a.ID)
	if err != nil {
		return nil, err
	}
	r.Author = a.party()
	s := &state{ResultID: r.ID, TaskID: t.ID, Author: r.Author, Kind: r.Kind, SHA256: r.SHA256, CreatedAt: c.Now, Since: c.Now}
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	s.Bytes = len(raw)
	if err := t.tellLapse(c); err != nil {
		return nil, err
	}
	word := "result_submitted"
	if r.Kind == premiseResult {
		word = "premise_reported"
		if err := b.premise(c.Now); err != nil {
			return nil, err
		}
	}
	t.took(c, r, s, b)
	b.Recent.Results = newer(b.Recent.Results, r.ID)
	if b.Results++; b.Results == 1 {
		count(c, totalReporting, 1)
	}
	b.save(c, a.ID)
	if err := s.Shelf.put(c, r.ID, a.ID, s.lists()...); err != nil {
		return nil, err
	}
	c.Create(ResultKey(r.ID), r)
	c.Create(stateKey(r.ID), s)
	if err := emit(c, event{Type: word, Agent: a.ID, Kind: kindResults, ID: r.ID, TaskID: t.ID}); err != nil {
		return nil, err
	}
	if err := remember(c, t.ID, func(n *recent) { n.Results = newer(n.Results, r.ID) }); err != nil {
		return nil, err
	}
	t.UpdatedAt = c.Now
	return s, t.save(c)
}

// took changes the task by a new result: a contribution becomes the latest candidate and
// asks for a review, a report of an unfinished task's premise stops the work.
func (t *Task) took(c *op.Call, r *Result, s *state, b *book) {
	held := t.Status == Claimed || t.Status == InProgress
	if held {
		t.clearLease(c)
		b.letGo(t.ID, c.Now)
	}
	t.Results++
	if r.Kind == premiseResult {
		if held || t.Status == Open {
			t.Status = PremiseStale
		}
		return
	}
	t.Status, t.RequestedAt = Submitted, c.Now
	t.Latest = candidate{ID: r.ID, At: r.CreatedAt, State: Unreviewed, Since: r.CreatedAt}
	s.wait(c, t)
}
