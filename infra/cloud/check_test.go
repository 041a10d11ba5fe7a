package cloud

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"guildhall/infra/plan"
	"guildhall/pkg/catalog"
	"guildhall/pkg/config"
	"guildhall/pkg/op"
	"guildhall/pkg/queue"
)

// check is one promise of the templates: it lists what breaks it.
type check struct {
	name string
	find func(w *world) []string
	// plant breaks the promise, so that the test knows the check would see it.
	plant func(w *world)
}

func TestTemplates(t *testing.T) {
	for _, c := range slices.Concat(routing, access, jobs, state, sizes) {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range c.find(original) {
				t.Error(f)
			}
			broken := original.copy(t)
			c.plant(broken)
			if len(c.find(broken)) == 0 {
				t.Error("the check does not see a planted violation")
			}
		})
	}
}

// first is the first resource of a type whose id has the suffix.
func (w *world) first(kind string) *resource { return w.of(kind)[0].resource }

// drop removes the first resource of a type that satisfies is.
func (w *world) drop(kind string, is func(at) bool) {
	for _, r := range w.of(kind) {
		if is(r) {
			delete(w.Stacks[r.stack].Resources, r.id)
			return
		}
	}
	panic("nothing to drop: " + kind)
}

func set(r *resource, value any, path ...string) {
	m := r.Properties
	for _, p := range path[:len(path)-1] {
		next, ok := m[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[p] = next
		}
		m = next
	}
	m[path[len(path)-1]] = value
}

// served maps a route key to the folder of the function behind it.
func (w *world) served() map[string]string {
	out := map[string]string{}
	for _, r := range w.of("AWS::ApiGatewayV2::Route") {
		id := strings.TrimSuffix(strings.TrimPrefix(flat(r.Properties["Target"]), "integrations/${"), "}")
		i := w.Stacks[r.stack].Resources[id]
		if i == nil {
			continue
		}
		fn := target(i.Properties["IntegrationUri"])
		if f := w.Stacks[r.stack].Resources[fn]; f != nil {
			out[text(r.Properties, "RouteKey")] = w.folder(at{r.stack, fn, f})
		}
	}
	return out
}

// folders lists functions/<group>/<name> as it stands in the sources.
func folders() (out []string) {
	groups, _ := os.ReadDir("../../functions")
	for _, g := range groups {
		names, _ := os.ReadDir("../../functions/" + g.Name())
		for _, n := range names {
			out = append(out, g.Name()+"/"+n.Name())
		}
	}
	return out
}

const function = "AWS::Lambda::Function"

