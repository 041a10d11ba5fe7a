package ddb

import (
	"context"
	"errors"

	"github.com/guregu/dynamo/v2"

	"guildhall/pkg/table"
)

// Get reads rows strongly (see table.Store): one with GetItem, several with BatchGetItem.
// A key named twice is read once and answered twice.
func (s *Store) Get(ctx context.Context, keys ...table.Key) ([]table.Row, error) {
	if err := table.ValidKeys(keys); err != nil {
		return nil, err
	}
	if err := table.Alive(ctx); err != nil {
		return nil, err
	}
	found := make(map[table.Key]table.Row, len(keys))
	wanted := make([]dynamo.Keyed, 0, len(keys))
	for _, k := range keys {
		if _, twice := found[k]; twice {
			continue
		}
		found[k] = table.Row{Key: k}
		wanted = append(wanted, dynamo.Keys{k.PK, k.SK})
	}
	records, err := s.fetch(ctx, wanted)
	if err != nil {
		return nil, translate(ctx, err)
	}
	for _, r := range records {
		found[r.Key] = r.Row
	}
	rows := make([]table.Row, len(keys))
	for i, k := range keys {
		rows[i] = found[k]
	}
	return rows, nil
}

// fetch returns the records that exist, in any order.
func (s *Store) fetch(ctx context.Context, wanted []dynamo.Keyed) ([]record, error) {
	var records []record
	var err error
	switch len(wanted) {
	case 0:
		return nil, ctx.Err()
	case 1:
		var one record
		k := wanted[0]
		err = s.table.Get(attrPK, k.HashKey()).Range(attrSK, dynamo.Equal, k.RangeKey()).
			Consistent(true).One(ctx, &one)
		records = []record{one}
	default:
		err = s.table.Batch(attrPK, attrSK).Get(wanted...).Consistent(true).All(ctx, &records)
	}
	if errors.Is(err, dynamo.ErrNotFound) {
		return nil, nil
	}
	return records, err
}
