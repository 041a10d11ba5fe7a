package ddb

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/guregu/dynamo/v2"

	"guildhall/pkg/table"
)

// commitTries is how often one commit is offered to DynamoDB while it loses races there.
// With the default pauses the last try comes about two seconds after the first.
const commitTries = 8

// Commit applies all of tx or nothing of it (see table.Store).
func (s *Store) Commit(ctx context.Context, tx *table.Tx) error {
	if err := tx.Validate(); err != nil {
		return err
	}
	if err := table.Alive(ctx); err != nil {
		return err
	}
	send := s.transaction(tx)
	if len(tx.Writes) == 1 {
		switch w := tx.Writes[0]; w.Kind {
		case table.Check:
			return s.check(ctx, w)
		case table.Create, table.Replace, table.Delete:
			send = s.single(tx.ID, w)
		case table.Add:
			// An addition alone goes as a transaction too: only the token of a
			// transaction keeps a repeated request from adding twice.
		}
	}
	return s.settle(ctx, tx, send)
}

// settle offers the commit until DynamoDB has decided it.
func (s *Store) settle(ctx context.Context, tx *table.Tx, send func(context.Context) error) error {
	seen := &attempts{}
	ctx = withAttempts(ctx, seen)
	for try := 0; ; try++ {
		err := send(ctx)
		if err == nil {
			return nil
		}
		v, failures := judge(err)
		switch v {
		case conflict:
			return s.conflict(ctx, tx, seen, failures)
		case other:
			return translateCanceled(ctx, err)
		}
		if try+1 >= commitTries {
			return fmt.Errorf("%w: %w", table.ErrUnavailable, err)
		}
		if err := s.sleep(ctx, s.backoff(try)); err != nil {
			return fmt.Errorf("%w: %w", table.ErrUnavailable, err)
		}
	}
}

// conflict decides what a failed precondition means. A row that carries our own commit id
// says that an earlier attempt was applied, and with it the whole commit. If an earlier
// attempt of a single write has an unknown outcome and the row is not ours (any more), nobody
// can tell, and the honest answer is that the outcome is unknown. A transaction needs no such
// doubt: its token makes DynamoDB repeat the first attempt's answer.
func (s *Store) conflict(ctx context.Context, tx *table.Tx, seen *attempts, failures []failure) error {
	rows, err := s.found(ctx, tx, failures)
	if err != nil {
		return err
	}
	full := 0
	for i, f := range failures {
		switch w := tx.Writes[f.at]; {
		case w.Marks() && rows[i].Version == tx.ID:
			return nil
		case w.Kind == table.Add && rows[i].Version == table.CounterVersion:
			full++
		}
	}
	switch {
	case full == len(failures):
		return fmt.Errorf("%w: a counter of commit %s would pass %d", table.ErrTooLarge, tx.ID, table.MaxCounter)
	case len(tx.Writes) == 1 && tx.Writes[0].Kind != table.Add && seen.unknown:
		return fmt.Errorf("%w: the first attempt's answer was lost and the row has changed", table.ErrUnavailable)
	}
	return fmt.Errorf("%w: commit %s", table.ErrConflict, tx.ID)
}

// found returns the row behind each failure, where it matters. What DynamoDB did not send is
// read: on AWS such a row is absent, but some emulators never send any.
func (s *Store) found(ctx context.Context, tx *table.Tx, failures []failure) ([]table.Row, error) {
	rows := make([]table.Row, len(failures))
	var unseen []int
	var keys []table.Key
	for i, f := range failures {
		if f.at >= len(tx.Writes) {
			return nil, fmt.Errorf("ddb: a reason for write %d of %d", f.at, len(tx.Writes))
		}
		w := tx.Writes[f.at]
		switch {
		case len(f.item) > 0:
			var r record
			if err := r.UnmarshalDynamoItem(f.item); err != nil {
				return nil, err
			}
			rows[i] = r.Row
		case w.Marks() || w.Kind == table.Add:
			unseen, keys = append(unseen, i), append(keys, w.Key)
		}
	}
	read, err := s.Get(ctx, keys...)
	for n, r := range read {
		rows[unseen[n]] = r
	}
	return rows, err
}

// check is a commit that only looks at one row.
func (s *Store) check(ctx context.Context, w table.Write) error {
	rows, err := s.Get(ctx, w.Key)
	if err != nil {
		return err
	}
	if rows[0].Version != w.Version {
		return fmt.Errorf("%w: %v", table.ErrConflict, w.Key)
	}
	return nil
}

// Conditions of the writes.
const (
	ifAbsent  = "attribute_not_exists(PK)"
	ifVersion = "v = ?"
	ifCounter = "attribute_not_exists(PK) OR v = ?"
)

// single is a commit of one row as one conditional write.
func (s *Store) single(id string, w table.Write) func(context.Context) error {
	if w.Kind == table.Delete {
		return s.remove(w).Run
	}
	return s.put(id, w).Run
}

// transaction is a commit of several rows.
func (s *Store) transaction(tx *table.Tx) func(context.Context) error {
	t := s.db.WriteTx().IdempotentWithToken(token(tx.ID))
	for _, w := range tx.Writes {
		switch w.Kind {
		case table.Create, table.Replace:
			t.Put(s.put(tx.ID, w))
		case table.Delete:
			t.Delete(s.remove(w))
		case table.Add:
			t.Update(s.add(w))
		case table.Check:
			c := s.table.Check(attrPK, w.Key.PK).Range(attrSK, w.Key.SK)
			if w.Version == "" {
				t.Check(c.If(ifAbsent))
			} else {
				t.Check(c.If(ifVersion, w.Version))
			}
		}
	}
	return t.Run
}

func (s *Store) put(id string, w table.Write) *dynamo.Put {
	p := s.table.Put(record{table.Row{Key: w.Key, Version: id, Data: w.Data, Expires: w.Expires}})
	if w.Kind == table.Create {
		return p.If(ifAbsent)
	}
	return p.If(ifVersion, w.Version)
}

func (s *Store) remove(w table.Write) *dynamo.Delete {
	return s.table.Delete(attrPK, w.Key.PK).Range(attrSK, w.Key.SK).If(ifVersion, w.Version)
}

// add adds to counter fields, none of which may leave +-table.MaxCounter.
func (s *Store) add(w table.Write) *dynamo.Update {
	u := s.table.Update(attrPK, w.Key.PK).Range(attrSK, w.Key.SK).
		Set(attrVersion, table.CounterVersion).
		If(ifCounter, table.CounterVersion)
	if !w.Expires.IsZero() {
		u.Set(attrExpires, expirySeconds(w.Expires))
	}
	for field, n := range w.Adds {
		name := counterName(field)
		lo, hi := -table.MaxCounter, table.MaxCounter
		if n > 0 {
			hi -= n
		} else {
			lo -= n
		}
		u.SetExpr(name+" = if_not_exists("+name+", ?) + ?", 0, n).
			If("attribute_not_exists("+name+") OR "+name+" BETWEEN ? AND ?", lo, hi)
	}
	return u
}

// token is the ClientRequestToken of a commit: at most 36 characters, the same for the same
// commit id. An id that fits is used as it is, so that it can be found in AWS's logs.
func token(id string) string {
	const maxToken = 36
	if len(id) <= maxToken && plain(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:])[:maxToken]
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
