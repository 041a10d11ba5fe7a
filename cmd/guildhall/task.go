package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"guildhall/pkg/fault"
	"guildhall/pkg/wire"
)

// maxTaskFile bounds a task file, in bytes.
const maxTaskFile = 1 << 20

// task creates a Commons task from a file. It works while a server on the same directory runs.
func task(ctx context.Context, args []string, out, errs io.Writer) error {
	f := flags("task", errs)
	data := f.String("data", "", "data directory (default "+defaultData+")")
	words, err := parse(f, args)
	if err != nil {
		return err
	}
	if len(words) != 2 || words[0] != "create" {
		return usage("say which: task create FILE")
	}
	body, err := taskFile(words[1])
	if err != nil {
		return err
	}
	return withExchange(ctx, *data, errs, func(x *wire.Exchange) error {
		id, err := x.CreateTask(ctx, body)
		var refused *fault.Fault
		if errors.As(err, &refused) && refused.Kind != fault.Internal {
			return fmt.Errorf("%s: %s (%s)", words[1], refused.Message, refused.Code)
		}
		if err == nil {
			fmt.Fprintf(out, "task %s is open\n", id)
		}
		return err
	})
}

// taskFile reads a task object.
func taskFile(name string) ([]byte, error) {
	in := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	b, err := io.ReadAll(io.LimitReader(in, maxTaskFile+1))
	if err == nil && len(b) > maxTaskFile {
		err = fmt.Errorf("%s is larger than a task can be", name)
	}
	return b, err
}
