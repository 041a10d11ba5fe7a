package lambdalocal

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"guildhall/pkg/clock"
	"guildhall/pkg/queue"
	"guildhall/pkg/queue/sqs"
	"guildhall/pkg/table"
	"guildhall/pkg/table/ddb"
)

// part is the variable by which a template of these tests says which function the test
// binary is to be: it is the bootstrap of all of them.
const part = "LAMBDALOCAL_PART"

func TestMain(m *testing.M) {
	if name := os.Getenv(part); name != "" {
		lambda.Start(parts[name])
		return
	}
	os.Exit(m.Run())
}

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

// parts are the functions of these tests.
var parts = map[string]any{
	// echo answers with the event it got.
	"echo": func(_ context.Context, e request) (response, error) {
		b, err := json.Marshal(e)
		return response{StatusCode: 201, Body: string(b), Headers: map[string]string{"Content-Type": "application/json"}, Cookies: []string{"a=1", "b=2"}}, err
	},
	"binary": func(context.Context, request) (response, error) {
		return response{StatusCode: 200, Body: "AAH/", IsBase64Encoded: true}, nil
	},
	// moody does what the query says.
	"moody": func(ctx context.Context, e request) (response, error) {
		switch e.RawQueryString {
		case "fail":
			return response{}, errors.New("out of sorts")
		case "exit":
			os.Exit(3)
		case "hang":
			<-ctx.Done()
			select {}
		}
		return response{StatusCode: 200, Body: fmt.Sprint(os.Getpid())}, nil
	},
	// meet answers once the address in its query has: two of them can meet there.
	"meet": func(ctx context.Context, e request) (response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.RawQueryString, nil)
		if err != nil {
			return response{}, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return response{}, err
		}
		return response{StatusCode: res.StatusCode}, res.Body.Close()
	},
	// send puts the body into the queue bench-sweep, delayed by a minute when it is "later".
	"send": func(ctx context.Context, e request) (response, error) {
		q, err := queues()
		if err == nil {
			m := queue.Message{ID: "m", Body: []byte(e.Body)}
			if e.Body == "later" {
				m.Delay = time.Minute
			}
			err = q.Send(ctx, "bench-sweep", m)
		}
		return said(err)
	},
	// arm writes a row of bench's clock, due at the body.
	"arm": func(ctx context.Context, e request) (response, error) {
		s, err := rows()
		if err == nil {
			err = s.Commit(ctx, &table.Tx{ID: "arm-" + e.RequestContext.RequestID, Writes: []table.Write{{Kind: table.Create, Key: table.Key{PK: clock.Partition("bench", 3), SK: e.Body + "#test#1"}, Data: []byte(`{}`)}}})
		}
		return said(err)
	},
	// sweep takes messages: it fails those that say so, and removes the rows that are due.
	"sweep": func(ctx context.Context, e events.SQSEvent) (out events.SQSEventResponse, err error) {
		for _, m := range e.Records {
			if m.Body == "bad" {
				out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
			if m.Body == "panic" {
				panic("as asked")
			}
		}
		s, err := rows()
		if err != nil {
			return out, err
		}
		return out, fire(ctx, s)
	},
	"tick": func(context.Context, json.RawMessage) error { return nil },
}

func said(err error) (response, error) {
	if err != nil {
		return response{StatusCode: 500, Body: err.Error()}, nil
	}
	return response{StatusCode: 204}, nil
}

func queues() (*sqs.Queue, error) {
	return sqs.New(sqs.Options{URLPrefix: "https://sqs.eu-west-1.amazonaws.com/123456789012/hall-", Region: os.Getenv("AWS_REGION"), BaseEndpoint: os.Getenv("AWS_ENDPOINT_URL_SQS"),
		Credentials: sqs.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: "x"}})
}

func rows() (*ddb.Store, error) {
	return ddb.New(ddb.Options{Table: "hall", Region: os.Getenv("AWS_REGION"), Endpoint: os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: "x"})
}

// fire removes the rows of bench's clock that are due at the exchange's time.
func fire(ctx context.Context, s *ddb.Store) error {
	res, err := http.Get(os.Getenv("GUILDHALL_DEV_CLOCK_URL"))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var told struct{ Now string }
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil {
		return err
	}
	p, err := s.Query(ctx, table.Query{PK: clock.Partition("bench", 3), To: told.Now + "~"})
	for _, row := range p.Rows {
		if !strings.Contains(row.SK, "stuck") {
			err = errors.Join(err, s.Commit(ctx, &table.Tx{ID: "fire-" + row.SK, Writes: []table.Write{{Kind: table.Delete, Key: row.Key, Version: row.Version}}}))
		}
	}
	return err
}

