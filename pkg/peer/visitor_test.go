package peer

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// first publishes with a proof.
func (w *world) first(proof, key, address string) optest.Res {
	w.T.Helper()
	return w.Do(Publish, optest.Req{Address: address, Header: map[string]string{ProofHeader: proof}, Body: ask(object{"idempotency_key": key})})
}

func (w *world) issue(proof, key string) optest.Res {
	w.T.Helper()
	return w.Do(Issue, optest.Req{Key: key, Header: map[string]string{ProofHeader: proof, "Idempotency-Key": key}})
}

func TestAProofBecomesACredentialOnce(t *testing.T) {
	w := newWorld(t)
	proof, key := proofOf(1), w.key()
	w.issue(proof, key).Refused(401, "unauthorized")
	if res := w.first(proof, key, "a").Want(201); res.Str("credential") != "pending" || res.At("token") != nil {
		t.Errorf("%s", res.Body)
	}
	w.issue(proof, w.key()).Refused(401, "unauthorized")
	w.issue(proofOf(2), key).Refused(401, "unauthorized")
	w.issue("pbs1.short", key).Refused(401, "unauthorized")
	one := w.issue(proof, key).Want(201)
	w.pass(ProofLife - time.Second)
	two := w.issue(proof, key).Want(201)
	if one.Str("client_id") != two.Str("client_id") || one.Str("token") == two.Str("token") {
		t.Errorf("%s\n%s", one.Body, two.Body)
	}
	v := visitor{w, one.Str("client_id"), one.Str("token")}
	v.get(Me, nil, "").Refused(401, "unauthorized") // killed by the repeat
	v.Token = two.Str("token")
	if me := v.get(Me, nil, "").Want(200); me.Str("client_id") != v.ID || me.Str("expires_at") != two.Str("expires_at") {
		t.Errorf("%s", me.Body)
	}
	w.issue(proof, key).Refused(401, "bootstrap_used") // the token was used
}

func TestAnUnclaimedPublicationStaysWithoutAnAuthor(t *testing.T) {
	w := newWorld(t)
	proof, key := proofOf(1), w.key()
	id := w.first(proof, key, "a").Want(201).Str("topic_id")
	w.pass(ProofLife)
	w.issue(proof, key).Refused(401, "bootstrap_used")
	w.first(proof, key, "a").Want(201) // the key is exactly 24 hours old: still its receipt
	w.pass(time.Second)
	w.first(proof, key, "a").Refused(410, "key_expired")
	w.first(proof, w.key(), "a").Refused(401, "bootstrap_used")
	w.anyone().get(Read, topicOf(id), "").Want(200)
}

func TestAProofOpensNothingElse(t *testing.T) {
	w := newWorld(t)
	proof := proofOf(1)
	h := map[string]string{ProofHeader: proof}
	w.Do(Publish, optest.Req{Header: h, Body: ask()}).Refused(422, "field_required")
	w.Do(Publish, optest.Req{Header: h, Body: object{"kind": "ask", "idempotency_key": w.key()}}).Refused(422, "field_required")
	id := w.first(proof, w.key(), "a").Want(201).Str("topic_id") // a refused attempt spent nothing
	w.Do(ReplyTo, optest.Req{Header: h, Path: topicOf(id), Body: object{"text": "t"}}).Refused(401, "unauthorized")
	w.Do(Follow, optest.Req{Header: h, Path: topicOf(id)}).Refused(401, "unauthorized")
	w.Do(Publish, optest.Req{Header: map[string]string{ProofHeader: "pbs1.x"}, Body: ask()}).Refused(401, "unauthorized")
	w.Do(ReadReceipt, optest.Req{Path: map[string]string{"key": w.key()}, Header: h}).Refused(404, "receipt_not_found")
}

func TestThreeFirstPublicationsAnHourFromOneAddress(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.first(proofOf(i), w.key(), "a").Want(201)
	}
	res := w.first(proofOf(3), w.key(), "a").Refused(429, "rate_limited")
	if res.Header["Retry-After"] != "3600" || res.Num("detail.retry_after_seconds") != 3600 {
		t.Errorf("%v %s", res.Header, res.Body)
	}
	w.first(proofOf(3), w.key(), "b").Want(201)
	w.pass(time.Hour)
	w.first(proofOf(4), w.key(), "a").Want(201)
}

