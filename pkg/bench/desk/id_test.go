package desk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"guildhall/pkg/bench/benchtest"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/desk"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestWhatIsNoIDIsNotFound(t *testing.T) {
	w := newWorld(t)
	p, m := w.Poster("ada"), w.Maker("Maker")
	calls := []struct {
		o     *op.Operation
		token string
		body  any
	}{
		{desk.Brief, m.Token, nil}, {desk.World, m.Token, nil}, {desk.Attachment, m.Token, nil}, {bids.FileProposal, m.Token, benchtest.GoodBid}, {bids.CheckProposal, m.Token, benchtest.GoodBid},
		{bids.Withdraw, m.Token, nil}, {bids.ReadAnswers, m.Token, nil}, {bids.FilePlan, m.Token, goodPlan()}, {bids.Reply, m.Token, obj{"question_ref": "1", "answer": "Yes."}},
		{wants.Read, p.Token, nil}, {wants.Close, p.Token, nil}, {wants.Repost, p.Token, nil}, {wants.Edit, p.Token, obj{"location": "x"}}, {wants.AddNote, p.Token, obj{"note": "x"}},
		{bids.Cards, p.Token, nil}, {bids.ReadCard, p.Token, nil}, {bids.Unname, p.Token, nil}, {bids.Reject, p.Token, obj{"reason": "x"}}, {bids.Ask, p.Token, obj{"question": "x"}},
		{bids.ReadDrafts, p.Token, nil}, {bids.Answer, p.Token, obj{"answers": []obj{}, "send": true}},
	}
	target := w.Easy(p)
	for _, id := range []string{"\x00", "a\xff", "", "#", "../x", "a/b", strings.ToUpper(target), target + "0", target[:35], strings.Repeat("x", 500), "ROOT", "💥"} {
		for _, c := range calls {
			for _, path := range []map[string]string{{"target_id": id, "proposal_id": id, "filename": id}, {"target_id": target, "proposal_id": id, "filename": id}} {
				if c.o == bids.Cards && path["target_id"] == target || path["target_id"] == target && !strings.Contains(c.o.Path, "{proposal_id}") {
					continue
				}
				if r := w.Do(c.o, optest.Req{Token: c.token, Path: path, Body: c.body}); r.Status != 404 {
					t.Errorf("%s with %.40q: %d %s", c.o.ID, id, r.Status, r.Body)
				}
			}
		}
		if json.Valid([]byte(text(id))) && len(id) <= 64 {
			if r := w.Do(bids.Name, optest.Req{Token: p.Token, Path: benchtest.On(target), Body: obj{"proposal_id": id}}); r.Status != 404 {
				t.Errorf("naming %q: %d %s", id, r.Status, r.Body)
			}
		}
	}
}
