package config

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
)

// random is a stream of its own for each seed.
func random(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

func TestKeysAreMadeOncePrivateAndKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first, err := LoadKeys("", dir, random(1))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]KeySet{"token": first.Token, "form": first.Form, "checkpoint": first.Checkpoint} {
		if len(s.Current) != keyBytes || s.Previous != nil || len(s.All()) != 1 {
			t.Errorf("%s: %d bytes, %d keys", name, len(s.Current), len(s.All()))
		}
	}
	again, err := LoadKeys("", dir, random(2))
	if err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("the keys changed: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, keysFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestRacingProcessesGetOneSetOfKeys(t *testing.T) {
	dir := t.TempDir()
	got := make([]Keys, 16)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = LoadKeys("", dir, random(byte(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, k := range got {
		if !reflect.DeepEqual(k, got[0]) {
			t.Fatal("two processes have different keys")
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left in the directory: %v, %v", left, err)
	}
}

func TestAFileThatOthersMayReadIsRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadKeys("", dir, random(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, keysFile)
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false, 0o644: false, 0o700: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := LoadKeys("", dir, random(1))
		if ok != (err == nil) || (err != nil && !strings.Contains(err.Error(), "chmod 600")) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}

func TestKeysOfTheEnvironmentComeFirst(t *testing.T) {
	data, err := freshKeys(random(3))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	got, err := LoadKeys(string(data), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := NewKeys(random(3)); !reflect.DeepEqual(got, want) {
		t.Error("other keys than those given")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left in the directory: %v", left)
	}
	if _, err := LoadKeys("", "", random(1)); err == nil || !strings.Contains(err.Error(), "GUILDHALL_KEYS") {
		t.Errorf("neither keys nor directory: %v", err)
	}
	if c, err := read("GUILDHALL_KEYS=" + string(data)); err != nil || c.Keys.Reveal() != string(data) {
		t.Errorf("read from the environment: %v", err)
	}
}

func TestNoKeysWithoutRandomness(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadKeys("", dir, iotest.ErrReader(fmt.Errorf("none"))); err == nil {
		t.Error("keys were made without randomness")
	}
	if _, err := LoadKeys("", dir, bytes.NewReader(make([]byte, 95))); err == nil {
		t.Error("keys were made from too little randomness")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left in the directory: %v", left)
	}
}

func TestAPreviousKeyChecksAndTheCurrentOneIsFirst(t *testing.T) {
	data := change(t, func(m map[string]map[string]string) {
		m["form"]["previous"] = m["token"]["current"]
		delete(m["token"], "current")
	})
	if _, err := parseKeys(data); err == nil {
		t.Error("a set without a current key was accepted")
	}
	old := strings.Repeat("q6ur", 10) + "q6s=" // 32 bytes
	k, err := parseKeys(change(t, func(m map[string]map[string]string) { m["form"]["previous"] = old }))
	if err != nil || len(k.Form.All()) != 2 || !bytes.Equal(k.Form.All()[0], k.Form.Current) || !bytes.Equal(k.Form.All()[1], k.Form.Previous) {
		t.Errorf("%d keys, %v", len(k.Form.All()), err)
	}
}

// change makes a key file, changed.
func change(t *testing.T, by func(map[string]map[string]string)) []byte {
	t.Helper()
	data, err := freshKeys(random(4))
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]map[string]string{}
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	by(m)
	if data, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestADamagedKeyFileIsRefusedAndNeverReplaced(t *testing.T) {
	zero := strings.Repeat("A", 43) + "="
	for what, data := range map[string][]byte{
		"empty":            {},
		"no JSON":          []byte("keys"),
		"an array":         []byte("[]"),
		"no sets":          []byte("{}"),
		"a set missing":    change(t, func(m map[string]map[string]string) { delete(m, "checkpoint") }),
		"a set too many":   change(t, func(m map[string]map[string]string) { m["other"] = map[string]string{} }),
		"a key too many":   change(t, func(m map[string]map[string]string) { m["form"]["next"] = zero }),
		"a short key":      change(t, func(m map[string]map[string]string) { m["form"]["current"] = "AAAA" }),
		"no base64":        change(t, func(m map[string]map[string]string) { m["form"]["current"] = "!" }),
		"a zero key":       change(t, func(m map[string]map[string]string) { m["form"]["current"] = zero }),
		"one key twice":    change(t, func(m map[string]map[string]string) { m["form"]["current"] = m["token"]["current"] }),
		"something behind": append(change(t, func(map[string]map[string]string) {}), "{}"...),
		"too long":         append(change(t, func(map[string]map[string]string) {}), bytes.Repeat([]byte(" "), maxKeysBytes)...),
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, keysFile)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKeys("", dir, random(1)); err == nil || !strings.Contains(err.Error(), keysFile) {
			t.Errorf("%s: %v", what, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, data) {
			t.Errorf("%s: the file was changed", what)
		}
	}
}

func TestKeysNeverPrint(t *testing.T) {
	k, err := NewKeys(random(1))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s %s", k, k, k, k.Token.Current, encoded)
	for _, b := range [][]byte{k.Token.Current, k.Form.Current} {
		if strings.Contains(all, fmt.Sprint([]byte(b)[:4])[1:8]) || strings.Contains(all, fmt.Sprintf("%x", []byte(b)[:4])) ||
			strings.Contains(all, base64.StdEncoding.EncodeToString(b)) {
			t.Errorf("a key was printed: %s", all)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	data, err := freshKeys(random(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"token":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := parseKeys(data)
		if err == nil && (len(k.Token.Current) != keyBytes || len(k.Form.Current) != keyBytes || len(k.Checkpoint.Current) != keyBytes) {
			t.Fatalf("accepted without keys: %q", data)
		}
	})
}
