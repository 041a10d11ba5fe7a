// Command mutants proves that the simulations find bugs: it builds the product with one
// deliberate bug at a time, as overlays of the go command, so that the product's own code
// carries none, and runs the simulation that has to find it.
//
//	go run ./scripts/mutants          all of them
//	go run ./scripts/mutants NAME...  these
//
// A bug that survives 1,000 seeds is red, and so is one whose place in the code is gone.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	root := flag.String("root", ".", "the repository")
	flag.Parse()
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r := runner{root: *root, dir: dir}
	red := r.all(flag.Args())
	_ = os.RemoveAll(dir)
	if red > 0 {
		fmt.Printf("%d of the bugs were not found\n", red)
		os.Exit(1)
	}
}

// runner builds and runs mutants; dir is a scratch folder.
type runner struct{ root, dir string }

// all runs the named mutants, or every one, and returns how many are red.
func (r *runner) all(names []string) (red int) {
	for _, m := range mutants {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		start := time.Now()
		where, err := r.run(m)
		took := time.Since(start).Seconds()
		if err != nil {
			red++
			fmt.Printf("%-28s NOT FOUND (%.0f s): %v\n", m.name, took, err)
			continue
		}
		fmt.Printf("%-28s %s (%.0f s)\n", m.name, where, took)
	}
	return red
}

// run tells which seed finds a mutant.
func (r *runner) run(m mutant) (string, error) {
	overlay, err := r.overlay(m)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(r.dir, m.name+".test")
	build := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, "./"+m.by.dir)
	build.Dir = r.root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not compile: %s", out)
	}
	defer os.Remove(binary)
	test := exec.Command(binary, append([]string{"-test.run", "Simulated", "-test.timeout", "10m"}, m.by.flags...)...)
	test.Dir = filepath.Join(r.root, m.by.dir)
	out, err := test.CombinedOutput()
	if err == nil {
		return "", fmt.Errorf("%d seeds passed", seeds)
	}
	return found(string(out))
}

// replay is how a simulation says which seed failed; a run that is red for another reason
// (too little was reached) has found nothing.
var replay = regexp.MustCompile(`replay: .*seed=(\d+)`)

func found(out string) (string, error) {
	hit := replay.FindStringSubmatch(out)
	if hit == nil {
		return "", fmt.Errorf("the run failed and names no seed:\n%s", tail(out, 12))
	}
	why := "it failed"
	for line := range strings.Lines(out) {
		if _, said, ok := strings.Cut(line, "seed "+hit[1]+": "); ok {
			why = strings.TrimSpace(said)
			break
		}
	}
	return fmt.Sprintf("found by seed %s: %.100s", hit[1], why), nil
}

func tail(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// overlay writes the mutated file and the list that puts it in the place of the real one.
func (r *runner) overlay(m mutant) (string, error) {
	root, err := filepath.Abs(r.root)
	if err != nil {
		return "", err
	}
	real := filepath.Join(root, m.file)
	b, err := os.ReadFile(real)
	if err != nil {
		return "", err
	}
	text, err := m.apply(string(b))
	if err != nil {
		return "", err
	}
	changed := filepath.Join(r.dir, m.name+".go")
	if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {real: changed}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(r.dir, m.name+".json")
	return file, os.WriteFile(file, list, 0o644)
}
