package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"guildhall/pkg/fault"
	"guildhall/pkg/wire"
)

// practice creates a practice target from a file. It works while a server on the same
// directory runs.
func practice(ctx context.Context, args []string, out, errs io.Writer) error {
	f := flags("practice", errs)
	data := f.String("data", "", "data directory (default "+defaultData+")")
	words, err := parse(f, args)
	if err != nil {
		return err
	}
	if len(words) != 2 || words[0] != "create" {
		return usage("say which: practice create FILE")
	}
	body, err := objectFile(words[1])
	if err != nil {
		return err
	}
	return withExchange(ctx, *data, errs, func(x *wire.Exchange) error {
		id, err := x.CreatePractice(ctx, body)
		if err == nil {
			fmt.Fprintf(out, "practice target %s is open\n", id)
		}
		return fileError(words[1], err)
	})
}

// fileError says what is wrong with a file; other errors stay as they are.
func fileError(name string, err error) error {
	var refused *fault.Fault
	if errors.As(err, &refused) && refused.Kind != fault.Internal {
		where := ""
		if refused.Field != "" {
			where = " at " + refused.Field
		}
		return fmt.Errorf("%s: %s (%s%s)", name, refused.Message, refused.Code, where)
	}
	return err
}
