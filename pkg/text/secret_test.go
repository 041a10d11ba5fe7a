package text

import (
	"strings"
	"testing"
)

// Fixtures are put together at run time so that no scanner of this repository takes them for real.
func joined(parts ...string) string { return strings.Join(parts, "") }

func TestSecretFindsWhatOpensADoor(t *testing.T) {
	token := strings.Repeat("a1B2", 10)
	for _, c := range []struct{ text, want string }{
		{"key " + joined("AK", "IA") + "IOSFODNN7EXAMPLE", SecretAWS},
		{"zero width " + joined("AK", "\u200b", "IA") + "IOSF\u2060ODNN7EXAMPLE", SecretAWS},
		{"full width \uff21\uff2b\uff29\uff21IOSFODNN7EXAMPLE", SecretAWS},
		{joined("gh", "p_") + token, SecretGitHub},
		{joined("gh", "o_") + token, SecretGitHub},
		{joined("github_", "pat_") + token, SecretGitHub},
		{"url=" + joined("gl", "pat-") + token, SecretService},
		{joined("sk_", "live_") + token, SecretStripe},
		{joined("rk_", "live_") + token, SecretStripe},
		{joined("sk_", "test_") + token, SecretStripe},
		{joined("whs", "ec_") + token, SecretStripe},
		{joined("xo", "xb-") + "123456789012-abcdefghij", SecretSlack},
		{joined("hooks.slack", ".com/services/") + "T00000000/B00000000/XXXX", SecretSlack},
		{joined("AI", "za") + "SyD-1234567890abcdefghijklmnopqrs", SecretGoogle},
		{joined("s", "k-") + "proj-abcdef1234567890ABCDEF", SecretModel},
		{joined("s", "k-ant-") + "api03-abcdefghijklmnopq", SecretModel},
		{joined("ey", "JhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0In0.", "abc_DEF-123"), SecretJWT},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE", SecretPrivateKey},
		{"-----BEGIN OPENSSH PRIVATE KEY-----", SecretPrivateKey},
		{"-----BEGIN PRIVATE KEY-----", SecretPrivateKey},
		{"-----BEGIN EC PRIVATE KEY-----", SecretPrivateKey},
		{"-----BEGIN PGP PRIVATE KEY BLOCK-----", SecretPrivateKey},
		{joined("LS0tLS1", "CRUdJTi") + "BSU0EgUFJJVkFURSBLRVktLS0tLQ==", SecretPrivateKey},
		{"postgres://user:pass@host/db", SecretURL},
		{"see https://bob:hunter2@example.com", SecretURL},
		{"Authorization: Bearer abcdef1234567890", SecretBearer},
		{"authorization: BEARER  abcdef1234567890", SecretBearer},
		{"0x" + strings.Repeat("4f", 32), SecretHexKey},
		{"key=0x" + strings.Repeat("AB", 32) + ".", SecretHexKey},
		{"gh_bench_0f8fad5b-d9cb-469f-a165-70867728950e_" + token, SecretOwn},
		{"Gh, then gh_help_42_" + token, SecretOwn},
		{"card 4111111111111111", SecretCard},
		{"card 4111 1111 1111 1111 please", SecretCard},
		{"card 4111-1111-1111-1111", SecretCard},
		{"amex 3782 822463 10005", SecretCard},
		{"13 digits 4222222222222", SecretCard},
		{"full width \uff14\uff11\uff11\uff11\uff11\uff11\uff11\uff11\uff11\uff11\uff11\uff11\uff11\uff11\uff11\uff11", SecretCard},
		{"password: hunter2", SecretAssigned},
		{"PASSWORD=hunter2!x9", SecretAssigned},
		{"Password :  correcthorse", SecretAssigned},
		{`{"password":"abc12345"}`, SecretAssigned},
		{"api key: abcdefgh", SecretAssigned},
		{"API_KEY=abcdefgh", SecretAssigned},
		{"api-key = 'abcdefgh'", SecretAssigned},
		{"client_secret: 12345678", SecretAssigned},
		{"token=abcdefgh", SecretAssigned},
		{"passcode:\nabcdefgh", SecretAssigned},
		{"pass\u200bword: hunter22x", SecretAssigned},
		{"aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", SecretAssigned},
		{"the password is hunter2x", SecretAssigned},
		{"recovery phrase: legal winner thank year wave sausage worth useful legal winner thank yellow", SecretPhrase},
	} {
		if got, found := Secret(c.text); !found || got != c.want {
			t.Errorf("Secret(%q) = %q, %v; want %q", c.text, got, found, c.want)
		}
	}
}

func TestSecretLeavesTalkAboutSecretsAlone(t *testing.T) {
	for _, s := range []string{
		"", "please reset your password", "I will never ask for a password or a token.", "The password field stays empty.",
		"Use a password manager.", "token economics and secret sauce", "secretary: Ann", "tokens: three of them", "password: ********", "password: [redacted]",
		"the password is required", "a bearer of good news for everybody", "Bearer bonds", "task-management and risk-averse planning-oriented work",
		"github.com is a site", "ghp_short", "AKIA is a prefix", "gh_bench_<id>_<secret>", "0x1234", "transaction 0x" + strings.Repeat("a", 40),
		"order 1234567890123", "isbn 9783161484101", "call 555-0100", "4111 1111 1111 1112", "4111111111111112", "12345678901234567890123456789",
		"hash 4222222222222a4222222222222b4222222222222cdd", "0000000000000000", "2026-07-28 17:31:29", "a1b2c3d4-e5f6-4890-abcd-ef1234567890",
		"eyJ is how a token starts", "one.two.three", "https://example.com/path", "mail bob@example.com", "ratio 3:4 and time 10:30",
		"-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", "key: C major", "secret: sauce", "the seed phrase never leaves your wallet", "a seed phrase is a list of words that you must keep safe at home",
		"sha256 " + strings.Repeat("ab12", 16),
	} {
		if got, found := Secret(s); found {
			t.Errorf("Secret(%q) found a %s", s, got)
		}
	}
}

func TestAnAssignedValueCountsFromEightCharacters(t *testing.T) {
	for value, want := range map[string]bool{"abcdefg": false, "abcdefgh": true, "абвгдеж": false, "абвгдежз": true} {
		if _, found := Secret("token: " + value); found != want {
			t.Errorf("token: %s found %v", value, found)
		}
	}
}

func TestCardNumbersHaveThirteenToNineteenDigits(t *testing.T) {
	for digits := 11; digits <= 21; digits++ {
		run := luhnRun(digits)
		_, found := Secret("n " + run + " n")
		if want := digits >= 13 && digits <= 19; found != want {
			t.Errorf("%d digits (%s): found %v", digits, run, found)
		}
	}
}

// luhnRun is a run of digits with a valid check digit.
func luhnRun(n int) string {
	body := strings.Repeat("7", n-1)
	for c := '0'; c <= '9'; c++ {
		if luhn(body + string(c)) {
			return body + string(c)
		}
	}
	panic("no check digit")
}
