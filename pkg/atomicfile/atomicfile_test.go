package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestReplaceLeavesOneWholePrivateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	for _, text := range []string{"first and longer", "second"} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		wantFile(t, path, text)
	}
	wantAlone(t, path)
}

func TestCreateNeverReplacesAndOneOfManyWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	var wins atomic.Int32
	var winner atomic.Value
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			text := fmt.Sprint("writer ", i)
			switch err := Create(path, []byte(text)); {
			case err == nil:
				wins.Add(1)
				winner.Store(text)
			case !errors.Is(err, fs.ErrExist):
				t.Errorf("Create: %v, want fs.ErrExist", err)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 {
		t.Fatalf("%d writers won, want 1", wins.Load())
	}
	wantFile(t, path, winner.Load().(string))
	wantAlone(t, path)
}

func TestAFailedWriteLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("x")); err == nil {
		t.Error("a directory was replaced")
	}
	wantAlone(t, path)
	if err := Replace(filepath.Join(dir, "missing", "file"), nil); err == nil {
		t.Error("a file in a missing directory was written")
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Fatalf("%s holds %q, %v; want %q", path, got, err, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != Perm {
		t.Errorf("mode %v, %v; want %v", info.Mode(), err, Perm)
	}
}

func wantAlone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("beside %s lie %v, %v", path, entries, err)
	}
}
