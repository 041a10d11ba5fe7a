package lambdalocal

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"guildhall/pkg/queue"
)

// sendCall is the one call functions make to SQS.
type sendCall struct {
	QueueUrl string
	Entries  []struct {
		Id, MessageBody   string
		DelaySeconds      int
		MessageAttributes map[string]struct{ DataType, StringValue string }
	}
}

// sqs takes the messages functions send, in SQS's own protocol. Receiving is the event
// source mapping's, which is here.
func (r *Runner) sqs(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(io.LimitReader(q.Body, maxCall))
	var in sendCall
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	_, operation, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
	if err != nil || operation != "SendMessageBatch" {
		refuse(w, http.StatusBadRequest, "com.amazonaws.sqs#UnsupportedOperation", "functions send in batches and do nothing else")
		return
	}
	name := nameOf(in.QueueUrl)
	if err := r.allow(caller(q), "sqs:SendMessage", arn("sqs", name)); err != nil {
		refuse(w, http.StatusForbidden, "com.amazon.coral.service#AccessDeniedException", err.Error())
		return
	}
	if r.queue(name) == nil {
		refuse(w, http.StatusBadRequest, "com.amazonaws.sqs#QueueDoesNotExist", "no such queue in the templates: "+name)
		return
	}
	r.faults.around(w, call{target: "queue", function: caller(q), invocation: q.Header.Get("Amz-Sdk-Invocation-Id"), operation: operation},
		func(w http.ResponseWriter) { r.send(w, q, name, in) })
}

func (r *Runner) queue(name string) *Queue {
	for _, q := range r.deployment.Queues {
		if q.Name == name {
			return q
		}
	}
	return nil
}

func (r *Runner) send(w http.ResponseWriter, q *http.Request, name string, in sendCall) {
	good, bad := []map[string]any{}, []map[string]any{}
	_, drop := w.(lost)
	for _, e := range in.Entries {
		m := queue.Message{ID: e.MessageAttributes[queue.IDAttribute].StringValue, Body: []byte(e.MessageBody), Delay: time.Duration(e.DelaySeconds) * time.Second}
		var err error
		if !drop {
			err = r.queues.Send(q.Context(), name, m)
		}
		if err != nil {
			bad = append(bad, map[string]any{"Id": e.Id, "Code": "InvalidParameterValue", "Message": err.Error(), "SenderFault": true})
			continue
		}
		sum := md5.Sum([]byte(e.MessageBody))
		good = append(good, map[string]any{"Id": e.Id, "MessageId": randomID(), "MD5OfMessageBody": hex.EncodeToString(sum[:])})
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(map[string]any{"Successful": good, "Failed": bad})
}

// deliver hands the messages of a queue that are visible now to its function, in batches,
// and returns how many there were. Messages of a batch that failed, or that the function
// names as failed, come back after their time.
func (r *Runner) deliver(ctx context.Context, q *Queue) (n int, err error) {
	for ctx.Err() == nil {
		ds, err := r.queues.Receive(ctx, q.Name, min(q.Batch, queue.MaxBatch))
		if err != nil || len(ds) == 0 {
			return n, err
		}
		n += len(ds)
		done, err := r.consume(ctx, q, ds)
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		if err != nil {
			r.log.Error("function failed", slog.String("function", q.Reader.Name), slog.String("cause", err.Error()))
			continue
		}
		if err := r.queues.Delete(ctx, q.Name, done...); err != nil {
			return n, err
		}
	}
	return n, ctx.Err()
}

// consume is one call of a queue's function; it returns the receipts of what is done.
func (r *Runner) consume(ctx context.Context, q *Queue, ds []queue.Delivery) (done []string, err error) {
	in := events.SQSEvent{}
	for _, d := range ds {
		sum := md5.Sum(d.Body)
		in.Records = append(in.Records, events.SQSMessage{MessageId: d.Receipt, ReceiptHandle: d.Receipt, Body: string(d.Body), Md5OfBody: hex.EncodeToString(sum[:]),
			Attributes:  map[string]string{"ApproximateReceiveCount": strconv.Itoa(d.Receives), "SentTimestamp": strconv.FormatInt(d.SentAt.UnixMilli(), 10)},
			EventSource: "aws:sqs", EventSourceARN: arn("sqs", q.Name), AWSRegion: Region})
	}
	event, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	out, err := r.pools[q.Reader.Name].invoke(ctx, event)
	if err != nil {
		return nil, err
	}
	var res events.SQSEventResponse
	if q.Partial {
		if err := json.Unmarshal(out, &res); err != nil {
			return nil, fmt.Errorf("the answer names no failures: %w", err)
		}
	}
	failed := map[string]bool{}
	for _, f := range res.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	for _, d := range ds {
		if !failed[d.Receipt] {
			done = append(done, d.Receipt)
		}
	}
	return done, nil
}
