//go:build node

package emulators

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"guildhall/pkg/queue"
	"guildhall/pkg/queue/queuetest"
)

const fauxqsVersion = "fauxqs 2.4.1 (Node 22)"

// fauxqsDiffers is the case of the queue's suite that fauxqs answers otherwise than AWS: it
// refuses text beyond U+FFFF. scripts/emulators.sh leaves it out.
const fauxqsDiffers = "a sent message is received with its id, body and time"

// What scripts/emulators.sh tells: a Node 22 and the installed command.
const (
	nodeVariable   = "EMULATOR_NODE"
	fauxqsVariable = "EMULATOR_FAUXQS"
)

// startFauxqs runs the emulator on a free port until the test is over.
func startFauxqs(t *testing.T) (endpoint string) {
	t.Helper()
	node, command := os.Getenv(nodeVariable), os.Getenv(fauxqsVariable)
	if node == "" || command == "" {
		t.Fatalf("run scripts/emulators.sh, which sets %s and %s", nodeVariable, fauxqsVariable)
	}
	port := freePort(t)
	run := exec.Command(node, command)
	run.Env = append(os.Environ(), "FAUXQS_PORT="+port, "FAUXQS_HOST=localhost", "FAUXQS_LOGGER=false")
	run.Stderr = os.Stderr
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	endpoint = "http://localhost:" + port
	const tries, pause = 200, 50 * time.Millisecond
	for range tries {
		if answer, err := http.Get(endpoint); err == nil {
			_ = answer.Body.Close()
			return endpoint
		}
		time.Sleep(pause)
	}
	t.Fatalf("fauxqs did not answer on %s within %v", endpoint, tries*pause)
	return ""
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

func TestQueueOnFauxqs(t *testing.T) {
	endpoint := startFauxqs(t)
	queuetest.Run(t, func(t *testing.T) queuetest.Subject { return openQueue(t, endpoint, 0) })
	met("queue/sqs", fauxqsVersion+", short polls", fauxqsDiffers)
}

// A waiting receive is woken by a message that is sent, and by one whose delay or hiding
// ends. It waits longer than the suite's messages stay hidden, so it has tests of its own.
func TestALongPollOnFauxqsIsWoken(t *testing.T) {
	const wait = 10 * time.Second
	endpoint := startFauxqs(t)
	late := queue.Message{ID: "late", Body: []byte("{}"), Delay: time.Second}
	for name, make := range map[string]func(t *testing.T, q queue.Queue){
		"by a new message": func(t *testing.T, q queue.Queue) {
			time.AfterFunc(lateness, func() {
				if err := q.Send(context.Background(), queuetest.Name, queue.Message{ID: "late", Body: []byte("{}")}); err != nil {
					t.Error(err)
				}
			})
		},
		"when a delay ends": func(t *testing.T, q queue.Queue) {
			if err := q.Send(t.Context(), queuetest.Name, late); err != nil {
				t.Fatal(err)
			}
		},
		"when a hiding ends": func(t *testing.T, q queue.Queue) {
			if err := q.Send(t.Context(), queuetest.Name, queue.Message{ID: "late", Body: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			if ds, err := q.Receive(t.Context(), queuetest.Name, 1); err != nil || len(ds) != 1 {
				t.Fatalf("received %d, %v", len(ds), err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := openQueue(t, endpoint, wait).Queue
			make(t, q)
			ds, err := q.Receive(t.Context(), queuetest.Name, 1)
			if err != nil || len(ds) != 1 || ds[0].ID != "late" {
				t.Fatalf("received %d messages, %v", len(ds), err)
			}
		})
	}
	met("queue/sqs", fauxqsVersion+", long polls")
}
