package lambdalocal

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits of functions.
const (
	maxInstances = 8         // of one function at once, where the template reserves none
	maxPayload   = 6 << 20   // bytes of an event and of an answer, as on AWS
	maxProgram   = 250 << 20 // bytes of a bootstrap: what Lambda unpacks at most
	maxLogLine   = 64 << 10  // bytes of a line a function writes
	lastWords    = 300       // bytes of the last line that an error repeats
)

// pool is the instances of one function.
type pool struct {
	*Function
	runner  *Runner
	slots   chan struct{} // one for each instance that may work
	mu      sync.Mutex
	idle    []*instance
	program string // unpacked bootstrap
}

// instance is one process of a function: it takes one event at a time.
type instance struct {
	pool  *pool
	id    string
	cmd   *exec.Cmd
	calls chan *invocation // to the process, through the Runtime API
	ended chan struct{}    // closed when the process has ended
	mu    sync.Mutex
	now   *invocation // what it is at
	last  string      // the last line it wrote
}

type invocation struct {
	id       string
	event    []byte
	deadline time.Time
	answer   chan answer
}

type answer struct {
	body   []byte
	failed bool // the function answered with an error
}

// errFunction is a function that answered with an error, or not at all.
type errFunction struct{ what string }

func (e errFunction) Error() string { return e.what }

// errThrottled: all instances the reservation allows are at work.
var errThrottled = errors.New("lambdalocal: no instance is free")

// invoke has one instance work on an event. It waits for a free one where the template
// reserves none.
func (p *pool) invoke(ctx context.Context, event []byte) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
	default:
		if p.Reserved > 0 {
			return nil, errThrottled
		}
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-p.slots }()
	i, err := p.take()
	if err != nil {
		return nil, err
	}
	p.runner.used(p.Name)
	c := &invocation{id: randomID(), event: event, deadline: time.Now().Add(p.Timeout), answer: make(chan answer, 1)}
	body, err := i.work(ctx, c)
	if err == nil || errors.As(err, new(answered)) {
		p.mu.Lock()
		p.idle = append(p.idle, i)
		p.mu.Unlock()
	} else {
		i.kill()
	}
	return body, err
}

// answered is an error the process survived.
type answered struct{ errFunction }

// work hands an event to the process and waits for its answer, its end or the timeout.
func (i *instance) work(ctx context.Context, c *invocation) ([]byte, error) {
	timeout := time.NewTimer(time.Until(c.deadline))
	defer timeout.Stop()
	select {
	case i.calls <- c:
	case <-i.ended:
		return nil, errFunction{"did not start: " + i.words()}
	case <-timeout.C:
		return nil, errFunction{"did not ask for work in time"}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-c.answer:
		if a.failed {
			return nil, answered{errFunction{string(a.body)}}
		}
		return a.body, nil
	case <-i.ended:
		return nil, errFunction{"ended before it answered: " + i.words()}
	case <-timeout.C:
		return nil, errFunction{fmt.Sprintf("timed out after %s", i.pool.Timeout)}
	}
}

// take returns an idle instance or starts one.
func (p *pool) take() (*instance, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 {
		i := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		select {
		case <-i.ended:
		default:
			return i, nil
		}
	}
	if p.program == "" {
		program, err := p.unpack()
		if err != nil {
			return nil, fmt.Errorf("lambdalocal: %s: %w", p.Name, err)
		}
		p.program = program
	}
	return p.start()
}

// unpack takes the program out of the asset, as Lambda does.
func (p *pool) unpack() (string, error) {
	z, err := zip.OpenReader(p.Asset)
	if err != nil {
		return "", err
	}
	defer z.Close()
	if len(z.File) != 1 {
		return "", fmt.Errorf("%s holds %d files, want the program alone", p.Asset, len(z.File))
	}
	if n := z.File[0].UncompressedSize64; n > maxProgram {
		return "", fmt.Errorf("the program in %s has %d bytes, at most %d", p.Asset, n, maxProgram)
	}
	in, err := z.Open("bootstrap")
	if err != nil {
		return "", err
	}
	defer in.Close()
	dir := filepath.Join(cmp.Or(p.runner.options.Programs, p.runner.dir), p.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "bootstrap")
	if kept, err := os.Stat(path); err == nil && kept.Size() == int64(z.File[0].UncompressedSize64) {
		return path, nil // by a run before this one
	}
	// A process that another function starts meanwhile would inherit the open file for a
	// moment, and a program that is open for writing cannot be started.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxProgram))
	return path, errors.Join(err, out.Close())
}

