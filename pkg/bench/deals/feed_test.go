package deals_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/op/optest"
)

// kinds reads a person's whole feed in pages, oldest first.
func (d *deal) kinds(limit int) (kinds, subjects []string) {
	d.T.Helper()
	after := ""
	for {
		q := map[string][]string{"limit": {fmt.Sprint(limit)}}
		if after != "" {
			q["after"] = []string{after}
		}
		res := d.Do(deals.ReadFeed, optest.Req{Token: d.Person, Query: q}).Want(200)
		for i := 0; res.Str(fmt.Sprintf("feed.%d.kind", i)) != ""; i++ {
			kinds = append(kinds, res.Str(fmt.Sprintf("feed.%d.kind", i)))
			subjects = append(subjects, res.Str(fmt.Sprintf("feed.%d.subject", i)))
		}
		if after = res.Str("next_cursor"); after == "" {
			slices.Reverse(kinds)
			slices.Reverse(subjects)
			return kinds, subjects
		}
	}
}

func TestEveryNoticeOfADealIsAMailAndALineOfTheFeed(t *testing.T) {
	w := newWorld(t)
	d := w.signed(dealtest.BidOf(500, dealtest.Step("Part 1", "APPROVE", 500), dealtest.Step("Part 2", "APPROVE", 500)))
	d.OnStep(deals.Reply, "2", m{"reply": "I have begun."}).Want(200)
	w.Advance(2 * time.Hour) // two updates are missed
	d.Deliver()
	w.Advance(15 * path.Day)
	d.Deliver()
	d.Yes()
	d.Yes()
	w.Settle()
	want := []string{"deal.signed", "step.message", "agent.checkin.overdue", "ask.opened", "ask.reminded", "ask.reminded", "ask.reminded", "step.approved",
		"agent.checkin.overdue", "ask.opened", "ask.opened", "target.resolved"}
	for _, limit := range []int{3, 100} {
		kinds, subjects := d.kinds(limit)
		if !slices.Equal(onlyDeals(kinds), want) {
			t.Errorf("in pages of %d\n got %v\nwant %v", limit, kinds, want)
		}
		for _, s := range subjects {
			if !slices.Contains(w.Subjects(), s) {
				t.Errorf("no mail %q", s)
			}
		}
	}
}

// onlyDeals drops what wants and bids told.
func onlyDeals(kinds []string) []string {
	return slices.DeleteFunc(slices.Clone(kinds), func(k string) bool {
		return k != "deal.signed" && k != "step.message" && k != "agent.checkin.overdue" && k[:4] != "ask." && k != "step.approved" && k != "target.resolved"
	})
}

func TestAFeedIsItsOwnersAlone(t *testing.T) {
	w := newWorld(t)
	one, two := w.signed(dealtest.Easy()), w.signed(dealtest.Easy())
	for _, d := range []*deal{one, two} {
		res := d.Do(deals.ReadFeed, optest.Req{Token: d.Person}).Want(200)
		for i := 0; res.Str(fmt.Sprintf("feed.%d.kind", i)) != ""; i++ {
			if got := res.Str(fmt.Sprintf("feed.%d.deal_id", i)); got != "" && got != d.ID {
				t.Errorf("a line about deal %s of another", got)
			}
		}
	}
	page := one.Do(deals.ReadFeed, optest.Req{Token: one.Person, Query: map[string][]string{"limit": {"1"}}}).Want(200)
	two.Do(deals.ReadFeed, optest.Req{Token: two.Person, Query: map[string][]string{"after": {page.Str("next_cursor") + "x"}}}).Refused(422, "cursor_invalid")
	two.Do(deals.ReadFeed, optest.Req{Token: two.Person, Query: map[string][]string{"limit": {"101"}}}).Refused(422, "invalid_field")
	one.Do(deals.ReadFeed, optest.Req{Token: one.Agent}).Refused(401, "unauthorized")
}
