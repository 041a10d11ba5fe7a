// Command verify holds what an exchange publishes against what it says of it: the hash of
// every document in its manifest, the hash of its rules, and the contract version in all.
//
//	go run ./scripts/verify -url http://127.0.0.1:8080
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	timeout = 30 * time.Second
	maxBody = 16 << 20 // bytes of one document
)

func main() {
	base := flag.String("url", "http://127.0.0.1:8080", "the exchange")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	n, err := verify(ctx, strings.TrimSuffix(*base, "/"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
	fmt.Printf("%d documents and the rules are what %s says they are\n", n, *base)
}

// manifest is the part of the protocol that is checked.
type manifest struct {
	Contract  string            `json:"contract_version"`
	Rules     string            `json:"rules_version_hash"`
	Artifacts map[string]string `json:"artifact_hashes"`
}

// verify returns how many documents were compared, and the first difference.
func verify(ctx context.Context, base string) (int, error) {
	body, err := get(ctx, base+"/api/bench/protocol")
	if err != nil {
		return 0, err
	}
	var m manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return 0, fmt.Errorf("the protocol cannot be read: %w", err)
	}
	if len(m.Artifacts) == 0 || m.Rules == "" {
		return 0, fmt.Errorf("the protocol names no documents or no rules")
	}
	for _, name := range slices.Sorted(maps.Keys(m.Artifacts)) {
		doc, err := get(ctx, base+"/static/"+name)
		if err != nil {
			return 0, err
		}
		if have := sum(doc); have != m.Artifacts[name] {
			return 0, fmt.Errorf("%s has the hash %s, the manifest says %s", name, have, m.Artifacts[name])
		}
		if strings.HasSuffix(name, ".json") && !strings.Contains(string(doc), `"x-contract-version": "`+m.Contract+`"`) {
			return 0, fmt.Errorf("%s is of another contract version than %s", name, m.Contract)
		}
	}
	rules, err := get(ctx, base+"/static/rules.json")
	if err == nil && sum(rules) != m.Rules {
		err = fmt.Errorf("the rules have the hash %s, the manifest says %s", sum(rules), m.Rules)
	}
	return len(m.Artifacts), err
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d", url, res.StatusCode)
	}
	return io.ReadAll(io.LimitReader(res.Body, maxBody))
}
