package local_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Tests that need another process run this test binary again as a child: the environment
// names what the child does and where.
const (
	childRole = "GUILDHALL_TEST_CHILD"
	childArgs = "GUILDHALL_TEST_CHILD_ARGS"
)

// roles are what a child can do. Each writes what it has done to standard output, a line a
// time, and stops when it is killed or has finished.
var roles = map[string]func(args []string) error{
	"write": writeUntilKilled,
	"count": countUp,
	"full":  fillTheDisk,
}

func TestMain(m *testing.M) {
	role := os.Getenv(childRole)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](strings.Split(os.Getenv(childArgs), "\n")); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// child is a running copy of this binary.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func start(t *testing.T, role string, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childRole+"="+role, childArgs+"="+strings.Join(args, "\n"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &child{t, cmd, bufio.NewScanner(out)}
}

// rest reads what is left of the child's lines and waits for its end.
func (c *child) rest() (lines []string, err error) {
	for c.lines.Scan() {
		lines = append(lines, c.lines.Text())
	}
	return lines, c.cmd.Wait()
}

// say writes one line in one system call, so that a kill leaves no half of it behind.
func say(format string, args ...any) {
	_, _ = io.WriteString(os.Stdout, fmt.Sprintf(format, args...)+"\n")
}
