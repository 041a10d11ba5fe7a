package cloud

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"guildhall/infra/plan"
	"guildhall/pkg/blob"
	"guildhall/pkg/queue"
)

// How long things are kept.
const (
	logDays      = 30             // days of logs
	hintsKept    = 24 * time.Hour // of a queue nobody reads: the next tick says it all again
	deadKept     = 14 * 24 * time.Hour
	versionsKept = 30 // days of deleted and replaced objects
	// uploadsKept is for how many days an upload can be claimed (surface.md 7: one). S3 counts
	// to the end of the day it falls on, so no upload goes before its time. Its old versions go
	// as soon as they can.
	uploadsKept = 1
	brokenKept  = 1    // days of the parts of a broken upload
	corsKept    = 3600 // seconds a browser remembers that it may put files here
)

// burst is how many times its rate the API takes at once.
const burst = 2

// shared is what the other stacks name.
type shared struct {
	stack awscdk.Stack
	api   awsapigatewayv2.CfnApi
}

func newShared(app constructs.Construct, s plan.Settings, functions []plan.Function) *shared {
	sh := &shared{stack: newStack(app, s, "shared", "What Guildhall keeps: table, files, queues, and the API.")}
	sh.table(s)
	sh.http(s)
	sh.bucket(s)
	for _, q := range plan.Queues(functions) {
		sh.queue(s, q)
	}
	sh.alarms(s, functions)
	return sh
}

// table is the one table. The name of its TTL attribute and of its keys are ddb's.
func (sh *shared) table(s plan.Settings) {
	t := awsdynamodb.NewCfnTable(sh.stack, str("Table"), &awsdynamodb.CfnTableProps{
		TableName: str(s.Name),
		KeySchema: []any{
			&awsdynamodb.CfnTable_KeySchemaProperty{AttributeName: str("PK"), KeyType: str("HASH")},
			&awsdynamodb.CfnTable_KeySchemaProperty{AttributeName: str("SK"), KeyType: str("RANGE")}},
		AttributeDefinitions: []any{
			&awsdynamodb.CfnTable_AttributeDefinitionProperty{AttributeName: str("PK"), AttributeType: str("S")},
			&awsdynamodb.CfnTable_AttributeDefinitionProperty{AttributeName: str("SK"), AttributeType: str("S")}},
		BillingMode:                      str("PAY_PER_REQUEST"),
		DeletionProtectionEnabled:        flag(true),
		PointInTimeRecoverySpecification: &awsdynamodb.CfnTable_PointInTimeRecoverySpecificationProperty{PointInTimeRecoveryEnabled: flag(true)},
		SseSpecification:                 &awsdynamodb.CfnTable_SSESpecificationProperty{SseEnabled: flag(true)},
		TimeToLiveSpecification:          &awsdynamodb.CfnTable_TimeToLiveSpecificationProperty{AttributeName: str("x"), Enabled: flag(true)},
	})
	t.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN, nil)
}

// bucket keeps files. Old versions are kept for a while, so that a mistake can be undone:
// CloudFormation has no deletion protection for a bucket, but nobody's role may delete
// versions, S3 deletes no bucket that holds any, and the bucket outlives its stack.
func (sh *shared) bucket(s plan.Settings) {
	b := awss3.NewCfnBucket(sh.stack, str("Bucket"), &awss3.CfnBucketProps{
		BucketName: awscdk.Fn_Sub(str(bucketName(s)), nil),
		BucketEncryption: &awss3.CfnBucket_BucketEncryptionProperty{ServerSideEncryptionConfiguration: []any{
			&awss3.CfnBucket_ServerSideEncryptionRuleProperty{ServerSideEncryptionByDefault: &awss3.CfnBucket_ServerSideEncryptionByDefaultProperty{SseAlgorithm: str("AES256")}}}},
		OwnershipControls: &awss3.CfnBucket_OwnershipControlsProperty{Rules: []any{
			&awss3.CfnBucket_OwnershipControlsRuleProperty{ObjectOwnership: str("BucketOwnerEnforced")}}},
		PublicAccessBlockConfiguration: &awss3.CfnBucket_PublicAccessBlockConfigurationProperty{BlockPublicAcls: flag(true),
			BlockPublicPolicy: flag(true), IgnorePublicAcls: flag(true), RestrictPublicBuckets: flag(true)},
		VersioningConfiguration: &awss3.CfnBucket_VersioningConfigurationProperty{Status: str("Enabled")},
		LifecycleConfiguration:  lifecycle(),
		CorsConfiguration: &awss3.CfnBucket_CorsConfigurationProperty{CorsRules: []any{
			&awss3.CfnBucket_CorsRuleProperty{AllowedOrigins: &[]*string{sh.baseURL(s)}, AllowedMethods: jsii.Strings("PUT"), AllowedHeaders: jsii.Strings("content-type"),
				MaxAge: num(corsKept)}}},
	})
	b.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN, nil)
	p := awss3.NewCfnBucketPolicy(sh.stack, str("BucketPolicy"), &awss3.CfnBucketPolicyProps{Bucket: b.Ref(),
		PolicyDocument: document(onlyTLS("s3:*", bucketARN(s, ""), bucketARN(s, "/*")))})
	p.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN, nil)
}

