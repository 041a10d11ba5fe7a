package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"guildhall/pkg/wire"
)

// maxObjectFile bounds a file with one JSON object, in bytes.
const maxObjectFile = 1 << 20

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
	body, err := objectFile(words[1])
	if err != nil {
		return err
	}
	return withExchange(ctx, *data, errs, func(x *wire.Exchange) error {
		id, err := x.CreateTask(ctx, body)
		if err == nil {
			fmt.Fprintf(out, "task %s is open\n", id)
		}
		return fileError(words[1], err)
	})
}

// objectFile reads a file; - is standard input.
func objectFile(name string) ([]byte, error) {
	in := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	b, err := io.ReadAll(io.LimitReader(in, maxObjectFile+1))
	if err == nil && len(b) > maxObjectFile {
		err = fmt.Errorf("%s is larger than 1 MB", name)
	}
	return b, err
}
