// Package local is the table in one SQLite file, for `guildhall serve` on a machine of one's
// own. What Commit has acknowledged is on the disk: it survives kill -9 and, as far as the
// disk keeps its word, a power cut.
//
// One goroutine writes. It takes what is waiting, applies each commit between savepoints in
// one transaction, and syncs once for the whole group; so 32 writers share an fsync. Reads
// run beside it on a few connections, and see every acknowledged commit.
//
// Several processes may open the same directory: SQLite's locks keep their commits apart,
// and preconditions hold across them. The file is plain to look at:
//
//	sqlite3 data/guildhall.db "SELECT pk, sk, CAST(data AS TEXT) FROM rows"
package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"guildhall/pkg/table"
)

// readers is how many connections read at once.
const readers = 4

// errClosed answers every call after Close.
var errClosed = fmt.Errorf("%w: the store is closed", table.ErrUnavailable)

// Store is a table.Store, table.Lister and table.Purger.
type Store struct {
	reads  *sql.DB
	stmts  sync.Map // SQL text -> *sql.Stmt on reads
	writer *writer
	close  func() error
}

// Open opens the store in dir, and creates the directory (mode 0700), the file (mode 0600)
// and the schema where they are missing.
func Open(ctx context.Context, dir string) (*Store, error) {
	path, err := prepareFile(dir)
	if err != nil {
		return nil, unavailable("open", err)
	}
	writes, err := sql.Open(driver, dsn(path, "synchronous(FULL)", "fullfsync(1)", walSize))
	if err != nil {
		return nil, err
	}
	w, err := startWriter(ctx, writes)
	if err != nil {
		return nil, errors.Join(unavailable("open "+path, err), writes.Close())
	}
	reads, err := sql.Open(driver, dsn(path, "query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, w.stop(), writes.Close())
	}
	reads.SetMaxOpenConns(readers)
	reads.SetMaxIdleConns(readers)
	s := &Store{reads: reads, writer: w}
	s.close = sync.OnceValue(func() error {
		// The writer's connection goes last: it folds the log into the file.
		return errors.Join(w.stop(), reads.Close(), writes.Close())
	})
	return s, nil
}

// Close finishes the commits that are under way, refuses those behind them, and closes the
// file. Calling it again does nothing.
func (s *Store) Close() error { return s.close() }

// Commit applies all of tx or nothing, and answers once it is on the disk.
func (s *Store) Commit(ctx context.Context, tx *table.Tx) error {
	if err := tx.Validate(); err != nil {
		return err
	}
	if err := table.Alive(ctx); err != nil {
		return err
	}
	bytes := 0
	for _, w := range tx.Writes {
		bytes += len(w.Data)
	}
	return s.writer.submit(ctx, newRequest(bytes, func(c *session) (answer, broken error) {
		return c.commit(tx)
	}))
}

// Syncs tells how many commits the writer has decided and in how many groups, each with at
// most one sync.
func (s *Store) Syncs() (commits, groups int64) {
	return s.writer.commits.Load(), s.writer.syncs.Load()
}

// Purge removes up to limit rows (at most table.MaxPageRows) that expired before now, the
// oldest first, and tells how many.
func (s *Store) Purge(ctx context.Context, now time.Time, limit int) (int, error) {
	if err := table.Alive(ctx); err != nil {
		return 0, err
	}
	var n int64
	err := s.writer.submit(ctx, newRequest(0, func(c *session) (answer, broken error) {
		n, broken = c.purge(now, table.Query{Limit: limit}.PageSize())
		return nil, broken
	}))
	if err != nil {
		return 0, err
	}
	return int(n), nil
}
