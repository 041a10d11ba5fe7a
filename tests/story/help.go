package story

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// account registers an account of the help exchange, and waits an hour where too many came
// before. The handle it takes ends in something of its own, so that a script can run twice.
func (s *script) account(name string) {
	s.t.Helper()
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	body := fmt.Appendf(nil, `{"handle":"%s-%x","description":"An account of a script."}`, name, b)
	for tries := 0; ; tries++ {
		s.send("POST", "/api/accounts", "", body, http.Header{})
		if s.status != http.StatusTooManyRequests || tries > 0 {
			break
		}
		s.expect(200, "POST", "/_dev/clock", "", map[string]any{"advance": "61m"})
	}
	if s.status != http.StatusCreated {
		s.fail("account %s: status %d, want 201", name, s.status)
	}
	s.tokens[name] = s.text("apiKey")
	s.vars[name+"_id"], s.vars[name+"_handle"], s.vars[name+"_recovery"] = s.text("account.id"), s.text("account.handle"), s.text("recoveryKey")
}

// crowd registers many accounts: crowd 250 user makes user1 to user250.
func (s *script) crowd(words []string) {
	s.t.Helper()
	n, err := strconv.Atoi(words[1])
	if err != nil {
		s.fail("%v", err)
	}
	for i := range n {
		s.account(words[2] + strconv.Itoa(i+1))
	}
}

// add sets a variable to a number and some more: add $sum $n 45.
func (s *script) add(words []string) {
	s.t.Helper()
	a, err := strconv.ParseFloat(s.fill(words[2]), 64)
	b, err2 := strconv.ParseFloat(words[3], 64)
	if err != nil || err2 != nil {
		s.fail("not two numbers: %v", words)
	}
	s.vars[strings.TrimPrefix(words[1], "$")] = a + b
}

// race makes different calls at once, one a line with its body behind the path. The line
// that begins with "statuses" says what they answer, in any order.
func (s *script) race(lines []string) {
	s.t.Helper()
	var want []string
	var wg sync.WaitGroup
	var mu sync.Mutex
	var got []string
	for _, l := range lines {
		if rest, ok := strings.CutPrefix(l, "statuses "); ok {
			want = strings.Fields(rest)
			continue
		}
		words := strings.SplitN(l, " ", 4)
		if len(words) < 3 || s.tokens[words[0]] == "" {
			s.fail("a call of a race is: ACTOR METHOD PATH BODY, not %q", l)
		}
		body := ""
		if len(words) == 4 {
			body = s.fill(words[3])
		}
		other := *s
		wg.Go(func() {
			other.send(words[1], other.fill(words[2]), other.tokens[words[0]], []byte(body), http.Header{})
			mu.Lock()
			defer mu.Unlock()
			got = append(got, strconv.Itoa(other.status))
		})
	}
	wg.Wait()
	s.calls += len(got)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.fail("the race ended with %v, want %v", got, want)
	}
}

// each checks every entry of a list: "offers each status is …".
func (s *script) each(path, rest string) {
	s.t.Helper()
	v, _ := s.at(path)
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		s.fail("%s is no list with entries", path)
	}
	whole := s.value
	for _, e := range list {
		s.value = e
		s.compare(rest)
	}
	s.value = whole
}

// padded fills a body up with spaces to a length in bytes.
func (s *script) padded(body, length string) string {
	s.t.Helper()
	n, err := strconv.Atoi(length)
	if err != nil || n < len(body) {
		s.fail("a body of %d bytes is not padded to %q", len(body), length)
	}
	return body + strings.Repeat(" ", n-len(body))
}
