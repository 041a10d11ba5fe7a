// Command cmd executes the synthesised template on this machine until it is interrupted:
// scripts/lambda-local.sh builds what it needs and runs it.
//
//	go run ./scripts/lambdalocal/cmd -addr 127.0.0.1:8080 -templates cdk.out
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"guildhall/scripts/lambdalocal"
)

func main() {
	var o lambdalocal.Options
	flag.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "loopback address to listen on; port 0 takes a free one")
	flag.StringVar(&o.Templates, "templates", "cdk.out", "folder of the synthesis")
	quiet := flag.Bool("quiet", false, "do not show what the functions write")
	flag.Parse()
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	if !*quiet {
		o.Functions = os.Stderr
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "lambda-local:", err)
		os.Exit(1)
	}
}

func run(o lambdalocal.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := lambdalocal.Open(ctx, o)
	if err != nil {
		return err
	}
	defer r.Close()
	fmt.Printf("listening on %s\n", r.URL)
	<-ctx.Done()
	fmt.Printf("%d functions invoked, %d never\n", len(r.Invoked()), len(r.Idle()))
	if denied := r.Denied(); len(denied) > 0 {
		return fmt.Errorf("roles do not allow: %q", denied)
	}
	return nil
}
