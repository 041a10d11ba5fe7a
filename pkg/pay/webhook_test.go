package pay

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

const secret = "whsec_test_secret"

var now = time.Date(2026, 3, 8, 10, 59, 0, 0, time.UTC)

func TestASignedCallHoldsOnlyAsItWasSigned(t *testing.T) {
	body := []byte(`{"id":"evt_1","type":"ping"}`)
	good := SignWebhook(secret, body, now)
	tag := strings.TrimPrefix(good[strings.Index(good, ","):], ",v1=")
	stamp := good[:strings.Index(good, ",")]
	cases := []struct {
		name    string
		secrets []string
		header  string
		body    string
		now     time.Time
		ok      bool
	}{
		{"as signed", []string{secret}, good, string(body), now, true},
		{"under the second secret", []string{"another secret", secret}, good, string(body), now, true},
		{"with blanks after commas", []string{secret}, strings.ReplaceAll(good, ",", ", "), string(body), now, true},
		{"with another scheme beside it", []string{secret}, good + ",v0=" + strings.Repeat("0", 64), string(body), now, true},
		{"with an old tag before it", []string{secret}, stamp + ",v1=" + strings.Repeat("0", 64) + ",v1=" + tag, string(body), now, true},
		{"at the end of the tolerance", []string{secret}, good, string(body), now.Add(WebhookTolerance), true},
		{"after the tolerance", []string{secret}, good, string(body), now.Add(WebhookTolerance + time.Second), false},
		{"from the future", []string{secret}, good, string(body), now.Add(-WebhookTolerance - time.Second), false},
		{"under another secret", []string{"another secret"}, good, string(body), now, false},
		{"under no secret", nil, good, string(body), now, false},
		{"with another body", []string{secret}, good, string(body) + " ", now, false},
		{"with another time", []string{secret}, SignWebhook(secret, nil, now.Add(time.Second))[:len(stamp)] + ",v1=" + tag, string(body), now, false},
		{"with two times", []string{secret}, good + ",t=" + stamp[2:], string(body), now, false},
		{"only with another scheme", []string{secret}, stamp + ",v0=" + tag, string(body), now, false},
		{"without a time", []string{secret}, "v1=" + tag, string(body), now, false},
		{"with a tag that is no hex", []string{secret}, stamp + ",v1=zz", string(body), now, false},
		{"with too many tags", []string{secret}, good + strings.Repeat(",v1=00", maxSignatures), string(body), now, false},
		{"empty", []string{secret}, "", string(body), now, false},
		{"too long", []string{secret}, good + strings.Repeat(",v0=0", maxSignatureBytes), string(body), now, false},
	}
	for _, c := range cases {
		err := VerifyWebhook(c.secrets, c.header, []byte(c.body), c.now)
		if c.ok != (err == nil) || (err != nil && !errors.Is(err, ErrSignature)) {
			t.Errorf("%s: %v, want ok %v", c.name, err, c.ok)
		}
	}
	for _, short := range []string{"", "1234567"} {
		if VerifyWebhook([]string{short}, SignWebhook(short, body, now), body, now) == nil {
			t.Errorf("the secret %q was accepted", short)
		}
	}
}

func someEvents() []Event {
	at := now.Truncate(time.Second)
	checkout := func(s CheckoutStatus, payment string) *Checkout {
		return &Checkout{ID: "cs_1", URL: "https://pay.example.com/1", Status: s, PaymentID: payment, AmountCents: 12000,
			Refs: Refs{WantID: "w", ProposalID: "p", TipID: "t"}, ExpiresAt: at.Add(CheckoutLife)}
	}
	return []Event{
		{ID: "evt_1", Type: AccountUpdated, CreatedAt: at, Account: &Account{ID: "acct_1", MakerID: "m", PayoutsEnabled: true, TransfersActive: true}},
		{ID: "evt_2", Type: AccountUpdated, CreatedAt: at, Account: &Account{ID: "acct_1", Due: []string{"external_account"}}},
		{ID: "evt_3", Type: CheckoutCompleted, CreatedAt: at, Checkout: checkout(Paid, "pi_1")},
		{ID: "evt_4", Type: CheckoutCompleted, CreatedAt: at, Checkout: checkout(Processing, "pi_1")},
		{ID: "evt_5", Type: CheckoutSucceeded, CreatedAt: at, Checkout: checkout(Paid, "pi_1")},
		{ID: "evt_6", Type: CheckoutFailed, CreatedAt: at, Checkout: checkout(Failed, "pi_1")},
		{ID: "evt_7", Type: CheckoutExpired, CreatedAt: at, Checkout: checkout(Expired, "")},
		{ID: "evt_8", Type: DisputeCreated, CreatedAt: at, Dispute: &Dispute{ID: "dp_1", PaymentID: "pi_1", AmountCents: 500, Reason: "fraudulent"}},
		{ID: "evt_9", Type: TransferCreated, CreatedAt: at, Transfer: &Transfer{ID: "tr_1", Key: "k", AccountID: "acct_1", AmountCents: 7, DealID: "d"}},
		{ID: "evt_10", Type: TransferReversed, CreatedAt: at, Transfer: &Transfer{ID: "tr_1", Key: "k", AccountID: "acct_1", AmountCents: 7, DealID: "d", Reversed: true}},
	}
}

