package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// build is one run: what is built from root, for which processor, into which folder.
type build struct {
	root, arch, tags, group, dist string
}

// all builds every group and drops what no folder of functions/ stands for any more.
func (b build) all() error {
	groups, err := b.groups()
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := b.one(g); err != nil {
			return fmt.Errorf("%s: %w", g, err)
		}
	}
	return nil
}

// groups lists the folders below functions/.
func (b build) groups() ([]string, error) {
	if b.group != "" {
		return []string{b.group}, nil
	}
	return folders(filepath.Join(b.root, "functions"))
}

func folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// one builds a group with a single command, then links and zips its functions.
func (b build) one(group string) error {
	names, err := folders(filepath.Join(b.root, "functions", group))
	if err != nil {
		return err
	}
	bin := filepath.Join(b.root, "bin", b.arch, group)
	if err := b.compile(bin+"/", "./functions/"+group+"/..."); err != nil {
		return err
	}
	for _, n := range names {
		if err := b.place(filepath.Join(bin, n), filepath.Join(b.root, b.dist, group, n)); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d functions\n", group, len(names))
	return b.tidy(group, names)
}

// compile runs the go command with the flags that make its output a function of the
// sources alone: no paths, no version control, no build id.
func (b build) compile(out, packages string) error {
	tags := "lambda.norpc"
	if b.tags != "" {
		tags += "," + b.tags
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	c := exec.Command("go", "build", "-tags", tags, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", out, packages)
	c.Dir, c.Stderr = b.root, os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+b.arch, "GOFLAGS=")
	return c.Run()
}

// place hard-links a binary as <dir>/bootstrap and zips it beside the folder. A zip that
// holds the same bytes stays.
func (b build) place(binary, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	boot := filepath.Join(dir, "bootstrap")
	if err := os.Remove(boot); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Link(binary, boot); err != nil {
		return err
	}
	src, err := os.ReadFile(binary)
	if err != nil || holds(dir+".zip", src) {
		return err
	}
	z, err := archive(src)
	if err != nil {
		return err
	}
	return os.WriteFile(dir+".zip", z, 0o644)
}

// tidy removes functions of the group that are gone.
func (b build) tidy(group string, names []string) error {
	entries, err := os.ReadDir(filepath.Join(b.root, b.dist, group))
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".zip"); !slices.Contains(names, name) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(b.root, b.dist, group, e.Name())))
		}
	}
	return err
}

// twice builds one function into two folders and compares the zips.
func (b build) twice() error {
	groups, err := b.groups()
	if err != nil || len(groups) == 0 {
		return errors.Join(err, errors.New("no function to build"))
	}
	names, err := folders(filepath.Join(b.root, "functions", groups[0]))
	if err != nil || len(names) == 0 {
		return errors.Join(err, errors.New("no function to build"))
	}
	name := groups[0] + "/" + names[0]
	var sums [2][sha256.Size]byte
	for i := range sums {
		if sums[i], err = b.sum(name); err != nil {
			return err
		}
	}
	if sums[0] != sums[1] {
		return fmt.Errorf("%s: two builds of the same sources differ: %x, %x", name, sums[0][:8], sums[1][:8])
	}
	fmt.Printf("%s: two builds are the same %x\n", name, sums[0][:8])
	return nil
}

// sum builds one function into a folder of its own and hashes its zip.
func (b build) sum(name string) (sum [sha256.Size]byte, err error) {
	dir, err := os.MkdirTemp("", "function")
	if err != nil {
		return sum, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "bootstrap")
	if err = b.compile(out, "./functions/"+name); err != nil {
		return sum, err
	}
	src, err := os.ReadFile(out)
	if err != nil {
		return sum, err
	}
	z, err := archive(src)
	return sha256.Sum256(z), err
}
