package lambdalocal

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Function is a Lambda function as the template describes it.
type Function struct {
	Name     string
	Asset    string // the zip with its bootstrap
	Env      map[string]string
	Timeout  time.Duration
	Reserved int // instances at once; 0: no reservation
	MemoryMB int
	Role     Policy
}

// Queue is an SQS queue and who reads it.
type Queue struct {
	Name       string
	Visibility time.Duration
	Receives   int // before a message is dead; 0 for a dead letter queue
	Reader     *Function
	Batch      int
	Partial    bool // the reader answers which messages failed
}

// Schedule calls a function again and again.
type Schedule struct {
	Every    time.Duration
	Function *Function
}

// Deployment is what the templates would deploy.
type Deployment struct {
	Functions map[string]*Function // by name
	Routes    map[string]*Function // by route key
	Queues    []*Queue             // by name
	Schedules []Schedule
	Tables    []string
}

type template struct {
	Resources map[string]resource
	Outputs   map[string]struct {
		Value  any
		Export *struct{ Name any }
	}
}

type resource struct {
	Type       string
	Properties map[string]any
}

// loader reads templates and remembers what references lead to.
type loader struct {
	dir     string
	values  map[string]string // what dynamic references and settings of the machine lead to
	stacks  map[string]template
	assets  map[string]string // S3 key -> file
	exports map[string]export
	out     *Deployment
	problem []error
}

type export struct {
	stack string
	value any
}

// Load reads the templates in a folder that `make synth` made. secrets are the values of
// references to Secrets Manager by name and field: "guildhall/stripe:key".
func Load(dir string, secrets map[string]string) (*Deployment, error) {
	l := &loader{dir: dir, values: secrets, stacks: map[string]template{}, assets: map[string]string{}, exports: map[string]export{},
		out: &Deployment{Functions: map[string]*Function{}, Routes: map[string]*Function{}}}
	if err := l.read(); err != nil {
		return nil, err
	}
	for _, step := range []func(stack, id string, r resource){l.things, l.connections} {
		for _, stack := range slices.Sorted(maps.Keys(l.stacks)) {
			for _, id := range slices.Sorted(maps.Keys(l.stacks[stack].Resources)) {
				step(stack, id, l.stacks[stack].Resources[id])
			}
		}
	}
	if len(l.out.Routes) == 0 {
		l.problem = append(l.problem, errors.New("no route"))
	}
	return l.out, errors.Join(l.problem...)
}

