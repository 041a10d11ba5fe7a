package cloud

import (
	"strconv"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"

	"guildhall/infra/plan"
	"guildhall/pkg/queue"
)

func fmtInt(n int) string { return strconv.Itoa(n) }

// alarm is a sum of metrics over a period, and the value at which somebody should look.
type alarm struct {
	id, what string // what it means and where to look
	metrics  []metric
	stat     string // of each metric; Sum when empty
	period   time.Duration
	periods  int
	at       float64
	below    bool // the alarm is for less than at, and for silence
}

type metric struct {
	namespace, name string
	dimensions      map[string]string
	reference       *string // a dimension's value that AWS chooses
	of              string  // its name
}

// maxMetrics of one alarm, CloudWatch's own limit.
const maxMetrics = 10

// alarms tells about what an operator has to do something about, and about nothing else.
func (sh *shared) alarms(s plan.Settings, functions []plan.Function) {
	var actions *[]any
	topic := awssns.NewCfnTopic(sh.stack, str("Alarms"), &awssns.CfnTopicProps{TopicName: str(s.Name + "-alarms")})
	actions = &[]any{topic.Ref()}
	if s.AlarmEmail != "" {
		awssns.NewCfnSubscription(sh.stack, str("AlarmEmail"), &awssns.CfnSubscriptionProps{TopicArn: topic.Ref(), Protocol: str("email"), Endpoint: str(s.AlarmEmail)})
	}
	for _, a := range sh.list(s, functions) {
		comparison, missing := "GreaterThanOrEqualToThreshold", "notBreaching"
		if a.below {
			comparison, missing = "LessThanThreshold", "breaching"
		}
		awscloudwatch.NewCfnAlarm(sh.stack, str(a.id), &awscloudwatch.CfnAlarmProps{AlarmName: str(s.Name + "-" + a.id), AlarmDescription: str(a.what),
			Metrics: a.queries(), EvaluationPeriods: num(float64(a.periods)), Threshold: num(a.at), ComparisonOperator: str(comparison),
			TreatMissingData: str(missing), AlarmActions: actions, OkActions: actions})
	}
}

// list is all alarms.
func (sh *shared) list(s plan.Settings, functions []plan.Function) []alarm {
	var all []alarm
	for _, q := range plan.Queues(functions) {
		id := logicalID(plan.Function{Folder: "queue/" + q.Name})
		all = append(all,
			alarm{id: id + "DeadLetters", what: "Messages of " + q.Name + " failed until they were put aside: see docs/deploy.md, dead letters.",
				metrics: sqsMetric("ApproximateNumberOfMessagesVisible", queueName(s, queue.DeadName(q.Name))), stat: "Maximum", period: 5 * time.Minute, periods: 1, at: 1},
			alarm{id: id + "Late", what: "The clock of " + q.Name + " lags: messages wait for ten minutes and more.",
				metrics: sqsMetric("ApproximateAgeOfOldestMessage", queueName(s, q.Name)), stat: "Maximum", period: 5 * time.Minute, periods: 2, at: 600})
	}
	ticks := names(s, functions, func(f plan.Function) bool { return f.Every > 0 })
	all = append(all,
		alarm{id: "ClockStands", what: "No tick ran for five minutes: nothing falls due.", metrics: lambdaMetrics("Invocations", ticks), period: 5 * time.Minute, periods: 1, at: 1, below: true},
		alarm{id: "RequestsFail", what: "The API answered 5xx: functions fail, are throttled or are too slow. Their logs say why.",
			metrics: []metric{{namespace: "AWS/ApiGateway", name: "5xx", of: "ApiId", reference: sh.api.Ref()}}, period: 5 * time.Minute, periods: 2, at: 5},
		alarm{id: "Throttles", what: "Functions of this account and region were throttled: ask for more concurrency, or lower the long polls' share.",
			metrics: []metric{{namespace: "AWS/Lambda", name: "Throttles"}}, period: 5 * time.Minute, periods: 1, at: 1},
		alarm{id: "TableThrottles", what: "The table refused calls for their rate: a hot key, or more load than on-demand follows.",
			metrics: []metric{{namespace: "AWS/DynamoDB", name: "ReadThrottleEvents", dimensions: map[string]string{"TableName": s.Name}},
				{namespace: "AWS/DynamoDB", name: "WriteThrottleEvents", dimensions: map[string]string{"TableName": s.Name}}}, period: 5 * time.Minute, periods: 2, at: 10},
		alarm{id: "ClockRowsFail", what: "Timers or side effects fail: the lines of the sweeps name their kind and cause.",
			metrics: []metric{{namespace: "Guildhall", name: "failed", dimensions: map[string]string{"service": "guildhall"}}}, period: 15 * time.Minute, periods: 2, at: 1})
	jobs := names(s, functions, func(f plan.Function) bool { return f.Reads != nil || f.Every > 0 })
	for i := 0; i < len(jobs); i += maxMetrics - 1 {
		all = append(all, alarm{id: "JobsFail" + fmtInt(i/(maxMetrics-1)+1), what: "Jobs ended with an error instead of an answer.",
			metrics: lambdaMetrics("Errors", jobs[i:min(len(jobs), i+maxMetrics-1)]), period: 5 * time.Minute, periods: 2, at: 1})
	}
	return all
}

func sqsMetric(name, queue string) []metric {
	return []metric{{namespace: "AWS/SQS", name: name, dimensions: map[string]string{"QueueName": queue}}}
}

func lambdaMetrics(name string, functions []string) (out []metric) {
	for _, f := range functions {
		out = append(out, metric{namespace: "AWS/Lambda", name: name, dimensions: map[string]string{"FunctionName": f}})
	}
	return out
}

// queries are the metrics, and their sum where there are several.
func (a alarm) queries() []any {
	stat := a.stat
	if stat == "" {
		stat = "Sum"
	}
	var out []any
	for i, m := range a.metrics {
		dimensions := []any{}
		for name, value := range m.dimensions {
			dimensions = append(dimensions, &awscloudwatch.CfnAlarm_DimensionProperty{Name: str(name), Value: str(value)})
		}
		if m.reference != nil {
			dimensions = append(dimensions, &awscloudwatch.CfnAlarm_DimensionProperty{Name: str(m.of), Value: m.reference})
		}
		out = append(out, &awscloudwatch.CfnAlarm_MetricDataQueryProperty{Id: str("m" + fmtInt(i)), ReturnData: flag(len(a.metrics) == 1),
			MetricStat: &awscloudwatch.CfnAlarm_MetricStatProperty{Period: num(a.period.Seconds()), Stat: str(stat),
				Metric: &awscloudwatch.CfnAlarm_MetricProperty{Namespace: str(m.namespace), MetricName: str(m.name), Dimensions: dimensions}}})
	}
	if len(a.metrics) > 1 {
		out = append(out, &awscloudwatch.CfnAlarm_MetricDataQueryProperty{Id: str("sum"), Expression: str("SUM(METRICS())"), ReturnData: flag(true)})
	}
	return out
}
