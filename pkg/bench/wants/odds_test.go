package wants_test

import (
	"guildhall/pkg/audit"
	"testing"

	"guildhall/pkg/bench/wants"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestReferenceClasses(t *testing.T) {
	w := newWorld(t)
	s := w.steward()
	list := w.Do(wants.Classes, optest.Req{Token: s.token}).Want(200)
	if l := list.At("classes").([]any); len(l) != 12 || list.At("classes.0.probability") != nil || list.Str("classes.0.tile") != "object_at_door" {
		t.Errorf("%s", list.Body)
	}
	if r := s.set("money_in_account", "free", 0); r.Num("probability") != 0 || r.Str("tile") != "money_in_account" || r.Str("lane_kind") != "free" {
		t.Errorf("%s", r.Body)
	}
	s.set("money_in_account", "open", 1)
	s.set("money_in_account", "open", nil)
	list = w.Do(wants.Classes, optest.Req{Token: s.token}).Want(200)
	if list.At("classes.6.probability") != 0.0 || list.At("classes.8.probability") != nil {
		t.Errorf("%s", list.Body)
	}
	var rows []audit.Entry
	w.Run("bench", func(c *op.Call) (err error) {
		rows, _, err = audit.Read(c, []string{"bench"}, audit.Place{}, 10)
		return err
	})
	if len(rows) != 3 || rows[0].Action != "odds.class.set" {
		t.Errorf("%+v", rows)
	}
}

func TestRefusalsOfAClass(t *testing.T) {
	w := newWorld(t)
	s, p := w.steward(), w.Poster("ada")
	set := func(token, tile, lane string, body any) optest.Res {
		return w.Do(wants.SetClass, optest.Req{Token: token, Path: map[string]string{"tile": tile, "lane_kind": lane}, Body: body})
	}
	set(s.token, "a_castle", "free", obj{"probability": 0.5}).Refused(422, "invalid_field")
	set(s.token, "object_at_door", "gift", obj{"probability": 0.5}).Refused(422, "invalid_field")
	set(s.token, "object_at_door", "free", obj{"probability": 1.001}).Refused(422, "invalid_field")
	set(s.token, "object_at_door", "free", obj{"probability": -0.001}).Refused(422, "invalid_field")
	set(s.token, "object_at_door", "free", obj{"probability": true}).Refused(422, "invalid_field")
	set(s.token, "object_at_door", "free", obj{"probability": "0.5"}).Refused(422, "invalid_field")
	set(s.token, "object_at_door", "free", obj{}).Refused(422, "missing_field")
	set(s.token, "object_at_door", "free", obj{"probability": 0.5, "x": 1}).Refused(422, "unknown_field")
	set(p.Token, "object_at_door", "free", obj{"probability": 0.5}).Refused(404, "not found")
	set("", "object_at_door", "free", obj{"probability": 0.5}).Refused(401, "unauthorized")
	w.Do(wants.Classes, optest.Req{Token: p.Token}).Refused(404, "not found")
	w.Do(wants.SetClass, optest.Req{Token: s.token, Key: "-", Path: map[string]string{"tile": "object_at_door", "lane_kind": "free"}, Body: obj{"probability": 0.5}}).
		Refused(400, "idempotency_key_required")
}

func TestTheLocalControlFreezesOnlyBeforeBids(t *testing.T) {
	w := newWorld(t)
	id := w.Easy(w.Poster("ada"))
	w.File(w.Maker("Maker"), id)
	w.Run("bench", func(c *op.Call) error {
		odds := 0.1
		if err := wants.SetFrozen(c, id, &odds); err != wants.HasBids {
			t.Errorf("%v", err)
		}
		return nil
	})
}
