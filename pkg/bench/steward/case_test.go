package steward_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/audit"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/registry"
	"guildhall/pkg/bench/steward"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func (w *world) steward(email string) string {
	w.T.Helper()
	_, token := w.Person(email, "steward")
	return token
}

func (w *world) cases(token string, q url.Values) optest.Res {
	w.T.Helper()
	return w.Do(steward.ListCases, optest.Req{Token: token, Query: q}).Want(200)
}

func (w *world) decide(token, id, finding string, more ...m) optest.Res {
	w.T.Helper()
	body := m{"finding": finding, "written": "We looked at everything."}
	for _, x := range more {
		for k, v := range x {
			body[k] = v
		}
	}
	return w.Do(steward.Decide, optest.Req{Token: token, Path: dealtest.Strings(m{"case_id": id}), Body: body})
}

// failed is a deal that its agent gave up with a claim.
func (w *world) failed() *deal {
	w.T.Helper()
	d := w.signed(dealtest.Easy())
	p := d.Paths()
	p["step_id"] = "2"
	res := d.Do(deals.Fail, optest.Req{Token: d.Agent, Path: p, Body: m{"reason": "The mailbox is gone.", "materiality_test": "needs_undisclosed_access",
		"r109_exception": "person_revoked_access"}}).Want(200)
	if res.Str("integrity_state") != "under_integrity_review" {
		w.T.Fatalf("%s", res.Body)
	}
	return d
}

func TestScoresAreVoidedByTwoStewardsAndNothingElseMoves(t *testing.T) {
	w := newWorld(t)
	d := w.failed()
	ann, ben := w.steward("ann@hall.test"), w.steward("ben@hall.test")
	list := w.cases(ann, url.Values{"kind": {"r109_exception"}, "state": {"open"}})
	id := list.Str("cases.0.case_id")
	if list.Str("cases.0.deal_id") != d.ID || list.Str("cases.0.subject.maker_id") != d.AgentID || list.Str("cases.0.evidence.exception") != "person_revoked_access" {
		t.Fatalf("%s", list.Body)
	}
	shown := w.Do(steward.ReadCase, optest.Req{Token: ann, Path: dealtest.Strings(m{"case_id": id})}).Want(200)
	if shown.Str("deal.r109_exception") != "person_revoked_access" || shown.Str("deal.plan.steps.0.title") == "" || shown.Str("deal.reason") != "The mailbox is gone." {
		t.Fatalf("%s", shown.Body)
	}
	before := *d.Stored()
	first := w.decide(ann, id, steward.Upheld).Want(200)
	if first.Str("case.state") != "awaiting_second" || first.At("case.finding") != nil || d.Stored().Voided {
		t.Fatalf("%s", first.Body)
	}
	w.decide(ann, id, steward.Upheld).Refused(409, "second_steward_needed")
	if slices.Contains(d.Pending(), record.ScoresVoided) {
		t.Fatal("one steward was enough")
	}
	second := w.decide(ben, id, steward.Upheld).Want(200)
	if second.Str("case.state") != "decided" || second.Str("case.finding") != steward.Upheld || second.Str("case.votes.1.finding") == "" {
		t.Fatalf("%s", second.Body)
	}
	after := d.Stored()
	if !after.Voided || after.Finding != steward.Upheld || after.Money != before.Money || after.EndCause != before.EndCause || !after.EndedAt.Equal(before.EndedAt) {
		t.Fatalf("%+v", after)
	}
	for _, word := range []record.Word{record.IntegrityOpened, record.IntegrityDecided, record.ScoresVoided} {
		if !slices.Contains(d.Pending(), word) {
			t.Errorf("no %s in %v", word, d.Pending())
		}
	}
	if !slices.Contains(d.Events(), "integrity.decided") || !slices.Contains(d.Events(), "scores.voided") {
		t.Errorf("the agent was told %v", d.Events())
	}
	w.decide(ben, id, steward.Rejected).Refused(409, "already_decided")
}

// shownFinding is the finding beside the newest attempt of the deal's want, as its brief
// shows it.
func (d *deal) shownFinding() string {
	d.T.Helper()
	var w wants.Want
	d.Load(func(c *op.Call) (err error) {
		w, _, err = wants.LoadBrief(c, d.Target)
		return err
	})
	past := w.Show(wants.PersonFacts{}, false, nil).Past
	if len(past) == 0 || past[len(past)-1].Finding == nil {
		return ""
	}
	return *past[len(past)-1].Finding
}