func TestPublicationsAreLimitedByTheHourAndTheDay(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	for hour := range 4 {
		n := min(6, 20-6*hour)
		for range n {
			v.publish(ask())
		}
		v.do(Publish, nil, ask()).Refused(429, "rate_limited")
		w.pass(time.Hour)
	}
	v.do(Publish, nil, ask()).Refused(429, "rate_limited")
	w.pass(21 * time.Hour)
	v.publish(ask())
}

func TestTokensRotateRenewAndEnd(t *testing.T) {
	w := newWorld(t)
	v := w.visitor()
	ends := v.get(Me, nil, "").Want(200).Str("expires_at")
	res := v.do(Rotate, nil, nil).Want(200)
	if res.Str("expires_at") != ends {
		t.Errorf("%s, want the same end %s", res.Body, ends)
	}
	v.get(Me, nil, "").Refused(401, "unauthorized")
	v.Token = res.Str("token")
	w.pass(CredentialLife - RenewWindow - time.Millisecond)
	v.do(Renew, nil, nil).Refused(409, "renew_too_early")
	w.pass(time.Millisecond)
	res = v.do(Renew, nil, nil).Want(200)
	if res.Str("expires_at") != w.at(CredentialLife) {
		t.Errorf("%s", res.Body)
	}
	v.get(Me, nil, "").Refused(401, "unauthorized")
	v.Token = res.Str("token")
	w.pass(CredentialLife - time.Millisecond)
	v.get(Me, nil, "").Want(200)
	w.pass(time.Millisecond)
	for _, r := range []optest.Res{v.get(Me, nil, ""), v.do(Publish, nil, ask()), v.get(ReadInbox, nil, ""), v.get(ReadUpdates, nil, "own=true")} {
		r.Refused(401, "unauthorized")
	}
	v.get(Search, nil, "").Want(200) // reading needs none
}

// claimed makes a visitor with a recovery key.
func (w *world) claimed(n int) (v visitor, recovery string) {
	w.T.Helper()
	key := w.key()
	w.first(proofOf(n), key, fmt.Sprint("address ", n)).Want(201)
	res := w.issue(proofOf(n), key).Want(201)
	return visitor{w, res.Str("client_id"), res.Str("token")}, res.Str("recovery_key")
}

func (w *world) recover(v visitor, key, address string) optest.Res {
	w.T.Helper()
	return w.Do(Recover, optest.Req{Address: address, Body: object{"client_id": v.ID, "recovery_key": key}})
}

func TestARecoveryKeyGivesANewToken(t *testing.T) {
	w := newWorld(t)
	v, key := w.claimed(1)
	other, foreign := w.claimed(2)
	ends := v.get(Me, nil, "").Want(200).Str("expires_at")
	res := w.recover(v, key, "a").Want(200)
	if res.Str("expires_at") != ends {
		t.Errorf("%s", res.Body)
	}
	v.get(Me, nil, "").Refused(401, "unauthorized")
	w.recover(v, key, "a").Refused(401, "recovery_failed") // each key once
	w.recover(v, foreign, "a").Refused(401, "recovery_failed")
	w.recover(other, "nonsense", "a").Refused(401, "recovery_failed")
	w.recover(visitor{ID: "nobody"}, key, "a").Refused(401, "recovery_failed")
	v.Token, key = res.Str("token"), res.Str("recovery_key")
	v.get(Me, nil, "").Want(200)
	w.pass(CredentialLife)
	v.get(Me, nil, "").Refused(401, "unauthorized")
	res = w.recover(v, key, "a").Want(200)
	if res.Str("expires_at") != w.at(CredentialLife) {
		t.Errorf("a credential that time ended begins anew: %s", res.Body)
	}
}

func TestFiveTriesOfARecoveryAnHour(t *testing.T) {
	w := newWorld(t)
	v, key := w.claimed(1)
	for range 5 {
		w.recover(v, "wrong", "a").Refused(401, "recovery_failed")
	}
	w.recover(v, key, "a").Refused(429, "rate_limited")
	w.pass(time.Hour)
	w.recover(v, key, "a").Want(200)
}

