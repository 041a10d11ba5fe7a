package registry

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func TestKeysAreReadInEveryForm(t *testing.T) {
	for range 20 {
		key, _, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKIXPublicKey(key)
		if err != nil {
			t.Fatal(err)
		}
		sshKey, err := ssh.NewPublicKey(key)
		if err != nil {
			t.Fatal(err)
		}
		line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sshKey)))
		std := base64.StdEncoding.EncodeToString(key)
		for name, form := range map[string]string{
			"prefixed":         "ed25519:" + std,
			"prefixed url":     "ed25519:" + base64.RawURLEncoding.EncodeToString(key),
			"base64":           std,
			"base64 unpadded":  strings.TrimRight(std, "="),
			"base64url":        base64.URLEncoding.EncodeToString(key),
			"hex":              hex.EncodeToString(key),
			"HEX":              strings.ToUpper(hex.EncodeToString(key)),
			"PEM":              string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
			"PEM CRLF":         strings.ReplaceAll(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), "\n", "\r\n"),
			"bare SPKI":        base64.StdEncoding.EncodeToString(der),
			"hex SPKI":         hex.EncodeToString(der),
			"OpenSSH":          line,
			"OpenSSH comment":  line + " agent@host with words",
			"outer whitespace": "\n  " + std + " \n",
		} {
			got, err := ParseKey(form)
			if err != nil || !bytes.Equal(got, key) {
				t.Errorf("%s: %v, %q", name, err, form)
			}
		}
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	seed := make([]byte, 32)
	seed[0] = 5
	priv := ed25519.NewKeyFromSeed(seed)
	key := priv.Public().(ed25519.PublicKey)
	pkcs8, _ := x509.MarshalPKCS8PrivateKey(priv)
	block, err := ssh.MarshalPrivateKey(priv, "")
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKIXPublicKey(key)
	std := base64.StdEncoding.EncodeToString
	rsaLine := "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ== a@b"
	spki := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	for name, c := range map[string]struct {
		form string
		err  error
	}{
		"PKCS8 PEM":            {string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})), errPrivateKey},
		"PKCS8 DER":            {std(pkcs8), errPrivateKey},
		"PKCS8 hex":            {hex.EncodeToString(pkcs8), errPrivateKey},
		"seed and key":         {std(priv), errPrivateKey},
		"prefixed private":     {"ed25519:" + std(priv), errPrivateKey},
		"hex private":          {hex.EncodeToString(priv), errPrivateKey},
		"OpenSSH private":      {string(pem.EncodeToMemory(block)), errPrivateKey},
		"OpenSSH bare":         {std(block.Bytes), errPrivateKey},
		"private JWK":          {`{"kty":"OKP","crv":"Ed25519","x":"AA","d":"AA"}`, errPrivateKey},
		"age secret":           {"AGE-SECRET-KEY-1QQQQ", errPrivateKey},
		"RSA PEM private":      {"-----BEGIN RSA PRIVATE KEY-----\nAA==\n-----END RSA PRIVATE KEY-----", errPrivateKey},
		"public JWK":           {`{"kty":"OKP","crv":"Ed25519","x":"AA"}`, errPublicKey},
		"empty":                {"", errPublicKey},
		"words":                {"my public key", errPublicKey},
		"31 bytes":             {hex.EncodeToString(key[:31]), errPublicKey},
		"33 bytes":             {hex.EncodeToString(append([]byte{0}, key...)), errPublicKey},
		"identity":             {"0100000000000000000000000000000000000000000000000000000000000000", errPublicKey},
		"all zero, order 4":    {strings.Repeat("00", 32), errPublicKey},
		"order 2":              {"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", errPublicKey},
		"order 8":              {"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", errPublicKey},
		"order 8, other":       {"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", errPublicKey},
		"order 4, signed zero": {"0000000000000000000000000000000000000000000000000000000000000080", errPublicKey},
		"not canonical":        {"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", errPublicKey},
		"not canonical one":    {"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", errPublicKey},
		"not on the curve":     {"0200000000000000000000000000000000000000000000000000000000000000", errPublicKey},
		"RSA line":             {rsaLine, errPublicKey},
		"ssh line in two":      {"ssh-ed25519\nAAAA", errPublicKey},
		"ssh line cut":         {"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA", errPublicKey},
		"two PEM blocks":       {string(spki) + string(spki), errPublicKey},
		"certificate":          {"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----", errPublicKey},
		"loose base64 bits":    {strings.TrimRight(std(key), "=")[:42] + "/", errPublicKey},
		"too long":             {strings.Repeat("a", 3000), errPublicKey},
	} {
		if got, err := ParseKey(c.form); err != c.err {
			t.Errorf("%s: %v %x, want %v", name, err, got, c.err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=")
	f.Add("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== c")
	f.Add("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----")
	f.Fuzz(func(t *testing.T, s string) {
		key, err := ParseKey(s)
		if (err == nil) != (len(key) == ed25519.PublicKeySize) {
			t.Errorf("%q: %x %v", s, key, err)
		}
		if err != nil {
			return
		}
		if again, err := ParseKey(hex.EncodeToString(key)); err != nil || !bytes.Equal(again, key) {
			t.Errorf("%q: the key does not read back: %v", s, err)
		}
	})
}
