package registry

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"guildhall/pkg/account"
	"guildhall/pkg/op"
)

// Audience is what a client assertion must be made for, and nothing else.
const Audience = "bookofhouses:oauth"

// Limits of a client assertion.
const (
	issuedSkew   = 300 * time.Second // how far iat may be from now, either way
	maxLifetime  = 600 * time.Second // exp after iat
	maxAssertion = 4096              // bytes
	maxJTI       = 200               // bytes
)

var errAssertion = errors.New("registry: the assertion is not good")

// assertion is what a good client assertion says.
type assertion struct {
	JTI    string
	Expiry time.Time
	Scopes []string // nil for all six
}

// header members that name a key or demand an extension: an assertion is checked with the
// key on file and no other.
var foreignHeaders = []string{"jwk", "jku", "x5u", "x5c", "x5t", "x5t#S256", "crit", "b64", "zip", "enc", "cty"}

// readAssertion checks a client assertion of one client under its key at now. The library
// checks the form and the signature; iat, exp, aud, jti and scope are looked at here,
// because it takes several audiences, an exp a year ahead and a reused jti.
func readAssertion(raw, clientID string, key ed25519.PublicKey, now time.Time) (assertion, error) {
	header, claims, err := openAssertion(raw)
	if err != nil {
		return assertion{}, err
	}
	if typ, sent := header["typ"]; sent && !slices.Contains([]any{"JWT", "jwt", "client-authentication+jwt"}, typ) {
		return assertion{}, errAssertion
	}
	for _, name := range foreignHeaders {
		if _, sent := header[name]; sent {
			return assertion{}, errAssertion
		}
	}
	p := jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())
	if _, err := p.Parse(raw, func(*jwt.Token) (any, error) { return key, nil }); err != nil {
		return assertion{}, errAssertion
	}
	return readClaims(claims, clientID, now)
}

// openAssertion reads header and claims strictly: what two readers would read differently,
// such as a member named twice, is refused.
func openAssertion(raw string) (header, claims map[string]any, err error) {
	parts := strings.Split(raw, ".")
	if len(raw) > maxAssertion || len(parts) != 3 {
		return nil, nil, errAssertion
	}
	for i, to := range []*map[string]any{&header, &claims} {
		b, err := jwt.NewParser(jwt.WithStrictDecoding()).DecodeSegment(parts[i])
		if err != nil {
			return nil, nil, errAssertion
		}
		tree, err := op.ParseStrict(b)
		m, ok := tree.(map[string]any)
		if err != nil || !ok {
			return nil, nil, errAssertion
		}
		*to = m
	}
	return header, claims, nil
}

func readClaims(m map[string]any, clientID string, now time.Time) (assertion, error) {
	jti, _ := m["jti"].(string)
	iat, iatOK := instant(m["iat"])
	exp, expOK := instant(m["exp"])
	nbf, nbfOK := instant(m["nbf"])
	_, early := m["nbf"]
	switch {
	case m["iss"] != clientID, m["sub"] != clientID, !onlyAudience(m["aud"]),
		jti == "" || len(jti) > maxJTI,
		!iatOK || iat.Sub(now).Abs() > issuedSkew,
		!expOK || !exp.After(now) || exp.Sub(iat) > maxLifetime || exp.Before(iat),
		early && (!nbfOK || nbf.Sub(now) > issuedSkew):
		return assertion{}, errAssertion
	}
	scopes, err := readScope(m)
	return assertion{JTI: jti, Expiry: exp, Scopes: scopes}, err
}

// onlyAudience takes our audience alone, as text or as a list of one.
func onlyAudience(v any) bool {
	if list, ok := v.([]any); ok {
		return len(list) == 1 && list[0] == Audience
	}
	return v == Audience
}

// maxInstant bounds times in claims, so that arithmetic on them cannot overflow.
const maxInstant = 1 << 40

// instant reads a NumericDate.
func instant(v any) (time.Time, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return time.Time{}, false
	}
	f, err := n.Float64()
	if err != nil || f < 0 || f > maxInstant {
		return time.Time{}, false
	}
	whole, part := math.Modf(f)
	return time.Unix(int64(whole), int64(part*1e9)), true
}

// readScope reads the optional scope: a subset of the six, parted by spaces.
func readScope(m map[string]any) ([]string, error) {
	v, sent := m["scope"]
	if !sent {
		return nil, nil
	}
	s, ok := v.(string)
	scopes := strings.Fields(s)
	if !ok || len(scopes) == 0 {
		return nil, errAssertion
	}
	slices.Sort(scopes)
	scopes = slices.Compact(scopes)
	for _, one := range scopes {
		if !slices.Contains(account.BenchScopes, one) {
			return nil, errAssertion
		}
	}
	return scopes, nil
}
