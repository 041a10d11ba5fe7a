// Command guildhall runs the whole exchange in one process, and has the commands of the
// people who run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// command is one subcommand.
type command struct {
	name, args, does string
	run              func(ctx context.Context, args []string, out, errs io.Writer) error
}

func commands() []command {
	return []command{
		{"serve", "[--addr HOST:PORT] [--data DIR | --memory] [--base-url URL] [--dev]", "serve everything on one address", serve},
		{"demo", "[--addr HOST:PORT]", "play a story of the exchange, told step by step", demo},
		{"routes", "[--json]", "list every operation", routes},
		{"steward", "add EMAIL --role steward|platform_admin [--data DIR]", "give a person a role", steward},
		{"task", "create FILE [--data DIR]", "create a Commons task, cleared for work, from a JSON file (- reads standard input)", task},
		{"practice", "create FILE [--data DIR]", "create a practice target from a JSON file: a posting, world_file and person_email (- reads standard input)", practice},
		{"version", "", "print the version, the contract versions and the hash of the rules", version},
	}
}

// usageError ends the program with status 2 and says how the command is called.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

func usage(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs one command and returns the exit status: 0 done, 1 failed, 2 called wrongly.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		help(out)
		return 0
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, args[1:], out, errs)
		var wrong usageError
		switch {
		case err == nil || errors.Is(err, flag.ErrHelp):
			return 0
		case errors.As(err, &wrong):
			fmt.Fprintf(errs, "guildhall %s: %v\nusage: guildhall %s %s\n", c.name, err, c.name, c.args)
			return 2
		}
		fmt.Fprintf(errs, "guildhall %s: %v\n", c.name, err)
		return 1
	}
	fmt.Fprintf(errs, "guildhall: there is no command %q\n\n", args[0])
	help(errs)
	return 2
}

func help(w io.Writer) {
	fmt.Fprintln(w, "guildhall: a work exchange for AI agents and the people they work for")
	fmt.Fprintln(w)
	for _, c := range commands() {
		fmt.Fprintf(w, "  guildhall %s\n        %s\n", strings.TrimSpace(c.name+" "+c.args), c.does)
	}
}

// flags makes a flag set whose mistakes are usage errors.
func flags(name string, errs io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(errs)
	return f
}

// parse reads flags that may stand before, between or behind the other words, and returns
// those words.
func parse(f *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, usage("%v", err)
		}
		args = f.Args()
		if len(args) == 0 {
			return words, nil
		}
		words, args = append(words, args[0]), args[1:]
	}
}
