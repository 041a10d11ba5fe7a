package commons

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/op/optest"
)

func TestALeaseEndsToTheSecond(t *testing.T) {
	cases := []struct {
		name   string
		wait   time.Duration
		status int
		code   string
	}{
		{"a second before", leaseTime - time.Second, 200, ""},
		{"a millisecond before", leaseTime - time.Millisecond, 200, ""},
		{"on the second", leaseTime, 409, "lease_expired"},
		{"a second after", leaseTime + time.Second, 409, "lease_expired"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.Timers = nil // nothing sweeps
			owner, a := w.agent("Owner"), w.agent("Ada")
			for name, call := range map[string]func(task string) optest.Res{
				"renew":   func(task string) optest.Res { return w.act(a, Renew, task, nil) },
				"start":   func(task string) optest.Res { return w.act(a, Start, task, nil) },
				"release": func(task string) optest.Res { return w.act(a, Release, task, nil) },
				"submit": func(task string) optest.Res {
					return w.act(a, Submit, task, obj{"content": "Late work."})
				},
			} {
				task := w.task(owner)
				w.act(a, Claim, task, nil).Want(200)
				w.jump(c.wait)
				r := call(task)
				want := c.status
				if name == "submit" && want == 200 {
					want = 201
				}
				if r.Status != want || c.code != "" && r.Str("error") != c.code {
					t.Errorf("%s: %d %s", name, r.Status, r.Body)
				}
				if c.code != "" {
					if got := w.readTask(task); got.Str("status") != Open || got.At("assignee") != nil || got.At("lease_expires_at") != nil {
						t.Errorf("%s: the task reads %s", name, got.Body)
					}
				} else if name != "release" {
					w.act(a, Release, task, nil)
				}
			}
		})
	}
}

// jump moves the clock and fires nothing.
func (w *world) jump(d time.Duration) {
	at := w.Engine.Now().Add(d)
	w.Engine.Now = func() time.Time { return at }
}

func TestAfterALapseAnotherAgentClaimsWithoutAnySweep(t *testing.T) {
	w := newWorld(t)
	owner, a, b := w.agent("Owner"), w.agent("Ada"), w.agent("Bea")
	task := w.task(owner)
	w.act(a, Claim, task, nil).Want(200)
	w.jump(leaseTime - time.Millisecond)
	w.act(b, Claim, task, nil).Refused(409, "task_already_claimed")
	w.jump(time.Millisecond)
	if r := w.get(ListTasks, "", "status", "open"); r.Str("items.0.id") != task || r.At("items.0.assignee") != nil {
		t.Errorf("%s", r.Body)
	}
	if r := w.get(ReadStats, ""); r.Num("tasks_by_status.open") != 1 || r.Num("tasks_by_status.claimed") != 0 {
		t.Errorf("%s", r.Body)
	}
	if r := w.get(ReadOpportunities, ""); r.Num("ready_tasks.count") != 1 {
		t.Errorf("%s", r.Body)
	}
	r := w.act(b, Claim, task, nil).Want(200)
	if r.Str("assignee") != b.id || r.Str("lease_expires_at") != "2026-11-30T22:20:00.000Z" {
		t.Errorf("%s", r.Body)
	}
	w.act(a, Submit, task, obj{"content": "Late work."}).Refused(403, "not_assignee")
	w.act(a, Renew, task, nil).Refused(403, "not_assignee")
	w.act(b, Submit, task, obj{"content": "Work in time."}).Want(201)
	// The end of the lease was written down by the next write, with its own time.
	feed := w.get(ReadFeed, "", "limit", "100")
	found := false
	for _, e := range feed.At("items").([]any) {
		e := e.(map[string]any)
		if e["type"] == "lease_expired" {
			found = e["at"] == "2026-11-30T20:20:00.000Z" && e["agent_id"] == a.id
		}
	}
	if !found {
		t.Errorf("%s", feed.Body)
	}
}

func TestASweepWritesDownThatALeaseRanOut(t *testing.T) {
	w := newWorld(t)
	owner, a := w.agent("Owner"), w.agent("Ada")
	task := w.task(owner)
	w.act(a, Claim, task, nil).Want(200)
	w.Advance(time.Hour)
	w.act(a, Renew, task, nil).Want(200)
	if n := w.Advance(90 * time.Minute); n != 0 {
		t.Errorf("%d timers fired before the renewed lease ended", n)
	}
	if n := w.Advance(time.Hour); n != 1 {
		t.Errorf("%d timers fired", n)
	}
	if r := w.get(ReadFeed, "", "limit", "1"); r.Str("items.0.type") != "lease_expired" || r.Str("items.0.at") != "2026-11-30T21:20:00.000Z" {
		t.Errorf("%s", r.Body)
	}
	w.act(a, Submit, task, obj{"content": "Late work."}).Refused(409, "lease_expired")
	w.act(a, Claim, task, nil).Want(200)
}

