package commons

import (
	"slices"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// Stats are totals by collection and by status of the tasks (commons.md 4.2).
type Stats struct {
	Agents    int64            `json:"agents"`
	Rooms     int64            `json:"rooms"`
	Messages  int64            `json:"messages"`
	Tasks     int64            `json:"tasks"`
	Results   int64            `json:"results"`
	Reviews   int64            `json:"reviews"`
	Artifacts int64            `json:"artifacts"`
	ByStatus  map[string]int64 `json:"tasks_by_status"`
}

// totals adds the shards of the counters up; more rows are read with them.
func totals(c *op.Call, more ...table.Key) (map[string]int64, error) {
	var keys []table.Key
	for n := range uint32(totalShards) {
		keys = append(keys, totalKey(n))
	}
	rows, err := scan(c, append(keys, more...))
	rows = rows[:min(len(rows), len(keys))]
	sum := map[string]int64{}
	for _, r := range rows {
		for field, n := range r.Counters {
			sum[field] += n
		}
	}
	return sum, err
}

// ReadStats counts what there is. Tasks that stand are counted as they are now: one whose
// lease has run out is open (commons.md 4.2).
var ReadStats = op.Declare(read("stats", "stats.read", "Count what there is, by collection and by status of the tasks."), readStats)

func readStats(c *op.Call, _ NoIn) (Stats, error) {
	sum, err := totals(c, slices.Concat(allAgents.CountKeys(), allRooms.CountKeys(), allMessages.CountKeys(), allResults.CountKeys(), allArtifacts.CountKeys())...)
	if err != nil {
		return Stats{}, err
	}
	lines, err := standing(c)
	if err != nil {
		return Stats{}, err
	}
	by := map[string]int64{}
	for _, s := range Statuses {
		by[s] = 0
	}
	for _, l := range lines {
		by[l.Status]++
	}
	by[Completed], by[Closed] = sum[totalCompleted], sum[totalClosed]
	var n [5]int64
	for i, l := range []roll.Roll{allAgents, allRooms, allMessages, allResults, allArtifacts} {
		if n[i], err = l.Total(c); err != nil {
			return Stats{}, err
		}
	}
	return Stats{n[0], n[1], n[2], sum[totalTasks], n[3], sum[totalReviews], n[4], by}, nil
}

// activeDays is how many UTC days, today included, make an agent active.
const activeDays = 7

// Adoption says how many take part (commons.md 4.2).
type Adoption struct {
	Registered int64 `json:"agents_registered"`
	Active     int64 `json:"agents_active_7_days"`
	Reporting  int64 `json:"agents_with_result"`
	Reviewing  int64 `json:"agents_with_review"`
	Accepted   int64 `json:"accepted_results"`
}

// ReadAdoption says how many take part.
var ReadAdoption = op.Declare(read("adoption", "adoption.read", "Say how many agents take part, and how many results were accepted."), readAdoption)

func readAdoption(c *op.Call, _ NoIn) (Adoption, error) {
	var keys []table.Key
	for back := range activeDays {
		for n := range uint32(totalShards) {
			keys = append(keys, activeKey(n, day(c.Now.Add(-time.Duration(back)*24*time.Hour))))
		}
	}
	sum, err := totals(c, append(allAgents.CountKeys(), keys...)...)
	if err != nil {
		return Adoption{}, err
	}
	rows, err := scan(c, keys)
	if err != nil {
		return Adoption{}, err
	}
	registered, err := allAgents.Total(c)
	if err != nil {
		return Adoption{}, err
	}
	a := Adoption{Registered: registered, Reporting: sum[totalReporting], Reviewing: sum[totalReviewing], Accepted: sum[totalAccepted]}
	for _, r := range rows {
		a.Active += r.Counters["agents"]
	}
	return a, nil
}

// shownOpportunities is how many of each kind the summary names.
const shownOpportunities = 5

// Opportunities are what there is to do: how many, and the first of each.
type Opportunities struct {
	Ready      TaskOpportunities `json:"ready_tasks"`
	First      NeedOpportunities `json:"first_reviews"`
	Completion NeedOpportunities `json:"completion_checks"`
}

// TaskOpportunities are tasks to take.
type TaskOpportunities struct {
	Count int          `json:"count"`
	Items []TaskRecord `json:"items"`
}

// NeedOpportunities are results to look at.
type NeedOpportunities struct {
	Count int          `json:"count"`
	Items []NeedRecord `json:"items"`
}

// ReadOpportunities says what there is to do (commons.md 4.2).
var ReadOpportunities = op.Declare(read("opportunities", "opportunity.list", "Say what there is to do: ready tasks, first reviews, completion checks."), readOpportunities)

func readOpportunities(c *op.Call, _ NoIn) (o Opportunities, err error) {
	lines, err := standing(c)
	if err != nil {
		return o, err
	}
	var ready []line
	for _, l := range lines {
		if l.ready(c.Now) {
			ready = append(ready, l)
		}
		if l.completionReview() {
			o.Completion.Count++
		}
		o.First.Count += l.Needs
	}
	slices.SortFunc(ready, orders["best"](c.Now))
	o.Ready.Count = len(ready)
	if o.Ready.Items, err = tasksOf(c, ready[:min(len(ready), shownOpportunities)], false); err != nil {
		return o, err
	}
	firsts, _, err := wantedOf(c, lines, needFirst, 0, shownOpportunities)
	if err != nil {
		return o, err
	}
	checks, _, err := wantedOf(c, lines, needCompletion, 0, shownOpportunities)
	if err != nil {
		return o, err
	}
	if _, err := needsShown(c, slices.Concat(firsts, checks)); err != nil { // read together
		return o, err
	}
	if o.First.Items, err = needsShown(c, firsts); err != nil {
		return o, err
	}
	o.Completion.Items, err = needsShown(c, checks)
	return o, err
}
