package lambdalocal

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"guildhall/pkg/clock"
	"guildhall/pkg/queue/memqueue"
	"guildhall/pkg/table"
)

const (
	sendsAllowed = "sqs:SendMessage"
	readsAllowed = "dynamodb:Query"
	putsAllowed  = "dynamodb:PutItem"
	dropsAllowed = "dynamodb:DeleteItem"
)

func TestARouteLeadsToItsFunctionTheMostExactFirst(t *testing.T) {
	d := deploy(t)
	d.function("echo", nil)
	d.route("echo", "GET /a/{id}", "HEAD /a/{id}", "GET /a/b", "GET /files/{rest+}", "POST /a/{id}", "ANY /any/{id}", "PUT /any/{id}", "$default")
	r := d.run(t)
	for _, c := range []struct{ method, path, key string }{
		{"GET", "/a/b", "GET /a/b"}, {"GET", "/a/c", "GET /a/{id}"}, {"POST", "/a/b", "POST /a/{id}"}, {"GET", "/a/", "$default"},
		{"GET", "/files/x/y.txt", "GET /files/{rest+}"}, {"GET", "/files/", "$default"}, {"DELETE", "/a/b", "$default"}, {"OPTIONS", "/a/b", "$default"},
		{"GET", "/any/1", "ANY /any/{id}"}, {"OPTIONS", "/any/1", "ANY /any/{id}"}, {"PUT", "/any/1", "PUT /any/{id}"},
		{"GET", "/a/b/", "$default"}, {"GET", "//a/b", "$default"}, {"GET", "/", "$default"},
	} {
		status, body, _ := ask(t, r, c.method, c.path, "")
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != 201 || e.RouteKey != c.key {
			t.Errorf("%s %s went to %q, want %q (%d, %v)", c.method, c.path, e.RouteKey, c.key, status, err)
		}
	}
	if status, body, _ := ask(t, r, "HEAD", "/a/x", ""); status != 201 || body != "" {
		t.Errorf("HEAD answered %d %q", status, body)
	}
	if got := r.Invoked(); !slices.Equal(got, []string{"hall-echo"}) {
		t.Errorf("invoked %v", got)
	}
}

func TestAnEventIsWhatAnHTTPAPISends(t *testing.T) {
	d := deploy(t)
	d.function("echo", nil)
	d.function("binary", nil)
	d.route("echo", "POST /a/{id}")
	d.route("binary", "GET /b")
	r := d.run(t)
	_, body, header := ask(t, r, "POST", "/a/x%20y?q=1&q=%2F", `{"k":"v"}`, "Content-Type", "application/json", "X-Many", "1", "X-Many", "2", "Cookie", "s=1; t=2")
	var e events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatal(err)
	}
	if e.Version != "2.0" || e.RawPath != "/a/x y" || e.PathParameters["id"] != "x y" || e.RawQueryString != "q=1&q=%2F" || e.QueryStringParameters["q"] != "1,/" {
		t.Errorf("event %+v", e)
	}
	if e.Body != `{"k":"v"}` || e.IsBase64Encoded || e.Headers["x-many"] != "1,2" || e.Headers["cookie"] != "" || !slices.Equal(e.Cookies, []string{"s=1", "t=2"}) {
		t.Errorf("event %+v", e)
	}
	if e.RequestContext.HTTP.Method != "POST" || e.RequestContext.HTTP.SourceIP != "127.0.0.1" || e.RequestContext.RequestID == "" {
		t.Errorf("context %+v", e.RequestContext)
	}
	if got := header["Set-Cookie"]; !slices.Equal(got, []string{"a=1", "b=2"}) {
		t.Errorf("cookies %v", got)
	}
	for contentType, text := range map[string]bool{"text/plain": true, "application/x-www-form-urlencoded": false, "": false, "multipart/form-data; boundary=x": false} {
		_, body, _ := ask(t, r, "POST", "/a/1", "a=b", "Content-Type", contentType)
		var e events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal([]byte(body), &e); err != nil || e.IsBase64Encoded == text {
			t.Errorf("%s: base64 %v (%v)", contentType, e.IsBase64Encoded, err)
		}
		if b, _ := base64.StdEncoding.DecodeString(e.Body); !text && string(b) != "a=b" {
			t.Errorf("%s: body %q", contentType, e.Body)
		}
	}
	if _, body, _ := ask(t, r, "GET", "/b", ""); body != "\x00\x01\xff" {
		t.Errorf("binary answer %q", body)
	}
}