func TestEveryEventComesBackAsItWasEncoded(t *testing.T) {
	for _, e := range someEvents() {
		body, err := EncodeEvent(e)
		if err != nil {
			t.Fatalf("%s: %v", e.ID, err)
		}
		got, err := ReceiveWebhook([]string{secret}, SignWebhook(secret, body, now), body, now)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s: %+v, %v\nwant %+v", e.ID, got, err, e)
		}
	}
	if _, err := EncodeEvent(Event{ID: "e", Type: "ping"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an event that tells of nothing: %v, want ErrInvalid", err)
	}
}

// realAccount is cut down from the shape of the processor's documentation.
const realAccount = `{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event","api_version":"2019-02-19","created":1686089970,
"data":{"object":{"id":"acct_1","object":"account","capabilities":{"card_payments":"active","transfers":"active"},
"charges_enabled":true,"payouts_enabled":true,"requirements":{"currently_due":[],"past_due":[],"disabled_reason":null},
"metadata":{"maker_id":"m1"},"type":"express"},"previous_attributes":{"payouts_enabled":false}},
"livemode":false,"pending_webhooks":0,"request":{"id":null,"idempotency_key":null},"type":"account.updated"}`

func TestARealBodyIsRead(t *testing.T) {
	e, err := ParseEvent([]byte(realAccount))
	if err != nil || e.Account == nil || !e.Account.Ready() || e.Account.MakerID != "m1" {
		t.Fatalf("ParseEvent: %+v, %v", e, err)
	}
	for _, missing := range []string{`"payouts_enabled":true`, `"transfers":"active"`} {
		e, err := ParseEvent([]byte(strings.Replace(realAccount, missing, `"x":1`, 1)))
		if err != nil || e.Account.Ready() {
			t.Errorf("without %s: %+v, %v; want an account that is not ready", missing, e.Account, err)
		}
	}
	e, err = ParseEvent([]byte(strings.Replace(realAccount, `"currently_due":[]`, `"currently_due":["individual.dob"]`, 1)))
	if err != nil || e.Account.Ready() {
		t.Errorf("with something due: %+v, %v; want an account that is not ready", e.Account, err)
	}
}

func TestAnEventOfNoInterestIsReceivedAndABrokenOneRefused(t *testing.T) {
	e, err := ParseEvent([]byte(`{"id":"evt_1","type":"payout.paid","created":1,"data":{"object":{"id":7}}}`))
	if err != nil || e.Type != "payout.paid" || e.Account != nil {
		t.Errorf("payout.paid: %+v, %v", e, err)
	}
	for _, bad := range []string{
		``, `[]`, `{}`, `{"id":"evt_1"}`, `{"type":"ping"}`, `{"id":"evt_1","type":"account.updated"}`,
		`{"id":"evt_1","type":"account.updated","data":{"object":{}}}`,
		`{"id":"evt_1","type":"account.updated","data":{"object":[]}}`,
		`{"id":"evt_1","type":"checkout.session.completed","data":{"object":{"id":"cs_1","payment_status":"paid"}}}`,
		`{"id":"evt_1","type":"checkout.session.completed","data":{"object":{"id":"cs_1","amount_total":-1}}}`,
		`{"id":"evt_1","type":"checkout.session.completed","data":{"object":{"id":"cs_1","amount_total":1.5}}}`,
		`{"id":"evt_1","type":"transfer.created","data":{"object":{"amount":1}}}`,
		`{"id":"` + strings.Repeat("e", MaxTextBytes+1) + `","type":"ping"}`,
		`{"id":"evt_1","type":"ping","x":"` + strings.Repeat("x", MaxWebhookBytes) + `"}`,
	} {
		if _, err := ParseEvent([]byte(bad)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.90s: %v, want ErrInvalid", bad, err)
		}
	}
}

func TestAnAttemptMarksTheKeyWithoutClashing(t *testing.T) {
	if AttemptKey("k", 0) != "k" || AttemptKey("k", 1) == AttemptKey("k", 2) {
		t.Error("attempts share a key")
	}
	if err := (TransferRequest{Key: "k~1", AccountID: "a", DealID: "d", AmountCents: 1}).Valid(); !errors.Is(err, ErrInvalid) {
		t.Errorf("a key that looks like an attempt: %v, want ErrInvalid", err)
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add([]byte(realAccount))
	for _, e := range someEvents() {
		body, err := EncodeEvent(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := ParseEvent(body)
		if err != nil {
			return
		}
		if e.ID == "" || e.Type == "" {
			t.Fatalf("an event without id or type: %+v", e)
		}
		if c := e.Checkout; c != nil && (c.ID == "" || c.AmountCents < 0 || (c.Status == Paid && c.PaymentID == "")) {
			t.Fatalf("a checkout nobody can act on: %+v", c)
		}
	})
}

func FuzzVerifyWebhook(f *testing.F) {
	body := []byte("{}")
	good := SignWebhook(secret, body, now)
	f.Add(good)
	f.Add("t=,v1=")
	f.Fuzz(func(t *testing.T, header string) {
		if VerifyWebhook([]string{secret}, header, body, now) != nil {
			return
		}
		stamp, tags := parseSignature(header)
		want, own := parseSignature(good)
		if stamp != want || len(tags) == 0 || len(own) != 1 {
			t.Fatalf("a header we did not sign was accepted: %q", header)
		}
	})
}
