//go:build !devclock

package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/build"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"guildhall/pkg/clock"
	"guildhall/pkg/config"
	"guildhall/pkg/op"
)

const testKeys = `{"token":{"current":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="},"form":{"current":"AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="},"checkpoint":{"current":"AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="}}`

// environment is what infra gives a function; changes replace values ("" takes one away).
func environment(endpoint string, changes ...string) func(string) string {
	env := map[string]string{"GUILDHALL_STORE": "dynamodb://guildhall", "GUILDHALL_QUEUE": "sqs://https://sqs.eu-west-1.amazonaws.com/123456789012/guildhall-",
		"GUILDHALL_BASE_URL": "https://exchange.example", "GUILDHALL_KEYS": testKeys, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
		"AWS_ENDPOINT_URL": endpoint, "AWS_LAMBDA_FUNCTION_NAME": "fn"}
	for _, c := range changes {
		name, value, _ := strings.Cut(c, "=")
		env[name] = value
	}
	return func(name string) string { return env[name] }
}

func open(t *testing.T, env func(string) string) (*process, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	p, err := newProcess(env, &log)
	if err != nil {
		t.Fatal(err)
	}
	return p, &log
}

// cloud answers DynamoDB's and SQS's calls, and remembers them.
type cloud struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string // target and body
	down  bool
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, r.Header.Get("X-Amz-Target")+" "+string(b))
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch {
	case c.down:
		w.WriteHeader(400)
		io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no table"}`)
	default:
		io.WriteString(w, `{"Items":[],"Count":0,"ScannedCount":0,"Successful":[],"Failed":[]}`)
	}
}

type nothing struct{}

type said struct {
	At  string `json:"at"`
	Who string `json:"who"`
}

func say(c *op.Call, _ nothing) (said, error) { return said{clock.Stamp(c.Now), c.Caller.Key()}, nil }

func declare(touches op.Touch) *op.Operation {
	return op.Declare(op.Meta{ID: "test.thing.read", Method: "GET", Path: "/api/thing/{id}", Auth: op.Public, Summary: "A test.", Touches: touches}, say)
}

func request(method, path string) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path}
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.SourceIP, e.RequestContext.DomainName = method, "192.0.2.1", "exchange.example"
	return e
}

func TestAFunctionServesItsOperation(t *testing.T) {
	p, log := open(t, environment("http://127.0.0.1:1"))
	h, err := p.serve(declare(0))
	if err != nil {
		t.Fatal(err)
	}
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "aws-1"})
	res, err := h(ctx, request("GET", "/api/thing/1"))
	if err != nil || res.StatusCode != 200 || !strings.Contains(res.Body, `"who":"nobody"`) {
		t.Fatalf("%+v %v", res, err)
	}
	var line struct {
		Timestamp, Message, Level, Service, Operation string
		Function                                      string `json:"function_name"`
		Request                                       string `json:"function_request_id"`
		Cold                                          bool   `json:"cold_start"`
		AWS                                           struct {
			Timestamp         int64
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name, Unit string }
			}
		} `json:"_aws"`
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, log)
	}
	if line.Message != "request" || line.Service != "guildhall" || line.Function != "fn" || line.Request != "aws-1" || !line.Cold || line.Operation != "test.thing.read" ||
		line.Timestamp == "" || line.AWS.Timestamp == 0 || len(line.AWS.CloudWatchMetrics) != 1 || len(line.AWS.CloudWatchMetrics[0].Metrics) < 4 {
		t.Errorf("line %s", log)
	}
	log.Reset()
	ctx = lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "aws-2"})
	if res, _ := h(ctx, request("POST", "/api/thing/1")); res.StatusCode != 405 || res.Headers["Allow"] != "GET, HEAD, OPTIONS" {
		t.Errorf("%+v", res)
	}
	if !strings.Contains(log.String(), `"cold_start":false`) {
		t.Errorf("the second call met a cold start: %s", log)
	}
}

