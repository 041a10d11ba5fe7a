package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestEqualBinariesGiveEqualZips(t *testing.T) {
	src := bytes.Repeat([]byte("binary "), 10000)
	a, err := archive(src)
	if err != nil {
		t.Fatal(err)
	}
	b, err := archive(bytes.Clone(src))
	if err != nil || !bytes.Equal(a, b) {
		t.Fatalf("two zips of the same binary differ (%v)", err)
	}
	z, err := zip.NewReader(bytes.NewReader(a), int64(len(a)))
	if err != nil || len(z.File) != 1 {
		t.Fatal("want one entry", err)
	}
	f := z.File[0]
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	back, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(back, src) || f.Name != "bootstrap" || f.Mode().Perm() != 0o755 || !f.Modified.Equal(epoch) {
		t.Errorf("entry %s %v %v, %d bytes back (%v)", f.Name, f.Mode(), f.Modified, len(back), err)
	}
}

// repository writes a small module with two functions of equal base name.
func repository(t *testing.T) string {
	root := t.TempDir()
	for name, src := range map[string]string{
		"go.mod":                       "module small\n\ngo 1.26.0\n",
		"functions/a/thing-do/main.go": "package main\n\nfunc main() { println(\"a\") }\n",
		"functions/b/thing-do/main.go": "package main\n\nfunc main() { println(\"b\") }\n",
	} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestGroupsDoNotOverwriteEachOther(t *testing.T) {
	b := build{root: repository(t), arch: "arm64", dist: "dist"}
	left := filepath.Join(b.root, "dist/a/gone")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run replaces links and keeps zips
		if err := b.all(); err != nil {
			t.Fatal(err)
		}
	}
	one, err1 := os.ReadFile(filepath.Join(b.root, "dist/a/thing-do/bootstrap"))
	two, err2 := os.ReadFile(filepath.Join(b.root, "dist/b/thing-do/bootstrap"))
	if err1 != nil || err2 != nil || bytes.Equal(one, two) {
		t.Error("each group has a bootstrap of its own:", err1, err2)
	}
	if _, err := os.Stat(filepath.Join(b.root, "dist/b/thing-do.zip")); err != nil {
		t.Error(err)
	}
	if !holds(filepath.Join(b.root, "dist/b/thing-do.zip"), two) || holds(filepath.Join(b.root, "dist/a/thing-do.zip"), two) {
		t.Error("a zip does not hold its own function")
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("a function that is gone is still in dist")
	}
}

func TestTwoBuildsAreTheSame(t *testing.T) {
	if err := (build{root: repository(t), arch: "arm64"}).twice(); err != nil {
		t.Error(err)
	}
}