// lifecycle is what the bucket removes by itself: uploads nobody claimed, for which no job
// runs on AWS, old versions, and what is left of either.
func lifecycle() *awss3.CfnBucket_LifecycleConfigurationProperty {
	days := func(n float64) *awss3.CfnBucket_NoncurrentVersionExpirationProperty {
		return &awss3.CfnBucket_NoncurrentVersionExpirationProperty{NoncurrentDays: num(n)}
	}
	return &awss3.CfnBucket_LifecycleConfigurationProperty{Rules: []any{
		&awss3.CfnBucket_RuleProperty{Id: str("old-versions"), Status: str("Enabled"), NoncurrentVersionExpiration: days(versionsKept), ExpiredObjectDeleteMarker: flag(true),
			AbortIncompleteMultipartUpload: &awss3.CfnBucket_AbortIncompleteMultipartUploadProperty{DaysAfterInitiation: num(brokenKept)}},
		&awss3.CfnBucket_RuleProperty{Id: str("unclaimed-uploads"), Status: str("Enabled"), Prefix: str(blob.UploadPrefix), ExpirationInDays: num(uploadsKept),
			NoncurrentVersionExpiration: days(1)},
	}}
}

// queue makes a queue and its dead letter queue. They keep nothing that the table does not
// know, so they may be replaced.
func (sh *shared) queue(s plan.Settings, q plan.Queue) {
	id := logicalID(plan.Function{Folder: "queue/" + q.Name})
	name, dead := queueName(s, q.Name), queueName(s, queue.DeadName(q.Name))
	d := awssqs.NewCfnQueue(sh.stack, str(id+"Dead"), &awssqs.CfnQueueProps{QueueName: str(dead), SqsManagedSseEnabled: flag(true),
		MessageRetentionPeriod: num(deadKept.Seconds()),
		RedriveAllowPolicy:     map[string]any{"redrivePermission": "byQueue", "sourceQueueArns": []*string{arn("sqs", name)}}})
	m := awssqs.NewCfnQueue(sh.stack, str(id), &awssqs.CfnQueueProps{QueueName: str(name), SqsManagedSseEnabled: flag(true),
		MessageRetentionPeriod: num(hintsKept.Seconds()), VisibilityTimeout: num(q.Visibility.Seconds()),
		RedrivePolicy: map[string]any{"deadLetterTargetArn": d.AttrArn(), "maxReceiveCount": q.Receives}})
	awssqs.NewCfnQueuePolicy(sh.stack, str(id+"Policy"), &awssqs.CfnQueuePolicyProps{Queues: &[]*string{m.Ref(), d.Ref()},
		PolicyDocument: document(onlyTLS("sqs:*", m.AttrArn(), d.AttrArn()))})
}

// accessLine is one line of the API's log. It has no path, query or address: those may hold
// tokens and say who reads what. The function's own line has the same request id.
const accessLine = `{"request":"$context.requestId","route":"$context.routeKey","status":"$context.status",` +
	`"latency_ms":"$context.responseLatency","function_ms":"$context.integrationLatency","error":"$context.integrationErrorMessage"}`

func (sh *shared) http(s plan.Settings) {
	sh.api = awsapigatewayv2.NewCfnApi(sh.stack, str("Api"), &awsapigatewayv2.CfnApiProps{Name: str(s.Name), ProtocolType: str("HTTP"),
		DisableExecuteApiEndpoint: flag(s.Domain != "")})
	logs := awslogs.NewCfnLogGroup(sh.stack, str("ApiLogs"), &awslogs.CfnLogGroupProps{LogGroupName: str("/aws/apigateway/" + s.Name), RetentionInDays: num(logDays)})
	stage := awsapigatewayv2.NewCfnStage(sh.stack, str("Stage"), &awsapigatewayv2.CfnStageProps{ApiId: sh.api.Ref(), StageName: str("$default"), AutoDeploy: flag(true),
		AccessLogSettings: &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{DestinationArn: logs.AttrArn(), Format: str(accessLine)},
		DefaultRouteSettings: &awsapigatewayv2.CfnStage_RouteSettingsProperty{DetailedMetricsEnabled: flag(false),
			ThrottlingRateLimit: num(float64(s.Rate)), ThrottlingBurstLimit: num(float64(burst * s.Rate))}})
	awscdk.NewCfnOutput(sh.stack, str("Address"), &awscdk.CfnOutputProps{Description: str("Where the exchange answers."), Value: sh.baseURL(s)})
	if s.Domain == "" {
		return
	}
	d := awsapigatewayv2.NewCfnDomainName(sh.stack, str("Domain"), &awsapigatewayv2.CfnDomainNameProps{DomainName: str(s.Domain),
		DomainNameConfigurations: []any{&awsapigatewayv2.CfnDomainName_DomainNameConfigurationProperty{
			CertificateArn: str(s.Certificate), EndpointType: str("REGIONAL"), SecurityPolicy: str("TLS_1_2")}}})
	awsapigatewayv2.NewCfnApiMapping(sh.stack, str("DomainMapping"), &awsapigatewayv2.CfnApiMappingProps{ApiId: sh.api.Ref(), DomainName: d.Ref(), Stage: stage.Ref()})
	awscdk.NewCfnOutput(sh.stack, str("DomainTarget"), &awscdk.CfnOutputProps{Description: str("What the DNS record of the domain points at."), Value: d.AttrRegionalDomainName()})
}

// baseURL is the public address. The function stacks name the API's id by an import.
func (sh *shared) baseURL(s plan.Settings) *string {
	if s.BaseURL != "" {
		return str(s.BaseURL)
	}
	return awscdk.Fn_Sub(str("https://${Api}.execute-api.${AWS::Region}.${AWS::URLSuffix}"), &map[string]*string{"Api": sh.api.Ref()})
}