func TestWhatAnHTTPAPIDoesNotTake(t *testing.T) {
	d := deploy(t)
	d.function("echo", nil)
	d.route("echo", "POST /a")
	r := d.run(t)
	if status, body, _ := ask(t, r, "GET", "/nowhere", ""); status != 404 || !strings.Contains(body, `"Not Found"`) {
		t.Errorf("without a default route: %d %s", status, body)
	}
	if status, _, _ := ask(t, r, "POST", "/a", strings.Repeat("a", maxPayload), "Content-Type", "text/plain"); status != 413 {
		t.Errorf("an event over 6 MB: %d", status)
	}
	if status, _, _ := ask(t, r, "POST", "/a", "", "X-Long", strings.Repeat("a", maxHeaderLine)); status != 431 {
		t.Errorf("headers over 10,240 bytes: %d", status)
	}
}

func TestAFunctionThatFailsAnswers500AndTheNextCallWorks(t *testing.T) {
	d := deploy(t)
	d.function("moody", map[string]any{"Timeout": 1})
	d.route("moody", "GET /m")
	r := d.run(t)
	_, first, _ := ask(t, r, "GET", "/m", "")
	for _, mood := range []string{"fail", "exit", "hang"} {
		if status, body, _ := ask(t, r, "GET", "/m?"+mood, ""); status != 500 || !strings.Contains(body, "Internal Server Error") {
			t.Errorf("%s: %d %s", mood, status, body)
		}
		status, next, _ := ask(t, r, "GET", "/m", "")
		if status != 200 || (next == first) != (mood == "fail") {
			t.Errorf("after %s: %d, process %s, before %s: an error leaves the process, an end does not", mood, status, next, first)
		}
		first = next
	}
}

func TestTwoCallsAtOnceHaveTwoInstances(t *testing.T) {
	d := deploy(t)
	d.function("meet", nil)
	d.route("meet", "GET /m")
	r := d.run(t)
	var both sync.WaitGroup
	both.Add(2)
	place := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { both.Done(); both.Wait() }))
	defer place.Close()
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			if status, body, _ := ask(t, r, "GET", "/m?"+place.URL, ""); status != 200 {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	calls.Wait()
}

func TestAReservationThrottlesWhatIsBeyondIt(t *testing.T) {
	d := deploy(t)
	d.function("meet", map[string]any{"ReservedConcurrentExecutions": 1})
	d.route("meet", "GET /m")
	r := d.run(t)
	arrived, leave := make(chan bool), make(chan bool)
	place := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- true; <-leave }))
	defer place.Close()
	done := make(chan int, 1)
	go func() {
		status, _, _ := ask(t, r, "GET", "/m?"+place.URL, "")
		done <- status
	}()
	select {
	case <-arrived:
	case status := <-done:
		t.Fatalf("the first call came back without meeting anybody: %d", status)
	}
	if status, _, _ := ask(t, r, "GET", "/m?"+place.URL, ""); status != 503 {
		t.Errorf("the second call: %d", status)
	}
	leave <- true
	if status := <-done; status != 200 {
		t.Errorf("the first call: %d", status)
	}
}

// consuming deploys a sender and a consumer of a queue.
func consuming(t *testing.T) *Runner {
	d := deploy(t)
	d.function("send", nil, sendsAllowed)
	d.function("arm", nil, putsAllowed)
	d.function("sweep", nil, readsAllowed, dropsAllowed)
	d.route("send", "POST /send")
	d.route("arm", "POST /arm")
	d.consumer("sweep")
	return d.run(t)
}

func must(t *testing.T, r *Runner, path, body string, want int) string {
	t.Helper()
	status, answer, _ := ask(t, r, "POST", path, body, "Content-Type", "text/plain")
	if status != want {
		t.Fatalf("POST %s %s: %d %s", path, body, status, answer)
	}
	return answer
}

func TestMessagesThatFailComeBackAloneAndThenDie(t *testing.T) {
	r := consuming(t)
	must(t, r, "/send", "good", 204)
	must(t, r, "/send", "bad", 204)
	must(t, r, "/_dev/settle", "", 200)
	const name = "hall-bench-sweep"
	if got := r.queues.Depth(name); got != (memqueue.Depth{Waiting: 1}) {
		t.Fatalf("after the first receive: %+v, want the bad one hidden", got)
	}
	must(t, r, "/_dev/clock", `{"advance":"61s"}`, 200)
	must(t, r, "/_dev/clock", `{"advance":"61s"}`, 200)
	if got := r.queues.Depth(name); got != (memqueue.Depth{Dead: 1}) {
		t.Errorf("after two receives: %+v, want it dead", got)
	}
}

