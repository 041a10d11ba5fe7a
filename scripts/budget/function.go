package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Budgets of the functions.
const (
	startRatio = 2.5     // over a bare function
	zipBytes   = 4 << 20 // 6 MB where a payment processor's library is linked
)

// sample are the functions that are started: of every context, small and large ones.
var sample = []string{"bench/protocol-read", "bench/deal-sign", "person/step-answer", "help/offer-make", "peer/topic-publish", "commons/task-claim", "edge/clock-tick"}

// environment is what a function needs to start; nothing of it is called.
var environment = []string{"GUILDHALL_STORE=dynamodb://budget", "GUILDHALL_QUEUE=sqs://http://127.0.0.1:9/0/g-", "GUILDHALL_BLOBS=memory:",
	"GUILDHALL_BASE_URL=https://guildhall.example", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_LAMBDA_FUNCTION_NAME=budget"}

// functions measures the start of a few functions, and of a bare one, in turns.
func functions(dir string, runs int) error {
	env, err := withKeys(dir)
	if err != nil {
		return err
	}
	programs := []*program{}
	for _, pkg := range append([]string{"./scripts/budget/barelambda"}, named(sample)...) {
		p, err := newProgram(dir, strings.TrimPrefix(pkg, "./functions/"), pkg)
		if err != nil {
			return err
		}
		programs = append(programs, p)
	}
	for range runs {
		for _, p := range programs {
			if err := p.toNext(env); err != nil {
				return err
			}
		}
	}
	bare := programs[0]
	for _, p := range programs {
		n, err := zipped(dir, p.path)
		if err != nil {
			return err
		}
		fmt.Printf("%-30s first /next after %9s   x%.2f   zip %s\n", p.name, ms(median(p.starts)), float64(median(p.starts))/float64(median(bare.starts)), mb(n))
	}
	fmt.Printf("budget: x%.1f and %s (medians of %d starts)\n\n", startRatio, mb(zipBytes), runs)
	return nil
}

func named(list []string) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = "./functions/" + n
	}
	return out
}

// withKeys has the server make its keys once and hands them to the functions.
func withKeys(dir string) ([]string, error) {
	p, err := newProgram(dir, "guildhall serve", "./cmd/guildhall")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "keys")
	if err := p.toFirstLine("serve", "--addr", "127.0.0.1:0", "--data", data); err != nil {
		return nil, err
	}
	keys, err := os.ReadFile(filepath.Join(data, "keys.json"))
	return append(slices.Clone(environment), "GUILDHALL_KEYS="+string(bytes.TrimSpace(keys))), err
}

// toNext starts a function before a runtime API of ours and waits until it asks for work.
func (p *program) toNext(env []string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	asked, over := make(chan time.Time, 1), make(chan struct{})
	api := &http.Server{ReadHeaderTimeout: startLimit, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			asked <- time.Now()
			<-over
		}
	})}
	go func() { _ = api.Serve(l) }()
	defer api.Close()
	defer close(over)
	var said bytes.Buffer
	c := exec.Command(p.path)
	c.Env = append(slices.Clone(env), "AWS_LAMBDA_RUNTIME_API="+l.Addr().String())
	c.Stdout, c.Stderr = &said, &said
	start := time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case at := <-asked:
		p.starts = append(p.starts, at.Sub(start))
		_ = c.Process.Kill()
		<-ended
		return nil
	case err := <-ended:
		return fmt.Errorf("%s ended: %w: %s", p.name, err, said.Bytes())
	case <-time.After(startLimit):
		_ = c.Process.Kill()
		<-ended
		return fmt.Errorf("%s never asked for work", p.name)
	}
}

// zipped is the size of a program's zip, in bytes.
func zipped(dir, path string) (int, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	w, err := z.Create("bootstrap")
	if err == nil {
		_, err = w.Write(src)
	}
	if err == nil {
		err = z.Close()
	}
	return buf.Len(), err
}

// sizes lists the largest zips of a folder and how many are over the budget.
func sizes(dist string) error {
	type file struct {
		name string
		size int
	}
	var all []file
	err := filepath.WalkDir(dist, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".zip" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all = append(all, file{path, int(info.Size())})
		}
		return err
	})
	if os.IsNotExist(err) {
		fmt.Printf("no zips in %s: make functions makes them\n", dist)
		return nil
	}
	slices.SortFunc(all, func(a, b file) int { return b.size - a.size })
	over := 0
	for i, f := range all {
		if f.size > zipBytes {
			over++
		}
		if i < 10 {
			fmt.Printf("%-50s %s\n", f.name, mb(f.size))
		}
	}
	fmt.Printf("%d zips, %d over %s\n", len(all), over, mb(zipBytes))
	return err
}
