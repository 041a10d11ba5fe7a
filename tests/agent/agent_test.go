package agent

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"guildhall/pkg/catalog"
	"guildhall/pkg/config"
	"guildhall/pkg/wire"
)

// maxCalls is how many calls a deal may take an agent that knows nothing.
const maxCalls = 60

// person is whoever the agent works for; the test plays it.
type person struct {
	t     *testing.T
	base  string
	token string
	keys  int
}

func (p *person) call(status int, method, path, body string) object {
	p.t.Helper()
	p.keys++
	r, err := http.NewRequest(method, p.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.token)
	r.Header.Set("Idempotency-Key", fmt.Sprint("person-", p.keys))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	var out object
	_ = json.NewDecoder(res.Body).Decode(&out)
	if res.StatusCode != status {
		p.t.Fatalf("%s %s: %d %v", method, path, res.StatusCode, out)
	}
	return out
}

// exchange starts an exchange with local controls.
func exchange(t *testing.T) (*wire.Exchange, string) {
	t.Helper()
	keys, err := config.NewKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	base := "http://" + s.Listener.Addr().String()
	x, err := wire.Open(context.Background(), wire.Options{BaseURL: base, Dev: true, Keys: wire.KeysOf(keys)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { x.Runner.Run(ctx); close(done) }()
	s.Config.Handler = x.Handler()
	s.Start()
	t.Cleanup(func() { x.Stop(); s.Close(); stop(); <-done; x.Close() })
	return x, base
}

func TestAnAgentThatKnowsOnlyTheAddressFinishesADeal(t *testing.T) {
	for _, c := range []struct {
		name, want string
		odds       float64
		steps      int
		rather     string
	}{
		{"paid, two steps", `{"want":"A dinner table for nine people on Friday evening.","finish_line":{"tile":"booking_on_calendar","sentence":"A table for nine on Friday."},
			"lane":{"kind":"paid","ceiling_cents":20000}}`, 0.55, 2, ""},
		{"free, three steps", `{"want":"Somebody who repairs an old radio.","finish_line":{"tile":"object_at_door","sentence":"The radio at my door, playing."},
			"lane":{"kind":"free","ceiling_cents":null},"timeline_days":21}`, 0, 3, ""},
		{"paid, a week of mornings", `{"want":"Walk again after my operation, a little more each day.","finish_line":{"tile":"booking_on_calendar","sentence":"A week of walks."},
			"lane":{"kind":"paid","ceiling_cents":20000}}`, 0.55, 2, "File a timed delivery"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, base := exchange(t)
			b, err := os.ReadFile("values.json")
			if err != nil {
				t.Fatal(err)
			}
			var table map[string]any
			if err := json.Unmarshal(b, &table); err != nil {
				t.Fatal(err)
			}
			a, err := New(base, table, x.Clock.Now)
			if err != nil {
				t.Fatal(err)
			}
			a.Rather = c.rather
			alice := &person{t: t, base: base}
			alice.token = alice.call(200, "POST", "/_dev/persons", `{"email":"alice@example.com"}`)["token"].(string)
			target := alice.call(201, "POST", "/api/person/wants", c.want)["target_id"].(string)
			if c.odds > 0 {
				alice.call(200, "POST", "/_dev/targets/"+target+"/odds", fmt.Sprintf(`{"frozen_probability":%v}`, c.odds))
			}
			defer func() {
				if t.Failed() {
					t.Logf("%d calls: %s", a.Calls, strings.Join(a.Answers, ", "))
				}
			}()
			play(t, a, alice, target, c.steps, c.odds > 0)
			t.Logf("%d calls", a.Calls)
			if a.Calls > maxCalls {
				t.Errorf("%d calls, at most %d", a.Calls, maxCalls)
			}
		})
	}
}

// play lets the agent work and the person answer by turns until the deal is over.
func play(t *testing.T, a *Agent, alice *person, target string, steps int, paid bool) {
	t.Helper()
	work := func() {
		t.Helper()
		if err := a.Work(); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []func() error{a.Discover, a.Register, a.Connect} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	work() // acks its pings, reads what is on offer, bids
	about := "/api/person/wants/" + target
	list := alice.call(200, "GET", about+"/bids", "")["bids"].([]any)
	if len(list) != 1 {
		t.Fatalf("%d bids", len(list))
	}
	bid := list[0].(object)["proposal_id"].(string)
	alice.call(201, "POST", about+"/finalists", `{"proposal_id":"`+bid+`"}`)
	alice.call(200, "PUT", about+"/finalists/"+bid+"/answers", `{"answers":[],"send":true}`)
	work() // files its plan, or asks for the payout account that a paid one needs
	if paid {
		alice.call(200, "POST", "/_dev/payments/payout-ready", `{"maker_id":"`+a.seen["maker_id"].(string)+`","ready":true}`)
		work()
	}
	plan := alice.call(200, "GET", about+"/bids", "")["bids"].([]any)[0].(object)["plan_revised_at"]
	accepted := alice.call(201, "POST", about+"/finalists/"+bid+"/accept", fmt.Sprintf(`{"accept_rules":true,"plan_revised_at":%q}`, plan))
	if paid {
		alice.call(200, "POST", "/_dev/payments/checkout", fmt.Sprintf(`{"checkout_id":%q,"result":"paid"}`, accepted["checkout_id"]))
	}
	work() // countersigns, works and delivers the first step
	deal := alice.call(200, "GET", "/api/person/deals", "")["deals"].([]any)[0].(object)["deal_id"].(string)
	for i := range steps {
		at := fmt.Sprintf("/api/person/deals/%s/steps/%d", deal, i+2)
		alice.call(200, "POST", at+"/answer", `{"verdict":"approve","score":9,"responses":[{"block_number":1,"value":{"confirmed":true}}]}`)
		work()
	}
	if a.Rather != "" { // the approval of the list was the last
		s := alice.call(200, "GET", "/api/person/deals/"+deal+"/schedule", "")
		if s["deal_status"] = alice.call(200, "GET", "/api/person/deals/"+deal, "")["status"]; s["status"] != "delivering" || s["deal_status"] != "ended" {
			t.Errorf("what was to land day by day: %v", s)
		}
		return
	}
	end := alice.call(200, "POST", fmt.Sprintf("/api/person/deals/%s/steps/%d/answer", deal, steps+2), `{"verdict":"approve","score":9}`)
	if end["end_cause"] != "resolved" {
		t.Errorf("the deal ended: %v", end)
	}
}

// TestTheAgentKnowsNothingBeforehand greps its source and its table.
func TestTheAgentKnowsNothingBeforehand(t *testing.T) {
	words := map[string]bool{}
	for _, d := range catalog.Doors() {
		for _, o := range catalog.Behind(d) {
			words[o.Tool] = true
			for _, p := range o.Params() {
				words[p.Name] = true
			}
			if b := o.Body(); b != nil {
				for _, p := range b.Properties {
					words[p.Name] = true
				}
			}
		}
	}
	for _, file := range []string{"agent.go", "work.go", "generate.go", "values.json"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(b), wellKnown, "")
		for _, m := range regexp.MustCompile(`"(/[a-z][^"]*)"`).FindAllStringSubmatch(text, -1) {
			t.Errorf("%s knows the path %s", file, m[1])
		}
		for w := range words {
			// A word of plain English is no knowledge of ours.
			if strings.Contains(w, "_") && regexp.MustCompile(`\b`+regexp.QuoteMeta(w)+`\b`).MatchString(text) {
				t.Errorf("%s knows the name %s", file, w)
			}
		}
	}
	if !slices.Contains([]string{"/.well-known/bookofhouses-agent.json"}, wellKnown) {
		t.Error("the well-known address is another")
	}
}
