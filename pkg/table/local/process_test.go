package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"guildhall/pkg/table"
	"guildhall/pkg/table/local"
)

var shared = table.Key{PK: "shared", SK: "ROOT"}

// countUp replaces one row by its number plus one, again and again, from 4 goroutines, and
// says how often it won. Only versions keep it apart from the other processes.
func countUp(args []string) error {
	s, err := local.Open(context.Background(), args[0])
	if err != nil {
		return err
	}
	rounds, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var won atomic.Int64
	errs := make([]error, 4)
	for g := range errs {
		wg.Go(func() {
			for i := 0; i < rounds && errs[g] == nil; i++ {
				err := countOnce(s, fmt.Sprintf("%s-%d-%d", args[1], g, i))
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, table.ErrConflict):
					errs[g] = err
				}
			}
		})
	}
	wg.Wait()
	say("won %d", won.Load())
	return errors.Join(append(errs, s.Close())...)
}

func countOnce(s *local.Store, id string) error {
	ctx := context.Background()
	rows, err := s.Get(ctx, shared)
	if err != nil {
		return err
	}
	w := table.Write{Kind: table.Create, Key: shared, Data: []byte("1")}
	if rows[0].Found() {
		n, err := strconv.Atoi(string(rows[0].Data))
		if err != nil {
			return err
		}
		w.Kind, w.Version, w.Data = table.Replace, rows[0].Version, []byte(strconv.Itoa(n+1))
	}
	// The check comes first: a transaction that began by reading must not be overtaken.
	return s.Commit(ctx, &table.Tx{ID: id, Writes: []table.Write{{Kind: table.Check, Key: table.Key{PK: "shared", SK: "absent"}}, w,
		{Kind: table.Add, Key: table.Key{PK: "shared", SK: "sum"}, Adds: map[string]int64{"n": 1}}}})
}

func TestPreconditionsHoldAcrossProcessesThatOpenANewDirectoryAtOnce(t *testing.T) {
	const processes, rounds = 3, 25
	dir := t.TempDir()
	var children []*child
	for p := range processes {
		children = append(children, start(t, "count", dir, fmt.Sprint("p", p), strconv.Itoa(rounds)))
	}
	won := 0
	for _, c := range children {
		lines, err := c.rest()
		if err != nil || len(lines) != 1 {
			t.Fatalf("child said %q and ended with %v", lines, err)
		}
		n, err := strconv.Atoi(strings.TrimPrefix(lines[0], "won "))
		if err != nil {
			t.Fatal(err)
		}
		won += n
	}
	rows := must(t, open(t, dir), shared, table.Key{PK: "shared", SK: "sum"})
	if string(rows[0].Data) != strconv.Itoa(won) || rows[1].Counters["n"] != int64(won) || won < rounds {
		t.Errorf("won %d times, the row says %s, the counter %v", won, rows[0].Data, rows[1].Counters)
	}
}

func TestTwoStoresOfOneProcessSeeEachOthersCommits(t *testing.T) {
	dir := t.TempDir()
	a, b := open(t, dir), open(t, dir)
	var wg sync.WaitGroup
	for i, s := range []*local.Store{a, b} {
		wg.Go(func() {
			for n := range 40 {
				if err := countOnce(s, fmt.Sprint(i, "-", n)); err != nil && !errors.Is(err, table.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	x, y := must(t, a, shared)[0], must(t, b, shared)[0]
	if x.Version != y.Version || string(x.Data) != string(y.Data) || len(x.Data) == 0 {
		t.Errorf("one reads %q, the other %q", x.Data, y.Data)
	}
}

// fillTheDisk limits the size of this process's files, as a full disk does, and says what
// commits answer before, while and after the limit is there.
func fillTheDisk(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	s, err := local.Open(ctx, args[0])
	if err != nil {
		return err
	}
	commit := func(name string) error {
		return s.Commit(ctx, &table.Tx{ID: name, Writes: []table.Write{
			{Kind: table.Create, Key: table.Key{PK: "disk", SK: name}, Data: make([]byte, 100<<10)},
			{Kind: table.Create, Key: table.Key{PK: "other", SK: name}, Data: []byte("x")},
		}})
	}
	if err := commit("before"); err != nil {
		return err
	}
	var free syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	full := syscall.Rlimit{Cur: 256 << 10, Max: free.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		return err
	}
	for i := range 10 {
		if err := commit(fmt.Sprint("full", i)); err == nil {
			say("done full%d", i)
		} else if errors.Is(err, table.ErrUnavailable) {
			say("unavailable full%d", i)
		} else {
			return fmt.Errorf("full disk: %w", err)
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	if err := commit("after"); err != nil {
		return fmt.Errorf("after the disk has room again: %w", err)
	}
	say("done after")
	return s.Close()
}

func TestAFullDiskIsUnavailableLosesNothingAndHeals(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Log("file size limits are tried on Linux only")
		return
	}
	dir := t.TempDir()
	lines, err := start(t, "full", dir).rest()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	unavailable := 0
	for _, line := range lines {
		outcome, name, _ := strings.Cut(line, " ")
		rows := must(t, s, table.Key{PK: "disk", SK: name}, table.Key{PK: "other", SK: name})
		if rows[0].Found() != rows[1].Found() {
			t.Errorf("half of %s is there", name)
		}
		if outcome == "done" && !rows[0].Found() {
			t.Errorf("%s was acknowledged and is gone", name)
		}
		if outcome == "unavailable" {
			unavailable++
		}
	}
	if unavailable == 0 || lines[len(lines)-1] != "done after" {
		t.Errorf("the child said %q", lines)
	}
}
