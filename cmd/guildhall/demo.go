package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"guildhall/pkg/config"
	"guildhall/pkg/wire"
)

// demoTime bounds a demo, in real time.
const demoTime = 30 * time.Second

// chapter is one story of the demo, told through the same doors everybody uses.
type chapter struct {
	title string
	tell  func(*teller)
}

var chapters = []chapter{
	{"A hire, from the want to the last dollar", tellHire},
	{"A call for help, and what the next one finds", tellHelp},
	{"A task handed over, and nobody in doubt whose turn it is", tellPeer},
	{"A free task, done in small legs and checked by a stranger", tellCommons},
}

// demo plays every chapter against a fresh exchange in memory with simulated time. It
// succeeds only if every step did what it should.
func demo(ctx context.Context, args []string, out, errs io.Writer) error {
	f := flags("demo", errs)
	addr := f.String("addr", "127.0.0.1:0", "loopback address to play on")
	if words, err := parse(f, args); err != nil || len(words) > 0 {
		return errors.Join(err, extra(words))
	}
	if !loopback(*addr) {
		return usage("a demo plays on a loopback address only (not %s)", *addr)
	}
	ctx, cancel := context.WithTimeout(ctx, demoTime)
	defer cancel()
	base, stop, err := stage(ctx, *addr)
	if err != nil {
		return err
	}
	defer stop()
	for i, c := range chapters {
		fmt.Fprintf(out, "%sChapter %d. %s\n\n", strings.Repeat("\n", min(i, 1)), i+1, c.title)
		t := &teller{ctx: ctx, out: out, base: base, vars: map[string]string{}}
		c.tell(t)
		if t.err != nil {
			return t.err
		}
	}
	fmt.Fprintln(out, "\nEvery step did what it should.")
	return nil
}

func extra(words []string) error {
	if len(words) == 0 {
		return nil
	}
	return usage("%q is not expected", words[0])
}

// stage starts an exchange in memory with local controls.
func stage(ctx context.Context, addr string) (base string, stop func(), err error) {
	keys, err := config.NewKeys(rand.Reader)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", nil, err
	}
	base = "http://" + l.Addr().String()
	x, err := wire.Open(ctx, wire.Options{BaseURL: base, Dev: true, Tips: true, Keys: wire.KeysOf(keys)})
	if err != nil {
		l.Close()
		return "", nil, err
	}
	playing, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- serveUntil(playing, x, l) }()
	return base, func() { end(); <-done; x.Close() }, nil
}

// teller tells a story: it says what happens, calls the exchange and stops at the first
// answer that is not the one the story needs.
type teller struct {
	ctx  context.Context
	out  io.Writer
	base string
	vars map[string]string
	keys int
	// headers go with the next call.
	headers map[string]string
	err     error
	last    any
}

// say prints a line of the story; values stand in it as <<path>>.
func (t *teller) say(line string) {
	if t.err != nil {
		return
	}
	fmt.Fprintln(t.out, "  "+t.fill(line))
}

// call makes a call as somebody (a token kept under that name) and wants this status.
func (t *teller) call(who string, status int, method, path string, body string) {
	if t.err != nil {
		return
	}
	t.keys++
	req, err := http.NewRequestWithContext(t.ctx, method, t.base+t.fill(path), bytes.NewReader([]byte(t.fill(body))))
	if err != nil {
		t.err = err
		return
	}
	req.Header.Set("Content-Type", "application/json")
	if !strings.HasPrefix(path, "/api/peer/") { // its keys have a form of their own
		req.Header.Set("Idempotency-Key", fmt.Sprintf("demo-%d", t.keys))
	}
	for name, value := range t.headers {
		req.Header.Set(name, t.fill(value))
	}
	t.headers = nil
	if token := t.vars["token:"+who]; token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.err = err
		return
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	t.last = nil
	_ = json.Unmarshal(answer, &t.last)
	if err == nil && res.StatusCode != status {
		err = fmt.Errorf("%s %s answered %d, the story needs %d: %s", method, req.URL.Path, res.StatusCode, status, answer)
	}
	t.err = err
}

// keep remembers a value of the last answer.
func (t *teller) keep(name, path string) {
	if t.err != nil {
		return
	}
	v, ok := lookup(t.last, path)
	if !ok {
		t.err = fmt.Errorf("the story needs %s in %v", path, t.last)
		return
	}
	t.vars[name] = show(v)
}

// must holds a value of the last answer against what the story needs.
func (t *teller) must(path, want string) {
	if t.err != nil {
		return
	}
	if v, ok := lookup(t.last, path); !ok || show(v) != t.fill(want) {
		t.err = fmt.Errorf("the story needs %s to be %s, it is %v", path, t.fill(want), v)
	}
}

// wait lets simulated time pass.
func (t *teller) wait(d time.Duration) {
	t.call("", 200, "POST", "/_dev/clock", fmt.Sprintf(`{"advance":%q}`, d))
}

// fill replaces <<name>> by a kept value or one of the last answer, and <<$path>> by cents of
// the last answer as dollars.
func (t *teller) fill(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "<<")
		j := strings.Index(s, ">>")
		if i < 0 || j < i {
			return b.String() + s
		}
		b.WriteString(s[:i])
		name := s[i+2 : j]
		s = s[j+2:]
		if path, money := strings.CutPrefix(name, "$"); money {
			v, _ := lookup(t.last, path)
			n, _ := v.(float64)
			fmt.Fprintf(&b, "$%.2f", n/100)
			continue
		}
		if v, ok := t.vars[name]; ok {
			b.WriteString(v)
			continue
		}
		v, ok := lookup(t.last, name)
		if !ok && t.err == nil {
			t.err = fmt.Errorf("the story knows no %s", name)
		}
		b.WriteString(show(v))
	}
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// lookup reads a value by a dotted path.
func lookup(v any, path string) (any, bool) {
	for part := range strings.SplitSeq(path, ".") {
		switch m := v.(type) {
		case map[string]any:
			next, ok := m[part]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i := 0
			if _, err := fmt.Sscan(part, &i); err != nil || i < 0 || i >= len(m) {
				return nil, false
			}
			v = m[i]
		default:
			return nil, false
		}
	}
	return v, true
}
