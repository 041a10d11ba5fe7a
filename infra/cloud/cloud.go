// Package cloud makes the stacks of a plan with CDK: one shared stack for what keeps state
// (table, bucket, queues, API, alarms) and the stacks of the functions.
//
// Resources are CloudFormation's own (Cfn types): what stands here is what is deployed, and
// no permission is added behind our back. Names are fixed, so that stacks name each other's
// resources without exports; only the API's id, which AWS chooses, is one.
package cloud

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"guildhall/infra/plan"
)

// Short for what nearly every property needs.
var (
	str  = jsii.String
	flag = jsii.Bool
)

func num(n float64) *float64 { return &n }

// NewApp makes an app that leaves assets where they are, tells nobody about itself and
// writes into outdir ("": where CDK_OUTDIR says).
func NewApp(outdir string) awscdk.App {
	p := &awscdk.AppProps{AnalyticsReporting: flag(false), TreeMetadata: flag(false), StackTraces: flag(false),
		Context: &map[string]any{
			"aws:cdk:disable-asset-staging":             true,
			"@aws-cdk/core:defaultCrossStackReferences": "strong",
		}}
	if outdir != "" {
		p.Outdir = str(outdir)
	}
	return awscdk.NewApp(p)
}

// Build makes the stacks.
func Build(app awscdk.App, s plan.Settings, functions []plan.Function) {
	shared := newShared(app, s, functions)
	names, of := plan.Stacks(functions)
	for _, name := range names {
		stack := newStack(app, s, name, "Functions of Guildhall: "+name+".")
		for _, f := range of[name] {
			newFunction(stack, s, shared, f)
		}
	}
}

func newStack(scope constructs.Construct, s plan.Settings, name, description string) awscdk.Stack {
	return awscdk.NewStack(scope, str(s.Name+"-"+name), &awscdk.StackProps{Description: str(description), AnalyticsReporting: flag(false),
		Tags: &map[string]*string{"service": str(s.Name)}})
}

// arn is the ARN of something in this account and region.
func arn(service, resource string) *string {
	return awscdk.Fn_Sub(str("arn:${AWS::Partition}:"+service+":${AWS::Region}:${AWS::AccountId}:"+resource), nil)
}

// bucketName is the bucket's: globally unique without asking for its name.
func bucketName(s plan.Settings) string { return s.Name + "-${AWS::AccountId}-${AWS::Region}" }

func bucketARN(s plan.Settings, below string) *string {
	return awscdk.Fn_Sub(str("arn:${AWS::Partition}:s3:::"+bucketName(s)+below), nil)
}

func queueName(s plan.Settings, name string) string { return s.Name + "-" + name }

// functionName is the physical name of a function.
func functionName(s plan.Settings, f plan.Function) string {
	return s.Name + "-" + strings.ReplaceAll(f.Folder, "/", "-")
}

// logicalID makes words of a folder's second part: "proposal-file" is "ProposalFile".
func logicalID(f plan.Function) string {
	var b strings.Builder
	_, name, _ := strings.Cut(f.Folder, "/")
	for word := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// statement is one statement of a policy.
func statement(effect string, actions []string, resources ...*string) map[string]any {
	m := map[string]any{"Effect": effect, "Action": actions, "Resource": resources[0]}
	if len(resources) > 1 {
		m["Resource"] = resources
	}
	return m
}

func document(statements ...map[string]any) map[string]any {
	return map[string]any{"Version": "2012-10-17", "Statement": statements}
}

// onlyTLS denies everything that does not come over TLS.
func onlyTLS(action string, resources ...*string) map[string]any {
	m := statement("Deny", []string{action}, resources...)
	m["Principal"] = "*"
	m["Condition"] = map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}}
	return m
}
