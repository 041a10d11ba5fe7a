// Package stub is a small DynamoDB for tests of package ddb: an http.Handler that knows the
// operations and expressions the adapter sends and refuses everything else. It keeps AWS's
// rules where emulators do not (sizes, pages, one mention of an item per transaction, request
// tokens, cancellation reasons by position, capacity units) and produces on demand what no
// emulator produces: throttles, transaction conflicts, lost answers, unprocessed keys.
//
// It imports no AWS code, so that it and the adapter cannot be wrong in the same way.
package stub

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Limits of DynamoDB.
const (
	maxItemBytes  = 400 << 10 // attribute names and values of one item
	maxTxBytes    = 4 << 20   // items of one transaction
	maxPageBytes  = 1 << 20   // items one Query or Scan reads
	maxBatchBytes = 16 << 20  // items one BatchGetItem returns
	maxTxItems    = 100
	maxBatchKeys  = 100
	maxTokenChars = 36
	maxSortKey    = 1024     // bytes
	maxBody       = 16 << 20 // bytes of a request
)

// Server is one table, whatever its name. The zero value is not usable; see New.
type Server struct {
	// Set these before the first request.
	PageBytes   int  // bytes after which Query and Scan end a page; default 1 MB
	Slack       int  // bytes an item may have over 400 KB and a transaction's item over its share; default 0
	NoOldImages bool // never send the item that failed a condition, as some emulators
	NoTokens    bool // ignore request tokens, as most emulators

	mu       sync.Mutex
	items    map[key]item
	order    []key             // of all items, sorted
	tokens   map[string]string // request token -> what it was used for
	faults   []Fault
	requests map[string]int
	weak     int
	reads    float64
	writes   float64
}

// New makes an empty table.
func New() *Server {
	return &Server{
		PageBytes: maxPageBytes,
		items:     map[key]item{},
		tokens:    map[string]string{},
		requests:  map[string]int{},
	}
}

// Requests counts the requests of an operation, faulty ones included.
func (s *Server) Requests(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[op]
}

// AllRequests counts all requests by operation.
func (s *Server) AllRequests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// WeakReads counts the reads that did not ask to be consistent.
func (s *Server) WeakReads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.weak
}

// Units are the capacity units used so far, refused writes included.
func (s *Server) Units() (reads, writes float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads, s.writes
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	s.mu.Lock()
	answer, refusal, after := s.serve(op, body)
	s.mu.Unlock()
	if after != nil {
		after()
	}
	send(w, answer, refusal)
}

// serve applies a request under the lock, with at most one fault around it.
func (s *Server) serve(op string, body []byte) (answer any, refusal *refusal, after func()) {
	s.requests[op]++
	f := s.nextFault(op)
	if f.Kind.before() {
		return nil, f.refusal(body), f.Then
	}
	handler, ok := operations[op]
	if !ok {
		return nil, refuse("UnknownOperationException", "the stub does not know %s", op), nil
	}
	answer, refusal = handler(s, body, f)
	if f.Kind == LoseAnswer {
		return nil, lost, f.Then
	}
	return answer, refusal, f.Then
}

var operations = map[string]func(s *Server, body []byte, f Fault) (any, *refusal){
	"GetItem":            on((*Server).getItem),
	"BatchGetItem":       onFaulty((*Server).batchGetItem),
	"Query":              on((*Server).query),
	"Scan":               on((*Server).scan),
	"PutItem":            on((*Server).putItem),
	"DeleteItem":         on((*Server).deleteItem),
	"UpdateItem":         on((*Server).updateItem),
	"TransactWriteItems": on((*Server).transactWriteItems),
	"CreateTable":        on((*Server).describe),
	"DescribeTable":      on((*Server).describe),
	"UpdateTimeToLive":   on((*Server).timeToLive),
}

func on[In any](h func(*Server, In) (any, *refusal)) func(*Server, []byte, Fault) (any, *refusal) {
	return onFaulty(func(s *Server, in In, _ Fault) (any, *refusal) { return h(s, in) })
}

func onFaulty[In any](h func(*Server, In, Fault) (any, *refusal)) func(*Server, []byte, Fault) (any, *refusal) {
	return func(s *Server, body []byte, f Fault) (any, *refusal) {
		var in In
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, refuse("SerializationException", "%v", err)
		}
		return h(s, in, f)
	}
}

// refusal is an error answer.
type refusal struct {
	status int
	code   string
	body   map[string]any
}

// lost closes the connection without an answer.
var lost = &refusal{}

func refuse(code, format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, code, map[string]any{"message": fmt.Sprintf(format, args...)}}
}

func invalid(format string, args ...any) *refusal {
	return refuse("ValidationException", format, args...)
}

func send(w http.ResponseWriter, answer any, r *refusal) {
	status := http.StatusOK
	if r == lost {
		panic(http.ErrAbortHandler)
	}
	if r != nil {
		status = r.status
		r.body["__type"] = "com.amazonaws.dynamodb.v20120810#" + r.code
		answer = r.body
	}
	b, err := json.Marshal(answer)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(b)), 10))
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// describe answers CreateTable and DescribeTable alike: the table is always there.
func (s *Server) describe(in struct{ TableName string }) (any, *refusal) {
	d := map[string]any{
		"TableName": in.TableName, "TableStatus": "ACTIVE",
		"KeySchema": []map[string]string{
			{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}},
		"AttributeDefinitions": []map[string]string{
			{"AttributeName": "PK", "AttributeType": "S"}, {"AttributeName": "SK", "AttributeType": "S"}},
	}
	return map[string]any{"Table": d, "TableDescription": d}, nil
}

func (s *Server) timeToLive(in struct{ TimeToLiveSpecification any }) (any, *refusal) {
	return map[string]any{"TimeToLiveSpecification": in.TimeToLiveSpecification}, nil
}