func TestAFindingStandsBesideTheAttemptItIsAbout(t *testing.T) {
	w := newWorld(t)
	d := w.failed()
	if got := d.shownFinding(); got != "" {
		t.Fatalf("%q before anybody decided", got)
	}
	ann, ben := w.steward("ann@hall.test"), w.steward("ben@hall.test")
	first := w.cases(ann, nil).Str("cases.0.case_id")
	w.decide(ann, first, steward.Upheld).Want(200)
	if got := d.shownFinding(); got != "" {
		t.Fatalf("%q with one vote", got)
	}
	w.decide(ben, first, steward.Upheld).Want(200)
	if got := d.shownFinding(); got != steward.Upheld {
		t.Fatalf("%q", got)
	}
	// The next attempt of the same want has a finding of its own.
	again := &deal{w, d.Another()}
	w.Advance(time.Second)
	again.File(dealtest.Easy())
	again.Pick()
	again.Sign().Want(200)
	w.Advance(time.Second)
	p := again.Paths()
	p["step_id"] = "2"
	w.Do(deals.Fail, optest.Req{Token: again.Agent, Path: p, Body: m{"reason": "Again.", "materiality_test": "needs_undisclosed_access",
		"r109_exception": "person_revoked_access"}}).Want(200)
	if got := again.shownFinding(); got != "" {
		t.Fatalf("%q is of the attempt before", got)
	}
	w.decide(ann, w.cases(ann, url.Values{"state": {"open"}}).Str("cases.0.case_id"), steward.Rejected).Want(200)
	var want wants.Want
	d.Load(func(c *op.Call) (err error) {
		want, _, err = wants.Load(c, d.Target)
		return err
	})
	if len(want.Past) != 2 || *want.Past[0].Finding != steward.Upheld || *want.Past[1].Finding != steward.Rejected || again.shownFinding() != steward.Rejected {
		t.Fatalf("%+v", want.Past)
	}
	if want.Status != wants.Open || want.Round != 3 {
		t.Fatalf("a finding moves nothing: %s, round %d", want.Status, want.Round)
	}
}

func TestWhatVoidedAnAttemptStaysBesideIt(t *testing.T) {
	w := newWorld(t)
	d := w.failed()
	ann, ben := w.steward("ann@hall.test"), w.steward("ben@hall.test")
	id := w.cases(ann, nil).Str("cases.0.case_id")
	w.decide(ann, id, steward.Upheld).Want(200)
	w.decide(ben, id, steward.Upheld).Want(200)
	d.Load(func(c *op.Call) error {
		found, _, err := deals.Load(c, d.ID)
		if err != nil {
			return err
		}
		found.Decide(c.Now, steward.StaleCleared, false)
		return deals.Commit(c, found, nil)
	})
	if got := d.shownFinding(); got != steward.Upheld {
		t.Fatalf("%q", got)
	}
}

func TestARejectedClaimNeedsOneStewardAndVoidsNothing(t *testing.T) {
	w := newWorld(t)
	d := w.failed()
	ann := w.steward("ann@hall.test")
	id := w.cases(ann, nil).Str("cases.0.case_id")
	w.decide(ann, id, "something_else").Refused(422, "finding_unknown")
	w.decide(ann, id, steward.BreachProven).Refused(422, "finding_unknown")
	if res := w.decide(ann, id, steward.Rejected).Want(200); res.Str("case.state") != "decided" {
		t.Fatalf("%s", res.Body)
	}
	if d.Stored().Voided || slices.Contains(d.Pending(), record.ScoresVoided) || !slices.Contains(d.Pending(), record.IntegrityDecided) {
		t.Fatalf("%v", d.Pending())
	}
}

func TestOneStewardDoesNotOverruleAnother(t *testing.T) {
	w := newWorld(t)
	w.failed()
	ann, ben, cem := w.steward("ann@hall.test"), w.steward("ben@hall.test"), w.steward("cem@hall.test")
	id := w.cases(ann, nil).Str("cases.0.case_id")
	w.decide(ann, id, steward.Upheld).Want(200)
	if res := w.decide(ben, id, steward.Rejected).Want(200); res.Str("case.state") != "awaiting_second" {
		t.Fatalf("%s", res.Body)
	}
	if res := w.decide(cem, id, steward.Rejected).Want(200); res.Str("case.state") != "decided" || res.Str("case.finding") != steward.Rejected {
		t.Fatalf("%s", res.Body)
	}
}

