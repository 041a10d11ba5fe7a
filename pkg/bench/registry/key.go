package registry

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"strings"

	"filippo.io/edwards25519"
)

// maxKeyText is the length of a key in any accepted form, in bytes.
const maxKeyText = 2048

// What is wrong with a public key.
var (
	errPrivateKey = errors.New("registry: private key material")
	errPublicKey  = errors.New("registry: not an Ed25519 public key in an accepted form")
)

// DER heads of the forms a key can come in.
var (
	spkiHead  = []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}
	pkcs8Head = []byte{0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70}
	pkcs8v2   = []byte{0x02, 0x01, 0x01, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70}
)

// ParseKey reads an Ed25519 public key: "ed25519:<base64>", base64, base64url or hex of
// the 32 raw bytes, PEM SubjectPublicKeyInfo or its bare base64, or an OpenSSH line
// (bench.md 3.3). It refuses private material, points of small order and encodings that
// are not canonical: the standard library takes signatures that any message fits under
// such keys.
func ParseKey(s string) (ed25519.PublicKey, error) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxKeyText {
		return nil, errPublicKey
	}
	if privateText(s) {
		return nil, errPrivateKey
	}
	raw, err := keyBytes(s)
	if err != nil {
		return nil, err
	}
	return checkPoint(raw)
}

// privateText finds private keys by their wrapping.
func privateText(s string) bool {
	up := strings.ToUpper(s)
	return strings.Contains(up, "PRIVATE KEY") || strings.Contains(up, "SECRET-KEY-") || strings.HasPrefix(up, "NSEC1") ||
		strings.HasPrefix(s, "{") && strings.Contains(s, `"d"`) || strings.Contains(s, "b3BlbnNzaC1rZXktdjE")
}

func keyBytes(s string) ([]byte, error) {
	switch {
	case strings.HasPrefix(s, "-----BEGIN"):
		block, rest := pem.Decode([]byte(s))
		if block == nil || block.Type != "PUBLIC KEY" || len(bytes.TrimSpace(rest)) > 0 {
			return nil, errPublicKey
		}
		return unwrap(block.Bytes)
	case strings.HasPrefix(s, "ssh-"):
		return sshBytes(s)
	}
	if rest, ok := strings.CutPrefix(s, "ed25519:"); ok {
		return unwrap(decode(rest))
	}
	if b, err := hex.DecodeString(s); err == nil {
		return unwrap(b)
	}
	return unwrap(decode(s))
}

// decode reads base64 in either alphabet, padded or not; nil for anything else.
func decode(s string) []byte {
	s = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(s), "=")
	b, err := base64.RawStdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}

// unwrap takes the 32 bytes out of what was decoded and names private material.
func unwrap(b []byte) ([]byte, error) {
	switch {
	case len(b) == ed25519.PublicKeySize:
		return b, nil
	case len(b) == len(spkiHead)+ed25519.PublicKeySize && bytes.HasPrefix(b, spkiHead):
		return b[len(spkiHead):], nil
	case len(b) == ed25519.PrivateKeySize, bytes.HasPrefix(b, pkcs8Head), len(b) > 12 && bytes.HasPrefix(b[2:], pkcs8v2),
		bytes.HasPrefix(b, []byte("openssh-key-v1")):
		return nil, errPrivateKey
	}
	return nil, errPublicKey
}

// sshBytes reads "ssh-ed25519 <base64> [comment]", one line.
func sshBytes(s string) ([]byte, error) {
	fields := strings.Fields(s)
	if strings.ContainsAny(s, "\r\n") || len(fields) < 2 || fields[0] != "ssh-ed25519" {
		return nil, errPublicKey
	}
	blob := decode(fields[1])
	name, rest, ok := sshString(blob)
	if !ok || string(name) != "ssh-ed25519" {
		return nil, errPublicKey
	}
	key, rest, ok := sshString(rest)
	if !ok || len(rest) > 0 || len(key) != ed25519.PublicKeySize {
		return nil, errPublicKey
	}
	return key, nil
}

func sshString(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}

func checkPoint(raw []byte) (ed25519.PublicKey, error) {
	p, err := new(edwards25519.Point).SetBytes(raw)
	if err != nil || !bytes.Equal(p.Bytes(), raw) {
		return nil, errPublicKey
	}
	if new(edwards25519.Point).MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1 {
		return nil, errPublicKey
	}
	return ed25519.PublicKey(bytes.Clone(raw)), nil
}