func TestABatchWhoseFunctionEndsComesBackWhole(t *testing.T) {
	r := consuming(t)
	must(t, r, "/send", "panic", 204)
	must(t, r, "/_dev/settle", "", 200)
	if got := r.queues.Depth("hall-bench-sweep"); got != (memqueue.Depth{Waiting: 1}) {
		t.Errorf("%+v", got)
	}
}

func TestADelayedMessageWaitsForTheClock(t *testing.T) {
	r := consuming(t)
	must(t, r, "/_dev/clock", `{"advance":"1s"}`, 200) // time stands still from here
	must(t, r, "/send", "later", 204)
	must(t, r, "/_dev/settle", "", 200)
	if got := r.queues.Depth("hall-bench-sweep"); got != (memqueue.Depth{Waiting: 1}) {
		t.Fatalf("%+v", got)
	}
	must(t, r, "/_dev/clock", `{"advance":"1m"}`, 200)
	if got := r.queues.Depth("hall-bench-sweep"); got != (memqueue.Depth{}) {
		t.Errorf("%+v", got)
	}
}

func TestMovingTheClockHasTheSweepFireInDueOrder(t *testing.T) {
	r := consuming(t)
	begin := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	must(t, r, "/_dev/clock", `{"set":"`+clock.Stamp(begin)+`"}`, 200)
	for _, d := range []time.Duration{time.Hour, 3 * time.Hour, 100 * time.Hour} {
		must(t, r, "/arm", clock.Stamp(begin.Add(d)), 204)
	}
	status, body, _ := ask(t, r, "GET", "/_dev/clock", "")
	if want := clock.Stamp(begin.Add(time.Hour)); status != 200 || !strings.Contains(body, `"next_due":"`+want+`"`) || !strings.Contains(body, `"frozen":true`) {
		t.Errorf("clock %s, want next due %s", body, want)
	}
	if got := must(t, r, "/_dev/clock", `{"advance":"4h"}`, 200); !strings.Contains(got, `"fired":2`) || !strings.Contains(got, clock.Stamp(begin.Add(4*time.Hour))) {
		t.Errorf("advanced: %s, want 2 fired", got)
	}
	for _, wrong := range []string{`{"advance":"-1h"}`, `{"set":"2020-01-01T00:00:00Z"}`, `{}`, `{"advance":"1h","set":"2030-01-01T00:00:00Z"}`, `{"advance":"soon"}`, `{"back":"1h"}`, `[`} {
		if status, body, _ := ask(t, r, "POST", "/_dev/clock", wrong); status != 422 {
			t.Errorf("%s: %d %s", wrong, status, body)
		}
	}
}

// A row that no sweep fires is left alone for longer and longer, so that a month passes.
func TestARowThatStaysDoesNotStopTheClock(t *testing.T) {
	r := consuming(t)
	begin := time.Now().UTC().Add(time.Hour)
	must(t, r, "/_dev/clock", `{"set":"`+clock.Stamp(begin)+`"}`, 200)
	stuck := table.Key{PK: clock.Partition("bench", 3), SK: clock.Stamp(begin.Add(time.Minute)) + "#stuck#1"}
	if err := r.driver.store.Commit(t.Context(), &table.Tx{ID: "stuck", Writes: []table.Write{{Kind: table.Create, Key: stuck, Data: []byte(`{}`)}}}); err != nil {
		t.Fatal(err)
	}
	if got := must(t, r, "/_dev/clock", `{"advance":"720h"}`, 200); !strings.Contains(got, `"fired":0`) {
		t.Errorf("advanced: %s", got)
	}
}

func TestARoleIsEnforced(t *testing.T) {
	d := deploy(t)
	d.function("send", nil)
	d.function("arm", nil, readsAllowed)
	d.route("send", "POST /send")
	d.route("arm", "POST /arm")
	r := d.run(t)
	must(t, r, "/send", "x", 500)
	must(t, r, "/arm", "2030-01-01T00:00:00.000Z", 500)
	want := []string{"hall-send: sqs:SendMessage on arn:aws:sqs:eu-west-1:123456789012:hall-bench-sweep",
		"hall-arm: dynamodb:PutItem on arn:aws:dynamodb:eu-west-1:123456789012:table/hall"}
	if got := r.Denied(); !slices.Equal(got, want) {
		t.Errorf("denied %q", got)
	}
}

