package lambdalocal

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"guildhall/pkg/catalog"
)

// faults are the calls that were asked to go wrong (surface.md 2, POST /_dev/faults). A
// fault strikes a call of a port: all attempts of the SDK at it.
type faults struct {
	mu     sync.Mutex
	list   []*fault
	struck map[string]string // SDK invocation -> mode
	names  map[string]string // function -> operation id
}

type fault struct {
	target, mode, match string
	left                int
}

// call is one request of a function to a service.
type call struct {
	target     string // "store" or "queue"
	function   string
	invocation string // the same for all attempts
	operation  string
	body       []byte
}

// maxStruck bounds how many struck calls are remembered.
const maxStruck = 10_000

// set makes the next count calls go wrong; 0 ends the faults of a target.
func (f *faults) set(target, mode, match string, count int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if count == 0 {
		f.list = slices.DeleteFunc(f.list, func(g *fault) bool { return g.target == target })
		return
	}
	f.list = append(f.list, &fault{target, mode, match, count})
}

// strikes tells how a call goes wrong, "" for not at all.
func (f *faults) strikes(c call) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if mode, ok := f.struck[c.invocation]; ok && c.invocation != "" {
		return mode
	}
	for _, g := range f.list {
		conflict := g.mode == "conflict" && !commits(c.operation)
		if g.target != c.target || g.left == 0 || conflict || c.function == runnerKey || !strings.Contains(f.id(c.function), g.match) {
			continue
		}
		g.left--
		if f.struck == nil || len(f.struck) > maxStruck {
			f.struck = map[string]string{}
		}
		f.struck[c.invocation] = g.mode
		return g.mode
	}
	return ""
}

// id is the operation a function serves.
func (f *faults) id(function string) string {
	if f.names == nil {
		f.names = map[string]string{}
		for _, o := range catalog.Operations() {
			f.names[strings.ReplaceAll(o.Folder(), "/", "-")] = o.ID
		}
		for _, j := range catalog.Jobs() {
			f.names[strings.ReplaceAll(j.Folder(), "/", "-")] = j.ID
		}
	}
	return f.names[short(function)]
}

// short is a physical name without the deployment's own: "bench-sweep" of
// "guildhall-bench-sweep".
func short(name string) string { _, rest, _ := strings.Cut(name, "-"); return rest }

func commits(operation string) bool {
	return slices.Contains([]string{"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}, operation)
}

// around serves a call, or has it go wrong.
func (f *faults) around(w http.ResponseWriter, c call, serve func(http.ResponseWriter)) {
	const broken = "InternalServerError"
	switch f.strikes(c) {
	case "":
		serve(w)
	case "fail_before":
		refuse(w, http.StatusInternalServerError, broken, "made to fail")
	case "fail_after":
		serve(discard())
		refuse(w, http.StatusInternalServerError, broken, "made to fail after its effect")
	case "throttle":
		refuse(w, http.StatusBadRequest, "ProvisionedThroughputExceededException", "made to throttle")
	case "conflict":
		conflict(w, c)
	case "duplicate":
		serve(discard())
		serve(w)
	case "drop":
		if c.target == "queue" {
			serve(lost{w})
			return
		}
		panic(http.ErrAbortHandler)
	}
}

// conflict answers a write as if another had come first.
func conflict(w http.ResponseWriter, c call) {
	if c.operation != "TransactWriteItems" {
		refuse(w, http.StatusBadRequest, "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "made to conflict")
		return
	}
	var in struct{ TransactItems []json.RawMessage }
	_ = json.Unmarshal(c.body, &in)
	reasons := []map[string]string{}
	for range in.TransactItems {
		reasons = append(reasons, map[string]string{"Code": "ConditionalCheckFailed", "Message": "made to conflict"})
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "message": "made to conflict", "CancellationReasons": reasons})
}

// lost marks an answer to a send whose messages go nowhere.
type lost struct{ http.ResponseWriter }