func TestAStewardWhoChangesSidesIsStillOne(t *testing.T) {
	w := newWorld(t)
	w.failed()
	ann := w.steward("ann@hall.test")
	id := w.cases(ann, nil).Str("cases.0.case_id")
	w.decide(ann, id, steward.Upheld).Want(200)
	if res := w.decide(ann, id, steward.Rejected).Want(200); res.Str("case.state") != "decided" || len(res.At("case.votes").([]any)) != 1 {
		t.Fatalf("%s", res.Body)
	}
}

func TestTheDeskIsClosedToEverybodyElse(t *testing.T) {
	w := newWorld(t)
	d := w.failed()
	for _, o := range steward.Operations {
		for who, token := range map[string]string{"a person": d.Person, "an agent": d.Agent, "nobody": ""} {
			if res := w.Do(o, optest.Req{Token: token, Path: dealtest.Strings(m{"case_id": "x"}), Body: m{}}); res.Status != 404 && res.Status != 401 {
				t.Errorf("%s answers %s with %d", o.ID, who, res.Status)
			}
		}
	}
	ann := w.steward("ann@hall.test")
	w.Do(steward.ReadCase, optest.Req{Token: ann, Path: dealtest.Strings(m{"case_id": "nothing"})}).Refused(404, "not found")
	w.decide(ann, "nothing", steward.Upheld).Refused(404, "not found")
}

func TestSilenceIsLiftedOrKeptByAStewardAndTheClockDoesNotUndoIt(t *testing.T) {
	for finding, suspended := range map[string]bool{steward.Lifted: false, steward.KeptSuspended: true} {
		w := newWorld(t)
		d := w.signed(dealtest.Easy())
		w.Advance(2 * time.Hour)
		ann := w.steward("ann@hall.test")
		list := w.cases(ann, url.Values{"kind": {"liveness"}})
		if list.Str("cases.0.subject.maker_id") != d.AgentID || list.At("cases.0.subject.suspended_new_work") != true {
			t.Fatalf("%s", list.Body)
		}
		d.Pulse(0).Want(201)
		shown := w.Do(steward.ReadCase, optest.Req{Token: ann, Path: dealtest.Strings(m{"case_id": list.Str("cases.0.case_id")})}).Want(200)
		if shown.Str("deal.pulses.0.now") != "Working." {
			t.Fatalf("a steward reads pulses: %s", shown.Body)
		}
		w.decide(ann, list.Str("cases.0.case_id"), finding).Want(200)
		for range 60 { // more than a day on time
			w.Advance(29 * time.Minute)
			d.Pulse(0).Want(201)
		}
		var a registry.Agent
		d.Load(func(c *op.Call) (err error) { a, err = registry.Load(c, d.AgentID); return err })
		if a.SuspendedNewWork() != suspended || d.Stored().Review.Open {
			t.Errorf("%s: suspended %v, review %+v", finding, a.SuspendedNewWork(), d.Stored().Review)
		}
	}
}

func TestAReportNamesAWallOrTheStewardDoes(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	d.Do(deals.Report, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"text": "It asked for my password."}}).Want(201)
	ann := w.steward("ann@hall.test")
	id := w.cases(ann, url.Values{"kind": {"breach_report"}}).Str("cases.0.case_id")
	w.decide(ann, id, steward.BreachProven).Refused(422, "wall_required")
	w.decide(ann, id, steward.BreachProven, m{"wall": 12}).Refused(422, "invalid_field")
	w.decide(ann, id, steward.BreachProven, m{"wall": 1, "written": strings.Repeat("x", 1001)}).Refused(422, "citation_too_long")
	w.decide(ann, id, steward.BreachProven, m{"wall": 1, "written": strings.Repeat("x", 1000)}).Want(200)
	if d.Stored().Status != path.Signed || d.Stored().Finding != "" {
		t.Fatal("a breach changes nothing on the deal")
	}
	if !slices.Contains(d.agentEvents(), registry.EventBreach) {
		t.Fatalf("%v", d.agentEvents())
	}
	w.Settle()
	if !dealtest.Has(w.Subjects(), "Your report was looked at") {
		t.Fatalf("%v", w.Subjects())
	}
	// After the decision a new report is a case of its own; with a wall it needs no other.
	d.Do(deals.Report, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"text": "Again.", "wall": 7}}).Want(201)
	id = w.cases(ann, url.Values{"state": {"open"}}).Str("cases.0.case_id")
	w.decide(ann, id, steward.BreachProven).Want(200)
	w.decide(ann, id, steward.BreachCleared).Refused(409, "already_decided")
}

