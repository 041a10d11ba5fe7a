// Package sqs is pkg/queue on Amazon SQS, standard queues.
//
// A named queue is the SQS queue whose URL is Options.URLPrefix followed by the name; its
// dead letter queue is the one named queue.DeadName(name). Visibility timeout and the
// number of receives are settings of those queues, which the infrastructure makes.
// Message.ID travels as the message attribute queue.IDAttribute; SQS's own ids stay inside.
//
// Needed actions: sqs:SendMessage, sqs:ReceiveMessage, sqs:DeleteMessage,
// sqs:ChangeMessageVisibility.
package sqs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"guildhall/pkg/awshttp"
	"guildhall/pkg/queue"
)

const (
	maxPollWait = 20 * time.Second // longest long poll SQS holds
	callTimeout = 15 * time.Second // one call, the SDK's retries included, beyond PollWait
	attemptTime = 5 * time.Second  // one attempt, beyond PollWait
	maxRequest  = 4 << 20          // bytes of one request: a full batch and its encoding
)

// Credentials are those of the environment; a session token comes with temporary ones.
type Credentials struct {
	AccessKeyID, SecretAccessKey, SessionToken string
}

// Options configure the adapter.
type Options struct {
	// URLPrefix begins every queue URL, for example
	// https://sqs.eu-west-1.amazonaws.com/123456789012/guildhall-
	URLPrefix   string
	Region      string
	Credentials Credentials
	// BaseEndpoint replaces AWS's address when set (an emulator).
	BaseEndpoint string
	// PollWait is how long a Receive waits for a message, 0..20 s; 0 answers at once.
	PollWait time.Duration
	// HTTPClient replaces our own when set.
	HTTPClient aws.HTTPClient
}

// Queue is the adapter. It is safe for use by many goroutines.
type Queue struct {
	client   *sqs.Client
	prefix   string
	pollWait time.Duration
}

var _ queue.Queue = (*Queue)(nil)

// New makes the adapter; it calls nothing yet. The SDK's retries stay on: a repeated send is
// a repeated hint, which the exchange allows.
func New(o Options) (*Queue, error) {
	switch {
	case o.URLPrefix == "":
		return nil, errors.New("sqs: a queue URL prefix is needed")
	case o.Region == "":
		return nil, errors.New("sqs: a region is needed")
	case o.Credentials.AccessKeyID == "" || o.Credentials.SecretAccessKey == "":
		return nil, errors.New("sqs: an access key and its secret are needed")
	case o.PollWait < 0 || o.PollWait > maxPollWait:
		return nil, fmt.Errorf("sqs: a poll wait of %v, 0 to %v", o.PollWait, maxPollWait)
	}
	c := o.Credentials
	so := sqs.Options{
		Region: o.Region,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey,
				SessionToken: c.SessionToken, Source: "guildhall"}, nil
		}),
		Logger:     logging.Nop{},
		HTTPClient: awshttp.New(attemptTime+o.PollWait, maxRequest),
	}
	if o.BaseEndpoint != "" {
		so.BaseEndpoint = aws.String(o.BaseEndpoint)
	}
	if o.HTTPClient != nil {
		so.HTTPClient = o.HTTPClient
	}
	return &Queue{client: sqs.New(so), prefix: o.URLPrefix, pollWait: o.PollWait}, nil
}

func (q *Queue) url(name string) *string { return aws.String(q.prefix + name) }

// Send implements queue.Queue.
func (q *Queue) Send(ctx context.Context, name string, msgs ...queue.Message) error {
	if err := queue.ValidSend(name, msgs); err != nil {
		return err
	}
	entries := make([]types.SendMessageBatchRequestEntry, len(msgs))
	for i, m := range msgs {
		entries[i] = types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(string(m.Body)), DelaySeconds: int32(m.DelaySeconds()),
			MessageAttributes: map[string]types.MessageAttributeValue{
				queue.IDAttribute: {DataType: aws.String("String"), StringValue: aws.String(m.ID)},
			},
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: q.url(name), Entries: entries})
	if err != nil {
		return failed("send to", name, err)
	}
	return sendError(msgs, out.Failed)
}