// deployed is a small deployment in the form the synthesis gives.
type deployed struct {
	resources map[string]any
	files     map[string]any
	zip       string
}

var program struct {
	sync.Once
	dir, zip string
	err      error
}

// bootstrap zips the test binary, once for all tests.
func bootstrap(t *testing.T) string {
	t.Helper()
	program.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "bootstrap"); program.err != nil {
			return
		}
		program.zip = filepath.Join(program.dir, "f.zip")
		program.err = pack(program.zip)
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.zip
}

func pack(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	z := zip.NewWriter(out)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "bootstrap", Method: zip.Store})
	if err == nil {
		_, err = io.Copy(w, in)
	}
	return errors.Join(err, z.Close(), out.Close())
}

func deploy(t *testing.T) *deployed {
	t.Helper()
	d := &deployed{zip: bootstrap(t), resources: map[string]any{}, files: map[string]any{}}
	d.add("Table", "AWS::DynamoDB::Table", map[string]any{"TableName": "hall"})
	d.add("Dead", "AWS::SQS::Queue", map[string]any{"QueueName": "hall-bench-sweep-dlq"})
	d.add("Queue", "AWS::SQS::Queue", map[string]any{"QueueName": "hall-bench-sweep", "VisibilityTimeout": 60, "RedrivePolicy": map[string]any{"maxReceiveCount": 2}})
	d.files["code"] = map[string]any{"source": map[string]any{"path": d.zip}, "destinations": map[string]any{"x": map[string]any{"objectKey": "code.zip"}}}
	return d
}

func (d *deployed) add(id, kind string, properties map[string]any) {
	d.resources[id] = map[string]any{"Type": kind, "Properties": properties}
}

// function adds one of parts, with what its role allows and further properties.
func (d *deployed) function(name string, more map[string]any, allowed ...string) {
	var statements []any
	for _, a := range allowed {
		resource := "arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:hall-bench-sweep"
		if strings.HasPrefix(a, "dynamodb:") {
			resource = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/hall"
		}
		statements = append(statements, map[string]any{"Effect": "Allow", "Action": a, "Resource": map[string]any{"Fn::Sub": resource}})
	}
	d.add(name+"Role", "AWS::IAM::Role", map[string]any{"Policies": []any{map[string]any{"PolicyDocument": map[string]any{"Statement": statements}}}})
	p := map[string]any{"FunctionName": "hall-" + name, "Code": map[string]any{"S3Key": "code.zip"}, "Timeout": 20, "MemorySize": 128,
		"Role": map[string]any{"Fn::GetAtt": []any{name + "Role", "Arn"}}, "Environment": map[string]any{"Variables": map[string]any{part: name}}}
	for k, v := range more {
		p[k] = v
	}
	d.add(name, "AWS::Lambda::Function", p)
}

// route leads route keys to a function.
func (d *deployed) route(function string, keys ...string) {
	d.add(function+"Integration", "AWS::ApiGatewayV2::Integration", map[string]any{"IntegrationUri": map[string]any{"Fn::GetAtt": []any{function, "Arn"}}})
	for _, key := range keys {
		id := strings.NewReplacer(" ", "", "/", "", "{", "", "}", "", "$", "").Replace(function + key)
		d.add(id, "AWS::ApiGatewayV2::Route", map[string]any{"RouteKey": key,
			"Target": map[string]any{"Fn::Join": []any{"/", []any{"integrations", map[string]any{"Ref": function + "Integration"}}}}})
	}
}

func (d *deployed) consumer(function string) {
	d.add("Mapping", "AWS::Lambda::EventSourceMapping", map[string]any{"FunctionName": map[string]any{"Ref": function}, "BatchSize": 4,
		"EventSourceArn": map[string]any{"Fn::Sub": "arn:aws:sqs:${AWS::Region}:${AWS::AccountId}:hall-bench-sweep"}, "FunctionResponseTypes": []any{"ReportBatchItemFailures"}})
}

// write leaves the deployment in a folder as the synthesis does.
func (d *deployed) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, v := range map[string]any{"one.template.json": map[string]any{"Resources": d.resources}, "one.assets.json": map[string]any{"files": d.files}} {
		b, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run executes the deployment until the test is over.
func (d *deployed) run(t *testing.T) *Runner {
	t.Helper()
	r, err := Open(t.Context(), Options{Templates: d.write(t), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// ask sends a request as it is, without following redirects.
func ask(t *testing.T, r *Runner, method, path, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}
