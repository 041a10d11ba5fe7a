// Command fakes3 serves an S3 in memory on a free loopback address, for the runner that
// executes the template on one machine (scripts/lambda-local.sh). Its first line is
// "listening on http://HOST:PORT"; it ends with its standard input. A bucket is there as soon
// as it is named.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

const headerTimeout = 10 * time.Second

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fakes3:", err)
		os.Exit(1)
	}
}

// serve answers until in ends.
func serve(in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fake := gofakes3.New(s3mem.New(), gofakes3.WithAutoBucket(true), gofakes3.WithTimeSkewLimit(0), gofakes3.WithLogger(gofakes3.DiscardLog()))
	server := &http.Server{Handler: fake.Server(), ReadHeaderTimeout: headerTimeout}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = server.Close()
	}()
	fmt.Fprintf(out, "listening on http://%s\n", l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
