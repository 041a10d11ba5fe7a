package deals_test

import (
	"testing"

	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/dealtest"
	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// old files a bid and gives its stored body an older shape: what is no longer accepted is
// still read.
func (w *world) old(change func(*proposal.Proposal)) *deal {
	w.T.Helper()
	d := w.posted(dealtest.Easy())
	d.Target = d.Want(d.Body)
	d.Bid = d.Do(bids.FileProposal, optest.Req{Token: d.Agent, Path: dealtest.Strings(m{"target_id": d.Target}), Body: d.Body}).Want(201).Str("proposal_id")
	d.Run("bench", func(c *op.Call) error {
		p, err := bids.LoadProposal(c, d.Bid)
		if err != nil {
			return err
		}
		b, _, err := bids.Load(c, d.Bid)
		if err != nil {
			return err
		}
		change(p)
		b.Title = p.PitchTitle
		b.Save(c)
		c.Put(bids.BodyKey(d.Bid), p)
		return nil
	})
	d.Do(bids.Name, optest.Req{Token: d.Person, Path: d.Paths(), Body: m{"proposal_id": d.Bid}}).Want(201)
	return d
}

func TestABidWithoutQuestionsPitchAndOddsIsNamedAcceptedAndSigned(t *testing.T) {
	w := newWorld(t)
	d := w.old(func(p *proposal.Proposal) {
		p.PitchTitle, p.PitchBody, p.SmartGoals, p.FinalistQuestions = "", "", nil, nil
		for i := range p.Steps {
			p.Steps[i].DeclaredOdds, p.Steps[i].DeclaredOddsReason = 0, ""
		}
	})
	d.Pick() // there is nothing to ask and so no full plan to wait for
	d.Sign().Refused(422, "accept_rules must be true")
	d.Do(deals.Sign, optest.Req{Token: d.Agent, Path: d.Paths(), Body: m{"accept_rules": true}}).Want(200)
	got := d.Stored()
	if got.Informed || got.Steps[1].AtBid != nil || !got.AgentSignedAt.Equal(got.SignedAt) || got.Committed() != 2 {
		t.Fatalf("%+v", got)
	}
	now := d.Current()
	if now.Str("current_step.state") != "agent_working" {
		t.Fatalf("%s", now.Body)
	}
	d.OnStep(deals.Restate, d.Steps[2], m{"declared_odds": 0.4}).Want(200) // a number where the bid had none
	d.Deliver()
	d.Yes()
	d.Deliver()
	d.Yes()
	d.Yes()
	if got := d.Stored(); got.EndCause != "resolved" || got.Money.Released != 9000 {
		t.Fatalf("%+v", got)
	}
}

func TestABidOfThreeGoalsIsNamedAnsweredPlannedAndSigned(t *testing.T) {
	w := newWorld(t)
	d := w.old(func(p *proposal.Proposal) {
		p.SmartGoals = append(p.SmartGoals, "Find a second table nearby.", "Find a third one.")
		p.FinalistQuestions = append(p.FinalistQuestions, p.FinalistQuestions[0], p.FinalistQuestions[0])
	})
	d.Accept().Refused(409, "plan_not_yet_informed")
	p := d.Paths()
	d.Do(bids.Answer, optest.Req{Token: d.Person, Path: p, Body: m{"answers": []m{{"ordinal": 1, "answer": "The one with the duck."}}, "send": true}}).Want(200)
	d.Do(bids.FilePlan, optest.Req{Token: d.Agent, Path: p, Body: m{"steps": d.Body["steps"], "accept_rules": true}}).Want(200)
	d.Pick()
	d.Sign().Want(200)
	if got := d.Stored(); got.Status != "signed" || !got.Informed {
		t.Fatalf("%+v", got)
	}
}
