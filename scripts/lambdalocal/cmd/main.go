// Command cmd executes the synthesised template on this machine: scripts/lambda-local.sh
// builds what it needs and runs it.
//
//	go run ./scripts/lambdalocal/cmd -addr 127.0.0.1:8080         until it is interrupted
//	go run ./scripts/lambdalocal/cmd -smoke                       calls every function once
//	go run ./scripts/lambdalocal/cmd -- go test ./tests/story     while a command runs, which
//	                                                              finds the address in GUILDHALL_STORY_URL
//
// It ends with 1 when a role does not allow what its function did; with -all also when a
// function of the template was never invoked.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"guildhall/scripts/lambdalocal"
)

func main() {
	var o lambdalocal.Options
	flag.StringVar(&o.Addr, "addr", "127.0.0.1:0", "loopback address to listen on; port 0 takes a free one")
	flag.StringVar(&o.Templates, "templates", "dist-local/cdk.out", "folder of the synthesis")
	flag.StringVar(&o.S3, "s3", "", "program that serves S3; files are kept by the runner without it")
	quiet := flag.Bool("quiet", false, "do not show what the functions write")
	smoke := flag.Bool("smoke", false, "call every route and every sweep once, report what is wrong, and end")
	all := flag.Bool("all", false, "a function that was never invoked is a failure")
	flag.Parse()
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	if !*quiet {
		o.Functions = os.Stderr
	}
	if err := run(o, *smoke, *all, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "lambda-local:", err)
		os.Exit(1)
	}
}

func run(o lambdalocal.Options, smoke, all bool, command []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := lambdalocal.Open(ctx, o)
	if err != nil {
		return err
	}
	defer r.Close()
	fmt.Printf("listening on %s\n", r.URL)
	start := time.Now()
	switch {
	case smoke:
		err = smoked(ctx, r)
	case len(command) > 0:
		c := exec.CommandContext(ctx, command[0], command[1:]...)
		c.Stdout, c.Stderr, c.Env = os.Stdout, os.Stderr, append(os.Environ(), "GUILDHALL_STORY_URL="+r.URL)
		err = c.Run()
	default:
		<-ctx.Done()
	}
	idle, denied := r.Idle(), r.Denied()
	fmt.Printf("%d functions invoked, %d never, in %s\n", len(r.Invoked()), len(idle), time.Since(start).Round(time.Second))
	if all {
		for _, name := range idle {
			fmt.Println("never invoked:", name)
		}
	}
	for _, d := range denied {
		fmt.Println("not allowed:", d)
	}
	if err == nil && (len(denied) > 0 || all && len(idle) > 0) {
		err = fmt.Errorf("%d functions never invoked, %d actions not allowed by their roles", len(idle), len(denied))
	}
	return err
}

func smoked(ctx context.Context, r *lambdalocal.Runner) error {
	wrong, err := r.Smoke(ctx)
	for _, w := range wrong {
		fmt.Println("wrong:", w)
	}
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%d things are wrong", len(wrong))
	}
	return err
}
