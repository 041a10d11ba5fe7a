package wire

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/blob"
	"guildhall/pkg/catalog"
	"guildhall/pkg/config"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/edge/rest"
	"guildhall/pkg/id"
	"guildhall/pkg/linkprobe"
	"guildhall/pkg/mail/box"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/pay"
	"guildhall/pkg/pay/simulated"
	"guildhall/pkg/queue"
	queuefaulty "guildhall/pkg/queue/faulty"
	"guildhall/pkg/queue/memqueue"
	"guildhall/pkg/sms"
	textbox "guildhall/pkg/sms/outbox"
	"guildhall/pkg/table"
	"guildhall/pkg/table/faulty"
	"guildhall/pkg/table/local"
	"guildhall/pkg/table/mem"
	"guildhall/pkg/table/meter"
)

// Options of an exchange in one process.
type Options struct {
	Dir string // data directory; "" keeps everything in memory
	// Table is the store, when it is not the one in Dir or in memory.
	Table   table.Store
	BaseURL string // public address, no slash at the end
	Dev     bool   // local controls, and a clock that can be moved
	Tips    bool
	Keys    Keys
	Log     *slog.Logger
	// Mail says how email leaves, with AWS for SES; the zero value keeps it in the box.
	Mail config.Mail
	// SMS says how text messages leave: config.SNS, with AWS, or config.None; the zero value
	// keeps them in the box.
	SMS config.Kind
	AWS config.AWS
	// Links says whether the link gate asks the net; the zero value asks nobody.
	Links config.Links
	// Files says where files are kept, with AWS for S3; the zero value keeps them in Dir.
	Files config.Blobs
	// Exclusive refuses a directory that another server uses already.
	Exclusive bool
	// Measure counts what each request costs on DynamoDB and adds it to its log line. It
	// reads more than it was asked for, so it is for tests.
	Measure bool
}

// Keys are the secrets of an exchange.
type Keys struct {
	Tokens         id.Keyring
	Uploads        [][]byte
	WebhookSecrets []string
}

// Exchange is the whole exchange in one process.
type Exchange struct {
	Options
	Clock    *Clock
	Store    table.Store // what operations use; behind the faults in dev
	Faults   *faulty.Store
	Queues   *memqueue.Queue
	Drops    *queuefaulty.Queue
	Engine   *op.Engine
	Runner   *Runner
	Box      *box.Box
	Blobs    blob.Store
	Payments *simulated.Processor

	letters outbox.Letters
	prober  linkprobe.Prober // nil: nobody is asked about links
	texts   sms.Sender       // nil: none leave
	purge   *purge           // nil where the store deletes old uploads itself
	signer  blob.Signer
	close   []func() error
}

// sender is the address mail comes from where nothing else is set.
// bodyTime is how much longer than a decision a file may take on its way into this process:
// 200 MB over a slow line.
const bodyTime = 15 * time.Minute

const sender = "Guildhall <guildhall@localhost.localdomain>"

// Open puts an exchange together.
func Open(ctx context.Context, o Options) (*Exchange, error) {
	x := &Exchange{Options: o, Clock: &Clock{}}
	if x.Log == nil {
		x.Log = slog.New(slog.DiscardHandler)
	}
	for _, step := range []func(context.Context) error{x.lock, x.openClock, x.openStore, x.openPorts} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, x.Close())
		}
	}
	x.assemble()
	return x, nil
}