var routing = []check{
	{"every operation has a route to its function", func(w *world) (bad []string) {
		served := w.served()
		for _, o := range catalog.Operations() {
			path := strings.ReplaceAll(o.Path, "...}", "+}")
			methods := []string{o.Method}
			if o.Reads() {
				methods = append(methods, "HEAD")
			}
			for _, m := range methods {
				if got := cmp.Or(served[m+" "+path], served["ANY "+path]); got != o.Folder() {
					bad = append(bad, fmt.Sprintf("%s %s goes to %q, not %s", m, o.Path, got, o.Folder()))
				}
			}
		}
		for _, d := range catalog.Doors() {
			if got := served["POST "+d.Path]; got != d.Folder() {
				bad = append(bad, fmt.Sprintf("POST %s goes to %q, not %s", d.Path, got, d.Folder()))
			}
		}
		if got := served["$default"]; got != catalog.DefaultFolder {
			bad = append(bad, "the default route goes to "+got)
		}
		return bad
	}, func(w *world) { w.drop("AWS::ApiGatewayV2::Route", func(at) bool { return true }) }},

	{"every function folder is deployed once", func(w *world) (bad []string) {
		count := map[string]int{}
		for _, f := range w.of(function) {
			count[w.folder(f)]++
		}
		for _, f := range folders() {
			if count[f] != 1 {
				bad = append(bad, fmt.Sprintf("functions/%s is deployed %d times", f, count[f]))
			}
			delete(count, f)
		}
		for f := range count {
			bad = append(bad, fmt.Sprintf("a function is made of %q, which is no folder", f))
		}
		return bad
	}, func(w *world) { w.drop(function, func(at) bool { return true }) }},

	{"no route key is used twice", func(w *world) (bad []string) {
		seen := map[string]bool{}
		for _, r := range w.of("AWS::ApiGatewayV2::Route") {
			key := text(r.Properties, "RouteKey")
			if seen[key] {
				bad = append(bad, r.String()+": "+key)
			}
			seen[key] = true
		}
		return bad
	}, func(w *world) {
		r := w.of("AWS::ApiGatewayV2::Route")
		r[0].Properties["RouteKey"] = r[1].Properties["RouteKey"]
	}},

	{"whoever calls a function is allowed to, from one place", func(w *world) (bad []string) {
		callers := map[string]string{}
		for _, p := range w.of("AWS::Lambda::Permission") {
			source := flat(p.Properties["SourceArn"])
			fits := strings.HasPrefix(source, "arn:${AWS::Partition}:execute-api:") || strings.HasSuffix(source, "Schedule.Arn}")
			if !fits {
				bad = append(bad, p.String()+": from "+source)
			}
			callers[p.stack+"/"+target(p.Properties["FunctionName"])] = text(p.Properties, "Principal")
		}
		for _, i := range w.of("AWS::ApiGatewayV2::Integration") {
			if fn := i.stack + "/" + target(i.Properties["IntegrationUri"]); callers[fn] != "apigateway.amazonaws.com" {
				bad = append(bad, fn+" cannot be called by the API")
			}
		}
		for _, r := range w.of("AWS::Events::Rule") {
			if fn := r.stack + "/" + target(dig(r.Properties, "Targets", 0, "Arn")); callers[fn] != "events.amazonaws.com" {
				bad = append(bad, fn+" cannot be called by its schedule")
			}
		}
		return bad
	}, func(w *world) { delete(w.first("AWS::Lambda::Permission").Properties, "SourceArn") }},

	{"functions answer within the API's time, and long polls have a share of their own", func(w *world) (bad []string) {
		waits := map[string]bool{}
		for _, f := range functions {
			waits[f.Folder] = f.Waits
		}
		for _, i := range w.of("AWS::ApiGatewayV2::Integration") {
			fn := target(i.Properties["IntegrationUri"])
			f := w.Stacks[i.stack].Resources[fn]
			if f == nil {
				continue
			}
			seconds, ms := number(f.Properties, "Timeout"), number(i.Properties, "TimeoutInMillis")
			if seconds <= 0 || seconds > 29 || ms <= seconds*1000 || ms > 30_000 || text(i.Properties, "PayloadFormatVersion") != "2.0" {
				bad = append(bad, fmt.Sprintf("%s/%s: timeout %v s, integration %v ms", i.stack, fn, seconds, ms))
			}
			if waits[w.folder(at{i.stack, fn, f})] != (number(f.Properties, "ReservedConcurrentExecutions") > 0) {
				bad = append(bad, i.stack+"/"+fn+": a reservation belongs to long polls")
			}
		}
		return bad
	}, func(w *world) { set(w.first(function), 30.0, "Timeout") }},
}

// expected are the actions of a function by what it declares, written down here a second
// time: a change of plan.Grants must be meant.
func expected(f plan.Function) map[string]string {
	m := map[string]string{"log-group": "logs:CreateLogStream logs:PutLogEvents"}
	if f.Touches.Has(op.Table) {
		m["table"] = "dynamodb:BatchGetItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query"
		if f.Changes {
			m["table"] = "dynamodb:BatchGetItem dynamodb:ConditionCheckItem dynamodb:DeleteItem dynamodb:GetItem dynamodb:PutItem dynamodb:Query dynamodb:UpdateItem"
		}
	}
	if f.Touches.Has(op.Blobs) {
		expectedFiles(f, m)
	}
	if f.Touches.Has(op.Mail) {
		m["identity"] = "ses:SendEmail ses:SendRawEmail"
	}
	if f.Touches.Has(op.Texts) {
		m["phones"] = "sns:Publish"
	}
	if f.Reads != nil {
		m["from "+f.Reads.Name] = "sqs:ChangeMessageVisibility sqs:DeleteMessage sqs:GetQueueAttributes sqs:ReceiveMessage"
	}
	for _, q := range f.Sends {
		m["to "+q] = "sqs:SendMessage"
	}
	return m
}

