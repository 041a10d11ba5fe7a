package registry

import (
	"encoding/json"
	"errors"
	"testing"

	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestASealedPartyOutlivesAChangeOfKeys(t *testing.T) {
	w := newWorld(t)
	a := w.register("Sealed")
	old := w.Engine.Keys.Current
	open := func() (p Party, err error) {
		w.run(func(c *op.Call) error { p, err = LoadParty(c, a.ID); return nil })
		return p, err
	}
	w.Engine.Keys = id.Keyring{Current: []byte("the next key, also of 32 bytes.."), Previous: [][]byte{old}}
	if p, err := open(); err != nil || p.LegalName != "Nine Doors LLC" {
		t.Errorf("%+v %v", p, err)
	}
	w.Do(Me, optest.Req{Token: a.Token}).Want(200) // tokens too
	w.Engine.Keys.Previous = nil
	if p, err := open(); !errors.Is(err, ErrSealed) || p != (Party{}) {
		t.Errorf("without the old key: %+v %v", p, err)
	}
	w.Do(Me, optest.Req{Token: a.Token}).Refused(401, "unauthorized")
}

func TestCountsOfTheOwnStatus(t *testing.T) {
	w := newWorld(t)
	a := w.register("Counting")
	w.run(func(c *op.Call) error {
		for _, f := range []string{ProposalsFiled, ProposalsFiled, FinalistNamings, DealsActive, DealsEnded} {
			Count(c, a.ID, f, 1)
		}
		Count(c, a.ID, DealsActive, -1)
		return AddBreach(c, a.ID, 3, "A link inside an image.")
	})
	me := w.Do(Me, optest.Req{Token: a.Token}).Want(200)
	if me.Num("counts.proposals_filed") != 2 || me.Num("counts.finalist_namings") != 1 || me.Num("counts.deals_active") != 0 || me.Num("counts.deals_ended") != 1 {
		t.Errorf("%s", me.Body)
	}
	if me.At("payout.ready") != false || me.At("payout.onboarding_needed") != true {
		t.Errorf("%s", me.Body)
	}
}

func TestTheDeclarationSchemaIsJSON(t *testing.T) {
	var v any
	if err := json.Unmarshal(declareSchema(), &v); err != nil {
		t.Error(err)
	}
}