func (x *Exchange) openClock(context.Context) error {
	if x.Dir == "" || !x.Dev {
		return nil
	}
	x.Clock.file = filepath.Join(x.Dir, "clock")
	b, err := os.ReadFile(x.Clock.file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return x.Clock.restore(string(b))
}

func (x *Exchange) openStore(ctx context.Context) error {
	switch {
	case x.Table != nil:
		x.Store = x.Table
	case x.Dir == "":
		x.Store = mem.New()
	default:
		s, err := local.Open(ctx, x.Dir)
		if err != nil {
			return err
		}
		x.close = append(x.close, s.Close)
		x.Store = s
	}
	if x.Dev {
		x.Faults = faulty.Wrap(x.Store)
		x.Store = x.Faults
	}
	if x.Measure {
		x.Store = meter.Wrap(x.Store)
	}
	return nil
}

func (x *Exchange) openPorts(ctx context.Context) (err error) {
	var log box.Log
	var pays simulated.Storage
	x.signer = blob.Signer{Keys: x.Keys.Uploads, BaseURL: x.BaseURL}
	if x.Dir != "" {
		log, pays = box.NewFileLog(filepath.Join(x.Dir, "mail.jsonl")), simulated.File{Path: filepath.Join(x.Dir, "payments.json")}
	}
	if err = x.openBlobs(ctx); err != nil {
		return err
	}
	if x.Box, err = box.New(x.Clock.Now, log); err != nil {
		return err
	}
	if x.letters.Mailer, err = x.way(); err != nil {
		return err
	}
	x.letters.From = cmp.Or(x.Mail.From, sender)
	if x.texts, err = x.phones(); err != nil {
		return err
	}
	x.prober = proberOf(x.Links, x.Clock.Now)
	x.Payments, err = simulated.New(simulated.Options{Clock: x.Clock.Now, BaseURL: x.BaseURL, WebhookSecret: x.Keys.WebhookSecrets[0],
		NewID: newID, Storage: pays})
	x.Queues = memqueue.New(memqueue.Options{Clock: x.Clock.Now})
	x.Drops = queuefaulty.Wrap(x.Queues)
	return err
}

func newID() string {
	s, err := id.New(rand.Reader)
	if err != nil {
		panic(err) // the machine has no randomness: nothing can be served
	}
	return s
}

// tally adds a request's costs to its log line.
func tally(ctx context.Context) (context.Context, func() []slog.Attr) {
	ctx, t := meter.With(ctx)
	return ctx, func() []slog.Attr {
		return []slog.Attr{slog.Int("table_calls", t.Calls), slog.Int("reads", t.Gets+t.Queries), slog.Int("partitions", t.Partitions), slog.Int("commits", t.Commits),
			slog.Int("read_units", t.ReadUnits), slog.Int("write_units", t.WriteUnits)}
	}
}

func (x *Exchange) assemble() {
	var hints queue.Queue = x.Queues
	if x.Dev {
		hints = x.Drops
	}
	x.Engine = &op.Engine{Store: x.Store, Now: x.Clock.Now, Rand: rand.Reader, Keys: x.Keys.Tokens, BaseURL: x.BaseURL,
		Tips: x.Tips, Texts: x.texts != nil, Auth: account.Authenticators(), Ports: x.ports, Hints: jobs.Hints(hints, x.Log), Signals: &op.Signals{}, Pause: pause}
	var sweepers []*jobs.Sweeper
	for _, c := range catalog.Contexts {
		sweepers = append(sweepers, &jobs.Sweeper{Engine: x.Engine, Context: c, Timers: catalog.Timers(c),
			Effects: catalog.Effects(c), Queue: hints, Log: x.Log})
	}
	x.Runner = NewRunner(x.Clock, x.Queues, sweepers, x.Log)
	x.Runner.Webhooks = x.deliverWebhooks
	x.Runner.Purge = x.purge.run
	x.Runner.WebhookDue = x.Payments.NextDue
}

// ports gives an operation or job what it declared.
func (x *Exchange) ports(ctx context.Context, t op.Touch) context.Context {
	if t.Has(op.Blobs) {
		ctx = blob.With(ctx, x.Blobs)
	}
	if t.Has(op.Payments) {
		ctx = pay.With(ctx, x.Payments, x.Keys.WebhookSecrets...)
	}
	if t.Has(op.Mail) {
		ctx = outbox.With(ctx, x.letters)
	}
	if t.Has(op.Texts) && x.texts != nil {
		ctx = textbox.With(ctx, x.texts)
	}
	if t.Has(op.Links) && x.prober != nil {
		ctx = linkprobe.With(ctx, x.prober)
	}
	return ctx
}

// Handler serves everything: the operations, uploads, and what their siblings add.
func (x *Exchange) Handler() http.Handler {
	mux := http.NewServeMux()
	opt := rest.Options{BaseURL: x.BaseURL, Log: x.Log, Clock: time.Now, BodyTime: bodyTime, Fallback: x.pages()}
	if x.Measure {
		opt.Tally = tally
	}
	mux.Handle("/", rest.Handler(x.Engine, catalog.Operations(), opt))
	mux.HandleFunc("PUT /uploads/{id}", x.upload)
	x.doors(mux)
	if x.Dev {
		mux.Handle("/_dev/", x.Controls())
	}
	return mux
}

// Stop wakes everything that waits, so that a draining server is not held up.
func (x *Exchange) Stop() { x.Engine.Signals.Stop() }

// Close lets go of files, last opened first.
func (x *Exchange) Close() (err error) {
	for i := len(x.close) - 1; i >= 0; i-- {
		err = errors.Join(err, x.close[i]())
	}
	x.close = nil
	return err
}

// pause waits a little longer after each lost race.
func pause(ctx context.Context, attempt int) {
	var b [1]byte
	_, _ = rand.Read(b[:])
	t := time.NewTimer(time.Duration(attempt) * time.Millisecond * time.Duration(1+b[0]%4))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