// agentEvents lists every type of the agent's feed.
func (d *deal) agentEvents() (out []string) {
	d.Load(func(c *op.Call) error {
		list, _, err := record.Feed(c, d.AgentID, 0, record.MaxFeedPage)
		for _, e := range list {
			out = append(out, e.Type)
		}
		return err
	})
	return out
}

func TestADelistedAgentsDealsEndOnlyByDecision(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	_, admin := w.Person("root@hall.test", "platform_admin")
	w.Do(registry.DelistAgent, optest.Req{Token: admin, Path: dealtest.Strings(m{"maker_id": d.AgentID}), Body: m{"reason": "Self-dealing."}}).Want(200)
	d.Pulse(0).Refused(401, "unauthorized")
	w.Settle()
	if d.Stored().Status != path.Signed {
		t.Fatal("the deal ended without a decision")
	}
	list := w.cases(admin, url.Values{"state": {"open"}})
	id := list.Str("cases.0.case_id")
	if list.Str("cases.0.deal_id") != d.ID || fmt.Sprint(list.At("cases.0.findings")) != "[deal_ended deal_left_on]" {
		t.Fatalf("%s", list.Body)
	}
	w.decide(admin, id, steward.DealEnded).Want(200)
	got := d.Stored()
	if got.Status != path.Ended || got.EndCause != path.AgentFailed || got.Money.Held != 0 || got.Money.Returned != 9000 {
		t.Fatalf("%+v", got)
	}
}

func TestTheQueuePagesThroughItsFiltersWithoutLossAndRepetition(t *testing.T) {
	w := newWorld(t)
	ann := w.steward("ann@hall.test")
	want := map[string]bool{}
	w.Run("bench", func(c *op.Call) error {
		for i := range 30 {
			k := deals.Case{ID: c.NewID(), Kind: []string{deals.CaseChargeback, deals.CaseBreach}[i%2], OpenedAt: c.Now.Add(time.Duration(i/4) * time.Second)}
			if want[k.ID] = true; i%2 == 0 {
				delete(want, k.ID)
			}
			deals.OpenCase(c, k)
		}
		return nil
	})
	for _, limit := range []string{"1", "4", "15", "16"} {
		q, seen, last := url.Values{"kind": {"breach_report"}, "limit": {limit}}, map[string]bool{}, ""
		for {
			res := w.cases(ann, q)
			for i := 0; res.Str(fmt.Sprintf("cases.%d.case_id", i)) != ""; i++ {
				id, at := res.Str(fmt.Sprintf("cases.%d.case_id", i)), res.Str(fmt.Sprintf("cases.%d.opened_at", i))
				if seen[id] || !want[id] || last != "" && at > last {
					t.Fatalf("limit %s: %s at %s after %s", limit, id, at, last)
				}
				seen[id], last = true, at
			}
			if res.Str("next_cursor") == "" {
				break
			}
			q.Set("after", res.Str("next_cursor"))
		}
		if len(seen) != len(want) {
			t.Errorf("limit %s: %d of %d", limit, len(seen), len(want))
		}
	}
	res := w.cases(ann, url.Values{"kind": {"breach_report"}, "limit": {"1"}})
	w.Do(steward.ListCases, optest.Req{Token: ann, Query: url.Values{"kind": {"chargeback"}, "after": {res.Str("next_cursor")}}}).Refused(422, "cursor_invalid")
	w.Do(steward.ListCases, optest.Req{Token: ann, Query: url.Values{"kind": {"gossip"}}}).Refused(422, "invalid_field")
	id := w.cases(ann, url.Values{"kind": {"chargeback"}}).Str("cases.0.case_id")
	w.decide(ann, id, steward.Noted).Want(200)
	if got := w.cases(ann, url.Values{"state": {"decided"}}); got.Str("cases.0.case_id") != id {
		t.Fatalf("%s", got.Body)
	}
}