func TestRenewingCountsFromNowAndStartingDoesNot(t *testing.T) {
	w := newWorld(t)
	owner, a := w.agent("Owner"), w.agent("Ada")
	task := w.task(owner)
	w.act(a, Claim, task, nil)
	w.Advance(110 * time.Minute)
	if r := w.act(a, Start, task, nil).Want(200); r.Str("lease_expires_at") != "2026-11-30T20:20:00.000Z" || r.Str("status") != InProgress {
		t.Errorf("%s", r.Body)
	}
	w.act(a, Start, task, nil).Refused(409, "task_state")
	if r := w.act(a, Renew, task, nil).Want(200); r.Str("lease_expires_at") != "2026-11-30T22:10:00.000Z" || r.Str("status") != InProgress {
		t.Errorf("%s", r.Body)
	}
	if r := w.act(a, Release, task, nil).Want(200); r.Str("status") != Open || r.At("assignee") != nil {
		t.Errorf("%s", r.Body)
	}
	w.act(a, Release, task, nil).Refused(403, "not_assignee")
}

func TestAtMostThreeLeases(t *testing.T) {
	w := newWorld(t)
	owner, a := w.agent("Owner"), w.agent("Ada")
	var tasks []string
	for range 4 {
		tasks = append(tasks, w.task(owner))
	}
	for _, task := range tasks[:3] {
		w.act(a, Claim, task, nil).Want(200)
	}
	w.act(a, Claim, tasks[3], nil).Refused(409, "lease_limit")
	w.act(a, Renew, tasks[0], nil).Want(200)
	w.act(a, Submit, tasks[0], obj{"content": "Done."}).Want(201)
	w.act(a, Claim, tasks[3], nil).Want(200)
	w.act(owner, Archive, tasks[1], obj{"expected_revision": 1, "reason": "Not needed any more."}).Want(200)
	task := w.task(owner)
	w.act(a, Claim, task, nil).Want(200)
	w.act(a, Claim, w.task(owner), nil).Refused(409, "lease_limit")
	w.jump(leaseTime)
	w.act(a, Claim, w.task(owner), nil).Want(200)
}

func TestWhatCannotBeClaimed(t *testing.T) {
	w := newWorld(t)
	owner, a, b := w.agent("Owner"), w.agent("Ada"), w.agent("Bea")
	unapproved := w.task(owner, obj{"approved": false})
	w.act(a, Claim, unapproved, nil).Refused(409, "task_not_approved")
	w.act(a, Submit, unapproved, obj{"content": "x"}).Refused(409, "task_not_approved")
	short := w.task(owner, obj{"expires_at": "2026-11-30T19:20:00Z"})
	held := w.task(owner, obj{"expires_at": "2026-11-30T19:20:00Z"})
	w.act(a, Claim, held, nil).Want(200)
	w.jump(time.Hour - time.Millisecond)
	if r := w.readTask(short); r.At("expired") != false {
		t.Errorf("%s", r.Body)
	}
	w.jump(time.Millisecond)
	w.act(a, Claim, short, nil).Refused(409, "task_expired")
	if r := w.readTask(short); r.At("expired") != true || r.Str("status") != Open {
		t.Errorf("%s", r.Body)
	}
	w.act(a, Renew, held, nil).Refused(409, "task_expired")
	w.act(a, Submit, held, obj{"content": "A lease from before is honoured."}).Want(201)
	w.act(b, Submit, held, obj{"content": "But nothing new is taken."}).Refused(409, "task_expired")
	done, _ := w.submitted(owner, a)
	w.act(b, Claim, done, nil).Refused(409, "task_state")
	w.act(b, Claim, "c0ffee00-0000-4000-8000-000000000000", nil).Refused(404, "not_found")
	w.act(b, Claim, "nonsense", nil).Refused(422, "field_value")
}

func TestTheCreatorMayClaimItsOwnTask(t *testing.T) {
	w := newWorld(t)
	owner := w.agent("Owner")
	task, result := w.submitted(owner, owner)
	w.act(owner, Verify, task, review(result, agree, complete)).Refused(403, "reviewer_not_independent")
	w.act(owner, Complete, task, obj{"result_id": result}).Refused(409, "not_qualified")
}

func TestOfManyClaimsAtOnceOneWins(t *testing.T) {
	w := newWorld(t)
	owner := w.agent("Owner")
	agents := w.agents("Hand", 12)
	task := w.task(owner)
	var won, lost int
	var mu sync.Mutex
	parallel(len(agents), func(i int) {
		for {
			r := w.Do(Claim, optest.Req{Token: agents[i].token, Path: map[string]string{"task_id": task}, Body: obj{}, Address: fmt.Sprint(i)})
			if r.Status == 503 {
				continue
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case r.Status == 200:
				won++
			case r.Str("error") == "task_already_claimed":
				lost++
			default:
				t.Errorf("%s", r.Body)
			}
			return
		}
	})
	if won != 1 || lost != len(agents)-1 {
		t.Errorf("%d won, %d lost", won, lost)
	}
}

func parallel(n int, do func(int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Add(1)
		go func() { defer all.Done(); do(i) }()
	}
	all.Wait()
}
