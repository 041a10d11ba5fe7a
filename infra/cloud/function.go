package cloud

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"

	"guildhall/infra/plan"
	"guildhall/pkg/op"
)

// Settings of what calls functions.
const (
	// sweepers bounds how many calls one queue makes at once: the clock's shards.
	sweepers = 16
	// A tick that failed is worth repeating until the next one comes.
	tickRetries = 2
	tickMaxAge  = time.Minute
)

// deployment is one function while it is made.
type deployment struct {
	plan.Function
	stack    awscdk.Stack
	settings plan.Settings
	shared   *shared
	id       string // begins the logical ids
	fn       awslambda.CfnFunction
}

// newFunction makes a function with its role, log, routes, queue and schedule.
func newFunction(stack awscdk.Stack, s plan.Settings, sh *shared, f plan.Function) {
	d := &deployment{Function: f, stack: stack, settings: s, shared: sh, id: logicalID(f)}
	d.code()
	if len(f.Routes) > 0 {
		d.routes()
	}
	if f.Reads != nil {
		d.consume()
	}
	if f.Every > 0 {
		d.schedule()
	}
}

func (d *deployment) logGroup() string { return "/aws/lambda/" + functionName(d.settings, d.Function) }

func (d *deployment) code() {
	asset := awss3assets.NewAsset(d.stack, str(d.id+"Code"), &awss3assets.AssetProps{
		Path: str(filepath.Join(d.settings.Dist, filepath.FromSlash(d.Folder)+".zip"))})
	logs := awslogs.NewCfnLogGroup(d.stack, str(d.id+"Logs"), &awslogs.CfnLogGroupProps{LogGroupName: str(d.logGroup()), RetentionInDays: num(logDays)})
	p := &awslambda.CfnFunctionProps{
		FunctionName: str(functionName(d.settings, d.Function)), Description: str(d.Summary),
		Runtime: str("provided.al2023"), Handler: str("bootstrap"), Architectures: jsii.Strings(d.settings.Arch),
		Code:       &awslambda.CfnFunction_CodeProperty{S3Bucket: asset.S3BucketName(), S3Key: asset.S3ObjectKey()},
		MemorySize: num(float64(d.MemoryMB())), Timeout: num(d.Timeout.Seconds()), Role: d.role().AttrArn(),
		Environment:   &awslambda.CfnFunction_EnvironmentProperty{Variables: d.environment()},
		LoggingConfig: &awslambda.CfnFunction_LoggingConfigProperty{LogGroup: logs.Ref()},
	}
	if d.Waits && d.settings.Waiting > 0 {
		p.ReservedConcurrentExecutions = num(float64(d.settings.Waiting))
	}
	d.fn = awslambda.NewCfnFunction(d.stack, str(d.id+"Function"), p) // CDK drops an id that is "Default"
}

