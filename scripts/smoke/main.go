// Command smoke asks a deployed exchange for what strangers and agents ask first: pages of
// documents, refusals of the router, a registration and what follows from it. It registers
// one agent each time.
//
//	go run ./scripts/smoke -url https://guildhall.example.com
//	go run ./scripts/smoke -url http://ID.execute-api.localhost:4566 -connect 127.0.0.1:4566
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	timeout = 60 * time.Second // of one call: an emulator's cold start
	maxBody = 8 << 20          // bytes of an answer
)

// client calls one exchange.
type client struct {
	base     string
	leaveOut string
	http     *http.Client
	out      io.Writer
}

func main() {
	base := flag.String("url", "", "public address of the exchange")
	connect := flag.String("connect", "", "host:port to connect to instead of the address's own")
	leaveOut := flag.String("leave-out", "", "method that what stands before the exchange answers itself")
	flag.Parse()
	c := &client{leaveOut: *leaveOut, base: strings.TrimSuffix(*base, "/"), out: os.Stdout, http: &http.Client{Timeout: timeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if *connect != "" {
				addr = *connect
			}
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}}}}
	if err := c.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "smoke:", err)
		os.Exit(1)
	}
}

// step is one call and what must come back.
type step struct {
	method, path string
	token, key   string
	body         any
	status       int
	header       string // that must be there
}

func (c *client) run(ctx context.Context) error {
	for _, s := range []step{
		{method: "GET", path: "/static/the-rules.html", status: 200, header: "Content-Type"},
		{method: "HEAD", path: "/static/the-rules.html", status: 200, header: "Content-Length"},
		{method: "OPTIONS", path: "/api/bench/agents", status: 204, header: "Allow"},
		{method: "DELETE", path: "/api/bench/agents", status: 405, header: "Allow"},
		{method: "GET", path: "/api/no-such-path", status: 404},
		{method: "GET", path: "/api/bench/me", status: 401},
		{method: "POST", path: "/api/person/sign-in", body: map[string]any{"email": "smoke@example.com"}, status: 202},
	} {
		if s.method == c.leaveOut {
			continue
		}
		if _, err := c.do(ctx, s); err != nil {
			return err
		}
	}
	return c.agent(ctx)
}

// agent registers an agent, twice under one key, and asks as that agent.
func (c *client) agent(ctx context.Context) error {
	b, err := c.do(ctx, step{method: "GET", path: "/api/bench/protocol", status: 200})
	if err != nil {
		return err
	}
	var protocol struct {
		Hash string `json:"rules_version_hash"`
	}
	if err := json.Unmarshal(b, &protocol); err != nil || protocol.Hash == "" {
		return fmt.Errorf("the protocol names no rules: %v", err)
	}
	key := random()
	s := step{method: "POST", path: "/api/bench/agents/register", key: key, body: registration("smoke-"+key[:8], protocol.Hash), status: 201}
	if b, err = c.do(ctx, s); err != nil {
		return err
	}
	var made struct {
		ID    string `json:"maker_id"`
		Token string `json:"rest_token"`
	}
	if err := json.Unmarshal(b, &made); err != nil || made.Token == "" {
		return fmt.Errorf("the registration gives no token: %v", err)
	}
	if b, err = c.do(ctx, s); err != nil {
		return err
	}
	if !strings.Contains(string(b), made.ID) || strings.Contains(string(b), made.Token) {
		return fmt.Errorf("the same key did not answer the same agent, without its token")
	}
	_, err = c.do(ctx, step{method: "GET", path: "/api/bench/me", token: made.Token, status: 200})
	return err
}

func registration(handle, rules string) map[string]any {
	type obj = map[string]any
	return obj{
		"handle": handle, "skills": "Answers when it is asked.",
		"disclosure": obj{"is_ai": true, "model": "claude-sonnet-4-6", "operator_label": "Smoke Tests", "operator_type": "company",
			"company_url": "https://www.smoke.example.com/about"},
		"system_record": obj{"autonomy": "fully_autonomous", "harness": "smoke", "harness_version": "1",
			"base_models": []any{obj{"provider": "anthropic", "model": "claude-sonnet-4-6", "version": "2026-05"}}},
		"responsible_party": obj{"legal_name": "Smoke Tests LLC", "jurisdiction": "US-CA", "contact_ref": "smoke@example.com"},
		"rules":             obj{"accepted": true, "version_hash": rules},
	}
}

func (c *client) do(ctx context.Context, s step) ([]byte, error) {
	start := time.Now()
	body, err := json.Marshal(s.body)
	if err != nil {
		return nil, err
	}
	if s.body == nil {
		body = nil
	}
	req, err := http.NewRequestWithContext(ctx, s.method, c.base+s.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	if s.key != "" {
		req.Header.Set("Idempotency-Key", s.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != s.status || s.header != "" && res.Header.Get(s.header) == "" {
		return nil, fmt.Errorf("%s %s answered %d %s (headers %v), want %d and %s", s.method, s.path, res.StatusCode, short(b), res.Header, s.status, s.header)
	}
	fmt.Fprintf(c.out, "%-8s%-36s%d  %s\n", s.method, s.path, res.StatusCode, time.Since(start).Round(time.Millisecond))
	return b, nil
}

func short(b []byte) string { return string(b[:min(len(b), 300)]) }

func random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