// resolvedBySilence lets a whole deal of the pair be approved by silence.
func (d *deal) resolvedBySilence() {
	d.T.Helper()
	body := dealtest.BidOf(0, dealtest.Step("Part 1", "APPROVE", 4500), dealtest.Step("Part 2", "APPROVE", 4500))
	d.Target, d.Bid = d.Want(body), ""
	d.File(body)
	d.Pick()
	d.Sign().Want(200)
	d.Deliver()
	d.Yes()
	d.Deliver()
	d.Yes()
	d.Advance(15 * path.Day)
}

func TestSilentResolutionsWithOnePersonOpenACase(t *testing.T) {
	w := newWorld(t)
	d := w.posted(dealtest.Easy())
	ann := w.steward("ann@hall.test")
	for i := range 3 {
		if n := w.cases(ann, url.Values{"kind": {"stale_pattern"}}).At("cases").([]any); len(n) != 0 {
			t.Fatalf("a case after %d", i)
		}
		d.resolvedBySilence()
	}
	list := w.cases(ann, url.Values{"kind": {"stale_pattern"}})
	if got := list.At("cases.0.evidence.deals").([]any); len(got) != 3 || list.At("cases.0.evidence.one_person") != true {
		t.Fatalf("%s", list.Body)
	}
	w.decide(ann, list.Str("cases.0.case_id"), steward.StaleProven).Want(200)
	if !slices.Contains(d.agentEvents(), registry.EventBreach) {
		t.Fatalf("%v", d.agentEvents())
	}
}

func TestADeclaredTieIsACaseAndProvenVoidsEveryDealOfThePair(t *testing.T) {
	w := newWorld(t)
	d := w.posted(dealtest.Easy())
	var ids []string
	for i := range 8 { // more than one firing voids
		body := dealtest.BidOf(0, dealtest.Step("Part 1", "APPROVE", 0), dealtest.Step("Part 2", "APPROVE", 0))
		if i == 0 {
			body["operator_relationship_disclosure"] = "The poster is my operator's sister."
		}
		d.Target = d.Want(body)
		d.File(body)
		d.Pick()
		d.Sign().Want(200)
		d.Do(deals.EndDeal, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"reason": "No."}}).Want(200)
		ids = append(ids, d.ID)
		w.Advance(time.Second)
	}
	other := w.failed()
	ann, ben := w.steward("ann@hall.test"), w.steward("ben@hall.test")
	list := w.cases(ann, url.Values{"kind": {"self_deal"}})
	if len(list.At("cases").([]any)) != 1 || list.Str("cases.0.deal_id") != ids[0] || list.Str("cases.0.evidence.disclosure") == "" {
		t.Fatalf("%s", list.Body)
	}
	id := list.Str("cases.0.case_id")
	w.decide(ann, id, steward.TieProven).Want(200)
	w.decide(ben, id, steward.TieProven).Want(200)
	w.Advance(time.Minute)
	for _, d.ID = range ids {
		if !d.Stored().Voided || !slices.Contains(d.Pending(), record.ScoresVoided) {
			t.Errorf("deal %s still counts: %v", d.ID, d.Pending())
		}
	}
	if other.Stored().Voided {
		t.Error("a stranger's deal was voided")
	}
	if !slices.Contains(d.agentEvents(), registry.EventBreach) {
		t.Error("no breach")
	}
}

func TestAFaultGivesTimeBackToWhoeverHeldTheStep(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.Easy())
	ann := w.steward("ann@hall.test")
	file := func(body m) optest.Res { return w.Do(steward.FileFault, optest.Req{Token: ann, Body: body}) }
	res := file(m{"deal_id": d.ID, "description": "The store was down.", "restore": "36h"}).Want(200)
	if res.Str("fault.restored_to") != "agent" || res.Num("fault.restored_seconds") != 36*3600 || d.Stored().Limit() != 7*path.Day+36*time.Hour {
		t.Fatalf("%s", res.Body)
	}
	d.Deliver()
	before := d.Stored().Open().LapseAt()
	res = file(m{"deal_id": d.ID, "description": "Mails were lost.", "restore": "48h"}).Want(200)
	if got := d.Stored().Open().LapseAt(); res.Str("fault.restored_to") != "person" || !got.Equal(before.Add(48*time.Hour)) {
		t.Fatalf("%s: %v", res.Body, got)
	}
	w.Advance(15 * path.Day)
	if d.Stored().Open().Number != 2 || d.Stored().Status != path.Signed {
		t.Fatal("the old date still counts")
	}
	if !dealtest.Has(w.Subjects(), "You have more time") {
		t.Fatalf("%v", w.Subjects())
	}
	file(m{"deal_id": d.ID, "description": "x", "restore": "721h"}).Refused(422, "restore_invalid")
	file(m{"deal_id": d.ID, "description": "x", "restore": "-1h"}).Refused(422, "restore_invalid")
	file(m{"deal_id": d.ID, "description": "x", "restore": "a while"}).Refused(422, "restore_invalid")
	file(m{"description": "x", "restore": "1h"}).Refused(422, "one_subject")
	file(m{"deal_id": d.ID, "schedule_id": "s", "description": "x", "restore": "1h"}).Refused(422, "one_subject")
	file(m{"schedule_id": "s", "description": "x", "restore": "1h"}).Refused(404, "not found")
	w.Advance(60 * path.Day) // the agent's time runs out
	file(m{"deal_id": d.ID, "description": "x", "restore": "1h"}).Refused(409, "deal is not active")
}

