// Command budget measures what cannot be a Go benchmark: how long programs take to start,
// what they keep in memory when idle, and how large the functions are. Each number stands
// beside that of a bare program measured in the same run; nothing fails when a budget is
// missed, so that a busy machine breaks no build.
//
//	go run ./scripts/budget                      everything
//	go run ./scripts/budget -only serve          start and memory of the server
//	go run ./scripts/budget -only functions      start and size of a few functions
//	go run ./scripts/budget -only sizes          the size of every zip that `make functions` made
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	runs := flag.Int("runs", 11, "how often each program is started")
	only := flag.String("only", "", "serve, functions or sizes")
	dist := flag.String("dist", "dist", "folder of the zips")
	flag.Parse()
	dir, err := os.MkdirTemp("", "budget")
	if err == nil {
		defer os.RemoveAll(dir)
		err = measure(dir, max(1, *runs), *only, *dist)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "budget:", err)
		os.Exit(1)
	}
}

func measure(dir string, runs int, only, dist string) error {
	parts := []struct {
		name string
		run  func() error
	}{
		{"serve", func() error { return serve(dir, runs) }},
		{"functions", func() error { return functions(dir, runs) }},
		{"sizes", func() error { return sizes(dist) }},
	}
	known := false
	for _, p := range parts {
		if only != "" && only != p.name {
			continue
		}
		known = true
		if err := p.run(); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if !known {
		return fmt.Errorf("-only %s: take serve, functions or sizes", only)
	}
	return nil
}

// build makes a program the way it is delivered: the same flags as scripts/functions.
func build(out, arch, pkg string) error {
	c := exec.Command("go", "build", "-tags", "lambda.norpc", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", out, pkg)
	c.Stderr = os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if arch != "" {
		c.Env = append(c.Env, "GOOS=linux", "GOARCH="+arch)
	}
	return c.Run()
}

// program is a built program and what was measured of it.
type program struct {
	name, path string
	starts     []time.Duration
	memory     []int // bytes
}

func newProgram(dir, name, pkg string) (*program, error) {
	p := &program{name: name, path: filepath.Join(dir, filepath.Base(pkg))}
	return p, build(p.path, "", pkg)
}

// median is the middle of what was measured; 0 of nothing.
func median[T time.Duration | int](of []T) T {
	if len(of) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(of))
	return s[len(s)/2]
}

// ms prints a duration in milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// mb prints bytes in megabytes of 2^20.
func mb(n int) string { return fmt.Sprintf("%.2f MB", float64(n)/(1<<20)) }