func TestAStartSaysWhatIsMissing(t *testing.T) {
	for change, want := range map[string]string{
		"GUILDHALL_STORE=":              "GUILDHALL_STORE",
		"GUILDHALL_STORE=memory:":       "functions need dynamodb://",
		"GUILDHALL_BASE_URL=":           "GUILDHALL_BASE_URL",
		"GUILDHALL_KEYS=":               "GUILDHALL_KEYS",
		"GUILDHALL_KEYS={}":             "GUILDHALL_KEYS",
		"AWS_REGION=":                   "AWS_REGION",
		"AWS_ACCESS_KEY_ID=":            "AWS_ACCESS_KEY_ID",
		"GUILDHALL_PAYMENTS=simulated:": "GUILDHALL_PAYMENTS=simulated: has no adapter",
		"GUILDHALL_QUEUE=memory:":       "functions need sqs://",
	} {
		p, err := newProcess(environment("http://127.0.0.1:1", change), io.Discard)
		if err == nil {
			_, err = p.serve(declare(op.Payments | op.Queue))
		}
		if strings.HasPrefix(change, "GUILDHALL_QUEUE") {
			_, err = p.sweep("test", nil, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
		if err != nil && strings.Contains(err.Error(), "AQEBAQEBAQEB") {
			t.Errorf("%s: the error holds a key", change)
		}
	}
}

func TestAReadStartsWithoutAQueue(t *testing.T) {
	p, _ := open(t, environment("http://127.0.0.1:1", "GUILDHALL_QUEUE="))
	if _, err := p.serve(declare(0)); err != nil {
		t.Error(err)
	}
}

func TestALinkedAdapterIsOpenedOnlyWhereItIsTouched(t *testing.T) {
	type mark struct{}
	before := adapters
	defer func() { adapters = before }()
	opened := 0
	Provide(op.Mail, config.Box, func(o Opening) (Port, error) {
		opened++
		if o.NewID() == "" || o.Now().IsZero() || o.Log == nil || o.Keys.Form.Current == nil {
			t.Errorf("opening %+v", o)
		}
		return func(ctx context.Context) context.Context { return context.WithValue(ctx, mark{}, true) }, nil
	})
	p, _ := open(t, environment("http://127.0.0.1:1"))
	for touches, want := range map[op.Touch]any{op.Table: nil, op.Mail: true} {
		e, _, err := p.engine(touches)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Ports(t.Context(), touches).Value(mark{}); got != want {
			t.Errorf("touches %v: %v, want %v", touches, got, want)
		}
		if got := e.Ports(t.Context(), op.Table).Value(mark{}); got != nil {
			t.Error("an operation got a port it does not touch")
		}
	}
	if opened != 1 {
		t.Errorf("opened %d times", opened)
	}
	Provide(op.Blobs, config.Memory, func(Opening) (Port, error) { return nil, errors.New("the bucket has no name") })
	if _, _, err := p.engine(op.Blobs); err == nil || !strings.Contains(err.Error(), "GUILDHALL_BLOBS: the bucket has no name") {
		t.Errorf("%v", err)
	}
}

// Texts are the one port a function starts without: where none leave, nobody is offered one.
func TestAFunctionOffersTextsOnlyWhereTheyLeave(t *testing.T) {
	before := adapters
	defer func() { adapters = before }()
	type mark struct{}
	Provide(op.Texts, config.SNS, func(Opening) (Port, error) {
		return func(ctx context.Context) context.Context { return context.WithValue(ctx, mark{}, true) }, nil
	})
	for change, want := range map[string]bool{"GUILDHALL_SMS=": false, "GUILDHALL_SMS=none:": false, "GUILDHALL_SMS=box:": false, "GUILDHALL_SMS=sns:": true} {
		p, _ := open(t, environment("http://127.0.0.1:1", change))
		e, _, err := p.engine(op.Texts)
		if err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if has := e.Ports(t.Context(), op.Texts).Value(mark{}) != nil; e.Texts != want || has != want {
			t.Errorf("%s: offered %v, linked %v, want %v", change, e.Texts, has, want)
		}
	}
	adapters = before
	p, _ := open(t, environment("http://127.0.0.1:1", "GUILDHALL_SMS=sns:"))
	if _, _, err := p.engine(op.Texts); err == nil || !strings.Contains(err.Error(), "wire/snstext") {
		t.Errorf("a job without its adapter started: %v", err)
	}
	if e, _, err := p.engine(op.Table); err != nil || !e.Texts {
		t.Errorf("an operation does not offer texts: %v", err)
	}
}

// A function that judges links starts without the net unless it is switched on, and not without the adapter when it is.
func TestAFunctionAsksAboutLinksOnlyWhereItIsSwitchedOn(t *testing.T) {
	before := adapters
	defer func() { adapters = before }()
	type mark struct{}
	Provide(op.Links, config.Probe, func(Opening) (Port, error) {
		return func(ctx context.Context) context.Context { return context.WithValue(ctx, mark{}, true) }, nil
	})
	for change, want := range map[string]bool{"GUILDHALL_LINKS=": false, "GUILDHALL_LINKS=off": false, "GUILDHALL_LINKS=probe:": true} {
		p, _ := open(t, environment("http://127.0.0.1:1", change))
		e, _, err := p.engine(op.Links)
		if err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if has := e.Ports(t.Context(), op.Links).Value(mark{}) != nil; has != want {
			t.Errorf("%s: linked %v, want %v", change, has, want)
		}
	}
	adapters = before
	p, _ := open(t, environment("http://127.0.0.1:1", "GUILDHALL_LINKS=probe:"))
	if _, _, err := p.engine(op.Links); err == nil || !strings.Contains(err.Error(), "wire/webprobe") {
		t.Errorf("a function without its adapter started: %v", err)
	}
}

func TestASweepAnswersWhichMessagesComeBack(t *testing.T) {
	c := newCloud(t)
	p, _ := open(t, environment(c.URL))
	h, err := p.sweep("test", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m1", Body: `{"context":"test","shard":3}`, Attributes: map[string]string{"ApproximateReceiveCount": "2"}},
		{MessageId: "m2", Body: `{"context":"test","shard":4,"ahead":true}`}, {MessageId: "m3", Body: `nonsense`}}}
	out, err := h(t.Context(), batch)
	if err != nil || len(out.BatchItemFailures) != 0 || len(c.calls) != 2 || !strings.Contains(c.calls[0], "test.CLOCK#03") {
		t.Fatalf("%+v %v, calls %q", out, err, c.calls)
	}
	c.down = true
	out, err = h(t.Context(), batch)
	var ids []string
	for _, f := range out.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	if err != nil || !slices.Equal(ids, []string{"m1", "m2"}) {
		t.Errorf("%v %v", ids, err)
	}
	if d := deliveries(batch); d[0].Receives != 2 || d[0].ID != "m1" {
		t.Errorf("%+v", d[0])
	}
}

func TestATickSendsAMessagePerShardAndContext(t *testing.T) {
	c := newCloud(t)
	p, log := open(t, environment(c.URL))
	h, err := p.tick([]string{"bench", "help"})
	if err != nil {
		t.Fatal(err)
	}
	if err := h(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"bench", "help"} {
		n := 0
		for _, call := range c.calls {
			if strings.Contains(call, "guildhall-"+group+"-sweep") {
				n += strings.Count(call, `\"ahead\":true`)
			}
		}
		if n != clock.Shards {
			t.Errorf("%d messages for %s in %q", n, group, c.calls)
		}
	}
	c.down = true
	if err := h(t.Context()); err == nil || !strings.Contains(log.String(), `"level":"ERROR"`) {
		t.Errorf("%v, log %s", err, log)
	}
	if _, err := p.tick(nil); err == nil {
		t.Error("a tick of nothing started")
	}
}

func TestTheDefaultFunctionRefusesInTheEnvelope(t *testing.T) {
	p, _ := open(t, environment("http://127.0.0.1:1"))
	h, err := p.unserved([]string{"GET /api/thing/{id}", "POST /api/thing/{id}", "DELETE /api/other"})
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]struct {
		status int
		allow  string
	}{"PUT /api/thing/1": {405, "GET, HEAD, OPTIONS, POST"}, "OPTIONS /api/thing/1": {204, "GET, HEAD, OPTIONS, POST"}, "GET /nowhere": {404, ""}, "GET /api/thing/1": {404, ""}} {
		method, path, _ := strings.Cut(call, " ")
		res, err := h(t.Context(), request(method, path))
		if err != nil || res.StatusCode != want.status || res.Headers["Allow"] != want.allow || want.status != 204 && !strings.HasPrefix(res.Body, `{"ok":false`) {
			t.Errorf("%s: %+v %v", call, res, err)
		}
	}
	for _, bad := range []string{"GET", "/api", "GET api", " /x"} {
		if _, err := p.unserved([]string{bad}); err == nil {
			t.Errorf("route %q was taken", bad)
		}
	}
}