func TestARevokedCredentialIsToldSo(t *testing.T) {
	w := newWorld(t)
	v, key := w.claimed(1)
	id := v.publish(ask())
	steward := w.steward()
	w.moderate(Restrict, steward, object{"account_id": v.ID, "reason": "Spam."}).Want(200)
	for _, r := range []optest.Res{v.get(Me, nil, ""), v.do(Publish, nil, ask()), v.get(ReadUpdates, nil, "own=true"), v.get(ListFollows, nil, ""), v.do(Rotate, nil, nil)} {
		r.Refused(401, "credential_revoked")
	}
	w.recover(v, key, "a").Refused(401, "recovery_failed")
	visitor{w, v.ID, v.Token[:len(v.Token)-4] + "AAAA"}.get(Me, nil, "").Refused(401, "unauthorized") // a guess learns nothing
	w.anyone().get(Read, topicOf(id), "").Want(200)
	w.moderate(Restrict, steward, object{"account_id": "nobody", "reason": "r"}).Refused(404, "not found")
	w.moderate(Lift, steward, object{"account_id": v.ID, "reason": "A mistake."}).Want(200)
	v.get(Me, nil, "").Want(200)
}

func TestAProvisionalVisitorCanBeRestricted(t *testing.T) {
	w := newWorld(t)
	key := w.key()
	id := w.first(proofOf(1), key, "a").Want(201).Str("topic_id")
	client := w.anyone().get(Read, topicOf(id), "").Str("topic.client_id")
	w.moderate(Restrict, w.steward(), object{"account_id": client, "reason": "Spam."}).Want(200)
	w.issue(proofOf(1), key).Refused(401, "credential_revoked")
}

func TestTheSetupTextNamesTheExchange(t *testing.T) {
	w := newWorld(t)
	res := w.anyone().get(AuthText, nil, "").Want(200)
	if res.Raw == nil || res.Raw.ContentType != "text/markdown; charset=utf-8" {
		t.Errorf("%+v", res.Raw)
	}
}

// A token of another context is no credential here.
func TestTokensOfOtherContextsCountForNothing(t *testing.T) {
	w := newWorld(t)
	var v visitor
	w.Run("bench", func(c *op.Call) (err error) {
		v = visitor{w: w, ID: c.NewID()}
		if err := c.Fetch(account.AgentToken.Row(v.ID, "")); err != nil {
			return err
		}
		v.Token, err = account.AgentToken.Issue(c, v.ID, nil, time.Time{})
		return err
	})
	v.do(Publish, nil, ask()).Refused(401, "unauthorized")
	v.get(ReadUpdates, nil, "own=true").Refused(401, "unauthorized")
	v.get(ReadReceipt, map[string]string{"key": w.key()}, "").Refused(401, "unauthorized")
	for i := range 4 {
		res := w.Do(Publish, optest.Req{Token: v.Token, Header: map[string]string{ProofHeader: proofOf(i)}, Body: ask(object{"idempotency_key": w.key()})})
		if want := []int{201, 201, 201, 429}[i]; res.Status != want || want == 201 && res.Str("credential") != "pending" {
			t.Errorf("%d: %s", i, res.Body)
		}
	}
}

// Two connections with one proof make one publication.
func TestTwinsOfOneProof(t *testing.T) {
	for i := range size(20, 500) {
		w := newWorld(t)
		key, other := w.key(), w.key()
		var wg sync.WaitGroup
		var got [4]optest.Res
		for n := range got {
			k := []string{key, key, key, other}[n]
			wg.Go(func() { got[n] = w.first(proofOf(i), k, "a") })
		}
		wg.Wait()
		ids := map[string]bool{}
		for _, res := range got {
			if res.Status == 201 {
				ids[res.Str("topic_id")] = true
			} else {
				res.Refused(401, "bootstrap_used")
			}
		}
		if len(ids) != 1 {
			t.Fatalf("%d topics", len(ids))
		}
	}
}
