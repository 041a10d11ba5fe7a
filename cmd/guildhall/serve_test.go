package main

import (
	"bufio"
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"guildhall/tests/story"
)

// TestMain lets the test binary be the program itself, so that it can be killed.
func TestMain(m *testing.M) {
	if os.Getenv("BE_GUILDHALL") == "1" {
		os.Unsetenv("BE_GUILDHALL")
		main()
		return
	}
	os.Exit(m.Run())
}

// program is a started `guildhall serve`.
type program struct {
	cmd  *exec.Cmd
	base string
	logs *bytes.Buffer
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{cmd: exec.Command(os.Args[0], args...), logs: &bytes.Buffer{}}
	p.cmd.Env = append(os.Environ(), "BE_GUILDHALL=1")
	p.cmd.Stderr = p.logs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	base, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("first line %q (%v): %s", line, err, p.logs)
	}
	p.base = base
	return p
}

func (p *program) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
}

func TestAServeKilledInTheMiddleOfAHireGoesOnWhereItStopped(t *testing.T) {
	dir := t.TempDir()
	args := []string{"serve", "--dev", "--data", dir, "--addr", "127.0.0.1:0"}
	p, kills := start(t, args...), 0
	story.RunWith(t, p.base, filepath.Join("..", "..", "tests", "story", "scripts", "first-hire.txt"), func() string {
		p.kill(t)
		kills++
		p = start(t, args...)
		return p.base
	})
	if kills < 3 {
		t.Errorf("the story was interrupted %d times only", kills)
	}
}

func TestASecondServerOnOneDirectoryIsRefusedWithTheReason(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "serve", "--data", dir, "--addr", "127.0.0.1:0")
	var out, errs bytes.Buffer
	status := run(context.Background(), []string{"serve", "--data", dir, "--addr", "127.0.0.1:0"}, &out, &errs)
	if status != 1 || !strings.Contains(errs.String(), "another server is using "+dir) || out.Len() > 0 {
		t.Errorf("ended with %d: %s%s", status, out.String(), errs.String())
	}
	p.kill(t)
	start(t, "serve", "--data", dir, "--addr", "127.0.0.1:0")
}

func TestServeDrainsAndEndsWithZeroOnSIGTERM(t *testing.T) {
	p := start(t, "serve", "--memory", "--addr", "127.0.0.1:0")
	res, err := http.Get(p.base + "/api/bench/protocol")
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%v %v", res, err)
	}
	res.Body.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("ended with %v: %s", err, p.logs)
	}
}

func TestLocalControlsAreAbsentWithoutDev(t *testing.T) {
	p := start(t, "serve", "--memory", "--addr", "127.0.0.1:0")
	for _, path := range []string{"/_dev/clock", "/_dev/mail", "/_dev/", "/_dev/payments"} {
		res, err := http.Get(p.base + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers %d", path, res.StatusCode)
		}
	}
}

func TestWrongCallsEndWithTwoAndSayWhatToDo(t *testing.T) {
	for _, args := range [][]string{
		{"serve", "--dev", "--addr", "0.0.0.0:0", "--memory"},
		{"serve", "--dev", "--addr", ":0", "--memory"},
		{"serve", "--memory", "--data", "x"},
		{"serve", "elsewhere"},
		{"serve", "--nonsense"},
		{"steward", "add", "sam@example.com"},
		{"steward", "add", "not an address", "--role", "steward"},
		{"steward", "add", "sam@example.com", "--role", "king"},
		{"practice", "create"},
		{"practice", "make", "x.json"},
		{"dance"},
	} {
		var out, errs bytes.Buffer
		if status := run(context.Background(), args, &out, &errs); status != 2 || errs.Len() == 0 {
			t.Errorf("%v ends with %d: %s", args, status, errs.String())
		}
	}
}

func TestAStewardIsAddedWhileAServerRuns(t *testing.T) {
	dir := t.TempDir()
	p := start(t, "serve", "--dev", "--data", dir, "--addr", "127.0.0.1:0")
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"steward", "add", "Sam@Example.com", "--role", "platform_admin", "--data", dir}, &out, &errs); status != 0 {
		t.Fatalf("ended with %d: %s", status, errs.String())
	}
	if !strings.Contains(out.String(), "sam@example.com is now platform_admin") {
		t.Errorf("said %q", out.String())
	}
	res, err := http.Post(p.base+"/_dev/persons", "application/json", strings.NewReader(`{"email":"sam@example.com"}`))
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%v %v", res, err)
	}
	res.Body.Close()
}

func TestVersionAndRoutesPrint(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"routes"}, {"routes", "--json"}, {"help"}} {
		var out, errs bytes.Buffer
		if status := run(context.Background(), args, &out, &errs); status != 0 || out.Len() == 0 {
			t.Errorf("%v ends with %d: %s", args, status, errs.String())
		}
	}
}

func TestTheDemoTellsItsStory(t *testing.T) {
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"demo"}, &out, &errs); status != 0 {
		t.Fatalf("ended with %d: %s%s", status, out.String(), errs.String())
	}
	for _, want := range []string{"$90.00 transferred", "On day 14 silence is an answer", "Every step did what it should."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the story lacks %q:\n%s", want, out.String())
		}
	}
}
