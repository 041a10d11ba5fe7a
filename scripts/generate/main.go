// Command generate writes everything that follows from the catalog and the sources: the
// Lambda functions, the OpenAPI documents and docs/MAP.md, KEYS.md, FAULTS.md, CONFIG.md.
//
//	go run ./scripts/generate          writes what is stale
//	go run ./scripts/generate -check   fails when something is stale
//	go run ./scripts/generate -untested  lists declared refusals that no test names
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail when a file is stale")
	list := flag.Bool("untested", false, "write nothing; list declared refusals that no test names")
	root := flag.String("root", ".", "the repository")
	flag.Parse()
	err := error(nil)
	if *list {
		err = untested(*root, os.Stdout)
	} else {
		err = run(*root, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	want, err := Generate(root)
	if err != nil {
		return err
	}
	changes, err := Compare(root, want)
	if err != nil {
		return err
	}
	if check {
		return Stale(changes)
	}
	for _, c := range changes {
		fmt.Println(c)
		if err := c.apply(root); err != nil {
			return err
		}
	}
	fmt.Printf("%d files, %d changed\n", len(want), len(changes))
	return nil
}
