package registry

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

// ticket is an assertion in the making.
type ticket struct {
	header, claims obj
	key            ed25519.PrivateKey
}

func (w world) ticket(a agent) ticket {
	now := w.Now().Unix()
	return ticket{obj{"alg": "EdDSA", "typ": "JWT"}, obj{"iss": ClientID(a.ID), "sub": ClientID(a.ID), "aud": Audience, "iat": now, "exp": now + 300, "jti": "j-1"}, a.key}
}

func part(v any) string {
	b, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(b)
}

func (k ticket) sign() string {
	body := part(k.header) + "." + part(k.claims)
	return body + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(k.key, []byte(body)))
}

func (k ticket) with(name string, v any) ticket {
	c := obj{}
	for n, x := range k.claims {
		c[n] = x
	}
	if c[name] = v; v == nil {
		delete(c, name)
	}
	return ticket{k.header, c, k.key}
}

func (k ticket) head(name string, v any) ticket {
	h := obj{}
	for n, x := range k.header {
		h[n] = x
	}
	h[name] = v
	return ticket{h, k.claims, k.key}
}

func (w world) token(a agent, assertion string) optest.Res {
	return w.Do(Token, optest.Req{Body: obj{"client_id": ClientID(a.ID), "client_assertion": assertion}})
}

func TestAGoodAssertionOpensTheMCPDoorForFiveMinutes(t *testing.T) {
	w := newWorld(t)
	a := w.register("Client")
	r := w.token(a, w.ticket(a).sign()).Want(200)
	if r.Str("token_type") != "Bearer" || r.Num("expires_in") != 300 || r.Str("scope") != strings.Join(account.BenchScopes, " ") {
		t.Errorf("%s", r.Body)
	}
	tok := r.Str("access_token")
	w.Do(Me, optest.Req{Token: tok, Transport: "mcp"}).Want(200)
	w.Do(Me, optest.Req{Token: tok}).Refused(401, "unauthorized") // audience-bound
	w.Do(Me, optest.Req{Token: a.Token, Transport: "mcp"}).Refused(401, "unauthorized")
	w.Advance(5*time.Minute - time.Millisecond)
	w.Do(Me, optest.Req{Token: tok, Transport: "mcp"}).Want(200)
	w.Advance(time.Millisecond)
	w.Do(Me, optest.Req{Token: tok, Transport: "mcp"}).Refused(401, "unauthorized")
}

func TestScopesNarrowAToken(t *testing.T) {
	w := newWorld(t)
	a := w.register("Narrow")
	r := w.token(a, w.ticket(a).with("scope", "events:read wallet:read").sign()).Want(200)
	if r.Str("scope") != "events:read wallet:read" {
		t.Errorf("%s", r.Body)
	}
	res := w.Do(Me, optest.Req{Token: r.Str("access_token"), Transport: "mcp"}).Refused(401, "unauthorized")
	if res.Str("missing_scope") != TargetsRead {
		t.Errorf("%s", res.Body)
	}
}

