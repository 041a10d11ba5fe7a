package local

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"guildhall/pkg/table"
)

const (
	columns     = "version, data, counters, expires"
	keysColumns = "version, NULL, NULL, expires"

	getOne = "SELECT " + columns + " FROM rows WHERE pk = ? AND sk = ?"
	// getMany takes its keys as one JSON list of pairs, so that one statement serves any number.
	getMany = `SELECT k.key, r.version, r.data, r.counters, r.expires FROM json_each(?) AS k
		CROSS JOIN rows AS r ON r.pk = k.value ->> 0 AND r.sk = k.value ->> 1`
	list = "SELECT pk, sk, " + columns + " FROM rows WHERE (pk, sk) > (?, ?) ORDER BY pk, sk LIMIT ?"
)

// Get reads rows in the order asked, all of one moment.
func (s *Store) Get(ctx context.Context, keys ...table.Key) ([]table.Row, error) {
	if err := table.ValidKeys(keys); err != nil {
		return nil, err
	}
	if err := table.Alive(ctx); err != nil {
		return nil, err
	}
	out := make([]table.Row, len(keys))
	for i, k := range keys {
		out[i].Key = k
	}
	switch len(keys) {
	case 0:
		return out, nil
	case 1:
		return out, s.read(ctx, getOne, []any{keys[0].PK, keys[0].SK}, func(rows *sql.Rows) (bool, error) {
			return true, scan(rows, &out[0])
		})
	}
	pairs := make([][2]string, len(keys))
	for i, k := range keys {
		pairs[i] = [2]string{k.PK, k.SK}
	}
	text, err := json.Marshal(pairs)
	if err != nil {
		return nil, err
	}
	return out, s.read(ctx, getMany, []any{string(text)}, func(rows *sql.Rows) (bool, error) {
		var i int
		var r table.Row
		if err := scan(rows, &r, &i); err != nil {
			return false, err
		}
		r.Key = keys[i]
		out[i] = r
		return true, nil
	})
}

// Query reads one page of a partition.
func (s *Store) Query(ctx context.Context, q table.Query) (table.Page, error) {
	if err := q.Validate(); err != nil {
		return table.Page{}, err
	}
	if err := table.Alive(ctx); err != nil {
		return table.Page{}, err
	}
	var page table.Page
	size, limit := 0, q.PageSize()
	text, args := pageStatement(q, limit+1) // one more than asked shows whether there is more
	err := s.read(ctx, text, args, func(rows *sql.Rows) (bool, error) {
		if len(page.Rows) == limit || size >= table.MaxPage {
			page.More = true
			return false, nil
		}
		r := table.Row{Key: table.Key{PK: q.PK}}
		if err := scan(rows, &r, &r.SK); err != nil {
			return false, err
		}
		page.Rows = append(page.Rows, r)
		size += r.Bytes()
		return true, nil
	})
	if err != nil {
		return table.Page{}, err
	}
	return page, nil
}

// pageStatement writes the query as SQL: a range of the primary key. There are 16 texts.
func pageStatement(q table.Query, limit int) (string, []any) {
	what, from, to, order := columns, "sk >= ?", "", "sk"
	if q.KeysOnly {
		what = keysColumns
	}
	low, open, high := q.Span()
	if open {
		from = "sk > ?"
	}
	args := []any{q.PK, low}
	if high != "" {
		to = " AND sk < ?"
		args = append(args, high)
	}
	if q.Reverse {
		order = "sk DESC"
	}
	text := "SELECT sk, " + what + " FROM rows WHERE pk = ? AND " + from + to + " ORDER BY " + order + " LIMIT ?"
	return text, append(args, limit)
}

// List returns rows in the order of (PK, SK). A position is a table.Position.
func (s *Store) List(ctx context.Context, after string, limit int) ([]table.Row, string, error) {
	pk, sk, err := table.ParsePosition(after)
	if err != nil {
		return nil, "", err
	}
	if err := table.Alive(ctx); err != nil {
		return nil, "", err
	}
	limit = table.Query{Limit: limit}.PageSize()
	var out []table.Row
	size, next := 0, ""
	err = s.read(ctx, list, []any{pk, sk, limit + 1}, func(rows *sql.Rows) (bool, error) {
		if len(out) == limit || size >= table.MaxPage {
			next = table.Position(out[len(out)-1].Key)
			return false, nil
		}
		var r table.Row
		if err := scan(rows, &r, &r.PK, &r.SK); err != nil {
			return false, err
		}
		out, size = append(out, r), size+r.Bytes()
		return true, nil
	})
	if err != nil {
		return nil, "", err
	}
	return out, next, nil
}

// read runs a statement on a reader and gives each row to take, until take says no or fails.
func (s *Store) read(ctx context.Context, text string, args []any, take func(*sql.Rows) (bool, error)) error {
	select {
	case <-s.writer.quit:
		return errClosed
	default:
	}
	stmt, err := s.prepared(ctx, text)
	if err != nil {
		return s.failed(ctx, err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return s.failed(ctx, err)
	}
	defer rows.Close()
	for rows.Next() {
		more, err := take(rows)
		if err != nil {
			return s.failed(ctx, err)
		}
		if !more {
			return nil
		}
	}
	return s.failed(ctx, rows.Err())
}

// prepared keeps a statement for each text. Two callers may prepare the same one; the second
// is closed.
func (s *Store) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	if stmt, ok := s.stmts.Load(text); ok {
		return stmt.(*sql.Stmt), nil
	}
	stmt, err := s.reads.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	if first, there := s.stmts.LoadOrStore(text, stmt); there {
		return first.(*sql.Stmt), stmt.Close()
	}
	return stmt, nil
}

// failed names the failure of a read: the caller's context, our own Close, or the file.
func (s *Store) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ended := table.Alive(ctx); ended != nil {
		return ended
	}
	select {
	case <-s.writer.quit:
		return errClosed
	default:
		return unavailable("read", err)
	}
}

// scan reads what comes before the columns into first, and the columns into r.
func scan(rows *sql.Rows, r *table.Row, first ...any) error {
	var counters []byte
	var expires sql.NullInt64
	if err := rows.Scan(append(first, &r.Version, &r.Data, &counters, &expires)...); err != nil {
		return err
	}
	r.Expires = table.FromMillis(expires.Int64)
	if counters == nil {
		return nil
	}
	var err error
	if r.Counters, err = parseCounters(counters); err != nil {
		return errors.Join(fmt.Errorf("counters of %v", r.Key), err)
	}
	return nil
}
