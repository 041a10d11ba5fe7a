package local_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"guildhall/pkg/table"
	"guildhall/pkg/table/local"
)

var (
	kills    = flag.Int("kills", 200, "times the writer is killed")
	killSeed = flag.Uint64("kill.seed", 0, "seed of the kill test; 0 takes a new one")
)

const (
	killStores  = 2  // stores, each killed over and over, side by side
	killWriters = 8  // goroutines of a child
	killRows    = 4  // rows a commit creates, each in a partition of its own
	mostAcks    = 40 // acknowledgements after which a child is killed at the latest
)

// writeUntilKilled commits without end: rows, a head that each commit replaces, a counter.
// It says "ack <writer> <n>" after each commit.
func writeUntilKilled(args []string) error {
	dir, round := args[0], args[1]
	s, err := local.Open(context.Background(), dir)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, killWriters)
	for w := range killWriters {
		wg.Go(func() {
			head := ""
			for n := 0; errs[w] == nil; n++ {
				tx := killTx(round, w, n, head)
				if errs[w] = s.Commit(context.Background(), tx); errs[w] == nil {
					say("ack %d %d", w, n)
				}
				head = tx.ID
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// killTx is the n-th commit of a writer. Its rows have sizes of all sorts, so that the log
// is folded into the file again and again and some kills fall into that.
func killTx(round string, w, n int, head string) *table.Tx {
	tx := &table.Tx{ID: fmt.Sprintf("%s-%d-%d", round, w, n)}
	for part := range killRows {
		size := (w*7919 + n*104729 + part*1299709) % 9000
		tx.Writes = append(tx.Writes, table.Write{
			Kind: table.Create, Key: killRow(round, w, n, part), Data: []byte(strings.Repeat("k", size)),
		})
	}
	top := table.Write{Kind: table.Create, Key: killHead(round, w), Data: []byte(strconv.Itoa(n))}
	if head != "" {
		top.Kind, top.Version = table.Replace, head
	}
	return &table.Tx{ID: tx.ID, Writes: append(tx.Writes, top,
		table.Write{Kind: table.Add, Key: killSum(round), Adds: map[string]int64{fmt.Sprint("w", w): 1}})}
}

func killRow(round string, w, n, part int) table.Key {
	return table.Key{PK: fmt.Sprintf("part%d/%s", part, round), SK: fmt.Sprintf("%d#%06d", w, n)}
}
func killHead(round string, w int) table.Key {
	return table.Key{PK: "head/" + round, SK: fmt.Sprint(w)}
}
func killSum(round string) table.Key { return table.Key{PK: "sum/" + round, SK: "ROOT"} }

func TestEveryAcknowledgedCommitSurvivesKill9WholeAndNoOtherIsHalfThere(t *testing.T) {
	if testing.Short() {
		*kills = 20
	}
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay with: go test ./pkg/table/local -run Kill9 -kill.seed=%d (to the acknowledgement, not to the microsecond)", seed)
	for i := range killStores {
		t.Run(fmt.Sprint("store ", i), func(t *testing.T) {
			t.Parallel()
			dir, rng := t.TempDir(), rand.New(rand.NewPCG(seed, uint64(i)))
			acked, kept := 0, 0
			for n := range (*kills + killStores - 1) / killStores {
				round := fmt.Sprint("r", n)
				a, k := verifyRound(t, dir, round, killOnce(t, dir, round, 1+rng.IntN(mostAcks)))
				acked, kept = acked+a, kept+k
			}
			verifyAll(t, dir, kept)
			t.Logf("%d commits acknowledged, %d kept", acked, kept)
		})
	}
}

// killOnce runs a child until it has acknowledged that many commits, kills it, and returns the
// last commit acknowledged of each writer (-1: none): also those that were already said when
// the kill came.
func killOnce(t *testing.T, dir, round string, acks int) (last [killWriters]int) {
	for w := range last {
		last[w] = -1
	}
	note := func(line string) {
		var w, n int
		if _, err := fmt.Sscanf(line, "ack %d %d", &w, &n); err != nil || n != last[w]+1 {
			t.Errorf("round %s: unexpected line %q behind commit %d", round, line, last[w])
		}
		last[w] = n
	}
	c := start(t, "write", dir, round)
	for range acks {
		if !c.lines.Scan() {
			t.Fatalf("round %s: the child ended by itself", round)
		}
		note(c.lines.Text())
	}
	if err := c.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	lines, err := c.rest()
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("round %s: the child ended with %v", round, err)
	}
	for _, line := range lines {
		note(line)
	}
	return last
}

// verifyRound opens the store again and looks at every commit of the round.
func verifyRound(t *testing.T, dir, round string, last [killWriters]int) (acked, kept int) {
	s, err := local.Open(ctx, dir)
	if err != nil {
		t.Fatalf("round %s: open: %v", round, err)
	}
	defer s.Close()
	sum := must(t, s, killSum(round))[0]
	for w := range killWriters {
		n := 0
		for ; whole(t, s, round, w, n); n++ {
		}
		if n <= last[w] {
			t.Errorf("round %s: writer %d was told that commit %d is done, but %d is missing", round, w, last[w], n)
		}
		if whole(t, s, round, w, n+1) {
			t.Errorf("round %s: writer %d has commit %d but not %d", round, w, n+1, n)
		}
		head := must(t, s, killHead(round, w))[0]
		if n > 0 && (string(head.Data) != strconv.Itoa(n-1) || head.Version != fmt.Sprintf("%s-%d-%d", round, w, n-1)) {
			t.Errorf("round %s: the head of writer %d is %q, want %d", round, w, head.Data, n-1)
		}
		if n == 0 && head.Found() || sum.Counters[fmt.Sprint("w", w)] != int64(n) {
			t.Errorf("round %s: writer %d: head %v, counted %d, want %d", round, w, head.Found(), sum.Counters[fmt.Sprint("w", w)], n)
		}
		acked, kept = acked+last[w]+1, kept+n
	}
	return acked, kept
}

// whole tells whether the commit is there; half of one fails the test.
func whole(t *testing.T, s *local.Store, round string, w, n int) bool {
	tx := killTx(round, w, n, "")
	var keys []table.Key
	for part := range killRows {
		keys = append(keys, killRow(round, w, n, part))
	}
	found := 0
	for i, r := range must(t, s, keys...) {
		if !r.Found() {
			continue
		}
		found++
		if r.Version != tx.ID || string(r.Data) != string(tx.Writes[i].Data) {
			t.Errorf("round %s: %v is not what commit %s wrote", round, r.Key, tx.ID)
		}
	}
	if found != 0 && found != killRows {
		t.Errorf("round %s: %d of %d rows of commit %d of writer %d", round, found, killRows, n, w)
	}
	return found == killRows
}

// verifyAll counts the rows of all rounds once more at the end: nothing went missing later,
// and nothing is there that no round has seen.
func verifyAll(t *testing.T, dir string, kept int) {
	s := open(t, dir)
	rows, after := 0, ""
	for {
		page, next, err := s.List(ctx, after, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			if strings.HasPrefix(r.PK, "part") {
				rows++
			}
		}
		if after = next; after == "" {
			break
		}
	}
	if rows != kept*killRows {
		t.Errorf("%d rows at the end, want %d", rows, kept*killRows)
	}
}

func must(t testing.TB, s table.Store, keys ...table.Key) []table.Row {
	t.Helper()
	rows, err := s.Get(ctx, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