func (l *loader) read() error {
	paths, err := filepath.Glob(filepath.Join(l.dir, "*.template.json"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no template in %s: run make synth (%v)", l.dir, err)
	}
	for _, p := range paths {
		stack := strings.TrimSuffix(filepath.Base(p), ".template.json")
		var t template
		if err := readJSON(p, &t); err != nil {
			return err
		}
		l.stacks[stack] = t
		for _, o := range t.Outputs {
			if o.Export != nil {
				l.exports[fmt.Sprint(o.Export.Name)] = export{stack, o.Value}
			}
		}
		if err := l.readAssets(filepath.Join(l.dir, stack+".assets.json")); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) readAssets(path string) error {
	var m struct {
		Files map[string]struct {
			Source       struct{ Path string }
			Destinations map[string]struct{ ObjectKey string }
		}
	}
	if err := readJSON(path, &m); err != nil {
		return err
	}
	for _, f := range m.Files {
		source := f.Source.Path
		if !filepath.IsAbs(source) {
			source = filepath.Join(l.dir, source)
		}
		for _, d := range f.Destinations {
			l.assets[d.ObjectKey] = source
		}
	}
	return nil
}

func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (l *loader) say(stack, id, format string, args ...any) {
	l.problem = append(l.problem, fmt.Errorf("%s/%s: "+format, append([]any{stack, id}, args...)...))
}

// things takes what other resources refer to.
func (l *loader) things(stack, id string, r resource) {
	p := r.Properties
	switch r.Type {
	case "AWS::DynamoDB::Table":
		l.out.Tables = append(l.out.Tables, l.text(stack, p["TableName"]))
	case "AWS::SQS::Queue":
		q := &Queue{Name: l.text(stack, p["QueueName"]), Visibility: seconds(p["VisibilityTimeout"])}
		if redrive, ok := p["RedrivePolicy"].(map[string]any); ok {
			n, _ := redrive["maxReceiveCount"].(float64)
			q.Receives = int(n)
		}
		l.out.Queues = append(l.out.Queues, q)
	case "AWS::Lambda::Function":
		l.function(stack, id, p)
	}
}

func (l *loader) function(stack, id string, p map[string]any) {
	code, _ := p["Code"].(map[string]any)
	f := &Function{Name: l.text(stack, p["FunctionName"]), Asset: l.assets[l.text(stack, code["S3Key"])], Timeout: seconds(p["Timeout"]), Env: map[string]string{}}
	f.Reserved, f.MemoryMB = whole(p["ReservedConcurrentExecutions"]), whole(p["MemorySize"])
	if f.Asset == "" {
		l.say(stack, id, "its code is no asset of this synthesis")
	}
	env, _ := p["Environment"].(map[string]any)
	variables, _ := env["Variables"].(map[string]any)
	for name, v := range variables {
		f.Env[name] = l.text(stack, v)
	}
	role := l.stacks[stack].Resources[target(p["Role"])]
	policies, _ := role.Properties["Policies"].([]any)
	for _, policy := range policies {
		f.Role = append(f.Role, l.statements(stack, policy)...)
	}
	l.out.Functions[f.Name] = f
}

func (l *loader) statements(stack string, policy any) (out Policy) {
	m, _ := policy.(map[string]any)
	doc, _ := m["PolicyDocument"].(map[string]any)
	all, _ := doc["Statement"].([]any)
	for _, s := range all {
		st, _ := s.(map[string]any)
		if l.text(stack, st["Effect"]) == "Allow" {
			out = append(out, Statement{Actions: l.texts(stack, st["Action"]), Resources: l.texts(stack, st["Resource"]), But: l.texts(stack, st["NotResource"])})
		}
	}
	return out
}

// connections takes what makes functions run.
func (l *loader) connections(stack, id string, r resource) {
	p := r.Properties
	switch r.Type {
	case "AWS::ApiGatewayV2::Route":
		i := l.stacks[stack].Resources[strings.TrimPrefix(l.text(stack, p["Target"]), "integrations/")]
		f := l.out.Functions[nameOf(l.text(stack, i.Properties["IntegrationUri"]))]
		key := l.text(stack, p["RouteKey"])
		if f == nil || l.out.Routes[key] != nil {
			l.say(stack, id, "route %q leads to no function, or is there twice", key)
			return
		}
		l.out.Routes[key] = f
	case "AWS::Lambda::EventSourceMapping":
		f := l.out.Functions[l.text(stack, p["FunctionName"])]
		name := nameOf(l.text(stack, p["EventSourceArn"]))
		at := slices.IndexFunc(l.out.Queues, func(q *Queue) bool { return q.Name == name })
		if f == nil || at < 0 {
			l.say(stack, id, "it joins no queue and function of these templates")
			return
		}
		q := l.out.Queues[at]
		q.Reader, q.Batch = f, max(1, whole(p["BatchSize"]))
		q.Partial = slices.Contains(l.texts(stack, p["FunctionResponseTypes"]), "ReportBatchItemFailures")
	case "AWS::Events::Rule":
		every, err := rate(l.text(stack, p["ScheduleExpression"]))
		targets, _ := p["Targets"].([]any)
		for _, t := range targets {
			m, _ := t.(map[string]any)
			f := l.out.Functions[nameOf(l.text(stack, m["Arn"]))]
			if f == nil || err != nil {
				l.say(stack, id, "it calls no function of these templates (%v)", err)
				continue
			}
			l.out.Schedules = append(l.out.Schedules, Schedule{every, f})
		}
	}
}

// rate reads "rate(5 minutes)".
func rate(s string) (time.Duration, error) {
	var n int
	var unit string
	if _, err := fmt.Sscanf(strings.TrimSuffix(s, ")"), "rate(%d %s", &n, &unit); err != nil {
		return 0, fmt.Errorf("schedule %q: only rates are executed here", s)
	}
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	d := units[strings.TrimSuffix(unit, "s")]
	if n < 1 || d == 0 {
		return 0, fmt.Errorf("schedule %q: only rates are executed here", s)
	}
	return time.Duration(n) * d, nil
}

// nameOf is the last part of an ARN.
func nameOf(arn string) string { return arn[strings.LastIndexAny(arn, ":/")+1:] }

func whole(v any) int { n, _ := v.(float64); return int(n) }

func seconds(v any) time.Duration { return time.Duration(whole(v)) * time.Second }