// A phone has no ARN: the role of the job that sends texts allows all but topics.
func TestATextNeedsARoleThatAllowsMoreThanTopics(t *testing.T) {
	d := deploy(t)
	d.function("text", nil, readsAllowed)
	d.function("other", nil, readsAllowed)
	allow := map[string]any{"Effect": "Allow", "Action": []any{"sns:Publish"}, "NotResource": map[string]any{"Fn::Sub": "arn:${AWS::Partition}:sns:*:*:*"}}
	d.add("textRole", "AWS::IAM::Role", map[string]any{"Policies": []any{map[string]any{"PolicyDocument": map[string]any{"Statement": []any{allow}}}}})
	d.route("text", "POST /text")
	d.route("other", "POST /other")
	r := d.run(t)
	for call, want := range map[[2]string]bool{{"hall-text", "sns:Publish"}: true, {"hall-text", "ses:SendEmail"}: false, {"hall-other", "sns:Publish"}: false, {"nobody", "sns:Publish"}: false} {
		if err := r.allowPort(call[0], call[1], ""); (err == nil) != want {
			t.Errorf("%v: %v", call, err)
		}
	}
}

func TestATransactionNeedsWhatItsPartsNeed(t *testing.T) {
	body := `{"TransactItems":[{"Put":{}},{"Update":{},"Put":null},{"ConditionCheck":{}},{"Delete":{}}]}`
	want := []string{"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem"}
	if got := actions("TransactWriteItems", []byte(body)); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := actions("Query", nil); !slices.Equal(got, []string{"dynamodb:Query"}) {
		t.Errorf("%v", got)
	}
}

func TestAScheduleRunsAtOnce(t *testing.T) {
	d := deploy(t)
	d.function("tick", nil)
	d.function("echo", nil)
	d.route("echo", "GET /")
	d.add("Rule", "AWS::Events::Rule", map[string]any{"ScheduleExpression": "rate(1 minute)", "Targets": []any{map[string]any{"Arn": map[string]any{"Fn::GetAtt": []any{"tick", "Arn"}}}}})
	r := d.run(t)
	deadline := time.After(10 * time.Second)
	for !slices.Contains(r.Invoked(), "hall-tick") {
		select {
		case <-deadline:
			t.Fatal("the tick did not run")
		default:
		}
		ask(t, r, "GET", "/", "")
	}
	if got := r.Idle(); len(got) != 0 {
		t.Errorf("idle %v", got)
	}
}

func TestCallsGoWrongAsAsked(t *testing.T) {
	r := consuming(t)
	due := func(n int) string { return clock.Stamp(time.Date(2090, 1, n, 0, 0, 0, 0, time.UTC)) }
	stored := func(sk string) bool {
		row, err := r.driver.store.Get(t.Context(), table.Key{PK: clock.Partition("bench", 3), SK: sk + "#test#1"})
		return err == nil && len(row) == 1 && row[0].Found()
	}
	for n, c := range []struct {
		mode   string
		status int
		stored bool
	}{{"fail_before", 500, false}, {"fail_after", 500, true}, {"throttle", 500, false}, {"conflict", 500, false}, {"drop", 500, false}, {"duplicate", 204, true}} {
		must(t, r, "/_dev/faults", `{"target":"store","mode":"`+c.mode+`","count":1}`, 200)
		must(t, r, "/arm", due(n+1), c.status)
		if got := stored(due(n + 1)); got != c.stored {
			t.Errorf("%s: stored %v", c.mode, got)
		}
		must(t, r, "/arm", due(n+11), 204)
	}
	must(t, r, "/_dev/faults", `{"target":"queue","mode":"drop","count":1}`, 200)
	must(t, r, "/_dev/clock", `{"advance":"1s"}`, 200)
	must(t, r, "/send", "later", 204)
	if got := r.queues.Depth("hall-bench-sweep"); got != (memqueue.Depth{}) {
		t.Errorf("a dropped message is there: %+v", got)
	}
	must(t, r, "/_dev/faults", `{"target":"store","mode":"fail_before","count":9,"match":"no.such.operation"}`, 200)
	must(t, r, "/arm", due(30), 204)
	for _, wrong := range []string{`{"target":"store","mode":"sulk","count":1}`, `{"target":"moon","mode":"drop","count":1}`, `{"target":"store","mode":"drop","count":-1}`} {
		must(t, r, "/_dev/faults", wrong, 422)
	}
}