func (p *pool) start() (*instance, error) {
	i := &instance{pool: p, id: randomID(), calls: make(chan *invocation), ended: make(chan struct{})}
	i.cmd = exec.Command(p.program)
	i.cmd.Dir, i.cmd.Env = filepath.Dir(p.program), p.runner.environment(p.Function, i.id)
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	i.cmd.Stdout, i.cmd.Stderr = write, write
	p.runner.register(i)
	err = i.cmd.Start()
	write.Close()
	if err != nil {
		read.Close()
		p.runner.forget(i)
		return nil, fmt.Errorf("lambdalocal: %s: %w", p.Name, err)
	}
	go i.listen(read)
	return i, nil
}

// listen takes what the process writes into the log, until it ends.
func (i *instance) listen(read *os.File) {
	lines := bufio.NewScanner(read)
	lines.Buffer(make([]byte, 0, 4<<10), maxLogLine)
	for lines.Scan() {
		i.mu.Lock()
		i.last = lines.Text()
		i.mu.Unlock()
		i.pool.runner.line(i.pool.Name, lines.Bytes())
	}
	_, _ = io.Copy(io.Discard, read) // behind a line that was too long
	read.Close()
	err := i.cmd.Wait()
	i.pool.runner.forget(i)
	i.pool.runner.log.Debug("instance ended", slog.String("function", i.pool.Name), slog.Any("cause", err))
	close(i.ended)
}

func (i *instance) words() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.last[:min(len(i.last), lastWords)]
}

func (i *instance) kill() { _ = i.cmd.Process.Kill() }

// runtimeAPI serves the Lambda Runtime API to one instance: /p/{instance}/2018-06-01/runtime/….
func (r *Runner) runtimeAPI(mux *http.ServeMux) {
	const prefix = "/p/{instance}/2018-06-01/runtime/"
	mux.HandleFunc("GET "+prefix+"invocation/next", func(w http.ResponseWriter, q *http.Request) {
		i := r.instance(q.PathValue("instance"))
		if i == nil {
			http.Error(w, "unknown instance", http.StatusForbidden)
			return
		}
		select {
		case c := <-i.calls:
			i.mu.Lock()
			i.now = c
			i.mu.Unlock()
			h := w.Header()
			h.Set("Content-Type", "application/json")
			h.Set("Lambda-Runtime-Aws-Request-Id", c.id)
			h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(c.deadline.UnixMilli(), 10))
			h.Set("Lambda-Runtime-Invoked-Function-Arn", arn("lambda", "function:"+i.pool.Name))
			_, _ = w.Write(c.event)
		case <-q.Context().Done():
		}
	})
	done := func(failed bool) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) { r.answered(w, q, failed) }
	}
	mux.HandleFunc("POST "+prefix+"invocation/{id}/response", done(false))
	mux.HandleFunc("POST "+prefix+"invocation/{id}/error", done(true))
	mux.HandleFunc("POST "+prefix+"init/error", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
}

// answered takes the answer to the event an instance is at.
func (r *Runner) answered(w http.ResponseWriter, q *http.Request, failed bool) {
	body, err := io.ReadAll(io.LimitReader(q.Body, maxPayload+1))
	i := r.instance(q.PathValue("instance"))
	if err != nil || i == nil {
		http.Error(w, "unknown instance", http.StatusForbidden)
		return
	}
	i.mu.Lock()
	c := i.now
	i.now = nil
	i.mu.Unlock()
	if c == nil || c.id != q.PathValue("id") {
		http.Error(w, "unknown request", http.StatusForbidden)
		return
	}
	if len(body) > maxPayload {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		body, failed = []byte("the answer is over 6 MB"), true
	} else {
		w.WriteHeader(http.StatusAccepted)
	}
	c.answer <- answer{body, failed}
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	s := hex.EncodeToString(b[:])
	return strings.Join([]string{s[:8], s[8:12], s[12:16], s[16:20], s[20:]}, "-")
}
