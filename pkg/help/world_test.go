package help

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"guildhall/pkg/account"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/table/faulty"
)

type obj = map[string]any

// world is a help exchange with its accounts.
type world struct {
	*optest.Exchange
	steward string
	actors  map[string]*actor
	done    map[string]int // what happened how often in a simulation
	faults  *faulty.Store
	n       int
}

func newWorld(t testing.TB, opts ...optest.Option) *world {
	return seeded(t, 1, opts...)
}

func seeded(t testing.TB, seed uint64, opts ...optest.Option) *world {
	w := &world{actors: map[string]*actor{}, Exchange: optest.Seeded(t, seed, append(opts, optest.WithTimers(Timers...))...)}
	_, w.steward = w.Person("sam@example.com", account.RoleSteward)
	return w
}

// actor is an account with its key.
type actor struct {
	w             *world
	ID, Handle    string
	Key, Recovery string
}

// join registers an account, each from an address of its own.
func (w *world) join(name string) *actor {
	w.T.Helper()
	w.n++
	res := w.Do(Register, optest.Req{Body: obj{"handle": fmt.Sprintf("%s-%d", name, w.n)}, Address: fmt.Sprintf("2001:db8::%x", w.n)}).Want(201)
	a := &actor{w, res.Str("account.id"), res.Str("account.handle"), res.Str("apiKey"), res.Str("recoveryKey")}
	w.actors[a.ID] = a
	return a
}

func (a *actor) do(o *op.Operation, path map[string]string, body any) optest.Res {
	a.w.T.Helper()
	return a.w.Do(o, optest.Req{Token: a.Key, Path: path, Body: body})
}

func request(id string) map[string]string    { return map[string]string{"requestId": id} }
func offer(id string) map[string]string      { return map[string]string{"offerId": id} }
func submission(id string) map[string]string { return map[string]string{"submissionId": id} }
func entry(id string) map[string]string      { return map[string]string{"knowledgeId": id} }

func requestBody() obj {
	return obj{"title": "A build that fails", "problem": "It fails on one machine.", "previousAttempts": "Cleaned the cache.",
		"acceptanceCriteria": "It builds there.", "resourcePolicy": "Public mirrors only."}
}

func offerBody() obj { return obj{"plan": "I would bisect it.", "limitations": "No root access."} }

func workBody() obj {
	return obj{"summary": "The linker was old.", "method": "Install a newer one.", "evidence": "The build log.", "limitations": "Linux only."}
}

func reviewBody(decision, verdict string) obj {
	return obj{"decision": decision, "verdict": verdict, "body": "I ran it.", "evidence": "It builds."}
}

func reuseBody() obj { return obj{"note": "Used it on another machine.", "evidence": "It built."} }

// with is a body with some members changed; a nil value takes the member out.
func with(body obj, changes ...any) obj {
	out := obj{}
	for k, v := range body {
		out[k] = v
	}
	for i := 0; i < len(changes); i += 2 {
		if out[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
			delete(out, changes[i].(string))
		}
	}
	return out
}

func (a *actor) ask() string {
	a.w.T.Helper()
	return a.do(CreateRequest, nil, requestBody()).Want(201).Str("request.id")
}

func (a *actor) offer(requestID string) string {
	a.w.T.Helper()
	return a.do(MakeOffer, request(requestID), offerBody()).Want(201).Str("offer.id")
}

func (a *actor) accept(offerID string) optest.Res {
	a.w.T.Helper()
	return a.do(AcceptOffer, offer(offerID), obj{}).Want(200)
}

func (a *actor) submit(requestID string) string {
	a.w.T.Helper()
	return a.do(SubmitWork, request(requestID), workBody()).Want(201).Str("submission.id")
}

func (a *actor) review(submissionID, decision, verdict string) optest.Res {
	a.w.T.Helper()
	return a.do(ReviewSubmission, submission(submissionID), reviewBody(decision, verdict)).Want(201)
}

// deal is a request on its way, with its parties.
type deal struct {
	ann, bob, eve         *actor // requester, contributor, somebody else
	request, offer        string
	submission, knowledge string
}

// active is a request with an accepted offer.
func (w *world) active() *deal {
	w.T.Helper()
	d := &deal{ann: w.join("ann"), bob: w.join("bob"), eve: w.join("eve")}
	d.request = d.ann.ask()
	d.offer = d.bob.offer(d.request)
	d.ann.accept(d.offer)
	return d
}

func (w *world) inReview() *deal {
	w.T.Helper()
	d := w.active()
	d.submission = d.bob.submit(d.request)
	return d
}

func (w *world) completed() *deal {
	w.T.Helper()
	d := w.inReview()
	d.knowledge = d.ann.review(d.submission, Accept, Pass).Str("entry.id")
	return d
}

func (w *world) read(requestID string) optest.Res {
	w.T.Helper()
	return w.Do(ReadRequest, optest.Req{Path: request(requestID), Address: "reader"})
}

// moderate makes a steward's call.
func (w *world) moderate(o *op.Operation, kind, id string) optest.Res {
	w.T.Helper()
	body := obj{"entity_type": kind, "entity_id": id, "reason": "because"}
	if kind == "account" {
		body = obj{"account_id": id, "reason": "because"}
	}
	return w.Do(o, optest.Req{Token: w.steward, Body: body})
}

// list reads a whole list, page by page.
func (w *world) list(o *op.Operation, path map[string]string, member string, query ...string) (all []obj, total int) {
	w.T.Helper()
	offset := 0
	for {
		q := map[string][]string{"limit": {"50"}, "offset": {fmt.Sprint(offset)}}
		for i := 0; i < len(query); i += 2 {
			q[query[i]] = []string{query[i+1]}
		}
		w.n++
		res := w.Do(o, optest.Req{Path: path, Query: q, Address: fmt.Sprint("list", w.n)}).Want(200)
		rows, _ := res.At(member).([]any)
		for _, r := range rows {
			all = append(all, r.(map[string]any))
		}
		total = int(res.Num("total"))
		if res.At("nextOffset") == nil {
			return all, total
		}
		offset = int(res.Num("nextOffset"))
	}
}

// atOnce runs n calls side by side and counts their statuses.
func atOnce(n int, call func(i int) int) map[int]int {
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for i := range n {
		wg.Go(func() {
			status := call(i)
			mu.Lock()
			defer mu.Unlock()
			got[status]++
		})
	}
	wg.Wait()
	return got
}

func long(n int) string { return strings.Repeat("é", n) }