func TestBadAssertionsAreRefused(t *testing.T) {
	w := newWorld(t)
	a, other := w.register("Victim"), w.register("Stranger")
	good := w.ticket(a)
	now := w.Now().Unix()
	body := part(good.header) + "." + part(good.claims)
	hs := func(alg string, key []byte) string {
		b := part(obj{"alg": alg, "typ": "JWT"}) + "." + part(good.claims)
		m := hmac.New(sha256.New, key)
		m.Write([]byte(b))
		return b + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
	}
	raw := func(header, claims string) string {
		b := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
		return b + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(a.key, []byte(b)))
	}
	claims := part(good.claims)
	plain, _ := base64.RawURLEncoding.DecodeString(claims)
	zero := base64.RawURLEncoding.EncodeToString(make([]byte, 64))
	bad := map[string]string{
		"alg none, no signature":     part(obj{"alg": "none"}) + "." + claims + ".",
		"alg None":                   part(obj{"alg": "None"}) + "." + claims + ".",
		"alg none, signed":           good.head("alg", "none").sign(),
		"alg HS256 with the key":     hs("HS256", a.key.Public().(ed25519.PublicKey)),
		"alg HS512":                  hs("HS512", a.key.Public().(ed25519.PublicKey)),
		"alg HS256 with its text":    hs("HS256", []byte(pub(a.key))),
		"alg RS256":                  good.head("alg", "RS256").sign(),
		"alg ES256":                  good.head("alg", "ES256").sign(),
		"alg eddsa in lower case":    good.head("alg", "eddsa").sign(),
		"alg Ed448":                  good.head("alg", "Ed448").sign(),
		"alg missing":                ticket{obj{"typ": "JWT"}, good.claims, a.key}.sign(),
		"alg a number":               good.head("alg", 5).sign(),
		"another client's key":       ticket{good.header, good.claims, other.key}.sign(),
		"another client's assertion": w.ticket(other).sign(),
		"zero signature":             body + "." + zero,
		"empty signature":            body + ".",
		"cut signature":              good.sign()[:len(good.sign())-4],
		"padded signature":           good.sign() + "==",
		"signature of other claims":  body[:len(body)-3] + "AAA" + good.sign()[len(body):],
		"embedded jwk":               good.head("jwk", obj{"kty": "OKP", "crv": "Ed25519", "x": "AA"}).sign(),
		"jku":                        good.head("jku", "https://evil.example/keys").sign(),
		"x5u":                        good.head("x5u", "https://evil.example/cert").sign(),
		"x5c":                        good.head("x5c", []string{"AA=="}).sign(),
		"crit":                       good.head("crit", []string{"exp"}).sign(),
		"crit of b64":                good.head("crit", []string{"b64"}).head("b64", false).sign(),
		"zip":                        good.head("zip", "DEF").sign(),
		"typ of something else":      good.head("typ", "at+jwt").sign(),
		"iss missing":                good.with("iss", nil).sign(),
		"iss of another":             good.with("iss", ClientID(other.ID)).sign(),
		"iss bare id":                good.with("iss", a.ID).sign(),
		"sub missing":                good.with("sub", nil).sign(),
		"sub of another":             good.with("sub", ClientID(other.ID)).sign(),
		"aud missing":                good.with("aud", nil).sign(),
		"aud wrong":                  good.with("aud", "bookofhouses:mcp").sign(),
		"aud in capitals":            good.with("aud", "BOOKOFHOUSES:OAUTH").sign(),
		"aud with a tail":            good.with("aud", Audience+"/").sign(),
		"several audiences":          good.with("aud", []string{Audience, "https://other.example"}).sign(),
		"the same audience twice":    good.with("aud", []string{Audience, Audience}).sign(),
		"no audience in the list":    good.with("aud", []string{}).sign(),
		"aud an object":              good.with("aud", obj{"a": Audience}).sign(),
		"iat missing":                good.with("iat", nil).sign(),
		"iat 301 s old":              good.with("iat", now-301).with("exp", now+100).sign(),
		"iat 301 s ahead":            good.with("iat", now+301).with("exp", now+400).sign(),
		"iat as text":                good.with("iat", fmt.Sprint(now)).sign(),
		"iat negative":               good.with("iat", -1).sign(),
		"iat huge":                   good.with("iat", 1e300).sign(),
		"exp missing":                good.with("exp", nil).sign(),
		"exp now":                    good.with("exp", now).sign(),
		"exp past":                   good.with("exp", now-1).sign(),
		"exp 601 s after iat":        good.with("exp", now+601).sign(),
		"exp a year ahead":           good.with("exp", now+31_536_000).sign(),
		"exp before iat":             good.with("iat", now+200).with("exp", now+100).sign(),
		"exp as text":                good.with("exp", "soon").sign(),
		"nbf ahead":                  good.with("nbf", now+301).sign(),
		"nbf as text":                good.with("nbf", "later").sign(),
		"jti missing":                good.with("jti", nil).sign(),
		"jti empty":                  good.with("jti", "").sign(),
		"jti a number":               good.with("jti", 7).sign(),
		"jti too long":               good.with("jti", strings.Repeat("j", 201)).sign(),
		"scope unknown":              good.with("scope", "targets:read admin").sign(),
		"scope empty":                good.with("scope", " ").sign(),
		"scope a list":               good.with("scope", []string{"targets:read"}).sign(),
		"claim named twice":          raw(`{"alg":"EdDSA"}`, `{"jti":"x",`+string(plain[1:])),
		"header named twice":         raw(`{"alg":"none","alg":"EdDSA"}`, string(plain)),
		"claims an array":            raw(`{"alg":"EdDSA"}`, `[]`),
		"claims no JSON":             raw(`{"alg":"EdDSA"}`, `{`),
		"header no JSON":             raw(`alg`, string(plain)),
		"four parts":                 good.sign() + ".AA",
		"two parts":                  body,
		"JWE form":                   "a.b.c.d.e",
		"empty parts":                "..",
		"white space in front":       " " + good.sign(),
		"standard base64":            strings.NewReplacer("-", "+", "_", "/").Replace(part(obj{"alg": "EdDSA", "kid": "???>>>"})) + "." + claims + ".AA",
		"too long":                   good.with("pad", strings.Repeat("p", 3500)).sign(),
	}
	if len(bad) < 60 {
		t.Fatalf("%d cases", len(bad))
	}
	for name, assertion := range bad {
		if r := w.token(a, assertion); r.Status != 401 && !(len(assertion) > maxAssertion && r.Status == 422) || r.Status == 401 && r.Str("error") != "invalid_client" {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	w.token(a, good.sign()).Want(200) // none of them used the jti up
}

func TestEdgesOfTheAssertionWindow(t *testing.T) {
	w := newWorld(t)
	a := w.register("Edges")
	k, now := w.ticket(a), w.Now().Unix()
	for i, good := range []ticket{
		k.with("iat", now-300).with("exp", now+300), k.with("iat", now+300).with("exp", now+900), k.with("exp", now+1), k.with("exp", now+600),
		k.with("aud", []string{Audience}), k.with("nbf", now), k.with("iat", float64(now)+0.5), k.with("jti", strings.Repeat("j", 200)),
		k.with("extra", obj{"deep": []int{1}}), k.head("kid", "any"), {obj{"alg": "EdDSA"}, k.claims, k.key},
	} {
		if _, long := good.claims["jti"].(string); long && len(good.claims["jti"].(string)) < 200 {
			good = good.with("jti", fmt.Sprint("edge", i))
		}
		if r := w.token(a, good.sign()); r.Status != 200 {
			t.Errorf("case %d: %s", i, r.Body)
		}
	}
}

func TestUnknownClientsLookLikeKnownOnes(t *testing.T) {
	w := newWorld(t)
	a := w.register("Known")
	bare := w.Do(Register, optest.Req{Body: form("Keyless")}).Want(201)
	want := string(w.token(a, "x.y.z").Refused(401, "invalid_client").Body)
	for _, client := range []string{ClientID(bare.Str("maker_id")), ClientID("00000000-0000-4000-8000-000000000000"), a.ID, "mcpc_", "nobody"} {
		r := w.Do(Token, optest.Req{Body: obj{"client_id": client, "client_assertion": w.ticket(a).sign()}}).Refused(401, "invalid_client")
		if string(r.Body) != want {
			t.Errorf("%s: %s", client, r.Body)
		}
	}
	w.Do(Token, optest.Req{Body: obj{"client_id": "x", "client_assertion": "y", "grant_type": "client_credentials"}}).Refused(422, "unknown_field")
	w.Do(Token, optest.Req{Body: obj{"client_id": "x"}}).Refused(422, "missing_field")
}

func TestTenThousandUsesOfOneAssertionGiveOneToken(t *testing.T) {
	w := newWorld(t)
	a := w.register("Replayed")
	body, err := json.Marshal(obj{"client_id": ClientID(a.ID), "client_assertion": w.ticket(a).sign()})
	if err != nil {
		t.Fatal(err)
	}
	var good, refused, other atomic.Int32
	const uses, workers = 10_000, 100
	parallel(workers, func(n int) {
		for i := range uses / workers {
			r := w.Engine.Do(context.Background(), Token, &op.Request{Transport: "rest", ContentType: "application/json", Body: body, Address: fmt.Sprint(n, ".", i)})
			switch r.Status {
			case 200:
				good.Add(1)
			case 401:
				refused.Add(1)
			default:
				other.Add(1)
			}
		}
	})
	if good.Load() != 1 || refused.Load() != uses-1 {
		t.Errorf("%d tokens, %d refusals, %d other answers", good.Load(), refused.Load(), other.Load())
	}
}

func TestAUsedAssertionStaysUsedUntilItIsDead(t *testing.T) {
	w := newWorld(t)
	a := w.register("Patient")
	s := w.ticket(a).with("exp", w.Now().Unix()+600).sign()
	w.token(a, s).Want(200)
	for range 12 {
		w.Advance(100 * time.Second)
		w.token(a, s).Refused(401, "invalid_client")
	}
}

func TestANewClientKeyEndsEveryLiveToken(t *testing.T) {
	w := newWorld(t)
	a := w.register("Rekeyed")
	var tokens []string
	for i := range 60 {
		tokens = append(tokens, w.token(a, w.ticket(a).with("jti", fmt.Sprint("j", i)).sign()).Want(200).Str("access_token"))
	}
	r := w.token(a, w.ticket(a).with("jti", "j60").sign()).Refused(429, "too_many_tokens")
	if r.Header["Retry-After"] == "" {
		t.Errorf("%v", r.Header)
	}
	set := w.Do(SetClientKey, optest.Req{Token: a.Token, Body: obj{"client_public_key": pub(testKey(200))}}).Want(200)
	if set.At("replaced_previous") != true || set.Str("mcp_client_id") != ClientID(a.ID) {
		t.Errorf("%s", set.Body)
	}
	for _, tok := range tokens {
		w.Do(Me, optest.Req{Token: tok, Transport: "mcp"}).Refused(401, "unauthorized")
	}
	w.token(a, w.ticket(a).with("jti", "new").sign()).Refused(401, "invalid_client")
	a.key = testKey(200)
	w.token(a, w.ticket(a).with("jti", "new").sign()).Want(200)
}

func TestTheMetadataIsWhatClientsLookFor(t *testing.T) {
	w := newWorld(t)
	s := w.Do(ServerMetadata, optest.Req{}).Want(200)
	if s.At("ok") != nil || s.Str("issuer") != "http://guildhall.test" || s.Str("token_endpoint") != "http://guildhall.test/api/bench/oauth/token" ||
		s.Str("token_endpoint_auth_methods_supported.0") != "private_key_jwt" {
		t.Errorf("%s", s.Body)
	}
	for _, o := range []*op.Operation{ResourceMetadata, MCPResourceMetadata} {
		r := w.Do(o, optest.Req{}).Want(200)
		if r.Str("resource") != "http://guildhall.test/mcp" || r.Str("authorization_servers.0") != "http://guildhall.test" {
			t.Errorf("%s", r.Body)
		}
	}
}

func BenchmarkTokenCheck(b *testing.B) {
	k := id.Keyring{Current: []byte("0123456789abcdef0123456789abcdef")}
	code := k.MAC("token:agent", "account.secret")
	for b.Loop() {
		k.Verify("token:agent", "account.secret", code)
	}
}

func BenchmarkAssertion(b *testing.B) {
	key, now := testKey(1), time.Unix(1_800_000_000, 0)
	s := ticket{obj{"alg": "EdDSA"}, obj{"iss": "c", "sub": "c", "aud": Audience, "iat": now.Unix(), "exp": now.Unix() + 60, "jti": "x"}, key}.sign()
	for b.Loop() {
		if _, err := readAssertion(s, "c", key.Public().(ed25519.PublicKey), now); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzAssertion(f *testing.F) {
	key, now := testKey(1), time.Unix(1_800_000_000, 0)
	f.Add(ticket{obj{"alg": "EdDSA"}, obj{"iss": "c", "sub": "c", "aud": Audience, "iat": now.Unix(), "exp": now.Unix() + 60, "jti": "x"}, key}.sign())
	f.Add("..")
	other := testKey(2).Public().(ed25519.PublicKey)
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := readAssertion(s, "c", other, now); err == nil {
			t.Errorf("taken under a key that never signed: %q", s)
		}
	})
}
