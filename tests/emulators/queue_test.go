package emulators

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/logging"
	"github.com/sivchari/kumo"

	"guildhall/pkg/queue"
	"guildhall/pkg/queue/queuetest"
	"guildhall/pkg/queue/sqs"
)

// Settings of the queues under test. An emulator's clock is the machine's, so the suite
// really waits: seconds, as few as SQS allows.
const (
	visibility  = 2 * time.Second
	maxReceives = 2
	// lateness is what an emulator may be late by, and less than the second it counts in.
	lateness = 150 * time.Millisecond
)

// subjects numbers the queues, so that every test has empty ones.
var subjects atomic.Int64

// openQueue makes a queue with its dead letter queue on the emulator.
func openQueue(t *testing.T, endpoint string, pollWait time.Duration) queuetest.Subject {
	t.Helper()
	client := awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, Logger: logging.Nop{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})
	prefix := fmt.Sprintf("t%d-", subjects.Add(1))
	makeQueue := func(name string, attributes map[string]string) string {
		t.Helper()
		out, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String(prefix + name), Attributes: attributes})
		if err != nil {
			t.Fatalf("create queue %s: %v", name, err)
		}
		return *out.QueueUrl
	}
	dead := makeQueue(queue.DeadName(queuetest.Name), nil)
	arn, err := client.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		t.Fatal(err)
	}
	live := makeQueue(queuetest.Name, map[string]string{
		"VisibilityTimeout": strconv.Itoa(int(visibility / time.Second)),
		"RedrivePolicy":     fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, arn.Attributes["QueueArn"], maxReceives),
	})
	q, err := sqs.New(sqs.Options{
		URLPrefix: live[:len(live)-len(queuetest.Name)], Region: "us-east-1", BaseEndpoint: endpoint, PollWait: pollWait,
		Credentials: sqs.Credentials{AccessKeyID: "test", SecretAccessKey: "test"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return queuetest.Subject{
		Queue: q, Visibility: visibility, MaxReceives: maxReceives,
		Advance: func(d time.Duration) { time.Sleep(d + lateness) },
	}
}

func TestQueueOnKumo(t *testing.T) {
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	queuetest.Run(t, func(t *testing.T) queuetest.Subject { return openQueue(t, server.URL, 0) })
	met("queue/sqs", kumoVersion+", short polls")
}
