package lambda

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/config"
	"guildhall/pkg/edge/jobs"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/queue"
	"guildhall/pkg/queue/sqs"
	"guildhall/pkg/table/ddb"
)

// Opening is what an adapter is opened with.
type Opening struct {
	Config config.Config
	Keys   config.Keys
	Now    func() time.Time // the exchange's clock
	NewID  func() string
	Log    *slog.Logger
}

// Port puts an opened port into the context of an operation or effect that declared it.
type Port func(context.Context) context.Context

// adapter opens one kind of a port.
type adapter struct {
	port op.Touch
	kind config.Kind
	open func(Opening) (Port, error)
}

var adapters []adapter

// Provide links an adapter: packages below wire call it when they are imported. A function
// opens it when its operation touches the port and the configuration names the kind.
func Provide(port op.Touch, kind config.Kind, open func(Opening) (Port, error)) {
	adapters = append(adapters, adapter{port, kind, open})
}

// ports are the ports a function may have beyond table and queue, and how the
// configuration names their kind.
var ports = []struct {
	touch    op.Touch
	variable string
	linked   string // the package that brings the adapters for AWS
	kind     func(config.Config) config.Kind
}{
	{op.Blobs, "GUILDHALL_BLOBS", "wire/s3blobs", func(c config.Config) config.Kind { return c.Blobs.Kind }},
	{op.Payments, "GUILDHALL_PAYMENTS", "wire/stripepay", func(c config.Config) config.Kind { return c.Payments.Kind }},
	{op.Mail, "GUILDHALL_MAIL", "wire/sesmail", func(c config.Config) config.Kind { return c.Mail.Kind }},
	{op.Links, "GUILDHALL_LINKS", "wire/webprobe", func(c config.Config) config.Kind { return c.Links.Kind }},
	{op.Texts, "GUILDHALL_SMS", "wire/snstext", func(c config.Config) config.Kind { return c.SMS }},
}

// engine opens what operations with these touches need.
func (p *process) engine(touches op.Touch) (*op.Engine, queue.Queue, error) {
	if p.cfg.BaseURL == "" {
		return nil, nil, fmt.Errorf("GUILDHALL_BASE_URL is needed on Lambda: links, cookies and origins are made from the public address")
	}
	keys, err := config.LoadKeys(p.cfg.Keys.Reveal(), "", nil)
	if err != nil {
		return nil, nil, err
	}
	store, err := p.store()
	if err != nil {
		return nil, nil, err
	}
	into, err := p.ports(touches, keys)
	if err != nil {
		return nil, nil, err
	}
	ring := id.Keyring{Current: keys.Token.Current}
	if keys.Token.Previous != nil {
		ring.Previous = [][]byte{keys.Token.Previous}
	}
	e := &op.Engine{Store: store, Now: p.now, Rand: rand.Reader, Keys: ring, BaseURL: p.cfg.BaseURL, Tips: p.cfg.Tips, Texts: p.texts(),
		Auth: account.Authenticators(), Ports: into, Pause: pause}
	if p.cfg.Queue.Kind != config.SQS && !touches.Has(op.Queue) {
		return e, nil, nil // a read has nothing to hint at; were a hint lost, the tick finds its row
	}
	q, err := p.queue()
	if err != nil {
		return nil, nil, err
	}
	e.Hints = jobs.Hints(q, p.log)
	return e, q, nil
}

// texts tells whether text messages leave: through SNS, or into the box of the runner that
// such a build is for. They and links are the ports a function starts without.
func (p *process) texts() bool {
	return p.cfg.SMS == config.SNS || p.cfg.SMS == config.Box && find(op.Texts, config.Box) != nil
}

func (p *process) store() (*ddb.Store, error) {
	if p.cfg.Store.Kind != config.DynamoDB {
		return nil, fmt.Errorf("GUILDHALL_STORE=%s: keeps rows in one process; functions need dynamodb://TABLE", p.cfg.Store.Kind)
	}
	a := p.cfg.AWS
	return ddb.New(ddb.Options{Table: p.cfg.Store.Table, Region: a.Region, Endpoint: a.Endpoint(config.ServiceDynamoDB),
		AccessKey: a.AccessKeyID, SecretKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()})
}

func (p *process) queue() (*sqs.Queue, error) {
	if p.cfg.Queue.Kind != config.SQS {
		return nil, fmt.Errorf("GUILDHALL_QUEUE=%s: keeps messages in one process; functions need sqs://QUEUE_URL_PREFIX", p.cfg.Queue.Kind)
	}
	a := p.cfg.AWS
	return sqs.New(sqs.Options{URLPrefix: p.cfg.Queue.URLPrefix, Region: a.Region, BaseEndpoint: a.Endpoint(config.ServiceSQS),
		Credentials: sqs.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()}})
}

// ports opens the ports an operation or the effects of a sweep touch.
func (p *process) ports(touches op.Touch, keys config.Keys) (func(context.Context, op.Touch) context.Context, error) {
	opened := map[op.Touch]Port{}
	for _, want := range ports {
		if !touches.Has(want.touch) || want.touch == op.Texts && !p.texts() || want.touch == op.Links && p.cfg.Links.Kind != config.Probe {
			continue
		}
		kind := want.kind(p.cfg)
		open := find(want.touch, kind)
		if open == nil {
			return nil, fmt.Errorf("%s=%s: has no adapter in this function; %s is the package that brings those for Lambda", want.variable, kind, want.linked)
		}
		port, err := open(Opening{Config: p.cfg, Keys: keys, Now: p.now, NewID: newID, Log: p.log})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", want.variable, err)
		}
		opened[want.touch] = port
	}
	return func(ctx context.Context, t op.Touch) context.Context {
		for touch, put := range opened {
			if t.Has(touch) {
				ctx = put(ctx)
			}
		}
		return ctx
	}, nil
}

func find(port op.Touch, kind config.Kind) func(Opening) (Port, error) {
	for _, a := range adapters {
		if a.port == port && a.kind == kind {
			return a.open
		}
	}
	return nil
}

func newID() string {
	s, err := id.New(rand.Reader)
	if err != nil {
		panic(err) // the machine has no randomness: nothing can be served
	}
	return s
}

// pauseStep is the shortest wait after a lost race; later ones are multiples of it.
const pauseStep = 4 * time.Millisecond

// pause waits a little longer after each lost race, each time another while.
func pause(ctx context.Context, attempt int) {
	var b [1]byte
	_, _ = rand.Read(b[:])
	t := time.NewTimer(time.Duration(attempt) * pauseStep * time.Duration(64+int(b[0])) / 64)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
