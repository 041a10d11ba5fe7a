package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"guildhall/pkg/table"
)

// session is the writer's connection with its statements. Its calls run to their end: a
// context cut short in the middle of a group would undo the commits of others.
type session struct {
	conn  *sql.Conn
	stmts []*sql.Stmt // all of stmt
	stmt  struct {
		begin, end, rollback, save, release, undo   *sql.Stmt
		create, replace, remove, read, addTo, purge *sql.Stmt
	}
}

func newSession(ctx context.Context, conn *sql.Conn) (*session, error) {
	s := &session{conn: conn}
	for _, p := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&s.stmt.begin, "BEGIN IMMEDIATE"},
		{&s.stmt.end, "COMMIT"},
		{&s.stmt.rollback, "ROLLBACK"},
		{&s.stmt.save, "SAVEPOINT one"},
		{&s.stmt.release, "RELEASE one"},
		{&s.stmt.undo, "ROLLBACK TO one"},
		{&s.stmt.create, `INSERT INTO rows (pk, sk, version, data, expires) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`},
		{&s.stmt.replace, `UPDATE rows SET version = ?, data = ?, counters = NULL, expires = ?
			WHERE pk = ? AND sk = ? AND version = ?`},
		{&s.stmt.remove, "DELETE FROM rows WHERE pk = ? AND sk = ? AND version = ?"},
		{&s.stmt.read, "SELECT version, counters FROM rows WHERE pk = ? AND sk = ?"},
		{&s.stmt.addTo, `INSERT INTO rows (pk, sk, version, counters, expires) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET counters = excluded.counters, expires = coalesce(excluded.expires, expires)`},
		{&s.stmt.purge, `DELETE FROM rows WHERE rowid IN
			(SELECT rowid FROM rows WHERE expires IS NOT NULL AND expires < ? ORDER BY expires LIMIT ?)`},
	} {
		var err error
		if *p.stmt, err = conn.PrepareContext(ctx, p.text); err != nil {
			return nil, errors.Join(fmt.Errorf("prepare %q: %w", p.text, err), s.close())
		}
		s.stmts = append(s.stmts, *p.stmt)
	}
	return s, nil
}

// close gives the connection back. A statement left open would keep the file open, too.
func (s *session) close() error {
	var errs []error
	for _, stmt := range s.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

// exec runs one statement and tells how many rows it changed.
func exec(stmt *sql.Stmt, args ...any) (int64, error) {
	res, err := stmt.Exec(args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (s *session) begin() error {
	_, err := exec(s.stmt.begin)
	return err
}

func (s *session) end() error {
	_, err := exec(s.stmt.end)
	return err
}

// rollback leaves the transaction. After some failures SQLite has left it already and says
// so; there is nothing to do about either.
func (s *session) rollback() { _, _ = exec(s.stmt.rollback) }

// commit applies tx inside the group's transaction, or leaves no trace of it. answer is for
// its caller; broken says that the transaction as a whole cannot go on.
func (s *session) commit(tx *table.Tx) (answer, broken error) {
	// One write is one statement, and whole or nothing by itself.
	several := len(tx.Writes) > 1
	if several {
		if _, err := exec(s.stmt.save); err != nil {
			return nil, err
		}
	}
	answer = s.apply(tx)
	if lost(answer) {
		return nil, answer
	}
	if several {
		if answer != nil {
			if _, err := exec(s.stmt.undo); err != nil {
				return nil, err
			}
		}
		if _, err := exec(s.stmt.release); err != nil {
			return nil, err
		}
	}
	if answer != nil {
		// Perhaps our own first attempt stands in the way: then a row carries the id of tx, all
		// of it was applied, and that is a success.
		applied, err := s.applied(tx)
		if err != nil {
			return nil, err
		}
		if applied {
			return nil, nil
		}
	}
	return answer, nil
}

// lost tells of SQLite's own failures: after some of them it has rolled the whole
// transaction back by itself, so after any of them nobody goes on.
func lost(err error) bool { return code(err) != 0 }

func (s *session) apply(tx *table.Tx) error {
	for _, w := range tx.Writes {
		if err := s.write(w, tx.ID); err != nil {
			return err
		}
	}
	return nil
}

// write makes one write. Its precondition is part of the statement: what changes no row was
// refused.
func (s *session) write(w table.Write, id string) (err error) {
	var n int64
	switch w.Kind {
	case table.Create:
		n, err = exec(s.stmt.create, w.Key.PK, w.Key.SK, id, w.Data, millis(w.Expires))
	case table.Replace:
		n, err = exec(s.stmt.replace, id, w.Data, millis(w.Expires), w.Key.PK, w.Key.SK, w.Version)
	case table.Delete:
		n, err = exec(s.stmt.remove, w.Key.PK, w.Key.SK, w.Version)
	case table.Check:
		var version string
		version, _, err = s.read(w.Key)
		if version == w.Version {
			n = 1
		}
	case table.Add:
		n, err = s.add(w)
	}
	switch {
	case err != nil && errors.Is(err, table.ErrTooLarge):
		return err
	case err != nil:
		return unavailable("write", err)
	case n != 1:
		return fmt.Errorf("%w: %v", table.ErrConflict, w.Key)
	}
	return nil
}

// read returns the version of a row, "" when it is missing, and its counters.
func (s *session) read(k table.Key) (version string, counters []byte, err error) {
	err = s.stmt.read.QueryRow(k.PK, k.SK).Scan(&version, &counters)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return version, counters, err
}

// add adds to the fields of a counter row and tells how many rows it changed.
func (s *session) add(w table.Write) (int64, error) {
	version, text, err := s.read(w.Key)
	if err != nil || version != "" && version != table.CounterVersion {
		return 0, err
	}
	counters, err := parseCounters(text)
	if err != nil {
		return 0, err
	}
	for field, by := range w.Adds {
		sum := counters[field] + by
		if sum > table.MaxCounter || sum < -table.MaxCounter {
			return 0, fmt.Errorf("%w: counter %s of %v", table.ErrTooLarge, field, w.Key)
		}
		counters[field] = sum
	}
	text, err = json.Marshal(counters)
	if err != nil {
		return 0, err
	}
	return exec(s.stmt.addTo, w.Key.PK, w.Key.SK, table.CounterVersion, string(text), millis(w.Expires))
}

func parseCounters(text []byte) (map[string]int64, error) {
	counters := map[string]int64{}
	if len(text) == 0 {
		return counters, nil
	}
	return counters, json.Unmarshal(text, &counters)
}

// applied tells whether a marked row carries the commit's own id.
func (s *session) applied(tx *table.Tx) (bool, error) {
	for _, w := range tx.Writes {
		if !w.Marks() {
			continue
		}
		version, _, err := s.read(w.Key)
		if err != nil || version == tx.ID {
			return err == nil, err
		}
	}
	return false, nil
}

// purge removes rows that expired before now, the oldest first.
func (s *session) purge(now time.Time, limit int) (int64, error) {
	return exec(s.stmt.purge, now.UnixMilli(), limit)
}

// millis is Expires as the column holds it: NULL for never.
func millis(t time.Time) any {
	if ms := table.ToMillis(t); ms != 0 {
		return ms
	}
	return nil
}