func TestOtherControlsAreThoseOfOneProcess(t *testing.T) {
	r := consuming(t)
	if got := must(t, r, "/_dev/persons", `{"email":"ada@example.org"}`, 200); !strings.Contains(got, `"token":"gh_person_`) {
		t.Error(got)
	}
	status, body, _ := ask(t, r, "GET", "/_dev/mail?to=ada@example.org", "")
	if status != 200 || !strings.Contains(body, `"messages":[]`) {
		t.Errorf("%d %s", status, body)
	}
	must(t, r, "/_dev/payments/mode", `{"next":"ok","count":0}`, 200)
	if status, _, _ := ask(t, r, "PUT", "/uploads/nothing?token=none", "x"); status != 404 {
		t.Errorf("an upload nobody announced: %d", status)
	}
	if status, _, _ := ask(t, r, "GET", "/_dev/nothing", ""); status != 404 {
		t.Errorf("an unknown control: %d", status)
	}
}

func TestATemplateThatDoesNotHoldTogetherIsRefused(t *testing.T) {
	for want, change := range map[string]func(*deployed){
		"no asset of this synthesis": func(d *deployed) { d.function("echo", map[string]any{"Code": map[string]any{"S3Key": "other"}}) },
		"leads to no function":       func(d *deployed) { d.route("ghost", "GET /") },
		"joins no queue":             func(d *deployed) { d.consumer("ghost") },
		"nothing stands for {{resolve": func(d *deployed) {
			d.add("T", "AWS::DynamoDB::Table", map[string]any{"TableName": "{{resolve:secretsmanager:x:SecretString:::}}"})
		},
		"is not understood here": func(d *deployed) {
			d.add("T", "AWS::DynamoDB::Table", map[string]any{"TableName": map[string]any{"Fn::Select": 1}})
		},
		"only rates are executed": func(d *deployed) {
			d.add("R", "AWS::Events::Rule", map[string]any{"ScheduleExpression": "cron(1 * * * ? *)", "Targets": []any{map[string]any{"Arn": "x"}}})
		},
		"2 tables in the templates": func(d *deployed) { d.add("T", "AWS::DynamoDB::Table", map[string]any{"TableName": "two"}) },
		"nothing of that name": func(d *deployed) {
			d.add("T", "AWS::DynamoDB::Table", map[string]any{"TableName": map[string]any{"Ref": "Ghost"}})
		},
	} {
		d := deploy(t)
		d.function("binary", nil)
		d.route("binary", "GET /b")
		change(d)
		if r, err := Open(t.Context(), Options{Templates: d.write(t)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
			if r != nil {
				r.Close()
			}
		}
	}
	if _, err := Open(t.Context(), Options{Templates: filepath.Join(t.TempDir(), "none")}); err == nil || !strings.Contains(err.Error(), "make synth") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), Options{Templates: "x", Addr: "0.0.0.0:0"}); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Error(err)
	}
}

func TestStringsOfATemplateAreResolved(t *testing.T) {
	l := &loader{values: map[string]string{"hall/keys": "{}"}, stacks: map[string]template{
		"one": {Resources: map[string]resource{"Api": {Type: "AWS::ApiGatewayV2::Api"}}}, "two": {}},
		exports: map[string]export{"one:Api": {"one", map[string]any{"Ref": "Api"}}}}
	for want, v := range map[string]any{
		"plain": "plain",
		"https://Api.execute-api.eu-west-1.amazonaws.com": map[string]any{"Fn::Sub": []any{"https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}", map[string]any{"Api": map[string]any{"Fn::ImportValue": "one:Api"}}}},
		"a/b": map[string]any{"Fn::Join": []any{"/", []any{"a", "b"}}},
		"{}":  "{{resolve:secretsmanager:hall/keys:SecretString:::}}",
	} {
		if got := l.text("two", v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
	if len(l.problem) > 0 {
		t.Error(l.problem)
	}
}

func TestASmokeFindsWhatDoesNotStartIsNotCalledOrIsNotAllowed(t *testing.T) {
	d := deploy(t)
	d.function("echo", nil)
	d.function("sweep", nil, readsAllowed, dropsAllowed)
	d.route("echo", "GET /a/{id}", "$default")
	d.consumer("sweep")
	if wrong, err := d.run(t).Smoke(t.Context()); err != nil || len(wrong) > 0 {
		t.Fatalf("%v %q", err, wrong)
	}
	d.function("send", nil)
	d.route("send", "POST /send")
	d.function("tick", nil)
	d.function("nothing", nil) // no such part: the process ends
	d.route("nothing", "GET /n/{id}")
	wrong, err := d.run(t).Smoke(t.Context())
	want := []string{"GET /n/{id} answered 500", "POST /send answered 500", "hall-tick was never invoked",
		"denied: hall-send: sqs:SendMessage on arn:aws:sqs:eu-west-1:123456789012:hall-bench-sweep"}
	if err != nil || !slices.Equal(wrong, want) {
		t.Errorf("%v %q", err, wrong)
	}
}
