package commons

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"guildhall/pkg/caller"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Kinds of needs.
const (
	needFirst      = "first"
	needCompletion = "completion"
)

// NeedRecord is a candidate that needs a reviewer (commons.md 4.2).
type NeedRecord struct {
	TaskID      string             `json:"task_id"`
	TaskTitle   string             `json:"task_title"`
	ResultID    string             `json:"result_id"`
	Need        string             `json:"need"`
	Status      string             `json:"review_status"`
	Reservation *ReservationRecord `json:"reservation"`
	Criteria    string             `json:"criteria"`
	CreatedAt   Time               `json:"created_at"`
	Eligible    *bool              `json:"eligible_for_you,omitempty"`
}

// wanted is a need before its texts are read.
type wanted struct {
	task, result, kind string
	at                 time.Time
	bytes              int
}

// NeedsIn filters the needs.
type NeedsIn struct {
	Pager
	TaskID string `query:"task_id"`
	Kind   string `query:"kind" doc:"all (default: completion checks, then first reviews), first or completion."`
}

// ListReviews lists the candidates that need a reviewer: those whose completeness is unknown,
// then those nobody eligible has looked at, each the longest waiting first (commons.md 7).
var ListReviews = op.Declare(read("reviews", "review.list", "List the candidates that need an independent reviewer.", "invalid_query"), listReviews)

func listReviews(c *op.Call, in NeedsIn) (PageOf[NeedRecord], error) {
	limit, offset, err := in.window()
	if err != nil {
		return PageOf[NeedRecord]{}, err
	}
	task, err := queryID("task_id", in.TaskID)
	if err != nil {
		return PageOf[NeedRecord]{}, err
	}
	if !slices.Contains([]string{"", "all", needFirst, needCompletion}, in.Kind) {
		return PageOf[NeedRecord]{}, errQuery.Say("kind is all, first or completion.").At("kind")
	}
	lines, err := linesOf(c, task)
	if err != nil {
		return PageOf[NeedRecord]{}, err
	}
	all, more, err := wantedOf(c, lines, in.Kind, offset, limit)
	if err != nil {
		return PageOf[NeedRecord]{}, err
	}
	items, err := needsShown(c, all)
	return pageOf(items, offset, more), err
}

// linesOf reads the lists' knowledge of one task, or of all that stand.
func linesOf(c *op.Call, task string) ([]line, error) {
	if task == "" {
		return standing(c)
	}
	rows, err := c.Scan(standingKey(task))
	if err != nil || !rows[0].Found() {
		return nil, err
	}
	return readLine(c, nil, rows[0].Data)
}

// wantedOf is a page of the needs of tasks. A list row names the oldest of a task; only a
// task with many more is asked for the rest.
func wantedOf(c *op.Call, lines []line, kind string, offset, limit int) (all []wanted, more bool, err error) {
	p := picker{c: c, skip: offset, limit: limit}
	if kind != needFirst {
		p.completion(lines)
	}
	if kind != needCompletion {
		if err := p.first(lines); err != nil {
			return nil, false, err
		}
	}
	return p.all, p.more, nil
}

// picker takes a page out of a sequence of needs.
type picker struct {
	c           *op.Call
	skip, limit int
	bytes       int
	all         []wanted
	more        bool
}

// put offers the next need and tells whether the page wants another one.
func (p *picker) put(w wanted) bool {
	if p.skip > 0 {
		p.skip--
		return true
	}
	if len(p.all) == p.limit || len(p.all) > 0 && p.bytes+w.bytes > maxPageBytes {
		p.more = true
		return false
	}
	p.bytes += w.bytes
	p.all = append(p.all, w)
	return true
}

func (p *picker) completion(lines []line) {
	var checks []line
	for _, l := range lines {
		if l.completionReview() {
			checks = append(checks, l)
		}
	}
	slices.SortFunc(checks, func(a, b line) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	for _, l := range checks {
		if !p.put(wanted{l.ID, l.Latest, needCompletion, l.Since, taskBytes + l.Bytes}) {
			return
		}
	}
}

func (p *picker) first(lines []line) error {
	var waiting []line
	for _, l := range lines {
		if l.Needs > 0 && !p.more {
			waiting = append(waiting, l)
		}
	}
	slices.SortFunc(waiting, func(a, b line) int {
		return cmp.Or(cmp.Compare(place(a.Oldest[0].At, a.Oldest[0].ID), place(b.Oldest[0].At, b.Oldest[0].ID)))
	})
	for _, l := range waiting {
		if p.skip >= l.Needs {
			p.skip -= l.Needs
			continue
		}
		needs := l.Oldest
		if l.Needs > len(needs) {
			var err error
			if needs, err = allNeeds(p.c, l.ID, p.skip+p.limit-len(p.all)+1); err != nil {
				return err
			}
		}
		for _, n := range needs {
			if !p.put(wanted{l.ID, n.ID, needFirst, n.At, taskBytes + l.Bytes}) {
				return nil
			}
		}
	}
	return nil
}

// allNeeds reads the first n candidates of a task that wait for their first review.
func allNeeds(c *op.Call, task string, n int) ([]need, error) {
	var all []need
	q := table.Query{PK: TaskKey(task).PK, Limit: min(n, table.MaxPageRows)}.Prefix("NEED#")
	for {
		p, err := c.Query(q)
		if err != nil {
			return nil, err
		}
		for _, r := range p.Rows {
			if at, id, ok := splitPlace(strings.TrimPrefix(r.SK, "NEED#")); ok {
				all = append(all, need{id, at})
			}
		}
		if !p.More || len(all) >= n {
			return all, nil
		}
		q.After = p.Rows[len(p.Rows)-1].SK
	}
}

// needsShown reads what a page of needs shows. With a token each row says whether the caller
// may review it.
func needsShown(c *op.Call, all []wanted) ([]NeedRecord, error) {
	var keys []table.Key
	for _, w := range all {
		keys = append(keys, TaskKey(w.task), contractKey(w.task), stateKey(w.result))
	}
	you := (*Agent)(nil)
	if c.Caller.Kind == caller.Agent {
		keys = append(keys, AgentKey(c.Caller.ID))
	}
	rows, err := scan(c, keys)
	if err != nil {
		return nil, err
	}
	if c.Caller.Kind == caller.Agent {
		a, found, err := decode[Agent](rows[len(rows)-1])
		if err != nil {
			return nil, err
		}
		if found {
			you = &a
		}
	}
	out := make([]NeedRecord, 0, len(all))
	for i, w := range all {
		t, found, err := decode[Task](rows[3*i])
		if err != nil {
			return nil, err
		}
		k, _, err := decode[Contract](rows[3*i+1])
		if err != nil {
			return nil, err
		}
		s, known, err := decode[state](rows[3*i+2])
		if err != nil {
			return nil, err
		}
		if found && known {
			t.settle(c.Now)
			out = append(out, w.record(c, &t, &k, &s, you))
		}
	}
	return out, nil
}

func (w wanted) record(c *op.Call, t *Task, k *Contract, s *state, you *Agent) NeedRecord {
	r := NeedRecord{TaskID: t.ID, TaskTitle: t.Title, ResultID: s.ResultID, Need: w.kind, Status: s.reviewStatus(t, c.Now),
		Criteria: k.Criteria, CreatedAt: Time(w.at)}
	if now := s.reservedAt(t, c.Now); now != nil {
		rec := now.record(s.ResultID)
		r.Reservation = &rec
	}
	if you != nil {
		fits := dependence(you, t.Creator, t.assignees(), s.Author) == ""
		r.Eligible = &fits
	}
	return r
}
