package tabletest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"guildhall/pkg/table"
)

// races checks what holds when many write and read at once.
func races() []scene {
	return []scene{
		{"race: 50 parallel increments all count", func(s *stage) {
			sum := s.key("p", "sum")
			s.parallel(50, func(i int) error {
				return s.try(add(sum, "n", 1), create(s.key("p", number(i)), "mark"))
			})
			s.counts(sum, "n", 50)
		}},
		{"race: 50 parallel increments of one row alone", func(s *stage) {
			sum := s.key("p", "sum")
			s.parallel(50, func(int) error { return s.try(add(sum, "n", 2)) })
			s.counts(sum, "n", 100)
		}},
		{"race: 16 writers at one version, one wins", func(s *stage) {
			k := s.key("p", "row")
			v := s.must(create(k, "start"))
			s.rivals(30, func(round int, tx string) []table.Write {
				return []table.Write{replace(k, v, tx), create(s.key("done", tx), "x")}
			}, func(winner string) {
				s.holds(k, winner, winner)
				v = winner
			})
		}},
		{"race: 16 writers create one row, one wins", func(s *stage) {
			s.rivals(20, func(round int, tx string) []table.Write {
				return []table.Write{create(s.key("done", tx), "x"), create(s.key("p", number(round)), tx)}
			}, func(string) {})
		}},
		{"race: 16 writers delete one row, one wins", func(s *stage) {
			k := s.key("p", "row")
			v := s.must(create(k, "start"))
			s.rivals(20, func(round int, tx string) []table.Write {
				return []table.Write{remove(k, v), create(s.key("done", tx), "x")}
			}, func(string) { v = s.must(create(k, "again")) })
		}},
		{"race: writers that check each other's row, never both", crossing},
		{"race: a read after a commit sees it, from every goroutine", readYourWrites},
		{"race: one Tx sent by 16 at once is applied once", func(s *stage) {
			k, sum := s.key("p", "row"), s.key("p", "sum")
			tx := s.tx(create(k, "x"), add(sum, "n", 1))
			s.parallel(16, func(int) error { return s.store.Commit(context.Background(), tx) })
			s.holds(k, tx.ID, "x")
			s.counts(sum, "n", 1)
		}},
	}
}

// parallel runs f n times at once and fails the case when any run does.
func (s *stage) parallel(n int, f func(i int) error) {
	s.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatal(err)
	}
}

// rivals lets 16 writers commit against the same state in every round and demands exactly one
// winner, of whom everything is stored, and nothing of the losers.
func (s *stage) rivals(rounds int, writes func(round int, tx string) []table.Write, won func(winner string)) {
	const writers = 16
	for round := range rounds {
		var winners atomic.Int32
		var winner atomic.Value
		marks := make([]table.Key, writers)
		s.parallel(writers, func(i int) error {
			tx := s.tx()
			tx.Writes = writes(round, tx.ID)
			marks[i] = s.key("done", tx.ID)
			err := s.store.Commit(context.Background(), tx)
			switch {
			case err == nil:
				winners.Add(1)
				winner.Store(tx.ID)
			case !errors.Is(err, table.ErrConflict):
				return fmt.Errorf("writer %d: %w", i, err)
			}
			return nil
		})
		if winners.Load() != 1 {
			s.Fatalf("round %d has %d winners", round, winners.Load())
		}
		for _, r := range s.get(marks...) {
			if mine := r.Key == s.key("done", winner.Load().(string)); r.Found() != mine {
				s.Fatalf("round %d: the mark %v is there: %v, is the winner's: %v", round, r.Key, r.Found(), mine)
			}
		}
		won(winner.Load().(string))
	}
}

// crossing is write skew: each of two writers checks that the other's row is absent and
// creates its own. At most one may pass.
func crossing(s *stage) {
	for round := range 30 {
		a, b := s.key("a", number(round)), s.key("b", number(round))
		var passed atomic.Int32
		s.parallel(2, func(i int) error {
			mine, other := a, b
			if i == 1 {
				mine, other = b, a
			}
			err := s.try(create(mine, "x"), check(other, ""))
			if err == nil {
				passed.Add(1)
			} else if !errors.Is(err, table.ErrConflict) {
				return err
			}
			return nil
		})
		rows := s.get(a, b)
		if rows[0].Found() && rows[1].Found() || passed.Load() > 1 {
			s.Fatalf("round %d: both passed", round)
		}
	}
}

// readYourWrites commits in one goroutine and reads in others what it has acknowledged, by
// Get, by Query forward and back.
func readYourWrites(s *stage) {
	pk := s.key("p", "x").PK
	s.parallel(4, func(w int) error {
		for i := range 25 {
			k := s.key("p", fmt.Sprintf("%d-%03d", w, i))
			if err := s.try(create(k, "x")); err != nil {
				return err
			}
			rows, err := s.store.Get(context.Background(), k)
			if err != nil || !rows[0].Found() {
				return fmt.Errorf("get of %v: found %v, %w", k, err == nil && rows[0].Found(), err)
			}
			for _, back := range []bool{false, true} {
				q := table.Query{PK: pk, Reverse: back, Limit: 1}.Prefix(k.SK)
				p, err := s.store.Query(context.Background(), q)
				if err != nil || len(p.Rows) != 1 {
					return fmt.Errorf("query of %v: %d rows, %w", k, len(p.Rows), err)
				}
			}
		}
		return nil
	})
}
