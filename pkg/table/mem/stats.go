package mem

import "sync/atomic"

// Stats counts what a store was asked, for tests that pin the cost of an operation.
type Stats struct {
	Gets, Queries, Lists, Commits int64 // calls, refused ones included
	RowsRead                      int64 // keys asked of Get and rows answered by Query and List
	RowsWritten                   int64 // writes and checks of commits that were applied
	Conflicts                     int64 // commits refused with ErrConflict
}

// Calls is the number of calls of the port.
func (s Stats) Calls() int64 { return s.Gets + s.Queries + s.Lists + s.Commits }

// Since returns what was counted after before was taken.
func (s Stats) Since(before Stats) Stats {
	return Stats{
		s.Gets - before.Gets, s.Queries - before.Queries, s.Lists - before.Lists, s.Commits - before.Commits,
		s.RowsRead - before.RowsRead, s.RowsWritten - before.RowsWritten, s.Conflicts - before.Conflicts,
	}
}

type counts struct {
	gets, queries, lists, commits, rowsRead, rowsWritten, conflicts atomic.Int64
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	c := &s.counts
	return Stats{
		c.gets.Load(), c.queries.Load(), c.lists.Load(), c.commits.Load(),
		c.rowsRead.Load(), c.rowsWritten.Load(), c.conflicts.Load(),
	}
}

// Len is the number of rows stored.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rows.size
}