// expectedFiles are the actions on files: bench alone keeps any; what people uploaded goes with
// their accounts.
func expectedFiles(f plan.Function, m map[string]string) {
	m["bucket"] = "s3:ListBucket"
	kept := "s3:GetObject"
	switch {
	case f.Reads != nil:
		delete(m, "bucket")
		kept, m["objects uploads/"] = "s3:DeleteObject", "s3:DeleteObject"
	case f.Changes:
		kept, m["objects uploads/"] = "s3:DeleteObject s3:GetObject s3:PutObject", "s3:GetObject s3:PutObject"
	}
	for _, p := range []string{"attachments/", "materials/"} {
		m["objects "+p] = kept
	}
	if f.Folder != "person/sweep" {
		m["objects agent-artifacts/"], m["objects agent-images/"] = kept, kept
	}
}

// named is what a statement of a role is about, in the words of expected.
func named(resource, actions string) string {
	rest, bucket := strings.CutPrefix(resource, "arn:${AWS::Partition}:s3:::guildhall-${AWS::AccountId}-${AWS::Region}")
	switch _, last, _ := strings.Cut(resource, "${AWS::AccountId}:"); {
	case bucket && rest == "":
		return "bucket"
	case bucket:
		return "objects " + strings.Trim(rest, "/*") + "/"
	case last == "table/guildhall":
		return "table"
	case last == "identity/example.com":
		return "identity"
	case strings.HasPrefix(last, "log-group:"):
		return "log-group"
	case strings.HasPrefix(last, "guildhall-") && actions == "sqs:SendMessage":
		return "to " + strings.TrimPrefix(last, "guildhall-")
	case strings.HasPrefix(last, "guildhall-"):
		return "from " + strings.TrimPrefix(last, "guildhall-")
	}
	return resource
}

// allButTopics tells whether a statement allows texts to phones, which have no ARN: a publish
// to anything but topics, in this region.
func allButTopics(s any) bool {
	return dig(s, "Resource") == nil && flat(dig(s, "NotResource")) == "arn:${AWS::Partition}:sns:*:*:*" && strings.Join(words(dig(s, "Action")), " ") == "sns:Publish" &&
		flat(dig(s, "Condition", "StringEquals", "aws:RequestedRegion")) == "${AWS::Region}"
}

// statements lists the statements of a role.
func statements(role *resource) (out []any) {
	for _, p := range list(role.Properties["Policies"]) {
		out = append(out, list(dig(p, "PolicyDocument", "Statement"))...)
	}
	return out
}

func words(v any) (out []string) {
	for _, w := range list(v) {
		out = append(out, flat(w))
	}
	slices.Sort(out)
	return out
}

// prefixes are the only parts of the bucket a role may name by their beginning.
var prefixes = []string{"agent-artifacts/", "agent-images/", "attachments/", "materials/", "uploads/"}

