// Command cmd executes the synthesised template on this machine until it is interrupted:
// scripts/lambda-local.sh builds what it needs and runs it.
//
//	go run ./scripts/lambdalocal/cmd -addr 127.0.0.1:8080
//	go run ./scripts/lambdalocal/cmd -addr 127.0.0.1:0 -smoke     calls every function once
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"guildhall/scripts/lambdalocal"
)

func main() {
	var o lambdalocal.Options
	flag.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "loopback address to listen on; port 0 takes a free one")
	flag.StringVar(&o.Templates, "templates", "dist-local/cdk.out", "folder of the synthesis")
	quiet := flag.Bool("quiet", false, "do not show what the functions write")
	smoke := flag.Bool("smoke", false, "call every route and every sweep once, report what is wrong, and end")
	flag.Parse()
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	if !*quiet {
		o.Functions = os.Stderr
	}
	if err := run(o, *smoke); err != nil {
		fmt.Fprintln(os.Stderr, "lambda-local:", err)
		os.Exit(1)
	}
}

func run(o lambdalocal.Options, smoke bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := lambdalocal.Open(ctx, o)
	if err != nil {
		return err
	}
	defer r.Close()
	fmt.Printf("listening on %s\n", r.URL)
	if smoke {
		return smoked(ctx, r)
	}
	<-ctx.Done()
	fmt.Printf("%d functions invoked, %d never\n", len(r.Invoked()), len(r.Idle()))
	if denied := r.Denied(); len(denied) > 0 {
		return fmt.Errorf("roles do not allow: %q", denied)
	}
	return nil
}

func smoked(ctx context.Context, r *lambdalocal.Runner) error {
	start := time.Now()
	wrong, err := r.Smoke(ctx)
	if err != nil {
		return err
	}
	for _, w := range wrong {
		fmt.Println("wrong:", w)
	}
	fmt.Printf("%d functions invoked in %s\n", len(r.Invoked()), time.Since(start).Round(time.Millisecond))
	if len(wrong) > 0 {
		return fmt.Errorf("%d things are wrong", len(wrong))
	}
	return nil
}
