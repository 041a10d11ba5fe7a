package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// Budgets of the server.
const (
	serveStart  = 300 * time.Millisecond // from an empty directory
	serveMemory = 40 << 20               // bytes, idle
	settle      = 2 * time.Second        // until a started program counts as idle
	startLimit  = 30 * time.Second       // a program that takes longer does not start
)

// serve measures the server on an empty directory, and a bare one, in turns.
func serve(dir string, runs int) error {
	ours, err := newProgram(dir, "guildhall serve", "./cmd/guildhall")
	if err != nil {
		return err
	}
	bare, err := newProgram(dir, "bare net/http", "./scripts/budget/bare")
	if err != nil {
		return err
	}
	for i := range runs {
		data := filepath.Join(dir, "data-"+strconv.Itoa(i))
		if err := ours.toFirstLine("serve", "--addr", "127.0.0.1:0", "--data", data); err != nil {
			return err
		}
		if err := bare.toFirstLine(); err != nil {
			return err
		}
	}
	for _, p := range []*program{ours, bare} {
		fmt.Printf("%-18s first line after %9s   idle memory %s   (medians of %d starts)\n", p.name, ms(median(p.starts)), mb(median(p.memory)), runs)
	}
	fmt.Printf("budget             start %s, memory %s; over the bare server %.1f and %.1f times\n\n", ms(serveStart), mb(serveMemory),
		float64(median(ours.starts))/float64(median(bare.starts)), float64(median(ours.memory))/float64(median(bare.memory)))
	return nil
}

// toFirstLine starts the program, waits for the line that says it listens, lets it come to
// rest and asks the system for its memory.
func (p *program) toFirstLine(args ...string) error {
	c := exec.Command(p.path, args...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	hung := time.AfterFunc(startLimit, func() { _ = c.Process.Kill() })
	defer hung.Stop()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("%s said nothing: %w", p.name, err)
	}
	p.starts = append(p.starts, time.Since(start))
	time.Sleep(settle)
	n, err := resident(c.Process.Pid)
	p.memory = append(p.memory, n)
	return err
}

// resident is the memory of a process in bytes, as Linux counts it: what it has for itself
// and the pages of its program that are loaded.
func resident(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kb, err := strconv.Atoi(string(bytes.Fields(rest)[0]))
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", pid)
}
