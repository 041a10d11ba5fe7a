// Package plan turns the catalog into what is deployed: one function per operation and job,
// what each may do, and the stack it stands in. It knows no rule of any context and nothing
// of CDK.
package plan

import (
	"slices"
	"strings"
	"time"

	"guildhall/pkg/catalog"
	"guildhall/pkg/op"
)

// Times of functions.
const (
	// apiTimeout is the longest an HTTP API waits for a function, less the second in which
	// the function's own refusal gets through.
	apiTimeout = 29 * time.Second
	// slack is what a function has beyond its operation's deadline, to answer that it was
	// too slow.
	slack = 2 * time.Second
	// waiting is the deadline from which a read is a long poll: it holds its caller.
	waiting = 20 * time.Second
	// defaultTimeout is that of the function behind the default route, which reads nothing.
	defaultTimeout = 5 * time.Second
	// visibilityFactor is how many times its consumer's timeout a message stays hidden: AWS
	// asks for six, so that throttled calls do not use up the receives.
	visibilityFactor = 6
)

// Memory of a function, in MB. The programs need about 30; a function's share of a processor
// follows its memory, and so does its price by the second, which a long poll waits away.
const (
	memory        = 512
	waitingMemory = 128
)

// DefaultRoute takes what no other route takes.
const DefaultRoute = "$default"

// Function is one Lambda function.
type Function struct {
	Folder  string // below functions/: "bench/proposal-file"
	Summary string
	Routes  []string // route keys of the HTTP API: "GET /api/x/{id}"
	Timeout time.Duration
	Touches op.Touch
	// Changes: it may change and delete rows. A read only puts the rows every call may put:
	// its limit and its caller's sign of life.
	Changes bool
	Homes   []string // contexts of its objects
	Sends   []string // queues it sends to
	Reads   *Queue   // the queue it consumes, nil for none
	Every   time.Duration
	// Waits: a long poll. It gets a concurrency reservation of its own, so that waiting
	// callers starve nobody.
	Waits bool
}

// Queue is a queue with its dead letter queue and its consumer's settings.
type Queue struct {
	Name       string
	Visibility time.Duration
	Receives   int // before a message is dead
	Batch      int
}

// Group is the first part of the folder.
func (f Function) Group() string { g, _, _ := strings.Cut(f.Folder, "/"); return g }

// MemoryMB is the function's memory.
func (f Function) MemoryMB() int {
	if f.Waits {
		return waitingMemory
	}
	return memory
}

// Functions lists everything that is deployed: operations, MCP endpoints, jobs, the default
// route.
func Functions() []Function {
	var all []Function
	ops := catalog.Operations()
	for _, o := range ops {
		f := operation(o)
		f.Routes = routes(o, !slices.ContainsFunc(ops, func(other *op.Operation) bool { return !other.Reads() && overlap(o.Path, other.Path) }))
		all = append(all, f)
	}
	for _, d := range catalog.Doors() {
		all = append(all, door(d))
	}
	for _, j := range catalog.Jobs() {
		all = append(all, job(j))
	}
	return append(all, Function{Folder: catalog.DefaultFolder, Summary: "Answer what no operation serves.",
		Routes: []string{DefaultRoute}, Timeout: defaultTimeout})
}

func operation(o *op.Operation) Function {
	f := Function{Folder: o.Folder(), Summary: o.Summary, Timeout: min(o.Timeout+slack, apiTimeout), Touches: o.Touches,
		Changes: !o.Reads(), Homes: []string{o.Home}, Waits: o.Reads() && o.Timeout >= waiting}
	if f.Changes {
		f.Sends = hints(o)
	}
	return f
}

// hints lists the queues a write of an operation may send hints to: the sweeps of its home
// and of the groups it wakes.
func hints(o *op.Operation) (queues []string) {
	for _, group := range append([]string{o.Home}, o.Wakes...) {
		if q := op.SweepQueue(group); slices.Contains(catalog.Queues(), q) {
			queues = append(queues, q)
		}
	}
	return queues
}

// door is the function of an MCP endpoint: it may do what the operations behind it may. A
// long poll among its tools waits in it too; a reservation would bound all its tools.
func door(d *op.Door) Function {
	f := Function{Folder: d.Folder(), Summary: "Serve the tools of " + d.Context + " to MCP clients.", Routes: []string{"POST " + routePath(d.Path)},
		Timeout: op.DefaultTimeout + slack, Touches: catalog.Touches(d), Changes: true}
	for _, o := range catalog.Behind(d) {
		f.Timeout = max(f.Timeout, operation(o).Timeout)
		f.Homes = append(f.Homes, o.Home)
		f.Sends = append(f.Sends, operation(o).Sends...)
	}
	slices.Sort(f.Homes)
	slices.Sort(f.Sends)
	f.Homes, f.Sends = slices.Compact(f.Homes), slices.Compact(f.Sends)
	return f
}

// routes are an operation's. A read serves HEAD too. Where no write shares a path with it, it
// takes every method and refuses the others as the default route would: that saves a route,
// of which an API has 300 unless AWS is asked for more.
func routes(o *op.Operation, alone bool) []string {
	path := routePath(o.Path)
	switch {
	case !o.Reads():
		return []string{o.Method + " " + path}
	case alone:
		return []string{"ANY " + path}
	}
	return []string{"GET " + path, "HEAD " + path}
}

// overlap tells whether one path can be that of both patterns.
func overlap(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	for i := range min(len(as), len(bs)) {
		x, y := as[i], bs[i]
		if strings.HasSuffix(x, "...}") || strings.HasSuffix(y, "...}") {
			return true
		}
		if x != y && !strings.HasPrefix(x, "{") && !strings.HasPrefix(y, "{") {
			return false
		}
	}
	return len(as) == len(bs)
}

// routePath is a pattern as API Gateway spells it: {name...} is {name+} there.
func routePath(path string) string { return strings.ReplaceAll(path, "...}", "+}") }

func job(j op.Job) Function {
	context, _, _ := strings.Cut(j.ID, ".")
	f := Function{Folder: j.Folder(), Summary: j.Summary, Timeout: j.Timeout, Touches: j.Touches,
		Changes: j.Touches.Has(op.Table), Homes: []string{context}, Sends: j.Sends, Every: j.Every}
	if j.Queue != "" {
		f.Reads = &Queue{Name: j.Queue, Visibility: visibilityFactor * j.Timeout, Receives: j.Retries, Batch: j.Batch}
	}
	return f
}

// Queues lists the queues of a plan.
func Queues(all []Function) []Queue {
	var out []Queue
	for _, f := range all {
		if f.Reads != nil {
			out = append(out, *f.Reads)
		}
	}
	return out
}
