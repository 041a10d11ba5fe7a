package peers

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/config"
	"guildhall/pkg/op"
	"guildhall/pkg/wire"
)

// bubble is an exchange inside a synctest bubble: no network, and time that passes when
// everybody waits.
type bubble struct {
	t     *testing.T
	x     *wire.Exchange
	h     http.Handler
	alice string // a person's token
	crow  string // an agent's REST token
	mcp   string // its MCP token
	keys  int
}

func newBubble(t *testing.T) *bubble {
	keys, err := config.NewKeys(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x, err := wire.Open(context.Background(), wire.Options{BaseURL: "http://guildhall.test", Keys: wire.KeysOf(keys)})
	if err != nil {
		t.Fatal(err)
	}
	b := &bubble{t: t, x: x, h: x.Handler()}
	b.issue("person", func(c *op.Call) (err error) {
		p, err := account.EnsurePerson(c, "alice@example.com")
		if err == nil {
			b.alice, err = account.Session.Issue(c, p.ID, nil, c.Now.Add(time.Hour))
		}
		return err
	})
	hash := b.rest("", 200, "GET", "/api/bench/protocol", "")["rules_version_hash"].(string)
	agent := b.rest("", 201, "POST", "/api/bench/agents/register", `{"handle":"crow","skills":"Finds tables.",
		"disclosure":{"is_ai":true,"model":"Example Model 1","operator_label":"Crow Works","operator_type":"person"},
		"system_record":{"autonomy":"fully_autonomous","harness":"none","base_models":[{"provider":"Example","model":"Example Model","version":"1"}]},
		"responsible_party":{"legal_name":"Pat Example","jurisdiction":"US-CA","contact_ref":"pat@agents.example.com"},
		"rules":{"accepted":true,"version_hash":"`+hash+`"}}`)
	b.crow = agent["rest_token"].(string)
	b.issue("bench", func(c *op.Call) (err error) {
		b.mcp, err = account.MCPToken.Issue(c, agent["maker_id"].(string), nil, c.Now.Add(time.Hour))
		return err
	})
	for range 2 {
		b.rest(b.crow, 200, "POST", "/api/bench/me/pings/ack", "")
	}
	return b
}

func (b *bubble) issue(context_ string, fn func(*op.Call) error) {
	b.t.Helper()
	if err := b.x.Engine.Run(context.Background(), b.x.Engine.Now(), context_, fn); err != nil {
		b.t.Fatal(err)
	}
}

// rest makes a REST call and wants this status.
func (b *bubble) rest(token string, status int, method, path, body string) map[string]any {
	b.t.Helper()
	b.keys++
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", fmt.Sprint("key-", b.keys))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	rec := httptest.NewRecorder()
	b.h.ServeHTTP(rec, r)
	if rec.Code != status {
		b.t.Fatalf("%s %s: %d %s", method, path, rec.Code, rec.Body)
	}
	var out map[string]any
	_ = json.Unmarshal(rec.Body.Bytes(), &out)
	return out
}

// heard is the answer to a poll and how long it was held.
type heard struct {
	body map[string]any
	took time.Duration
}

// kinds are those of the worklist.
func (h heard) kinds() (all []string) {
	list, _ := h.body["attention"].([]any)
	for _, i := range list {
		all = append(all, i.(map[string]any)["kind"].(string))
	}
	return all
}

// poll begins a poll over a transport; the answer comes on the channel.
func (b *bubble) poll(transport, path string) <-chan heard {
	out := make(chan heard, 1)
	start := time.Now()
	go func() {
		body := b.ask(transport, path)
		out <- heard{body, time.Since(start)}
	}()
	synctest.Wait()
	return out
}

func (b *bubble) ask(transport, path string) map[string]any {
	if transport == "rest" {
		return b.rest(b.crow, 200, "GET", path+"?wait=20", "")
	}
	tool := map[string]string{"/api/bench/me/attention": "get_attention", "/api/bench/events": "get_events"}[path]
	message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"wait":20}}}`
	r := httptest.NewRequest("POST", "/mcp", bytes.NewReader([]byte(message)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+b.mcp)
	if transport == "sdk" {
		r.Header.Set("Last-Event-Id", "1") // what is not in order takes the SDK's way
	}
	rec := httptest.NewRecorder()
	b.h.ServeHTTP(rec, r)
	var got struct {
		Result struct {
			Body map[string]any `json:"structuredContent"`
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != 200 {
		b.t.Errorf("%s: %d %s", tool, rec.Code, rec.Body)
	}
	return got.Result.Body
}

// post posts a want that costs nothing and returns its id.
func (b *bubble) post() string {
	return b.rest(b.alice, 201, "POST", "/api/person/wants", `{"want":"A dinner table for nine people on Friday evening.",
		"finish_line":{"tile":"booking_on_calendar","sentence":"A table for nine."},"lane":{"kind":"free","ceiling_cents":null}}`)["target_id"].(string)
}

const steps = `[{"title":"Choose the restaurant","ask":"CHOOSE","minor_detail":"Three places, one tap.",
 "outcome_promise":"I will bring three places with a free table for nine.","agent_court_estimate":3,"person_minutes":5,"line_item_amount":0,"declared_odds":0.7,
 "har_blocks":[{"id":"place","title":"Which place?","format":"single_choice","required":true,"config":{"options":[{"id":"a","label":"North Hall"},{"id":"b","label":"River Room"}]}}]},
 {"title":"Approve the table","ask":"APPROVE","outcome_promise":"I will hand you the confirmed hold.","agent_court_estimate":2,"person_minutes":5,"line_item_amount":0,
 "declared_odds":0.8,"har_blocks":[{"id":"ok","title":"Is this it?","format":"review_approve","required":true}]},
 {"title":"Approve the reminder","ask":"APPROVE","outcome_promise":"I will send you a reminder.","agent_court_estimate":2,"person_minutes":5,"line_item_amount":0,
 "declared_odds":0.8,"har_blocks":[{"id":"ok","title":"Is this it?","format":"review_approve","required":true}]}]`

func (b *bubble) bid(target string) string {
	return b.rest(b.crow, 201, "POST", "/api/bench/targets/"+target+"/proposals", `{"model_declared":"Example Model 1","total_ask_cents":0,
		"allocation":{"ad_spend":0,"tools":0,"agent_work":0},"timeline_days":7,"finish_line":"A booking on the calendar","finish_line_cents":0,
		"pitch_title":"A table your family can agree on","pitch_body":"I shortlist three places, you tap one, I hold the table.",
		"smart_goals":["Hold one dinner table for nine people within seven days."],
		"finalist_questions":[["Which meal do people still talk about?","Quiet room or lively room?","Who must have the best seat?","What would spoil the evening?"]],
		"steps":`+steps+`}`)["proposal_id"].(string)
}

// later does something after a while of the bubble's time.
func later(d time.Duration, do func()) {
	go func() {
		time.Sleep(d)
		do()
	}()
}

var transports = []string{"rest", "mcp", "sdk"}

func TestAttentionWakesWithTheObligationAndNamesTheNextCall(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t)
				target := b.post()
				bid := b.bid(target)
				about := "/api/person/wants/" + target
				wake := func(kind, call string, do func()) {
					t.Helper()
					got := b.poll(transport, "/api/bench/me/attention")
					later(7*time.Second, do)
					h := <-got
					synctest.Wait()
					if h.took != 7*time.Second {
						t.Errorf("%s was heard after %v", kind, h.took)
					}
					list, _ := h.body["attention"].([]any)
					if len(list) == 0 {
						t.Fatalf("%s: nothing was heard: %v", kind, h.body)
					}
					first := list[0].(map[string]any)
					if first["kind"] != kind || !strings.HasPrefix(first["call"].(string), call) || h.body["attention_count"] != float64(len(list)) {
						t.Errorf("want %s and %s, heard %v", kind, call, first)
					}
				}
				wake("file_informed_plan", "POST /api/bench/targets/"+target+"/proposals/"+bid+"/plan", func() {
					b.rest(b.alice, 201, "POST", about+"/finalists", `{"proposal_id":"`+bid+`"}`)
				})
				b.rest(b.alice, 200, "PUT", about+"/finalists/"+bid+"/answers", `{"answers":[],"send":true}`)
				plan := b.rest(b.crow, 200, "POST", "/api/bench/targets/"+target+"/proposals/"+bid+"/plan", `{"steps":`+steps+`,"accept_rules":true}`)
				wake("unanswered_message", "POST /api/bench/finalists/"+bid+"/answers", func() {
					b.rest(b.alice, 201, "POST", about+"/bids/"+bid+"/questions", `{"question":"Is there a terrace?"}`)
				})
				b.rest(b.crow, 201, "POST", "/api/bench/finalists/"+bid+"/answers", `{"question_ref":"q1","answer":"Two of them have one."}`)
				deal := ""
				wake("sign_deal", "POST /api/bench/deals/", func() {
					deal = b.rest(b.alice, 201, "POST", about+"/finalists/"+bid+"/accept", `{"accept_rules":true,"plan_revised_at":"`+plan["plan_revised_at"].(string)+`"}`)["deal_id"].(string)
				})
				b.rest(b.crow, 200, "POST", "/api/bench/deals/"+deal+"/sign", `{}`)
				if h := <-b.poll(transport, "/api/bench/me/attention"); h.took != 0 || h.kinds()[0] != "deal_step" {
					t.Errorf("what waits already was answered after %v: %v", h.took, h.kinds())
				}
			})
		})
	}
}

func TestOpenTargetsNeverWakeAttention(t *testing.T) {
	for _, transport := range transports {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t)
			got := b.poll(transport, "/api/bench/me/attention")
			later(3*time.Second, func() { b.post() })
			if h := <-got; h.took != 20*time.Second || len(h.kinds()) != 0 {
				t.Errorf("%s: answered after %v: %v", transport, h.took, h.kinds())
			}
			if h := <-b.poll(transport, "/api/bench/events"); h.took != 0 {
				t.Errorf("%s: events since registration were held back %v", transport, h.took)
			}
		})
	}
}

func TestFourPollsAreHeldForAnAgentOverAllTransports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		var held []<-chan heard
		for _, transport := range []string{"rest", "mcp", "sdk", "mcp"} {
			held = append(held, b.poll(transport, "/api/bench/me/attention"))
		}
		for _, transport := range transports {
			if h := <-b.poll(transport, "/api/bench/me/attention"); h.took != 0 {
				t.Errorf("%s: the fifth was held %v", transport, h.took)
			}
		}
		for _, c := range held {
			if h := <-c; h.took != 20*time.Second {
				t.Errorf("held %v", h.took)
			}
		}
	})
}

func TestAServerThatEndsAnswersEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		var held []<-chan heard
		for _, transport := range transports {
			held = append(held, b.poll(transport, "/api/bench/me/attention"))
		}
		later(5*time.Second, b.x.Stop)
		for _, c := range held {
			if h := <-c; h.took != 5*time.Second || h.body["attention_count"] != 0.0 {
				t.Errorf("after %v: %v", h.took, h.body)
			}
		}
		if h := <-b.poll("mcp", "/api/bench/me/attention"); h.took != 0 {
			t.Errorf("a server that ends held a poll %v", h.took)
		}
	})
}

func TestEventsAreResumedOverEitherTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t)
		first := b.ask("mcp", "/api/bench/events")
		if len(first["events"].([]any)) == 0 || first["has_more"] != false {
			t.Fatalf("%v", first)
		}
		cursor := first["next_cursor"].(string)
		rest := b.rest(b.crow, 200, "GET", "/api/bench/events?after="+cursor, "")
		if len(rest["events"].([]any)) != 0 {
			t.Errorf("a cursor of MCP is another over REST: %v", rest)
		}
	})
}
