package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"guildhall/pkg/atomicfile"
)

const (
	keysFile     = "keys.json"
	keyBytes     = 32      // bytes of one key
	maxKeysBytes = 8 << 10 // bytes of keys.json
)

// Key is one secret key. It never prints.
type Key []byte

// String hides the key.
func (Key) String() string { return "(key)" }

// GoString hides the key from %#v.
func (Key) GoString() string { return "(key)" }

// MarshalText hides the key from JSON and slog.
func (Key) MarshalText() ([]byte, error) { return []byte("(key)"), nil }

// KeySet is a key in use and, for as long as what it made may come back, the one before.
type KeySet struct {
	Current  Key
	Previous Key // nil: none
}

// All lists the keys to check with, the current one first: it is also the one to make with.
func (s KeySet) All() [][]byte {
	if s.Previous == nil {
		return [][]byte{s.Current}
	}
	return [][]byte{s.Current, s.Previous}
}

// Keys are the secret keys of an exchange, one set for each purpose.
type Keys struct {
	Token      KeySet // HMAC of credentials at rest
	Form       KeySet // cursors, forms, links, upload addresses
	Checkpoint KeySet // Ed25519 seeds that sign the public log's checkpoints
}

// storedKeys is keys.json; base64 is the standard alphabet with padding.
type storedKeys struct {
	Token      *storedSet `json:"token"`
	Form       *storedSet `json:"form"`
	Checkpoint *storedSet `json:"checkpoint"`
}

type storedSet struct {
	Current  string `json:"current"`
	Previous string `json:"previous,omitempty"`
}

// LoadKeys reads the keys: from env, the value of GUILDHALL_KEYS, when it is set; else from
// keys.json in dir, made there with mode 0600 on first use. Processes that race to make it
// all get the keys of the one that won. A file that others may read is refused.
func LoadKeys(env string, dir string, random io.Reader) (Keys, error) {
	if env != "" {
		k, err := parseKeys([]byte(env))
		if err != nil {
			return Keys{}, fmt.Errorf("GUILDHALL_KEYS: %w", err)
		}
		return k, nil
	}
	if dir == "" {
		return Keys{}, errors.New("GUILDHALL_KEYS is needed where there is no data directory: put the content of a keys.json in it")
	}
	path := filepath.Join(dir, keysFile)
	k, err := readKeys(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := makeKeys(path, random); err != nil && !errors.Is(err, fs.ErrExist) {
		return Keys{}, err
	}
	return readKeys(path)
}

// NewKeys makes keys that are kept nowhere.
func NewKeys(random io.Reader) (Keys, error) {
	data, err := freshKeys(random)
	if err != nil {
		return Keys{}, err
	}
	return parseKeys(data)
}

func freshKeys(random io.Reader) ([]byte, error) {
	var sets [3]*storedSet
	for i := range sets {
		key := make([]byte, keyBytes)
		if _, err := io.ReadFull(random, key); err != nil {
			return nil, fmt.Errorf("no randomness for keys: %w", err)
		}
		sets[i] = &storedSet{Current: base64.StdEncoding.EncodeToString(key)}
	}
	return json.MarshalIndent(storedKeys{sets[0], sets[1], sets[2]}, "", "  ")
}

func makeKeys(path string, random io.Reader) error {
	data, err := freshKeys(random)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return atomicfile.Create(path, append(data, '\n'))
}

func readKeys(path string) (Keys, error) {
	f, err := os.Open(path)
	if err != nil {
		return Keys{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Keys{}, err
	}
	if open := info.Mode().Perm() &^ atomicfile.Perm; open != 0 && runtime.GOOS != "windows" {
		return Keys{}, fmt.Errorf("%s can be read or changed by others (mode %04o): run chmod 600 %s; if it was exposed, replace the keys", path, info.Mode().Perm(), path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeysBytes+1))
	if err != nil {
		return Keys{}, err
	}
	k, err := parseKeys(data)
	if err != nil {
		return Keys{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// parseKeys reads keys.json. Its errors never hold a key.
func parseKeys(data []byte) (Keys, error) {
	if len(data) > maxKeysBytes {
		return Keys{}, fmt.Errorf("more than %d bytes", maxKeysBytes)
	}
	var s storedKeys
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return Keys{}, errors.New(`not the JSON of a key file: {"token":{"current":…},"form":{"current":…},"checkpoint":{"current":…}}`)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Keys{}, errors.New("something follows the JSON object")
	}
	var k Keys
	seen := map[string]string{}
	for _, part := range []struct {
		name string
		from *storedSet
		to   *KeySet
	}{{"token", s.Token, &k.Token}, {"form", s.Form, &k.Form}, {"checkpoint", s.Checkpoint, &k.Checkpoint}} {
		if part.from == nil {
			return Keys{}, fmt.Errorf("the keys of %q are missing", part.name)
		}
		if err := part.to.parse(part.name, *part.from, seen); err != nil {
			return Keys{}, err
		}
	}
	return k, nil
}

func (s *KeySet) parse(name string, from storedSet, seen map[string]string) error {
	var err error
	if s.Current, err = parseKey(name+".current", from.Current, seen); err != nil {
		return err
	}
	if from.Previous != "" {
		s.Previous, err = parseKey(name+".previous", from.Previous, seen)
	}
	return err
}

// parseKey reads one key. One key for two purposes, or an empty one, is a mistake that would
// otherwise show only in an attack.
func parseKey(name, text string, seen map[string]string) (Key, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("%s: want %d bytes in base64 (head -c %d /dev/urandom | base64)", name, keyBytes, keyBytes)
	}
	if bytes.Equal(key, make([]byte, keyBytes)) {
		return nil, fmt.Errorf("%s: all zero", name)
	}
	if other := seen[string(key)]; other != "" {
		return nil, fmt.Errorf("%s: the same key as %s", name, other)
	}
	seen[string(key)] = name
	return key, nil
}
