package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"guildhall/pkg/config"
	"guildhall/pkg/wire"
)

// Times and limits of the server.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 25 * time.Second // longer than a long poll
	maxHeader     = 64 << 10         // bytes
	defaultAddr   = "127.0.0.1:8080"
	defaultData   = "./data"
)

type serveFlags struct {
	addr, data, baseURL string
	memory, dev         bool
}

func serve(ctx context.Context, args []string, out, errs io.Writer) error {
	var s serveFlags
	f := flags("serve", errs)
	f.StringVar(&s.addr, "addr", defaultAddr, "address to listen on; port 0 takes a free one")
	f.StringVar(&s.data, "data", "", "data directory (default "+defaultData+")")
	f.StringVar(&s.baseURL, "base-url", "", "public address (default: the address served on)")
	f.BoolVar(&s.memory, "memory", false, "keep everything in memory")
	f.BoolVar(&s.dev, "dev", false, "local controls under /_dev, on a loopback address only")
	words, err := parse(f, args)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		return usage("%q is not expected", words[0])
	}
	if s.memory && s.data != "" {
		return usage("choose --data or --memory, not both")
	}
	cfg, dir, err := configured(s.data, s.memory)
	if err != nil {
		return err
	}
	if s.dev && !loopback(s.addr) {
		return usage("--dev serves controls without any login, so it listens on a loopback address only (not %s)", s.addr)
	}
	return listen(ctx, s, cfg, dir, out, errs)
}

// configured reads the environment; dir is "" when everything is kept in memory.
func configured(data string, memory bool) (cfg config.Config, dir string, err error) {
	if cfg, err = config.FromEnviron(os.Environ()); err != nil {
		return cfg, "", err
	}
	if memory {
		cfg = cfg.InMemory()
	} else {
		if data == "" {
			data = defaultData
		}
		cfg = cfg.WithData(data)
	}
	if err := wire.Served(cfg); err != nil {
		return cfg, "", err
	}
	switch cfg.Store.Kind {
	case config.File:
		dir = cfg.Store.Dir
	case config.DynamoDB:
		dir = data // keys, mail and files; the rows are in DynamoDB
	}
	return cfg, dir, nil
}

// loopback tells whether an address can only be reached from this machine.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func listen(ctx context.Context, s serveFlags, cfg config.Config, dir string, out, errs io.Writer) error {
	log := slog.New(slog.NewJSONHandler(errs, &slog.HandlerOptions{Level: cfg.LogLevel}))
	keys, err := keysFor(cfg, dir)
	if err != nil {
		return err
	}
	store, err := wire.TableOf(ctx, cfg)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", s.addr, err)
	}
	address := "http://" + l.Addr().String()
	base := firstOf(s.baseURL, cfg.BaseURL, address)
	x, err := wire.Open(ctx, wire.Options{Dir: dir, Exclusive: true, Table: store, BaseURL: strings.TrimSuffix(base, "/"), Dev: s.dev, Tips: cfg.Tips,
		Keys: wire.KeysOf(keys), Log: log, Mail: cfg.Mail, SMS: cfg.SMS, Links: cfg.Links, Files: filesOf(cfg), AWS: cfg.AWS})
	if err != nil {
		l.Close()
		return err
	}
	defer x.Close()
	fmt.Fprintf(out, "listening on %s\n", address)
	return serveUntil(ctx, x, l)
}

// filesOf is where files are kept when the environment says it; else they lie in the data
// directory, wherever the rows are.
func filesOf(cfg config.Config) (b config.Blobs) {
	if cfg.Given("GUILDHALL_BLOBS") {
		b = cfg.Blobs
	}
	return b
}

// serveUntil serves until ctx ends, then drains.
func serveUntil(ctx context.Context, x *wire.Exchange, l net.Listener) error {
	server := &http.Server{Handler: x.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(x.Log.Handler(), slog.LevelWarn)}
	working, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { x.Runner.Run(working); close(done) }()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
		defer cancel()
		x.Stop()
		err = server.Shutdown(drain)
	}
	stop()
	<-done
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func keysFor(cfg config.Config, dir string) (config.Keys, error) {
	if dir == "" && cfg.Keys.Reveal() == "" {
		return config.NewKeys(rand.Reader)
	}
	return config.LoadKeys(cfg.Keys.Reveal(), dir, rand.Reader)
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