// role is the function's own; it allows the plan's grants.
func (d *deployment) role() awsiam.CfnRole {
	trust := map[string]any{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": map[string]any{"Service": "lambda.amazonaws.com"}}
	var allowed []map[string]any
	for _, g := range d.settings.Grants(d.Function) {
		if g.Kind == plan.Phones {
			allowed = append(allowed, phones(g.Actions))
			continue
		}
		allowed = append(allowed, statement("Allow", g.Actions, d.resource(g)))
	}
	return awsiam.NewCfnRole(d.stack, str(d.id+"Role"), &awsiam.CfnRoleProps{AssumeRolePolicyDocument: document(trust),
		Description: str("What functions/" + d.Folder + " may do."),
		Policies:    []any{&awsiam.CfnRole_PolicyProperty{PolicyName: str("function"), PolicyDocument: document(allowed...)}}})
}

// phones allows what is done to a phone number. A number has no ARN, so the statement allows
// all but topics, in the exchange's own region.
func phones(actions []string) map[string]any {
	return map[string]any{"Effect": "Allow", "Action": actions,
		"NotResource": awscdk.Fn_Sub(str("arn:${AWS::Partition}:sns:*:*:*"), nil),
		"Condition":   map[string]any{"StringEquals": map[string]any{"aws:RequestedRegion": awscdk.Fn_Sub(str("${AWS::Region}"), nil)}}}
}

// resource is the ARN of a granted thing. Only objects and log streams have no names of
// their own to list.
func (d *deployment) resource(g plan.Grant) *string {
	s := d.settings
	switch g.Kind {
	case plan.Table:
		return arn("dynamodb", "table/"+s.Name)
	case plan.Bucket:
		return bucketARN(s, "")
	case plan.Objects:
		return bucketARN(s, "/"+g.Name+"*")
	case plan.Messages:
		return arn("sqs", queueName(s, g.Name))
	case plan.Identity:
		return arn("ses", "identity/"+s.MailDomain())
	case plan.Logs:
		return arn("logs", "log-group:"+d.logGroup()+":*")
	}
	panic("cloud: a grant on " + string(g.Kind))
}

// secret is a value CloudFormation reads from Secrets Manager when it deploys.
func secret(name, field, version string) *string {
	return str("{{resolve:secretsmanager:" + name + ":SecretString:" + field + "::" + version + "}}")
}

// environment is what pkg/config reads, as far as the function touches it.
func (d *deployment) environment() *map[string]*string {
	s := d.settings
	env := map[string]*string{"GUILDHALL_BASE_URL": d.shared.baseURL(s)}
	if s.LogLevel != "info" {
		env["GUILDHALL_LOG_LEVEL"] = str(s.LogLevel)
	}
	if len(d.Sends) > 0 {
		env["GUILDHALL_QUEUE"] = awscdk.Fn_Sub(str("sqs://sqs.${AWS::Region}.${AWS::URLSuffix}/${AWS::AccountId}/"+s.Name+"-"), nil)
	}
	if d.Touches.Has(op.Table) {
		env["GUILDHALL_STORE"] = str("dynamodb://" + s.Name)
		env["GUILDHALL_KEYS"] = secret(s.KeysSecret, "", s.KeysVersion)
		env["GUILDHALL_TIPS"] = str(s.Tips)
		env["GUILDHALL_SMS"] = str(map[string]string{"on": "sns:", "off": "none:"}[s.Texts])
	}
	if d.Touches.Has(op.Blobs) {
		env["GUILDHALL_BLOBS"] = awscdk.Fn_Sub(str("s3://"+bucketName(s)), nil)
	}
	if d.Touches.Has(op.Links) {
		env["GUILDHALL_LINKS"] = str(map[string]string{"on": "probe:", "off": "off"}[s.Links])
	}
	if d.Touches.Has(op.Mail) {
		env["GUILDHALL_MAIL"], env["GUILDHALL_MAIL_FROM"] = str("ses:"), str(s.MailFrom)
	}
	if d.Touches.Has(op.Payments) {
		env["GUILDHALL_PAYMENTS"] = str("stripe:")
		env["GUILDHALL_STRIPE_KEY"] = secret(s.StripeSecret, "key", s.StripeVersion)
		env["GUILDHALL_STRIPE_WEBHOOK_SECRET"] = secret(s.StripeSecret, "webhook", s.StripeVersion)
	}
	return &env
}

// allow lets a service call the function for one source.
func (d *deployment) allow(service string, source *string) {
	awslambda.NewCfnPermission(d.stack, str(d.id+"Permission"), &awslambda.CfnPermissionProps{Action: str("lambda:InvokeFunction"),
		FunctionName: d.fn.Ref(), Principal: str(service), SourceArn: source})
}

// routes puts the function behind the API: one integration for all its routes.
func (d *deployment) routes() {
	api := d.shared.api.Ref()
	d.allow("apigateway.amazonaws.com", awscdk.Fn_Sub(str("arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/*/*"),
		&map[string]*string{"Api": api}))
	integration := awsapigatewayv2.NewCfnIntegration(d.stack, str(d.id+"Integration"), &awsapigatewayv2.CfnIntegrationProps{ApiId: api,
		IntegrationType: str("AWS_PROXY"), IntegrationUri: d.fn.AttrArn(), PayloadFormatVersion: str("2.0"),
		TimeoutInMillis: num(float64((d.Timeout + time.Second/2).Milliseconds()))})
	target := awscdk.Fn_Join(str("/"), &[]*string{str("integrations"), integration.Ref()})
	for _, key := range d.Routes {
		method, _, _ := strings.Cut(key, " ")
		id := d.id + strings.TrimPrefix(method, "$") + "Route"
		awsapigatewayv2.NewCfnRoute(d.stack, str(id), &awsapigatewayv2.CfnRouteProps{ApiId: api, RouteKey: str(key), Target: target})
	}
}

// consume has the function called with the messages of its queue; it answers which of them
// should come back.
func (d *deployment) consume() {
	awslambda.NewCfnEventSourceMapping(d.stack, str(d.id+"Messages"), &awslambda.CfnEventSourceMappingProps{FunctionName: d.fn.Ref(),
		EventSourceArn: arn("sqs", queueName(d.settings, d.Reads.Name)), BatchSize: num(float64(d.Reads.Batch)),
		FunctionResponseTypes: jsii.Strings("ReportBatchItemFailures"),
		ScalingConfig:         &awslambda.CfnEventSourceMapping_ScalingConfigProperty{MaximumConcurrency: num(float64(sweepers))},
	})
}

func (d *deployment) schedule() {
	rule := awsevents.NewCfnRule(d.stack, str(d.id+"Schedule"), &awsevents.CfnRuleProps{Description: str(d.Summary),
		ScheduleExpression: str(rate(d.Every)), State: str("ENABLED"),
		Targets: []any{&awsevents.CfnRule_TargetProperty{Id: str("function"), Arn: d.fn.AttrArn(),
			RetryPolicy: &awsevents.CfnRule_RetryPolicyProperty{MaximumRetryAttempts: num(tickRetries), MaximumEventAgeInSeconds: num(tickMaxAge.Seconds())}}}})
	d.allow("events.amazonaws.com", rule.AttrArn())
}