var access = []check{
	{"every function has a role of its own", func(w *world) (bad []string) {
		used := map[string]string{}
		for _, f := range w.of(function) {
			role := f.stack + "/" + target(f.Properties["Role"])
			if used[role] != "" || w.Stacks[f.stack].Resources[target(f.Properties["Role"])] == nil {
				bad = append(bad, fmt.Sprintf("%s: %s is also that of %s, or is not there", f, role, used[role]))
			}
			used[role] = f.id
		}
		if n := len(w.of("AWS::IAM::Role")); n != len(used) {
			bad = append(bad, fmt.Sprintf("%d roles for %d functions", n, len(used)))
		}
		return bad
	}, func(w *world) {
		f := w.of(function)
		f[1].Properties["Role"] = f[0].Properties["Role"]
	}},

	{"a role allows what its function declares, and nothing else", func(w *world) (bad []string) {
		byFolder := map[string]plan.Function{}
		for _, f := range functions {
			byFolder[f.Folder] = f
		}
		for _, f := range w.of(function) {
			want := expected(byFolder[w.folder(f)])
			role := w.Stacks[f.stack].Resources[target(f.Properties["Role"])]
			if role == nil {
				continue
			}
			for _, s := range statements(role) {
				actions := strings.Join(words(dig(s, "Action")), " ")
				what := named(flat(dig(s, "Resource")), actions)
				if allButTopics(s) {
					what = "phones"
				}
				if want[what] != actions {
					bad = append(bad, fmt.Sprintf("%s: %s on %s, want %q", f, actions, what, want[what]))
				}
				delete(want, what)
			}
			for what := range want {
				bad = append(bad, fmt.Sprintf("%s: nothing allows %s", f, what))
			}
			if len(list(role.Properties["ManagedPolicyArns"])) > 0 {
				bad = append(bad, f.String()+": a managed policy")
			}
		}
		return bad
	}, func(w *world) {
		for _, r := range w.of("AWS::IAM::Role") {
			for _, s := range statements(r.resource) {
				if strings.Contains(flat(dig(s, "Resource")), ":dynamodb:") {
					m := s.(map[string]any)
					m["Action"] = append(list(m["Action"]), "dynamodb:DeleteTable")
					return
				}
			}
		}
	}},

	{"nothing allows an action by a wildcard", func(w *world) (bad []string) {
		for _, r := range w.of("AWS::IAM::Role") {
			for _, s := range statements(r.resource) {
				for _, a := range words(dig(s, "Action")) {
					if strings.Contains(a, "*") || dig(s, "NotAction") != nil || text(s, "Effect") != "Allow" {
						bad = append(bad, r.String()+": "+a)
					}
				}
			}
		}
		return bad
	}, func(w *world) {
		statements(w.first("AWS::IAM::Role"))[0].(map[string]any)["Action"] = "dynamodb:*"
	}},

	{"nothing names resources by a wildcard but objects below listed prefixes and a function's own log", func(w *world) (bad []string) {
		for _, r := range w.of("AWS::IAM::Role") {
			fn := strings.TrimSuffix(r.id, "Role") + "Function"
			var allowed []string
			for _, p := range prefixes {
				allowed = append(allowed, "arn:${AWS::Partition}:s3:::guildhall-${AWS::AccountId}-${AWS::Region}/"+p+"*")
			}
			if f := w.Stacks[r.stack].Resources[fn]; f != nil {
				allowed = append(allowed, "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:/aws/lambda/"+text(f.Properties, "FunctionName")+":*")
			}
			for _, s := range statements(r.resource) {
				for _, res := range words(dig(s, "Resource")) {
					if strings.Contains(res, "*") && !slices.Contains(allowed, res) {
						bad = append(bad, r.String()+": "+res)
					}
				}
			}
		}
		return bad
	}, func(w *world) {
		statements(w.first("AWS::IAM::Role"))[0].(map[string]any)["Resource"] = "arn:${AWS::Partition}:logs:*:*:*"
	}},

	{"all but some is only said of texts, which go to phones and to no topic", func(w *world) (bad []string) {
		n := 0
		for _, r := range w.of("AWS::IAM::Role") {
			for _, s := range statements(r.resource) {
				texts := strings.Contains(strings.Join(words(dig(s, "Action")), " "), "sns:")
				if texts {
					n++
				}
				if (dig(s, "NotResource") != nil || dig(s, "Resource") == nil || texts) && !allButTopics(s) {
					bad = append(bad, r.String()+": all resources but some")
				}
			}
		}
		if n != 1 {
			bad = append(bad, fmt.Sprintf("%d roles may send texts, want that of the job alone", n))
		}
		return bad
	}, func(w *world) {
		for _, r := range w.of("AWS::IAM::Role") {
			for _, s := range statements(r.resource) {
				if m := s.(map[string]any); m["NotResource"] != nil {
					m["NotResource"], m["Resource"] = nil, "*"
				}
			}
		}
	}},

	{"only Lambda assumes the roles", func(w *world) (bad []string) {
		for _, r := range w.of("AWS::IAM::Role") {
			for _, s := range list(dig(r.Properties, "AssumeRolePolicyDocument", "Statement")) {
				if text(s, "Principal", "Service") != "lambda.amazonaws.com" || text(s, "Action") != "sts:AssumeRole" {
					bad = append(bad, r.String())
				}
			}
		}
		return bad
	}, func(w *world) {
		dig(w.first("AWS::IAM::Role").Properties, "AssumeRolePolicyDocument", "Statement", 0).(map[string]any)["Principal"] = map[string]any{"AWS": "*"}
	}},

	{"functions are configured by known variables, and secrets by reference where they are touched", func(w *world) (bad []string) {
		known := map[string]bool{}
		for _, v := range config.Variables() {
			known[v.Name] = true
		}
		byFolder := map[string]plan.Function{}
		for _, f := range functions {
			byFolder[f.Folder] = f
		}
		secrets := map[string]op.Touch{"GUILDHALL_KEYS": op.Table, "GUILDHALL_STRIPE_KEY": op.Payments, "GUILDHALL_STRIPE_WEBHOOK_SECRET": op.Payments}
		for _, f := range w.of(function) {
			env, _ := dig(f.Properties, "Environment", "Variables").(map[string]any)
			for name, value := range env {
				if !known[name] {
					bad = append(bad, fmt.Sprintf("%s: nothing reads %s", f, name))
				}
				if touch, ok := secrets[name]; ok && (!byFolder[w.folder(f)].Touches.Has(touch) || !strings.HasPrefix(flat(value), "{{resolve:secretsmanager:")) {
					bad = append(bad, fmt.Sprintf("%s: %s is not a reference, or not the function's to have", f, name))
				}
			}
			if byFolder[w.folder(f)].Touches.Has(op.Table) != (flat(env["GUILDHALL_SMS"]) == "sns:") {
				bad = append(bad, fmt.Sprintf("%s: texts leave, and GUILDHALL_SMS is %v", f, env["GUILDHALL_SMS"]))
			}
			if byFolder[w.folder(f)].Touches.Has(op.Links) != (flat(env["GUILDHALL_LINKS"]) == "probe:") {
				bad = append(bad, fmt.Sprintf("%s: links are looked at, and GUILDHALL_LINKS is %v", f, env["GUILDHALL_LINKS"]))
			}
			for name, touch := range secrets {
				if byFolder[w.folder(f)].Touches.Has(touch) && env[name] == nil {
					bad = append(bad, fmt.Sprintf("%s: %s is missing", f, name))
				}
			}
		}
		return bad
	}, func(w *world) {
		set(w.first(function), "{\"token\":…}", "Environment", "Variables", "GUILDHALL_KEYS")
	}},
}

