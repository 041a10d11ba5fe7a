package sqs

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/queue"
	"guildhall/pkg/queue/memqueue"
)

// server speaks SQS's JSON protocol over the in-process queue, so that the real SDK client
// is tested end to end on a simulated clock. Its fields make it misbehave.
type server struct {
	t       *testing.T
	backend *memqueue.Queue
	prefix  string

	mu       sync.Mutex
	calls    map[string]int
	rejected map[string]string // message id -> error code of its batch entry
	broken   int               // next calls that answer 503
	unknown  bool              // no queue exists
	foreign  bool              // messages lack our attribute
	auth     string            // Authorization header of the last call
	wait     int               // WaitTimeSeconds of the last receive
}

type entry struct {
	Id, MessageBody, ReceiptHandle string
	DelaySeconds                   int
	MessageAttributes              map[string]attribute
}

type attribute struct{ DataType, StringValue string }

type call struct {
	QueueUrl, ReceiptHandle                                 string
	Entries                                                 []entry
	MaxNumberOfMessages, VisibilityTimeout, WaitTimeSeconds int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in call
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		s.t.Errorf("the client sent no JSON: %v", err)
	}
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	s.mu.Lock()
	s.calls[action]++
	s.auth, s.wait = r.Header.Get("Authorization"), in.WaitTimeSeconds
	broken := s.broken > 0
	if broken {
		s.broken--
	}
	s.mu.Unlock()
	name, ok := strings.CutPrefix(in.QueueUrl, s.prefix)
	switch {
	case broken:
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable", "try again")
	case !ok || s.unknown:
		refuse(w, http.StatusBadRequest, "QueueDoesNotExist", "no such queue")
	default:
		s.answer(w, r, action, name, in)
	}
}

func (s *server) answer(w http.ResponseWriter, r *http.Request, action, name string, in call) {
	switch action {
	case "SendMessageBatch":
		s.send(w, r, name, in)
	case "ReceiveMessage":
		s.receive(w, r, name, in)
	case "DeleteMessageBatch":
		s.delete(w, r, name, in)
	case "ChangeMessageVisibility":
		err := s.backend.Hide(r.Context(), name, in.ReceiptHandle, time.Duration(in.VisibilityTimeout)*time.Second)
		if errors.Is(err, queue.ErrNotHeld) {
			refuse(w, http.StatusBadRequest, "InvalidParameterValue", "Value for parameter ReceiptHandle is invalid.")
			return
		}
		reply(w, map[string]any{})
	default:
		s.t.Errorf("unexpected action %q", action)
	}
}

func (s *server) send(w http.ResponseWriter, r *http.Request, name string, in call) {
	var good, bad []map[string]any
	for _, e := range in.Entries {
		id := e.MessageAttributes[queue.IDAttribute].StringValue
		if code := s.rejected[id]; code != "" {
			bad = append(bad, map[string]any{"Id": e.Id, "Code": code, "Message": "refused", "SenderFault": false})
			continue
		}
		m := queue.Message{ID: id, Body: []byte(e.MessageBody), Delay: time.Duration(e.DelaySeconds) * time.Second}
		if err := s.backend.Send(r.Context(), name, m); err != nil {
			s.t.Errorf("the client sent a message the port refuses: %v", err)
		}
		good = append(good, map[string]any{"Id": e.Id, "MessageId": "sqs-" + e.Id, "MD5OfMessageBody": sum(e.MessageBody)})
	}
	reply(w, map[string]any{"Successful": good, "Failed": bad})
}

func (s *server) receive(w http.ResponseWriter, r *http.Request, name string, in call) {
	ds, err := s.backend.Receive(r.Context(), name, in.MaxNumberOfMessages)
	if err != nil {
		s.t.Errorf("the client received what the port refuses: %v", err)
	}
	messages := []map[string]any{}
	for _, d := range ds {
		m := map[string]any{
			"MessageId": "sqs-" + d.Receipt, "ReceiptHandle": d.Receipt, "Body": string(d.Body), "MD5OfBody": sum(string(d.Body)),
			"Attributes": map[string]string{"ApproximateReceiveCount": strconv.Itoa(d.Receives),
				"SentTimestamp": strconv.FormatInt(d.SentAt.UnixMilli(), 10)},
		}
		if !s.foreign {
			m["MessageAttributes"] = map[string]attribute{queue.IDAttribute: {"String", d.ID}}
		}
		messages = append(messages, m)
	}
	reply(w, map[string]any{"Messages": messages})
}

func (s *server) delete(w http.ResponseWriter, r *http.Request, name string, in call) {
	var good, bad []map[string]any
	for _, e := range in.Entries {
		if code := s.rejected[e.ReceiptHandle]; code != "" {
			bad = append(bad, map[string]any{"Id": e.Id, "Code": code, "Message": "refused", "SenderFault": true})
			continue
		}
		if err := s.backend.Delete(r.Context(), name, e.ReceiptHandle); err != nil {
			s.t.Errorf("delete: %v", err)
		}
		good = append(good, map[string]any{"Id": e.Id})
	}
	reply(w, map[string]any{"Successful": good, "Failed": bad})
}

func sum(s string) string {
	h := md5.Sum([]byte(s))
	return hex.EncodeToString(h[:])
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"__type": "com.amazonaws.sqs#" + code, "message": message})
}
