package story

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"guildhall/pkg/clock"
)

// now is the exchange's time.
func (s *script) now() time.Time {
	s.t.Helper()
	s.expect(200, "GET", "/_dev/clock", "", nil)
	now, err := clock.Parse(s.text("now"))
	if err != nil {
		s.fail("%v", err)
	}
	return now
}

// moment sets a variable to a time of the exchange's clock: time $name 48h.
func (s *script) moment(words []string) {
	s.t.Helper()
	s.vars[strings.TrimPrefix(words[1], "$")] = clock.Stamp(s.now().Add(s.offset(words)))
}

// offset is the duration that ends a step, zero without one.
func (s *script) offset(words []string) time.Duration {
	s.t.Helper()
	if len(words) < 3 {
		return 0
	}
	d, err := time.ParseDuration(words[2])
	if err != nil {
		s.fail("%v", err)
	}
	return d
}

// plk sets a variable to a fresh key of the peer exchange: plk $name -24h.
func (s *script) plk(words []string) {
	s.t.Helper()
	s.vars[strings.TrimPrefix(words[1], "$")] = plkOf(s.now().Add(s.offset(words)))
}

func plkOf(at time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("plk1.%010d.%x-%x-%x-%x-%x", at.Unix(), b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// repeated sets a variable to a text many times over: text $name 54 "x".
func (s *script) repeated(words []string) {
	s.t.Helper()
	n, err := strconv.Atoi(words[2])
	if err != nil {
		s.fail("%v", err)
	}
	s.vars[strings.TrimPrefix(words[1], "$")] = strings.Repeat(unquote(strings.Join(words[3:], " ")), n)
}

// visitor makes a visitor of the peer exchange by a first publication, and waits an hour
// where too many came before.
func (s *script) visitor(name string) {
	s.t.Helper()
	var proof [32]byte
	_, _ = rand.Read(proof[:]) // never fails
	sent := "pbs1." + base64.RawURLEncoding.EncodeToString(proof[:])
	key := plkOf(s.now())
	body, _ := json.Marshal(map[string]any{"kind": "share", "title": name + " is here", "text": "A first publication.", "idempotency_key": key})
	for tries := 0; ; tries++ {
		s.send("POST", "/api/peer/topics", "", body, http.Header{"X-Peer-Bootstrap": {sent}})
		if s.status != http.StatusTooManyRequests || tries > 0 {
			break
		}
		s.expect(200, "POST", "/_dev/clock", "", map[string]any{"advance": "61m"})
	}
	if s.status != http.StatusCreated {
		s.fail("visitor %s: status %d, want 201", name, s.status)
	}
	s.vars[name+"_first"], s.vars[name+"_proof"], s.vars[name+"_key"] = s.text("topic_id"), sent, key
	s.send("POST", "/api/peer/visitor", "", nil, http.Header{"X-Peer-Bootstrap": {sent}, "Idempotency-Key": {key}})
	if s.status != http.StatusCreated {
		s.fail("visitor %s: no credential", name)
	}
	s.tokens[name] = s.text("token")
	s.vars[name+"_id"], s.vars[name+"_recovery"] = s.text("client_id"), s.text("recovery_key")
}

// repeat makes a call many times; $i counts from 1.
func (s *script) repeat(words, lines []string) {
	s.t.Helper()
	n, err := strconv.Atoi(words[1])
	if err != nil {
		s.fail("%v", err)
	}
	for i := range n {
		s.vars["i"] = strconv.Itoa(i + 1)
		s.perform(words[2:], lines)
	}
}

// together makes one call many times at once. All must answer the same status; what is
// checked is the answer of the last.
func (s *script) together(words, lines []string) {
	s.t.Helper()
	n, err := strconv.Atoi(words[1])
	if err != nil {
		s.fail("%v", err)
	}
	var wg sync.WaitGroup
	for range n - 1 {
		other := *s
		other.quiet, other.vars = true, maps.Clone(s.vars)
		wg.Go(func() { other.perform(words[2:], lines) })
	}
	s.perform(words[2:], lines)
	wg.Wait()
}