func TestOnlyMetricsOfEndedWorkAreEmbedded(t *testing.T) {
	var out bytes.Buffer
	log := logger(&out, slog.LevelInfo, func(string) string { return "" })
	log.Info("something else", "duration_ms", 3)
	log.Debug("request", "duration_ms", 3)
	if strings.Contains(out.String(), "_aws") || strings.Contains(out.String(), "cold_start") {
		t.Errorf("line %s", &out)
	}
}

// TestProductBuildsTakeTheirTimeFromTheMachineAlone holds the control of the clock out of
// what is deployed: no file without the build tag knows of it.
func TestProductBuildsTakeTheirTimeFromTheMachineAlone(t *testing.T) {
	product, err := build.Default.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(product.GoFiles, "clock.go") || slices.Contains(product.GoFiles, "devclock.go") {
		t.Errorf("a product is built from %v", product.GoFiles)
	}
	dev := build.Default
	dev.BuildTags = append(dev.BuildTags, "devclock")
	tagged, err := dev.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(tagged.GoFiles, "clock.go") || !slices.Contains(tagged.GoFiles, "devclock.go") {
		t.Errorf("the variant with a clock control is built from %v", tagged.GoFiles)
	}
	for _, name := range product.GoFiles {
		b, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(b), "\n") {
			if strings.Contains(line, "DEV_CLOCK") && !strings.HasPrefix(line, "//") {
				t.Errorf("%s:%d: %s", name, n+1, line)
			}
		}
	}
}
