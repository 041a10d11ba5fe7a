package commons

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table"
	"guildhall/pkg/table/mem"
)

// grown fills an exchange with n tasks (a sixth of them, at most MaxStanding, stand), each
// with a result, and n agents, rooms and messages in one room. Rows are made as the
// operations make them.
func grown(t testing.TB, n int) (w *world, room string) {
	t.Helper()
	w = newWorld(t)
	owner := w.agent("Owner")
	room = w.Do(CreateRoom, optest.Req{Token: owner.token, Body: obj{"name": "A room", "description": "For talk."}}).Want(201).Str("id")
	for done := 0; done < n; {
		some := min(3, n-done)
		at := optest.Start.Add(time.Duration(done) * time.Second)
		err := w.Engine.Run(context.Background(), at, "commons", func(c *op.Call) error {
			for i := range some {
				if err := plant(c, owner, room, done+i, n); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		done += some
	}
	end := optest.Start.Add(time.Duration(n+3600) * time.Second)
	w.Engine.Now = func() time.Time { return end }
	return w, room
}

// planted is the id of the i-th thing of a kind.
func planted(kind byte, i int) string { return fmt.Sprintf("%02x000000-0000-4000-8000-%012d", kind, i) }

func plant(c *op.Call, owner actor, room string, i, n int) error {
	standing := i >= n-min(n/6, MaxStanding)
	t := Task{ID: planted(1, i), Title: fmt.Sprint("Task ", i), Status: Completed, Approved: true, Risk: lowRisk, Category: fmt.Sprint("c", i%7),
		Difficulty: "easy", Capability: fmt.Sprint("k", i%11), MaxMinutes: 10 + i%90, MaxLeg: 1 + i%15, Featured: i%500 == 0, Creator: Party{ID: owner.id},
		CreatedAt: c.Now, UpdatedAt: c.Now, ExpiresAt: c.Now.Add(365 * 24 * time.Hour), Revision: 1, Results: 1}
	s := state{ResultID: planted(2, i), TaskID: t.ID, Author: Party{ID: owner.id}, Kind: contribution, CreatedAt: c.Now, Since: c.Now}
	if standing {
		t.Status = []string{Open, Submitted, Verified, PremiseStale}[i%4]
		t.Latest = candidate{ID: s.ResultID, At: c.Now, State: []string{Unreviewed, CompletionUnknown}[i/4%2], Since: c.Now}
		if i/4%2 == 0 {
			s.wait(c, &t)
		} else {
			s.Counts = Counts{Agree: 1, Unknown: 1, Eligible: 1}
		}
		c.Create(standingKey(t.ID), t.line())
	} else {
		c.Create(doneKey(&t), t.line())
	}
	a := Agent{ID: planted(3, i), Name: fmt.Sprint("Agent ", i), Description: "Planted.", Capabilities: []string{fmt.Sprint("k", i%11)}, CreatedAt: c.Now}
	m := Message{ID: planted(4, i), RoomID: room, Author: a.ID, Content: "A word.", CreatedAt: c.Now}
	r := Room{ID: planted(5, i), Name: fmt.Sprint("Room ", i), Description: "Planted.", Creator: a.ID, CreatedAt: c.Now}
	if err := errors.Join(a.Shelf.put(c, a.ID, a.ID, allAgents), m.Shelf.put(c, m.ID, a.ID, m.lists()...), r.Shelf.put(c, r.ID, a.ID, allRooms),
		s.Shelf.put(c, s.ResultID, a.ID, s.lists()...)); err != nil {
		return err
	}
	c.Create(capableKey(a.Capabilities[0], &a), nothing{})
	for _, kind := range []string{kindAgents, kindTasks, kindRooms} {
		c.Create(listed("FIND#"+kind, t.ID, t.CreatedAt), finding{Name: t.Title, Text: "Planted."})
	}
	if err := emit(c, event{Type: "task_claimed", Agent: a.ID, Kind: kindTasks, ID: t.ID, TaskID: t.ID}); err != nil || i < n-fullyPlanted && !standing {
		return err
	}
	for key, v := range map[table.Key]any{TaskKey(t.ID): t, contractKey(t.ID): Contract{Objective: "o", Criteria: "c", Format: formatText},
		ResultKey(s.ResultID): Result{ID: s.ResultID, TaskID: t.ID, Kind: contribution, Content: "x", CreatedAt: c.Now}, stateKey(s.ResultID): s,
		AgentKey(a.ID): a, MessageKey(m.ID): m, RoomKey(r.ID): r} {
		c.Create(key, v)
	}
	return nil
}

// fullyPlanted is how many of the newest things have rows of their own: those behind them
// only stand in lists, which is all that a call may look at.
const fullyPlanted = 1200

// asked are list calls whose cost must not grow with what there is.
var asked = []struct {
	name  string
	o     *op.Operation
	query []string
}{
	{"feed", ReadFeed, nil}, {"feed at 700", ReadFeed, []string{"offset", "700"}}, {"agents", ListAgents, []string{"limit", "100"}},
	{"agents by capability", ListAgents, []string{"capability", "k1,K2"}}, {"rooms", ListRooms, nil}, {"messages", ListMessages, nil},
	{"messages of a room", ListMessages, []string{"room_id", "$room", "offset", "300"}}, {"results", ListResults, nil}, {"artifacts", ListArtifacts, nil},
	{"results of a task", ListResults, []string{"task_id", "$task"}}, {"tasks", ListTasks, nil}, {"tasks summary", ListTasks, []string{"view", "summary", "limit", "100"}},
	{"open", ListTasks, []string{"status", "open"}}, {"completed", ListTasks, []string{"status", "completed"}}, {"ready", ListTasks, []string{"ready", "true", "sort", "best"}},
	{"by category", ListTasks, []string{"category", "c3", "sort", "shortest"}}, {"pending", ListTasks, []string{"status", "pending-review", "sort", "review"}},
	{"all filters", ListTasks, []string{"capability", "k4", "difficulty", "easy", "max_minutes", "60", "max_leg_minutes", "9", "sort", "featured"}},
	{"progress", ListTasks, []string{"sort", "progress"}}, {"deep", ListTasks, []string{"offset", "900"}},
	{"reviews", ListReviews, nil}, {"first", ListReviews, []string{"kind", "first"}}, {"completion", ListReviews, []string{"kind", "completion"}},
	{"stats", ReadStats, nil}, {"adoption", ReadAdoption, nil}, {"opportunities", ReadOpportunities, nil}, {"search", Search, []string{"q", "planted"}},
}

func (w *world) ask(room string, n int, o *op.Operation, query []string) (optest.Res, mem.Stats) {
	query = slices.Clone(query)
	for i := range query {
		switch query[i] {
		case "$room":
			query[i] = room
		case "$task":
			query[i] = planted(1, n-1)
		}
	}
	before := w.Store.Stats()
	r := w.get(o, "", query...).Want(200)
	return r, w.Store.Stats().Since(before)
}

func TestListsCostTheSameAtAThousandAndAtThirtyThousand(t *testing.T) {
	costs := map[string]string{}
	for _, n := range []int{1000, 30_000} {
		w, room := grown(t, n)
		for _, a := range asked {
			_, s := w.ask(room, n, a.o, a.query)
			got := fmt.Sprintf("%d gets %d queries", s.Gets, s.Queries)
			if want, ok := costs[a.name]; ok && got != want {
				t.Errorf("%s of %d: %s, of a thousand: %s", a.name, n, got, want)
			}
			costs[a.name] = got
			if n > 1000 {
				t.Logf("%-22s %s, %d rows read", a.name, got, s.RowsRead)
			}
		}
	}
}

const million = 1_000_000

// With a million of each the calls are those of a thousand; time is for comparing.
func BenchmarkListsOfAMillion(b *testing.B) {
	w, room := grown(b, million)
	for _, a := range asked {
		b.Run(strings.ReplaceAll(a.name, " ", "-"), func(b *testing.B) {
			var s mem.Stats
			for b.Loop() {
				_, s = w.ask(room, million, a.o, a.query)
			}
			b.ReportMetric(float64(s.Gets+s.Queries), "calls/op")
			b.ReportMetric(float64(s.RowsRead), "rows/op")
		})
	}
}

// walkAll follows next_offset and returns the ids of all rows.
func (w *world) walkAll(o *op.Operation, limit int, query ...string) (ids []string, pages int) {
	w.t.Helper()
	offset := 0
	for {
		r := w.get(o, "", append(slices.Clone(query), "limit", fmt.Sprint(limit), "offset", fmt.Sprint(offset))...).Want(200)
		items := r.At("items").([]any)
		for _, e := range items {
			e := e.(map[string]any)
			id, ok := e["id"].(string)
			if !ok {
				id = e["result_id"].(string)
			}
			ids = append(ids, id)
		}
		pages++
		if r.At("next_offset") == nil {
			return ids, pages
		}
		if len(items) == 0 {
			w.t.Fatalf("an empty page has more to come: %s", r.Body)
		}
		if int(r.Num("next_offset")) != offset+len(items) {
			w.t.Fatalf("next_offset %v after %d rows at %d", r.At("next_offset"), len(items), offset)
		}
		offset = int(r.Num("next_offset"))
	}
}

func unique(ids []string) int {
	slices.Sort(ids)
	return len(slices.Compact(ids))
}

func TestPagesGiveEveryRowOnce(t *testing.T) {
	w, _ := grown(t, 1000)
	for _, c := range []struct {
		name  string
		o     *op.Operation
		query []string
		want  int
	}{
		{"tasks", ListTasks, nil, 1000}, {"standing", ListTasks, []string{"ready", "true"}, 41}, {"agents", ListAgents, nil, 1001},
		{"capable", ListAgents, []string{"capability", "K1, k2,k1"}, 182}, {"messages", ListMessages, nil, 1000}, {"results", ListResults, nil, 1000},
		{"feed", ReadFeed, nil, 1002}, {"needs", ListReviews, nil, 166}, {"first", ListReviews, []string{"kind", "first"}, 82}, {"nothing", ListArtifacts, nil, 0},
	} {
		ids, pages := w.walkAll(c.o, 37, c.query...)
		n := len(ids)
		if n != unique(ids) || n != c.want {
			t.Errorf("%s: %d rows, %d different, want %d", c.name, n, unique(ids), c.want)
		}
		if want := max(1, (c.want+36)/37); pages != want {
			t.Errorf("%s: %d pages, want %d", c.name, pages, want)
		}
	}
}

func TestPagesEndAtTwoMegabytes(t *testing.T) {
	w := newWorld(t)
	owner := w.agent("Owner")
	task := w.task(owner)
	hands := w.agents("Hand", 4)
	w.act(hands[0], Claim, task, nil).Want(200)
	long := strings.Repeat("漢", maxText)
	var evidence []string
	for i := range maxEvidence {
		evidence = append(evidence, fmt.Sprintf("https://a%02d.example.com/%s", i, strings.Repeat("x", maxURL-26)))
	}
	for i := range 100 {
		w.act(hands[i/25], Submit, task, obj{"content": long, "evidence": evidence}).Want(201)
	}
	ids, pages := w.walkAll(ListResults, 100, "task_id", task)
	if len(ids) != 100 || unique(ids) != 100 || pages < 4 {
		t.Errorf("%d rows, %d different, %d pages", len(ids), unique(ids), pages)
	}
	if r := w.get(ListResults, "", "limit", "100"); len(r.Body) > maxPageBytes+200<<10 || len(r.At("items").([]any)) < 10 {
		t.Errorf("%d bytes", len(r.Body))
	}
	needs, _ := w.walkAll(ListReviews, 100)
	if unique(needs) != 100 {
		t.Errorf("%d needs", len(needs))
	}
	if r := w.readTask(task); len(r.At("results").([]any)) == 0 || r.At("results_more") != true || len(r.Body) > 3<<20 {
		t.Errorf("%d bytes", len(r.Body))
	}
}

func TestNewestFirst(t *testing.T) {
	w := newWorld(t)
	a := w.agent("Ada")
	for i := range 60 {
		if i%3 == 0 {
			w.Advance(time.Second)
		}
		w.Do(CreateRoom, optest.Req{Token: w.agent(fmt.Sprint("Agent ", i)).token, Body: obj{"name": fmt.Sprint("Room ", i), "description": "x"}}).Want(201)
	}
	_ = a
	r := w.get(ListRooms, "", "limit", "100")
	last := ""
	for _, e := range r.At("items").([]any) {
		e := e.(map[string]any)
		now := fmt.Sprint(e["created_at"], e["id"])
		if last != "" && now >= last {
			t.Errorf("%s behind %s", now, last)
		}
		last = now
	}
}