var jobs = []check{
	{"every queue's consumer reports which messages failed, in batches of its job", func(w *world) (bad []string) {
		want := map[string]float64{}
		for _, j := range catalog.Jobs() {
			if j.Queue != "" {
				want["guildhall-"+j.Queue] = float64(j.Batch)
			}
		}
		for _, m := range w.of("AWS::Lambda::EventSourceMapping") {
			_, name, _ := strings.Cut(flat(m.Properties["EventSourceArn"]), "${AWS::AccountId}:")
			if !slices.Contains(words(m.Properties["FunctionResponseTypes"]), "ReportBatchItemFailures") {
				bad = append(bad, m.String()+": one failed message repeats its whole batch")
			}
			if want[name] == 0 || number(m.Properties, "BatchSize") != want[name] {
				bad = append(bad, fmt.Sprintf("%s: batches of %v from %s", m, m.Properties["BatchSize"], name))
			}
			delete(want, name)
		}
		for name := range want {
			bad = append(bad, "nothing consumes "+name)
		}
		return bad
	}, func(w *world) { delete(w.first("AWS::Lambda::EventSourceMapping").Properties, "FunctionResponseTypes") }},

	{"a message stays hidden for six times its consumer's timeout", func(w *world) (bad []string) {
		hidden := map[string]float64{}
		for _, q := range w.of("AWS::SQS::Queue") {
			hidden[text(q.Properties, "QueueName")] = number(q.Properties, "VisibilityTimeout")
		}
		for _, m := range w.of("AWS::Lambda::EventSourceMapping") {
			_, name, _ := strings.Cut(flat(m.Properties["EventSourceArn"]), "${AWS::AccountId}:")
			f := w.Stacks[m.stack].Resources[target(m.Properties["FunctionName"])]
			if f == nil || hidden[name] < 6*number(f.Properties, "Timeout") || hidden[name] == 0 {
				bad = append(bad, fmt.Sprintf("%s: %s hides for %v s", m, name, hidden[name]))
			}
		}
		return bad
	}, func(w *world) {
		for _, q := range w.of("AWS::SQS::Queue") {
			if q.Properties["VisibilityTimeout"] != nil {
				q.Properties["VisibilityTimeout"] = 30.0
				return
			}
		}
	}},

	{"every queue has a dead letter queue that takes its messages only", func(w *world) (bad []string) {
		dead := map[string]at{}
		for _, q := range w.of("AWS::SQS::Queue") {
			if q.Properties["RedrivePolicy"] == nil {
				dead[q.stack+"/"+q.id] = q
			}
		}
		for _, q := range w.of("AWS::SQS::Queue") {
			if q.Properties["RedrivePolicy"] == nil {
				continue
			}
			name := text(q.Properties, "QueueName")
			d := dead[q.stack+"/"+target(dig(q.Properties, "RedrivePolicy", "deadLetterTargetArn"))]
			if d.resource == nil || text(d.Properties, "QueueName") != queue.DeadName(name) || number(q.Properties, "RedrivePolicy", "maxReceiveCount") < 1 {
				bad = append(bad, q.String()+" has no dead letter queue")
				continue
			}
			if !strings.HasSuffix(flat(dig(d.Properties, "RedriveAllowPolicy", "sourceQueueArns", 0)), ":"+name) {
				bad = append(bad, d.String()+" takes messages of others")
			}
			delete(dead, q.stack+"/"+d.id)
		}
		for name := range dead {
			bad = append(bad, name+" is nobody's dead letter queue, or has none")
		}
		return bad
	}, func(w *world) {
		for _, q := range w.of("AWS::SQS::Queue") {
			if q.Properties["RedrivePolicy"] != nil {
				delete(q.Properties, "RedrivePolicy")
				return
			}
		}
	}},

	{"every schedule of the catalog runs", func(w *world) (bad []string) {
		runs := map[string]string{}
		for _, r := range w.of("AWS::Events::Rule") {
			fn := target(dig(r.Properties, "Targets", 0, "Arn"))
			if f := w.Stacks[r.stack].Resources[fn]; f != nil && text(r.Properties, "State") == "ENABLED" {
				runs[w.folder(at{r.stack, fn, f})] = text(r.Properties, "ScheduleExpression")
			}
		}
		for _, j := range catalog.Jobs() {
			if j.Every > 0 && runs[j.Folder()] != rate(j.Every) {
				bad = append(bad, fmt.Sprintf("%s runs %q", j.ID, runs[j.Folder()]))
			}
		}
		return bad
	}, func(w *world) { w.first("AWS::Events::Rule").Properties["State"] = "DISABLED" }},

	{"alarms tell somebody, and cover dead letters, a standing clock and failing requests", func(w *world) (bad []string) {
		watched := map[string]bool{}
		for _, a := range w.of("AWS::CloudWatch::Alarm") {
			if len(list(a.Properties["AlarmActions"])) == 0 || text(a.Properties, "AlarmDescription") == "" {
				bad = append(bad, a.String()+" tells nobody, or not what it means")
			}
			watched[text(a.Properties, "MetricName")+" "+flat(dig(a.Properties, "Dimensions", 0, "Value"))] = true
		}
		want := []string{"5xx ${Api}", "Throttles <nil>", "WriteThrottleEvents guildhall", "ReadThrottleEvents guildhall"}
		for _, f := range functions {
			name := functionName(settings, f)
			if f.Reads != nil {
				want = append(want, "ApproximateNumberOfMessagesVisible guildhall-"+queue.DeadName(f.Reads.Name), "Errors "+name)
			}
			if f.Every > 0 {
				want = append(want, "Invocations "+name, "Errors "+name)
			}
		}
		for _, m := range want {
			if !watched[m] {
				bad = append(bad, "no alarm watches "+m)
			}
		}
		return bad
	}, func(w *world) { delete(w.first("AWS::CloudWatch::Alarm").Properties, "AlarmActions") }},
}

