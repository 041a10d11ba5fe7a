package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"guildhall/pkg/catalog"
	"guildhall/scripts/source"
)

// Generate makes every generated file, by its path from the root.
func Generate(root string) (map[string][]byte, error) {
	tree, err := source.Load(root)
	if err != nil {
		return nil, err
	}
	g := &generator{tree: tree, ops: catalog.Operations(), jobs: catalog.Jobs(), out: map[string][]byte{}}
	for _, step := range []func() error{g.functions, g.documents, g.openapi, g.texts} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return g.out, nil
}

// Change is a file that differs from what the catalog and the sources say.
type Change struct {
	Path string
	Was  string // "missing", "stale" or "left over"
	Want []byte // nil for a file that is left over
}

func (c Change) String() string { return c.Was + "  " + c.Path }

// Compare finds the files that are missing, stale or left over.
func Compare(root string, want map[string][]byte) ([]Change, error) {
	var changes []Change
	for p, b := range want {
		have, err := os.ReadFile(filepath.Join(root, p))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			changes = append(changes, Change{p, "missing", b})
		case err != nil:
			return nil, err
		case !bytes.Equal(have, b):
			changes = append(changes, Change{p, "stale", b})
		}
	}
	left, err := leftOver(root, want)
	changes = append(changes, left...)
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes, err
}

// owned are the folders in which every file is generated.
var owned = []string{"functions", documentsDir}

func leftOver(root string, want map[string][]byte) ([]Change, error) {
	var changes []Change
	for _, dir := range owned {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(root, name)
			if rel = filepath.ToSlash(rel); err == nil && want[rel] == nil {
				changes = append(changes, Change{rel, "left over", nil})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return changes, nil
}

func (c Change) apply(root string) error {
	name := filepath.Join(root, c.Path)
	if c.Want == nil {
		if err := os.Remove(name); err != nil {
			return err
		}
		os.Remove(filepath.Dir(name)) // stays when other files are in it
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, c.Want, 0o644)
}

// Stale words the changes that a check found; nil when there are none.
func Stale(changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintln(&b, "  "+c.String())
	}
	return fmt.Errorf("generated files do not match the catalog and the sources; run `make generate` and commit:\n%s", b.String())
}
