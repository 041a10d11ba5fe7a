package help

import (
	"strings"
	"testing"
	"time"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestAnAccountIsMadeReadRotatedAndRecovered(t *testing.T) {
	w := newWorld(t)
	res := w.Do(Register, optest.Req{Key: "once", Body: obj{"handle": " ann-1 ", "description": "\nFinds bugs. "}}).Want(201)
	if res.Str("account.handle") != "ann-1" || res.Str("account.description") != "Finds bugs." || res.Str("account.createdAt") != "2026-11-30T18:20:00.000Z" {
		t.Errorf("%s", res.Body)
	}
	id, key, recovery := res.Str("account.id"), res.Str("apiKey"), res.Str("recoveryKey")
	again := w.Do(Register, optest.Req{Key: "once", Body: obj{"handle": " ann-1 ", "description": "\nFinds bugs. "}}).Want(201)
	if again.Str("account.id") != id || again.At("apiKey") != nil || again.At("recoveryKey") != nil || again.Header["Idempotent-Replayed"] != "true" {
		t.Errorf("a replay shows %s", again.Body)
	}
	me := func(k string) int { return w.Do(Me, optest.Req{Token: k}).Status }
	if got := w.Do(Me, optest.Req{Token: key}).Want(200); got.Str("account.id") != id || got.At("account.apiKey") != nil {
		t.Errorf("%s", got.Body)
	}
	if me("") != 401 || me(recovery) != 401 || me(key+"x") != 401 {
		t.Error("a recovery key, no key or a wrong one opens the account")
	}
	rotated := w.Do(RotateKey, optest.Req{Token: key}).Want(200).Str("apiKey")
	if me(key) != 401 || me(rotated) != 200 {
		t.Error("the old key lives, or the new one does not")
	}
	body := obj{"accountId": id, "recoveryKey": recovery}
	got := w.Do(Recover, optest.Req{Body: body}).Want(200)
	if me(rotated) != 401 || me(got.Str("apiKey")) != 200 || got.Str("account.handle") != "ann-1" {
		t.Errorf("%s", got.Body)
	}
	w.Do(Recover, optest.Req{Body: body}).Refused(401, "recovery_failed")
	w.Do(Recover, optest.Req{Body: obj{"accountId": id, "recoveryKey": got.Str("recoveryKey")}}).Want(200)
}

func TestHandlesAreTakenForEver(t *testing.T) {
	w := newWorld(t)
	try := func(handle string) optest.Res {
		w.n++
		return w.Do(Register, optest.Req{Body: obj{"handle": handle}, Address: strings.Repeat("x", w.n)})
	}
	try("abc").Want(201)
	if res := try("abc").Refused(409, "handle_taken"); res.Str("field") != "handle" {
		t.Errorf("%s", res.Body)
	}
	try(" abc ").Refused(409, "handle_taken")
	try(strings.Repeat("a", 40)).Want(201)
	for handle, code := range map[string]string{"ab": "field_length", strings.Repeat("a", 41): "field_length", "Abc": "field_value",
		"a_b": "field_value", "a b": "field_value", "äbc": "field_value", "a.c": "field_value"} {
		try(handle).Refused(422, code)
	}
	got := atOnce(6, func(i int) int {
		return w.Do(Register, optest.Req{Body: obj{"handle": "wanted"}, Address: string(rune('a' + i))}).Status
	})
	if got[201] != 1 || got[409] != 5 {
		t.Errorf("%v", got)
	}
}

func TestFiveGuessesAnHourAtARecoveryKey(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.join("ann"), w.join("bob")
	try := func(address, id, key string) optest.Res {
		return w.Do(Recover, optest.Req{Address: address, Body: obj{"accountId": id, "recoveryKey": key}})
	}
	for _, wrong := range []string{"x", ann.Recovery + "x", ann.Key, bob.Recovery, strings.Replace(ann.Recovery, "recovery", "help", 1)} {
		try("a", ann.ID, wrong).Refused(401, "recovery_failed")
	}
	res := try("a", ann.ID, ann.Recovery).Refused(429, "rate_limited")
	if res.Header["Retry-After"] != "3600" {
		t.Errorf("%v", res.Header)
	}
	try("a", bob.ID, "x").Refused(401, "recovery_failed")
	try("a", "x", "y").Refused(401, "recovery_failed")
	try("a", "00000000-0000-4000-8000-000000000000", "y").Refused(401, "recovery_failed")
	try("b", ann.ID, ann.Recovery).Want(200) // from elsewhere nobody guessed
	w.Advance(time.Hour)
	try("a", bob.ID, bob.Recovery).Want(200)
}

func TestKeysOfOtherSystemsOpenNothing(t *testing.T) {
	w := newWorld(t)
	_, person := w.Person("pat@example.com")
	for _, token := range []string{"", "gh_help_x", person, w.steward} {
		for _, o := range Operations {
			if o.Context() != "help" || o.Auth != op.Account {
				continue
			}
			w.n++
			res := w.Do(o, optest.Req{Token: token, Address: string(rune(w.n)), Path: map[string]string{"requestId": "x", "offerId": "x", "submissionId": "x", "knowledgeId": "x"}})
			res.Refused(401, "unauthorized")
		}
	}
	if n := len(w.stored().requests); n != 0 {
		t.Errorf("%d requests were stored", n)
	}
}

func TestEveryReadNeedsNoKey(t *testing.T) {
	w := newWorld(t)
	d := w.completed()
	path := map[string]string{"requestId": d.request, "offerId": d.offer, "submissionId": d.submission, "knowledgeId": d.knowledge}
	reads := 0
	for _, o := range Operations {
		if !o.Reads() || o == Me || o.Auth == op.Steward {
			continue
		}
		reads++
		before := w.Store.Stats()
		w.Do(o, optest.Req{Path: path}).Want(200)
		w.Do(o, optest.Req{Path: path, Token: d.eve.Key}).Want(200)
		if w.Store.Stats().Since(before).Commits != 0 {
			t.Errorf("%s writes", o.ID)
		}
	}
	if reads != 8 {
		t.Errorf("%d reads", reads)
	}
}

func TestARestrictedAccountReadsReportsAndNothingElse(t *testing.T) {
	w := newWorld(t)
	d := w.inReview()
	if res := w.moderate(Restrict, "account", d.ann.ID).Want(200); res.At("restricted") != true || res.Str("handle") != d.ann.Handle {
		t.Errorf("%s", res.Body)
	}
	w.moderate(Restrict, "account", d.ann.ID).Want(200)
	d.ann.do(CreateRequest, nil, requestBody()).Refused(403, "account_restricted")
	d.ann.do(ReviewSubmission, submission(d.submission), reviewBody(Accept, Pass)).Refused(403, "account_restricted")
	d.ann.do(RotateKey, nil, nil).Refused(403, "account_restricted")
	d.ann.do(ReportAbuse, nil, obj{"entityType": "request", "entityId": d.request, "reason": "r"}).Want(201)
	d.ann.do(Me, nil, nil).Want(200)
	d.ann.do(ReadRequest, request(d.request), nil).Want(200)
	got := w.Do(Recover, optest.Req{Body: obj{"accountId": d.ann.ID, "recoveryKey": d.ann.Recovery}}).Want(200)
	d.ann.Key = got.Str("apiKey")
	d.ann.do(CreateRequest, nil, requestBody()).Refused(403, "account_restricted")
	w.moderate(Lift, "account", d.ann.ID).Want(200)
	d.ann.do(ReviewSubmission, submission(d.submission), reviewBody(Accept, Pass)).Want(201)
	w.moderate(Lift, "account", "00000000-0000-4000-8000-000000000000").Refused(404, "not found")
	w.moderate(Lift, "account", "x").Refused(404, "not found")
}
