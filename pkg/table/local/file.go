package local

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"guildhall/pkg/table"
)

const (
	driver   = "sqlite"
	fileName = "guildhall.db"

	dirMode  = 0o700
	fileMode = 0o600

	busyWait = 10_000 // milliseconds to wait for another process's commit
	walSize  = "journal_size_limit(67108864)"

	schemaVersion = 1
	walTries      = 400 // attempts to turn the log on while others open the same new file
	walPause      = 5 * time.Millisecond
)

// schema keeps the keys in their order in an index of their own (text is compared byte by
// byte), so that finding a row never reads the data of its neighbours, and the data last in a
// row, so that looking at a version does not read it. counters is JSON; expires is
// milliseconds.
const schema = `
CREATE TABLE rows (
	pk TEXT NOT NULL, sk TEXT NOT NULL, version TEXT NOT NULL,
	expires INTEGER, counters TEXT, data BLOB,
	PRIMARY KEY (pk, sk)
);
CREATE INDEX rows_expires ON rows (expires) WHERE expires IS NOT NULL;
PRAGMA user_version = 1;`

// processWide makes SQLite sync with fdatasync, which is as durable as fsync and waits for
// less, and lock by open file: otherwise any code of this process that opens and closes the
// file, to copy it say, would drop our locks. Where a platform has neither, SQLite's own
// defaults do.
var processWide = sync.OnceFunc(func() {
	_, _ = sqlite.Fdatasync(true)
	_, _ = sqlite.OFDLocking(true)
})

// prepareFile makes the directory and an empty file nobody else can read.
func prepareFile(dir string) (path string, err error) {
	processWide()
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return "", err
	}
	path, err = filepath.Abs(filepath.Join(dir, fileName))
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if errors.Is(err, os.ErrExist) {
		return path, nil
	}
	if err != nil {
		return "", err
	}
	return path, errors.Join(f.Close(), syncDir(dir))
}

// syncDir makes the new file's name as durable as its content will be.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// dsn names the file for the driver. mode=rw: a file that has vanished is an error, never a
// new empty store.
func dsn(path string, pragmas ...string) string {
	q := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyWait))
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
}

// prepareSchema turns the write-ahead log on and creates what is missing.
func prepareSchema(ctx context.Context, c *sql.Conn) error {
	if err := turnLogOn(ctx, c); err != nil {
		return err
	}
	if v, err := versionOf(ctx, c); err != nil || v == schemaVersion {
		return err
	}
	if _, err := c.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := create(ctx, c)
	if err != nil {
		_, rollback := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, rollback)
	}
	_, err = c.ExecContext(ctx, "COMMIT")
	return err
}

// create makes the schema unless another process just has.
func create(ctx context.Context, c *sql.Conn) error {
	switch v, err := versionOf(ctx, c); {
	case err != nil || v == schemaVersion:
		return err
	case v != 0:
		return fmt.Errorf("the file has schema %d, this program knows %d", v, schemaVersion)
	}
	var others int
	if err := c.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&others); err != nil {
		return err
	}
	if others > 0 {
		return errors.New("the file is another program's database")
	}
	_, err := c.ExecContext(ctx, schema)
	return err
}

func versionOf(ctx context.Context, c *sql.Conn) (v int, err error) {
	err = c.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

// turnLogOn sets WAL mode, which the file remembers. SQLite does not wait for locks in this
// one place, so two processes that open a new file at once take turns here.
func turnLogOn(ctx context.Context, c *sql.Conn) error {
	for try := 1; ; try++ {
		var mode string
		err := c.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("the file system has no write-ahead log: journal mode %q", mode)
		case code(err) != lib.SQLITE_BUSY || try == walTries:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(walPause):
		}
	}
}

// code is SQLite's primary result code behind an error, 0 when there is none.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// unavailable says what a failure of the file means to the caller: a disk that is full, a
// lock held too long, a file that cannot be read are ErrUnavailable, with the cause for the
// log. What SQLite should never answer stays an error of its own.
func unavailable(doing string, err error) error {
	if err == nil || errors.Is(err, table.ErrUnavailable) {
		return err
	}
	switch code(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_NOMEM, lib.SQLITE_READONLY, lib.SQLITE_INTERRUPT,
		lib.SQLITE_IOERR, lib.SQLITE_FULL, lib.SQLITE_CANTOPEN, lib.SQLITE_PROTOCOL, lib.SQLITE_PERM:
		return fmt.Errorf("%w: %s: %w", table.ErrUnavailable, doing, err)
	}
	var path *os.PathError
	if errors.As(err, &path) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, sql.ErrConnDone) {
		return fmt.Errorf("%w: %s: %w", table.ErrUnavailable, doing, err)
	}
	return fmt.Errorf("table/local: %s: %w", doing, err)
}