func TestTheAuditTrailPagesThroughEverythingStewardsDid(t *testing.T) {
	w := newWorld(t)
	w.failed()
	d := w.signed(dealtest.Easy())
	ann := w.steward("ann@hall.test")
	for range 5 {
		w.Do(steward.FileFault, optest.Req{Token: ann, Body: m{"deal_id": d.ID, "description": "Down.", "restore": "1h"}}).Want(200)
		w.Advance(time.Second)
	}
	w.decide(ann, w.cases(ann, nil).Str("cases.0.case_id"), steward.Rejected).Want(200)
	q, seen, actions := url.Values{"limit": {"3"}}, map[string]bool{}, map[string]int{}
	for {
		res := w.Do(steward.ReadAudit, optest.Req{Token: ann, Query: q}).Want(200)
		for i := 0; res.Str(fmt.Sprintf("audit.%d.id", i)) != ""; i++ {
			row := fmt.Sprintf("audit.%d.", i)
			if seen[res.Str(row+"id")] || res.Str(row+"actor") == "" {
				t.Fatalf("%s", res.Body)
			}
			seen[res.Str(row+"id")] = true
			actions[res.Str(row+"action")]++
		}
		if res.Str("next_cursor") == "" {
			break
		}
		q.Set("after", res.Str("next_cursor"))
	}
	if actions["deal.time-restored"] != 5 || actions["case.decided"] != 1 {
		t.Fatalf("%v", actions)
	}
	w.Do(steward.ReadAudit, optest.Req{Token: ann, Query: url.Values{"after": {"x"}}}).Refused(422, "cursor_invalid")
	w.Do(steward.ReadAudit, optest.Req{Token: ann, Query: url.Values{"context": {"person"}}}).Refused(422, "invalid_field")
}

func TestTheAuditTrailHoldsWhatWasDoneInEveryContext(t *testing.T) {
	w := newWorld(t)
	ann := w.steward("ann@hall.test")
	w.Run("bench", func(c *op.Call) error {
		for _, context := range audit.Contexts {
			if err := audit.Write(c, context, "person:1", "thing.hidden", context+":1", nil, m{"reason": "because"}); err != nil {
				return err
			}
		}
		return nil
	})
	read := func(q url.Values) (contexts []string, next string) {
		res := w.Do(steward.ReadAudit, optest.Req{Token: ann, Query: q}).Want(200)
		for i := 0; res.Str(fmt.Sprintf("audit.%d.id", i)) != ""; i++ {
			if row := fmt.Sprintf("audit.%d.", i); res.Str(row+"action") == "thing.hidden" {
				contexts = append(contexts, res.Str(row+"context"))
			}
		}
		return contexts, res.Str("next_cursor")
	}
	all, _ := read(nil)
	slices.Sort(all)
	if !slices.Equal(all, []string{"bench", "commons", "help", "peer"}) {
		t.Errorf("%v", all)
	}
	for _, context := range audit.Contexts {
		if got, _ := read(url.Values{"context": {context}}); !slices.Equal(got, []string{context}) {
			t.Errorf("only %s: %v", context, got)
		}
	}
	_, next := read(url.Values{"limit": {"1"}})
	w.Do(steward.ReadAudit, optest.Req{Token: ann, Query: url.Values{"after": {next}, "context": {"help"}}}).Refused(422, "cursor_invalid")
}
