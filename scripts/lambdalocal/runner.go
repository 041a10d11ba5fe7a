package lambdalocal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/config"
	"guildhall/pkg/queue/memqueue"
	"guildhall/pkg/table/ddb"
	"guildhall/pkg/table/ddb/stub"
	"guildhall/pkg/wire"
	"guildhall/pkg/wire/loopback"
)

// Options say what is executed.
type Options struct {
	Templates string       // folder of the synthesis; "dist-local/cdk.out" when empty
	Addr      string       // to listen on, a loopback address; "127.0.0.1:0" when empty
	Log       *slog.Logger // what the runner has to say; nil: nothing
	Functions io.Writer    // what the functions write; nil: nowhere
	Programs  string       // folder that keeps unpacked programs for the next run; none when empty
	S3        string       // program that serves S3 (tests/emulators/fakes3); files come from here when empty
}

// Limits of the servers.
const (
	headerTimeout = 10 * time.Second
	stopTimeout   = 5 * time.Second
	maxHeaders    = 64 << 10 // bytes; the API's own limit is maxHeaderLine
)

// webhookSecret is what the simulated processor signs with.
const webhookSecret = "whsec_of_this_machine"

// Runner executes one deployment.
type Runner struct {
	URL string // of the API and the local controls

	options    Options
	log        *slog.Logger
	deployment *Deployment
	dir        string // of unpacked programs and keys; removed at the end
	keys       string // the JSON of the keys
	inside     string // address of what functions call
	outer      net.Listener
	inner      net.Listener
	servers    []*http.Server // the API's first
	pools      map[string]*pool
	exchange   *wire.Exchange // clock, box, processor, files and the local controls
	table      *stub.Server
	objects    http.Handler // S3; nil when files come from the exchange
	stopS3     func()
	queues     *memqueue.Queue
	faults     faults
	driver     *driver

	mu        sync.Mutex
	instances map[string]*instance
	invoked   map[string]int
	denied    []string
	writing   sync.Mutex
}

// Start executes the templates of o and returns the address of the API, the names of the
// functions invoked so far, and a function that ends everything. Open gives more.
func Start(ctx context.Context, o Options) (baseURL string, invoked func() []string, stop func(), err error) {
	r, err := Open(ctx, o)
	if err != nil {
		return "", nil, nil, err
	}
	return r.URL, r.Invoked, r.Close, nil
}

// Open executes the templates of o until Close.
func Open(ctx context.Context, o Options) (*Runner, error) {
	r := &Runner{options: o, log: o.Log, pools: map[string]*pool{}, instances: map[string]*instance{}, invoked: map[string]int{}, table: stub.New()}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	for _, step := range []func(context.Context) error{r.bind, r.makeKeys, r.load, r.startS3, r.open} {
		if err := step(ctx); err != nil {
			r.Close()
			return nil, err
		}
	}
	r.serve(r.outer, r.outside())
	r.serve(r.inner, r.inward())
	r.driver.start(context.WithoutCancel(ctx))
	return r, nil
}

// bind takes both addresses before anything needs to know them.
func (r *Runner) bind(context.Context) (err error) {
	addr := r.options.Addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("lambdalocal: %s: the local controls have no login, so only a loopback address like 127.0.0.1:8080 will do", addr)
	}
	if r.outer, err = net.Listen("tcp", addr); err != nil {
		return err
	}
	if r.inner, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	r.URL, r.inside = "http://"+r.outer.Addr().String(), "http://"+r.inner.Addr().String()
	return nil
}

// makeKeys makes the keys of this run.
func (r *Runner) makeKeys(context.Context) (err error) {
	if r.dir, err = os.MkdirTemp("", "lambdalocal"); err != nil {
		return err
	}
	if _, err = config.LoadKeys("", r.dir, rand.Reader); err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(r.dir, "keys.json"))
	r.keys = string(b)
	return err
}

func (r *Runner) load(context.Context) (err error) {
	dir := r.options.Templates
	if dir == "" {
		dir = filepath.Join("dist-local", "cdk.out")
	}
	r.deployment, err = Load(dir, map[string]string{"guildhall/keys": r.keys, "guildhall/stripe:key": "sk_of_this_machine", "guildhall/stripe:webhook": webhookSecret})
	if err != nil {
		return err
	}
	if len(r.deployment.Tables) != 1 {
		return fmt.Errorf("lambdalocal: %d tables in the templates, want one", len(r.deployment.Tables))
	}
	for name, f := range r.deployment.Functions {
		n := maxInstances
		if f.Reserved > 0 {
			n = f.Reserved
		}
		r.pools[name] = &pool{Function: f, runner: r, slots: make(chan struct{}, n)}
	}
	return nil
}

