// Command functions builds every Lambda function into dist/<group>/<function>/bootstrap
// and zips it to dist/<group>/<function>.zip. The same sources give the same bytes, so that
// a function is deployed again only when a package linked into it changed.
//
//	go run ./scripts/functions                              linux/arm64 into dist
//	go run ./scripts/functions -arch amd64 -tags devclock   for the local runner, into dist-amd64
//	go run ./scripts/functions -group help                  one group
//	go run ./scripts/functions -twice                       builds one function twice and compares
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	b := build{root: "."}
	flag.StringVar(&b.arch, "arch", "arm64", "processor: arm64 or amd64")
	flag.StringVar(&b.tags, "tags", "", "further build tags, by commas")
	flag.StringVar(&b.group, "group", "", "build this group only")
	flag.StringVar(&b.dist, "out", "", "output folder (default dist, dist-<arch> for other processors)")
	twice := flag.Bool("twice", false, "build one function twice in different folders and compare the bytes")
	flag.Parse()
	if b.dist == "" {
		b.dist = "dist"
		if b.arch != "arm64" {
			b.dist += "-" + b.arch
		}
	}
	start := time.Now()
	run := b.all
	if *twice {
		run = b.twice
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "functions:", err)
		os.Exit(1)
	}
	fmt.Printf("done in %s\n", time.Since(start).Round(time.Millisecond))
}