// only makes a check of every resource of a type.
func only(name, kind string, good func(w *world, r at) bool, plant func(r *resource)) check {
	return check{name, func(w *world) (bad []string) {
		all := w.of(kind)
		for _, r := range all {
			if !good(w, r) {
				bad = append(bad, r.String())
			}
		}
		if len(all) == 0 {
			bad = append(bad, "there is no "+kind)
		}
		return bad
	}, func(w *world) { plant(w.first(kind)) }}
}

// tlsOnly tells whether the policies of a type deny everything without TLS on a resource.
func (w *world) tlsOnly(stack, kind, id string) bool {
	for _, p := range w.of(kind) {
		for _, s := range list(dig(p.Properties, "PolicyDocument", "Statement")) {
			b, _ := json.Marshal(p.Properties)
			if p.stack == stack && text(s, "Effect") == "Deny" && text(s, "Condition", "Bool", "aws:SecureTransport") == "false" && strings.Contains(string(b), `"`+id+`"`) {
				return true
			}
		}
	}
	return false
}

var state = []check{
	only("the table is kept, protected, recoverable, on demand and forgets by x", "AWS::DynamoDB::Table", func(_ *world, r at) bool {
		p := r.Properties
		return r.DeletionPolicy == "Retain" && r.UpdateReplacePolicy == "Retain" && dig(p, "DeletionProtectionEnabled") == true &&
			dig(p, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled") == true && text(p, "BillingMode") == "PAY_PER_REQUEST" &&
			text(p, "TimeToLiveSpecification", "AttributeName") == "x" && dig(p, "TimeToLiveSpecification", "Enabled") == true &&
			text(p, "KeySchema", 0, "AttributeName") == "PK" && text(p, "KeySchema", 1, "AttributeName") == "SK"
	}, func(r *resource) { set(r, false, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled") }),
	only("a removed or renamed table is kept", "AWS::DynamoDB::Table", func(_ *world, r at) bool { return r.DeletionPolicy == "Retain" },
		func(r *resource) { r.DeletionPolicy = "Delete" }),
	only("the bucket is kept, private, encrypted and keeps old versions", "AWS::S3::Bucket", func(_ *world, r at) bool {
		b := dig(r.Properties, "PublicAccessBlockConfiguration")
		return r.DeletionPolicy == "Retain" && r.UpdateReplacePolicy == "Retain" && dig(b, "BlockPublicAcls") == true && dig(b, "BlockPublicPolicy") == true &&
			dig(b, "IgnorePublicAcls") == true && dig(b, "RestrictPublicBuckets") == true && text(r.Properties, "VersioningConfiguration", "Status") == "Enabled" &&
			text(r.Properties, "OwnershipControls", "Rules", 0, "ObjectOwnership") == "BucketOwnerEnforced" && dig(r.Properties, "BucketEncryption") != nil
	}, func(r *resource) { set(r, false, "PublicAccessBlockConfiguration", "BlockPublicPolicy") }),
	only("old uploads go after a day, all versions of them, and broken ones too", "AWS::S3::Bucket", func(_ *world, r at) bool {
		uploads, everything := false, false
		for _, rule := range list(dig(r.Properties, "LifecycleConfiguration", "Rules")) {
			on, broken := text(rule, "Status") == "Enabled", number(rule, "AbortIncompleteMultipartUpload", "DaysAfterInitiation")
			uploads = uploads || on && text(rule, "Prefix") == "uploads/" && number(rule, "ExpirationInDays") == 1 && number(rule, "NoncurrentVersionExpiration", "NoncurrentDays") == 1
			everything = everything || on && dig(rule, "Prefix") == nil && broken == 1 && dig(rule, "ExpirationInDays") == nil && dig(rule, "ExpiredObjectDeleteMarker") == true
		}
		return uploads && everything
	}, func(r *resource) {
		dig(r.Properties, "LifecycleConfiguration", "Rules", 1).(map[string]any)["Prefix"] = "upload/"
	}),
	only("pages of the exchange alone may put files", "AWS::S3::Bucket", func(_ *world, r at) bool {
		rules := list(dig(r.Properties, "CorsConfiguration", "CorsRules"))
		if len(rules) != 1 {
			return false
		}
		return strings.Join(words(dig(rules[0], "AllowedMethods")), " ") == "PUT" && strings.Join(words(dig(rules[0], "AllowedHeaders")), " ") == "content-type" &&
			strings.Join(words(dig(rules[0], "AllowedOrigins")), " ") == "https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}"
	}, func(r *resource) {
		dig(r.Properties, "CorsConfiguration", "CorsRules", 0).(map[string]any)["AllowedOrigins"] = []any{"*"}
	}),
	only("who touches files knows the bucket, and nobody else", function, func(w *world, f at) bool {
		var p plan.Function
		for _, one := range functions {
			if one.Folder == w.folder(f) {
				p = one
			}
		}
		bucket := flat(dig(f.Properties, "Environment", "Variables", "GUILDHALL_BLOBS"))
		if !p.Touches.Has(op.Blobs) {
			return dig(f.Properties, "Environment", "Variables", "GUILDHALL_BLOBS") == nil
		}
		return bucket == "s3://guildhall-${AWS::AccountId}-${AWS::Region}"
	}, func(r *resource) { set(r, "s3://somewhere", "Environment", "Variables", "GUILDHALL_BLOBS") }),
	{"bucket and queues speak TLS only", func(w *world) (bad []string) {
		for kind, policy := range map[string]string{"AWS::S3::Bucket": "AWS::S3::BucketPolicy", "AWS::SQS::Queue": "AWS::SQS::QueuePolicy"} {
			for _, r := range w.of(kind) {
				if !w.tlsOnly(r.stack, policy, r.id) {
					bad = append(bad, r.String())
				}
			}
		}
		return bad
	}, func(w *world) { w.drop("AWS::SQS::QueuePolicy", func(at) bool { return true }) }},
	only("every log ends some day", "AWS::Logs::LogGroup", func(_ *world, r at) bool { return number(r.Properties, "RetentionInDays") > 0 },
		func(r *resource) { delete(r.Properties, "RetentionInDays") }),
	only("every function writes into its own log", function, func(w *world, f at) bool {
		l := w.Stacks[f.stack].Resources[target(dig(f.Properties, "LoggingConfig", "LogGroup"))]
		return l != nil && text(l.Properties, "LogGroupName") == "/aws/lambda/"+text(f.Properties, "FunctionName")
	}, func(r *resource) { delete(r.Properties, "LoggingConfig") }),
	only("every function is a program of ours on arm64, under a name AWS takes", function, func(_ *world, f at) bool {
		p := f.Properties
		return text(p, "Runtime") == "provided.al2023" && text(p, "Handler") == "bootstrap" && text(p, "Architectures", 0) == "arm64" &&
			len(text(p, "FunctionName")) <= 64 && number(p, "MemorySize") > 0
	}, func(r *resource) { r.Properties["Runtime"] = "nodejs22.x" }),
}

// most makes a check of a number per stack.
func most(name string, limit int, count func(w *world, stack string) int, plant func(w *world)) check {
	return check{name, func(w *world) (bad []string) {
		for stack := range w.Stacks {
			if n := count(w, stack); n > limit {
				bad = append(bad, fmt.Sprintf("%s: %d, at most %d: raise parts in infra/plan/place.go", stack, n, limit))
			}
		}
		return bad
	}, plant}
}

// fill adds n copies of a resource.
func (w *world) fill(kind string, n int) {
	r := w.of(kind)[0]
	for i := range n {
		w.Stacks[r.stack].Resources[fmt.Sprintf("Copy%d", i)] = r.resource
	}
}

const maxTemplate = 1_000_000 // bytes of a template, CloudFormation's own limit

var sizes = []check{
	most("a stack has room", plan.MaxResources, func(w *world, s string) int { return len(w.Stacks[s].Resources) },
		func(w *world) { w.fill(function, plan.MaxResources) }),
	most("a stack has few enough functions", plan.MaxFunctions, func(w *world, s string) (n int) {
		for _, f := range w.of(function) {
			if f.stack == s {
				n++
			}
		}
		return n
	}, func(w *world) { w.fill(function, plan.MaxFunctions) }),
	most("a template names few enough secrets", plan.MaxSecrets, func(w *world, s string) int {
		b, _ := json.Marshal(w.Stacks[s])
		return strings.Count(string(b), "{{resolve:")
	}, func(w *world) { w.fill(function, plan.MaxSecrets+1) }),
	most("a template is small enough", maxTemplate, func(w *world, s string) int { return w.Bytes[s] },
		func(w *world) { w.Bytes["guildhall-shared"] = maxTemplate + 1 }),
	perAPI("an API has few enough integrations", "AWS::ApiGatewayV2::Integration", plan.MaxIntegrations),
	perAPI("an API has few enough routes", "AWS::ApiGatewayV2::Route", plan.MaxRoutes),
}

// perAPI makes a check of how many resources of a type one API has.
func perAPI(name, kind string, limit int) check {
	return check{name, func(w *world) (bad []string) {
		count := map[string]int{}
		for _, i := range w.of(kind) {
			count[flat(i.Properties["ApiId"])]++
		}
		for api, n := range count {
			if n > limit {
				bad = append(bad, fmt.Sprintf("%s has %d of %s, at most %d: give a context an API of its own, under one domain", api, n, kind, limit))
			}
		}
		return bad
	}, func(w *world) { w.fill(kind, limit) }}
}
