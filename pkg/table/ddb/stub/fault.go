package stub

import (
	"encoding/json"
	"net/http"
)

// Kind is what goes wrong with one request.
type Kind int

// The faults.
const (
	Nothing        Kind = iota // the request goes well; for faults that only have a Then
	Throttle                   // refused: the table is throttled
	Conflict                   // refused: another transaction holds an item
	InProgress                 // refused: the same token is being worked on
	Break                      // 500 before anything is done
	Drop                       // the connection closes before anything is done
	LoseAnswer                 // everything is done, then the connection closes
	Unprocessed                // BatchGetItem leaves all keys but N
	ReasonThrottle             // a transaction is cancelled because of a throttled item
	TooBig                     // a transaction is cancelled because an update makes an item too big
)

// Fault happens to the next request of its operation.
type Fault struct {
	Op   string // empty: any
	Kind Kind
	N    int    // for Unprocessed: keys that are answered all the same
	Then func() // runs after the request, before its answer; may send requests of its own
}

// Inject queues faults. Each is used once; for every operation they are used in order.
func (s *Server) Inject(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Pending counts the faults not used yet.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.faults)
}

func (s *Server) nextFault(op string) Fault {
	for i, f := range s.faults {
		if f.Op == "" || f.Op == op {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			return f
		}
	}
	return Fault{}
}

// before tells whether the fault replaces the request's effect.
func (k Kind) before() bool {
	return k != Nothing && k != LoseAnswer && k != Unprocessed
}

func (f Fault) refusal(body []byte) *refusal {
	switch f.Kind {
	case Throttle:
		return refuse("ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded")
	case InProgress:
		return refuse("TransactionInProgressException", "The transaction with the given request token is already in progress")
	case Break:
		return &refusal{http.StatusInternalServerError, "InternalServerError", map[string]any{"message": "broken on purpose"}}
	case Conflict:
		return cancelLast(body, "TransactionConflict", "Transaction is ongoing for the item")
	case ReasonThrottle:
		return cancelLast(body, "ThrottlingError", "Throughput exceeds the current capacity")
	case TooBig:
		return cancelLast(body, "ValidationError", "Item size to update has exceeded the maximum allowed size")
	}
	return lost
}

// cancelLast cancels a transaction because of its last item; a request that is none is
// refused by an exception of the same name.
func cancelLast(body []byte, code, message string) *refusal {
	var in struct{ TransactItems []any }
	if err := json.Unmarshal(body, &in); err != nil || len(in.TransactItems) == 0 {
		return refuse(code+"Exception", "%s", message)
	}
	reasons := make([]reason, len(in.TransactItems))
	for i := range reasons {
		reasons[i] = reason{Code: "None"}
	}
	reasons[len(reasons)-1] = reason{Code: code, Message: message}
	return canceled(reasons)
}

// reason is why one item of a transaction was not written.
type reason struct {
	Code    string
	Message string `json:",omitempty"`
	Item    item   `json:",omitempty"`
}

func canceled(reasons []reason) *refusal {
	r := refuse("TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons")
	r.body["CancellationReasons"] = reasons
	r.body["Message"] = r.body["message"]
	return r
}