// open puts the exchange together as in one process, for its clock, box, processor, files
// and controls; its table is the one the functions use, and it fires nothing itself.
func (r *Runner) open(ctx context.Context) error {
	keys, err := config.LoadKeys(r.keys, "", nil)
	if err != nil {
		return err
	}
	k := wire.KeysOf(keys)
	k.WebhookSecrets = []string{webhookSecret}
	r.exchange, err = wire.Open(ctx, wire.Options{Dev: true, Tips: true, Keys: k, Log: r.log, BaseURL: r.URL})
	if err != nil {
		return err
	}
	store, err := ddb.New(ddb.Options{Table: r.deployment.Tables[0], Region: Region, Endpoint: r.inside + "/dynamodb", AccessKey: runnerKey, SecretKey: "of-this-machine"})
	if err != nil {
		return err
	}
	x := r.exchange
	x.Store, x.Engine.Store, x.Engine.Hints = store, store, nil
	x.Runner.Sweepers, x.Runner.Webhooks = nil, r.deliverWebhooks
	settings := map[string]memqueue.Settings{}
	for _, q := range r.deployment.Queues {
		settings[q.Name] = memqueue.Settings{Visibility: q.Visibility, MaxReceives: q.Receives}
	}
	r.queues = memqueue.New(memqueue.Options{Clock: x.Clock.Now, Settings: settings})
	r.driver = newDriver(r, store)
	return nil
}

func (r *Runner) serve(l net.Listener, h http.Handler) {
	s := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeaders, ErrorLog: slog.NewLogLogger(r.log.Handler(), slog.LevelDebug)}
	r.servers = append(r.servers, s)
	go func() { _ = s.Serve(l) }()
}

// outside serves the API, and beside it what no deployment has.
func (r *Runner) outside() http.Handler {
	gateway, controls := newGateway(r), r.controls()
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if local(q) {
			controls.ServeHTTP(w, q)
			return
		}
		gateway.ServeHTTP(w, q)
	})
}

// local tells whether a request is for the runner itself: the controls, the local address of
// an upload, and the pages of the simulated processor.
func local(q *http.Request) bool {
	return strings.HasPrefix(q.URL.Path, "/_dev/") || strings.HasPrefix(q.URL.Path, "/simulated/") ||
		q.Method == http.MethodPut && strings.HasPrefix(q.URL.Path, "/"+blob.UploadPrefix)
}

// inward serves what functions call: the Runtime API, the table, the queues, the ports and
// the time.
func (r *Runner) inward() http.Handler {
	mux := http.NewServeMux()
	r.runtimeAPI(mux)
	for _, end := range []string{"", "/"} { // clients spell an address with a path either way
		mux.HandleFunc("/dynamodb"+end, r.dynamodb)
		mux.HandleFunc("/sqs"+end, r.sqs)
	}
	if r.objects != nil {
		mux.HandleFunc(s3Path+"/", r.s3)
	}
	mux.Handle("/ports/", loopback.Handler(loopback.Ports{Mail: r.exchange.Box, Texts: r.exchange.Box.Texts(), Payments: r.exchange.Payments, Blobs: r.exchange.Blobs, Allow: r.allowPort}))
	mux.HandleFunc("GET /clock", r.tellTime)
	return mux
}

// Close ends everything: first what calls functions, then the functions, then what they
// call.
func (r *Runner) Close() {
	if r.driver != nil {
		r.driver.stop()
	}
	for n, s := range r.servers {
		if n == 1 {
			r.killAll()
		}
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		if s.Shutdown(ctx) != nil {
			s.Close()
		}
		cancel()
	}
	for _, l := range []net.Listener{r.outer, r.inner} {
		if l != nil {
			l.Close() // of servers that never came to serve
		}
	}
	if r.exchange != nil {
		if err := r.exchange.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			r.log.Error("cannot close", slog.String("cause", err.Error()))
		}
	}
	if r.stopS3 != nil {
		r.stopS3()
	}
	if r.dir != "" {
		os.RemoveAll(r.dir)
	}
}
