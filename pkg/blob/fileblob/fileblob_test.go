package fileblob

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/blobtest"
)

func TestSuite(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Subject {
		return blobtest.Local(t, func(clock func() time.Time, sign blob.Signer) blob.Store {
			return open(t, t.TempDir(), clock, sign)
		})
	})
}

func fixed() time.Time { return time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC) }

func open(t *testing.T, dir string, clock func() time.Time, sign blob.Signer) *Store {
	t.Helper()
	s, err := Open(dir, clock, sign)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t *testing.T, s *Store, key, data string) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, strings.NewReader(data), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

// files lists the regular files below dir.
func files(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	out := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = info
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestObjectsArePrivateFilesAndNothingElseIsLeft(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, fixed, blob.Signer{})
	put(t, s, "deals/1/A b.pdf", "data")
	if _, err := s.Put(t.Context(), "bad", iotest.ErrReader(errors.New("cut")), blob.PutOptions{}); err == nil {
		t.Fatal("a broken body was stored")
	}
	if _, err := s.Put(t.Context(), "deals/1/A b.pdf", strings.NewReader("x"), blob.PutOptions{IfAbsent: true}); err == nil {
		t.Fatal("a taken key was written")
	}
	got := files(t, dir)
	info := got["objects/deals=/1=/%41%20b.pdf"]
	if len(got) != 1 || info == nil {
		t.Fatalf("files %v, want the one object", got)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
}

func TestObjectsAreThereAfterAReopen(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, fixed, blob.Signer{})
	put(t, s, "k", "data")
	s.Close()
	s = open(t, dir, fixed, blob.Signer{})
	info, err := s.Head(t.Context(), "k")
	if err != nil || info.Size != 4 || !info.StoredAt.Equal(fixed()) {
		t.Errorf("Head after reopen: %+v, %v", info, err)
	}
}

func TestOldTemporaryFilesAreClearedAndYoungOnesKept(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, fixed, blob.Signer{})
	for name, age := range map[string]time.Duration{"old": tmpAge + time.Minute, "young": tmpAge - time.Minute} {
		path := filepath.Join(dir, tmpDir, name)
		at := fixed().Add(-age)
		if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, fixed, blob.Signer{})
	if got := files(t, dir); len(got) != 1 || got["tmp/young"] == nil {
		t.Errorf("left: %v, want tmp/young", got)
	}
}

func TestADamagedFileIsSaidToBeDamaged(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, fixed, blob.Signer{})
	put(t, s, "k", "0123456789")
	path := filepath.Join(dir, "objects", "k")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), "k", blob.Range{}); !errors.Is(err, blob.ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: %v, want ErrCorrupt", n, len(whole), err)
		}
	}
	for _, data := range [][]byte{append([]byte("x"), whole...), append(whole, 'x'), bytes.Repeat([]byte{0xff}, 64)} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Head(t.Context(), "k"); !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("%d foreign bytes: %v, want ErrCorrupt", len(data), err)
		}
	}
}

func TestASymbolicLinkLeadsNowhere(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := open(t, dir, fixed, blob.Signer{})
	if err := os.Symlink(outside, filepath.Join(dir, "objects", "x=")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "x/k", strings.NewReader("data"), blob.PutOptions{}); err == nil {
		t.Error("a Put went through a symbolic link")
	}
	if got := files(t, outside); len(got) != 0 {
		t.Errorf("outside the store: %v", got)
	}
}

func TestForeignFilesAreNotListed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, fixed, blob.Signer{})
	put(t, s, "k", "data")
	for _, name := range []string{".DS_Store", "Thumbs.db", "a%2", "a%zz", "%61", "file="} {
		if err := os.WriteFile(filepath.Join(dir, "objects", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := s.List(t.Context(), "", "", 10)
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Key != "k" {
		t.Errorf("List: %+v, %v; want only k", page, err)
	}
}

// zeros gives n zero bytes.
type zeros int64

func (z *zeros) Read(p []byte) (int, error) {
	if *z == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), int64(*z))
	clear(p[:n])
	*z -= zeros(n)
	return int(n), nil
}

func TestALargeObjectPassesInConstantMemory(t *testing.T) {
	const size, mayAllocate = 32 << 20, 2 << 20
	s := open(t, t.TempDir(), fixed, blob.Signer{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body := zeros(size)
	info, err := s.Put(t.Context(), "big", &body, blob.PutOptions{})
	if err != nil || info.Size != size {
		t.Fatalf("Put: %+v, %v", info, err)
	}
	if got, err := blob.SumOf(t.Context(), s, "big"); err != nil || got != info.Digest {
		t.Fatalf("read back %+v, %v; want %+v", got, err, info.Digest)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > mayAllocate {
		t.Errorf("%d bytes allocated for an object of %d", n, size)
	}
}

func FuzzKeysBecomeFileNamesAndBack(f *testing.F) {
	for _, k := range []string{"a", "a/b", "A%41", "..x/=", "日本", "a b/.c"} {
		f.Add(k)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if blob.ValidKey(key) != nil {
			return
		}
		name := path(key)
		if !fs.ValidPath(name) || strings.ToLower(name) != name {
			t.Fatalf("%q becomes %q", key, name)
		}
		segs := strings.Split(strings.TrimPrefix(name, objectsDir+"/"), "/")
		for i, seg := range segs {
			bare, isDir := strings.CutSuffix(seg, dirMark)
			back, ok := unescape(bare)
			if !ok || isDir != (i < len(segs)-1) || len(seg) > 255 {
				t.Fatalf("%q becomes %q, segment %q", key, name, seg)
			}
			segs[i] = back
		}
		if back := strings.Join(segs, "/"); back != key {
			t.Fatalf("%q comes back as %q", key, back)
		}
	})
}

func FuzzTrailersOfStrangeFiles(f *testing.F) {
	var good bytes.Buffer
	if err := writeTrailer(&good, blob.Info{ContentType: "text/plain", StoredAt: fixed()}); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add([]byte("data" + good.String()))
	f.Add([]byte(mark))
	f.Fuzz(func(t *testing.T, file []byte) {
		info, err := readTrailer(bytes.NewReader(file), int64(len(file)), "k")
		if err == nil && (info.Size < 0 || info.Size > int64(len(file))) {
			t.Fatalf("an object of %d bytes in a file of %d", info.Size, len(file))
		}
	})
}

func BenchmarkPut4KB(b *testing.B) {
	s, err := Open(b.TempDir(), fixed, blob.Signer{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	data := strings.Repeat("x", 4096)
	for b.Loop() {
		if _, err := s.Put(b.Context(), "k", strings.NewReader(data), blob.PutOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
