package tabletest

import (
	"context"
	"errors"
	"slices"

	"guildhall/pkg/table"
)

// repeats commits one Tx twice. A store that finds a created or replaced row carrying the
// commit's own id knows that the first attempt was applied: it answers nil and changes
// nothing. That makes the retry of a lost answer safe.
func repeats() []scene {
	return slices.Concat(repeatedAtOnce(), repeatedLater(), notRepeated())
}

// repeatedAtOnce are sent again before anything else happens.
func repeatedAtOnce() []scene {
	return []scene{
		{"repeat: a create", func(s *stage) {
			k := s.key("p", "row")
			tx := s.tx(create(k, "x"))
			s.twice(tx)
			s.holds(k, tx.ID, "x")
		}},
		{"repeat: a replace", func(s *stage) {
			k := s.key("p", "row")
			v := s.must(create(k, "x"))
			tx := s.tx(replace(k, v, "y"))
			s.twice(tx)
			s.holds(k, tx.ID, "y")
		}},
		{"repeat: a create beside a counter counts once", func(s *stage) {
			k, sum := s.key("p", "row"), s.key("p", "sum")
			s.twice(s.tx(add(sum, "n", 5), create(k, "x")))
			s.counts(sum, "n", 5)
		}},
		{"repeat: a replace beside a counter counts once", func(s *stage) {
			k, sum := s.key("p", "row"), s.key("p", "sum")
			v := s.must(create(k, "x"), add(sum, "n", 1))
			s.twice(s.tx(replace(k, v, "y"), add(sum, "n", 5)))
			s.counts(sum, "n", 6)
		}},
		{"repeat: a create beside a delete", func(s *stage) {
			k, gone := s.key("p", "row"), s.key("p", "gone")
			v := s.must(create(gone, "x"))
			s.twice(s.tx(remove(gone, v), create(k, "x")))
			s.absent(gone)
		}},
		{"repeat: a counter that another such add would take over its limit", func(s *stage) {
			k, sum := s.key("p", "row"), s.key("p", "sum")
			s.twice(s.tx(add(sum, "n", table.MaxCounter), create(k, "x")))
			s.counts(sum, "n", table.MaxCounter)
		}},
		{"repeat: ten times", func(s *stage) {
			k, sum := s.key("p", "row"), s.key("p", "sum")
			tx := s.tx(create(k, "x"), add(sum, "n", 1))
			for range 10 {
				s.commit(tx)
			}
			s.counts(sum, "n", 1)
		}},
	}
}

// repeatedLater are sent again after others have changed what they touched.
func repeatedLater() []scene {
	return []scene{
		{"repeat: a check that no longer holds does not matter", func(s *stage) {
			k, guard := s.key("p", "row"), s.key("p", "guard")
			v := s.must(create(guard, "x"))
			tx := s.tx(check(guard, v), create(k, "x"))
			s.commit(tx)
			v2 := s.must(replace(guard, v, "y"))
			s.commit(tx)
			s.holds(guard, v2, "y")
			s.holds(k, tx.ID, "x")
		}},
		{"repeat: one of two marked rows was written again since", func(s *stage) {
			a, b, sum := s.key("p", "a"), s.key("p", "b"), s.key("p", "sum")
			tx := s.tx(create(a, "x"), create(b, "x"), add(sum, "n", 1))
			s.commit(tx)
			v := s.must(replace(a, tx.ID, "newer"))
			s.commit(tx)
			s.holds(a, v, "newer")
			s.holds(b, tx.ID, "x")
			s.counts(sum, "n", 1)
		}},
		{"repeat: one of two marked rows was deleted since", func(s *stage) {
			a, b := s.key("p", "a"), s.key("p", "b")
			tx := s.tx(create(a, "x"), create(b, "x"))
			s.commit(tx)
			s.must(remove(a, tx.ID))
			s.commit(tx)
			s.absent(a)
			s.holds(b, tx.ID, "x")
		}},
		{"repeat: every marked row was written again since", func(s *stage) {
			k, sum := s.key("p", "row"), s.key("p", "sum")
			tx := s.tx(create(k, "x"), add(sum, "n", 1))
			s.commit(tx)
			v := s.must(replace(k, tx.ID, "newer"))
			s.unmarked(tx)
			s.holds(k, v, "newer")
			s.counts(sum, "n", 1)
		}},
	}
}

// notRepeated look like a repeated commit and are none.
func notRepeated() []scene {
	return []scene{
		{"repeat: a row created instead, and the mark beside it", func(s *stage) {
			a, b, sum := s.key("p", "a"), s.key("p", "b"), s.key("p", "sum")
			tx := s.tx(create(a, "x"), create(b, "x"), add(sum, "n", 1))
			s.must(create(b, "another's"))
			if err := s.store.Commit(context.Background(), tx); !errors.Is(err, table.ErrConflict) {
				s.Fatalf("answered %v: a row written by the refused attempt itself is no mark", err)
			}
			s.absent(a, sum)
		}},
		{"repeat: a refused commit may come again with the same id", func(s *stage) {
			k, guard := s.key("p", "row"), s.key("p", "guard")
			tx := s.tx(check(guard, "v"), create(k, "x"))
			for range 2 {
				if err := s.store.Commit(context.Background(), tx); !errors.Is(err, table.ErrConflict) {
					s.Fatalf("answered %v", err)
				}
			}
			s.absent(k)
		}},
		{"repeat: another id is another commit", func(s *stage) {
			k := s.key("p", "row")
			v := s.must(create(k, "x"))
			s.refused(table.ErrConflict, create(k, "x"))
			s.holds(k, v, "x")
		}},
		{"repeat: a delete leaves no mark", func(s *stage) {
			k := s.key("p", "row")
			tx := s.tx(remove(k, s.must(create(k, "x"))))
			s.commit(tx)
			s.unmarked(tx)
			s.absent(k)
		}},
	}
}

// commit sends this very Tx and demands success.
func (s *stage) commit(tx *table.Tx) {
	s.Helper()
	if err := s.store.Commit(context.Background(), tx); err != nil {
		s.Fatalf("commit of %s: %v", tx.ID, err)
	}
}

// unmarked sends a Tx again of which no mark is left. A conflict is a fair answer, and so is
// success where the store remembers the id by other means, as DynamoDB does for ten minutes.
func (s *stage) unmarked(tx *table.Tx) {
	s.Helper()
	if err := s.store.Commit(context.Background(), tx); err != nil && !errors.Is(err, table.ErrConflict) {
		s.Fatalf("answered %v", err)
	}
}

// twice sends the Tx twice and demands that the second time succeeds and changes nothing.
func (s *stage) twice(tx *table.Tx) {
	s.Helper()
	s.commit(tx)
	var keys []table.Key
	for _, w := range tx.Writes {
		keys = append(keys, w.Key)
	}
	first := s.get(keys...)
	s.commit(tx)
	for i, r := range s.get(keys...) {
		if r.Version != first[i].Version || string(r.Data) != string(first[i].Data) {
			s.Fatalf("%v changed from %+v to %+v", r.Key, first[i], r)
		}
	}
}