// sendError turns the failed entries of a batch, named by position, into a *SendError.
func sendError(msgs []queue.Message, entries []types.BatchResultErrorEntry) error {
	var e queue.SendError
	for _, f := range entries {
		i, err := strconv.Atoi(aws.ToString(f.Id))
		if err != nil || i < 0 || i >= len(msgs) {
			return fmt.Errorf("%w: the batch answer names entry %q", queue.ErrUnavailable, aws.ToString(f.Id))
		}
		e.Failed = append(e.Failed, queue.FailedSend{ID: msgs[i].ID, Reason: aws.ToString(f.Code) + " " + aws.ToString(f.Message)})
	}
	if len(e.Failed) == 0 {
		return nil
	}
	return &e
}

// Receive implements queue.Queue. It waits PollWait for the first message.
func (q *Queue) Receive(ctx context.Context, name string, max int) ([]queue.Delivery, error) {
	if err := queue.ValidReceive(name, max); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout+q.pollWait)
	defer cancel()
	out, err := q.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: q.url(name), MaxNumberOfMessages: int32(max), WaitTimeSeconds: int32(q.pollWait / time.Second),
		MessageAttributeNames: []string{queue.IDAttribute},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{
			types.MessageSystemAttributeNameApproximateReceiveCount, types.MessageSystemAttributeNameSentTimestamp},
	})
	if err != nil {
		return nil, failed("receive from", name, err)
	}
	ds := make([]queue.Delivery, len(out.Messages))
	for i, m := range out.Messages {
		ds[i] = delivery(m)
	}
	return ds, nil
}

// delivery reads one SQS message. One that something else put into the queue, without our
// attribute, keeps SQS's own id, so that it can fail, die and be looked at like any other.
func delivery(m types.Message) queue.Delivery {
	d := queue.Delivery{
		ID: aws.ToString(m.MessageId), Body: []byte(aws.ToString(m.Body)), Receives: 1, Receipt: aws.ToString(m.ReceiptHandle),
	}
	if id := aws.ToString(m.MessageAttributes[queue.IDAttribute].StringValue); id != "" {
		d.ID = id
	}
	if n, err := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)]); err == nil && n > 0 {
		d.Receives = n
	}
	if ms, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64); err == nil {
		d.SentAt = time.UnixMilli(ms).UTC()
	}
	return d
}

// Delete implements queue.Queue.
func (q *Queue) Delete(ctx context.Context, name string, receipts ...string) error {
	if err := queue.ValidDelete(name, receipts); err != nil {
		return err
	}
	if len(receipts) == 0 {
		return ctx.Err()
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(receipts))
	for i, r := range receipts {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: aws.String(r)}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: q.url(name), Entries: entries})
	if err != nil {
		return failed("delete from", name, err)
	}
	for _, f := range out.Failed {
		if !isVoid(aws.ToString(f.Code), aws.ToString(f.Message)) {
			return fmt.Errorf("%w: delete from %s: %s %s", queue.ErrUnavailable, name, aws.ToString(f.Code), aws.ToString(f.Message))
		}
	}
	return nil
}

// Hide implements queue.Queue.
func (q *Queue) Hide(ctx context.Context, name, receipt string, d time.Duration) error {
	if err := queue.ValidHide(name, d); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: q.url(name), ReceiptHandle: aws.String(receipt), VisibilityTimeout: int32((d + time.Second - 1) / time.Second),
	})
	if err == nil {
		return nil
	}
	var api smithy.APIError
	if errors.As(err, &api) && isVoid(api.ErrorCode(), api.ErrorMessage()) {
		return fmt.Errorf("%w: %s", queue.ErrNotHeld, api.ErrorCode())
	}
	return failed("hide in", name, err)
}

// isVoid tells whether SQS says that a receipt no longer holds its message. The service
// has two errors of its own for it and a third it shares with other bad parameters.
func isVoid(code, message string) bool {
	code = code[strings.LastIndexAny(code, ".#")+1:]
	switch code {
	case "ReceiptHandleIsInvalid", "MessageNotInflight":
		return true
	case "InvalidParameterValue":
		return strings.Contains(message, "ReceiptHandle")
	}
	return false
}

func failed(what, name string, err error) error {
	var gone *types.QueueDoesNotExist
	if errors.As(err, &gone) {
		return fmt.Errorf("%w: %s %s: there is no such queue; deploy the infrastructure or check GUILDHALL_QUEUE", queue.ErrUnavailable, what, name)
	}
	return fmt.Errorf("%w: %s %s: %w", queue.ErrUnavailable, what, name, err)
}
