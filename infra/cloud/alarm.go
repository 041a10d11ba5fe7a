package cloud

import (
	"strconv"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"

	"guildhall/infra/plan"
	"guildhall/pkg/queue"
)

// alarm is one metric, and the value at which somebody should look. Metric math would add
// some up; emulators do not know it.
type alarm struct {
	id, what        string // what it means and where to look
	namespace, name string // of the metric
	of              string // its one dimension, "" for the sum over all
	value           *string
	stat            string
	period          time.Duration
	periods         int // in a row
	at              float64
	below           bool // the alarm is for less than at, and for silence
}

// How often metrics are looked at.
const (
	soon = 5 * time.Minute
	late = 15 * time.Minute
)

// alarms tells about what an operator has to do something about, and about nothing else.
func (sh *shared) alarms(s plan.Settings, functions []plan.Function) {
	topic := awssns.NewCfnTopic(sh.stack, str("Alarms"), &awssns.CfnTopicProps{TopicName: str(s.Name + "-alarms")})
	if s.AlarmEmail != "" {
		awssns.NewCfnSubscription(sh.stack, str("AlarmEmail"), &awssns.CfnSubscriptionProps{TopicArn: topic.Ref(), Protocol: str("email"), Endpoint: str(s.AlarmEmail)})
	}
	all := sh.outside(s)
	for _, f := range functions {
		all = append(all, clockwork(s, f)...)
	}
	for _, a := range all {
		p := &awscloudwatch.CfnAlarmProps{AlarmName: str(s.Name + "-" + a.id), AlarmDescription: str(a.what), Namespace: str(a.namespace), MetricName: str(a.name),
			Statistic: str(a.stat), Period: num(a.period.Seconds()), EvaluationPeriods: num(float64(a.periods)), Threshold: num(a.at),
			ComparisonOperator: str("GreaterThanOrEqualToThreshold"), TreatMissingData: str("notBreaching"), AlarmActions: &[]any{topic.Ref()}, OkActions: &[]any{topic.Ref()}}
		if a.of != "" {
			p.Dimensions = []any{&awscloudwatch.CfnAlarm_DimensionProperty{Name: str(a.of), Value: a.value}}
		}
		if a.below {
			p.ComparisonOperator, p.TreatMissingData = str("LessThanThreshold"), str("breaching")
		}
		awscloudwatch.NewCfnAlarm(sh.stack, str(a.id), p)
	}
}

// outside are the alarms about requests and the table. All functions together show in the
// API's own failures: one that fails, is throttled or too slow is a 5xx there.
func (sh *shared) outside(s plan.Settings) []alarm {
	table := str(s.Name)
	return []alarm{
		{id: "RequestsFail", what: "The API answered 5xx: functions fail, are throttled or are too slow. Their logs say why.",
			namespace: "AWS/ApiGateway", name: "5xx", of: "ApiId", value: sh.api.Ref(), stat: "Sum", period: soon, periods: 2, at: 5},
		{id: "Throttles", what: "Functions of this account and region were throttled: ask for more concurrency, or lower the long polls' share.",
			namespace: "AWS/Lambda", name: "Throttles", stat: "Sum", period: soon, periods: 1, at: 1},
		{id: "TableReadsThrottled", what: "The table refused reads for their rate: a hot key, or more load than on-demand follows.",
			namespace: "AWS/DynamoDB", name: "ReadThrottleEvents", of: "TableName", value: table, stat: "Sum", period: soon, periods: 2, at: 10},
		{id: "TableWritesThrottled", what: "The table refused writes for their rate: a hot key, or more load than on-demand follows.",
			namespace: "AWS/DynamoDB", name: "WriteThrottleEvents", of: "TableName", value: table, stat: "Sum", period: soon, periods: 2, at: 10},
		{id: "ClockRowsFail", what: "Timers or side effects fail: the lines of the sweeps name their kind and cause.",
			namespace: "Guildhall", name: "failed", of: "service", value: str("guildhall"), stat: "Sum", period: late, periods: 2, at: 1},
	}
}

// clockwork are the alarms about a job.
func clockwork(s plan.Settings, f plan.Function) (all []alarm) {
	id := logicalID(plan.Function{Folder: "job/" + f.Group() + "-" + logicalID(f)})
	name := str(functionName(s, f))
	if f.Reads != nil || f.Every > 0 {
		all = append(all, alarm{id: id + "Fails", what: "functions/" + f.Folder + " ended with an error instead of an answer: its log says why.",
			namespace: "AWS/Lambda", name: "Errors", of: "FunctionName", value: name, stat: "Sum", period: soon, periods: 2, at: 1})
	}
	if f.Every > 0 {
		all = append(all, alarm{id: id + "Stands", what: "functions/" + f.Folder + " did not run for five minutes: nothing falls due.",
			namespace: "AWS/Lambda", name: "Invocations", of: "FunctionName", value: name, stat: "Sum", period: soon, periods: 1, at: 1, below: true})
	}
	if f.Reads == nil {
		return all
	}
	return append(all,
		alarm{id: id + "DeadLetters", what: "Messages of " + f.Reads.Name + " failed until they were put aside: see docs/deploy.md, dead letters.",
			namespace: "AWS/SQS", name: "ApproximateNumberOfMessagesVisible", of: "QueueName", value: str(queueName(s, queue.DeadName(f.Reads.Name))), stat: "Maximum", period: soon, periods: 1, at: 1},
		alarm{id: id + "Late", what: "Messages of " + f.Reads.Name + " wait for ten minutes and more: what falls due is late.",
			namespace: "AWS/SQS", name: "ApproximateAgeOfOldestMessage", of: "QueueName", value: str(queueName(s, f.Reads.Name)), stat: "Maximum", period: soon, periods: 2, at: 600})
}

// rate is a schedule in whole minutes.
func rate(every time.Duration) string {
	if every == time.Minute {
		return "rate(1 minute)"
	}
	return "rate(" + strconv.Itoa(int(every/time.Minute)) + " minutes)"
}
