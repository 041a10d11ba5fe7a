package ddb

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/guregu/dynamo/v2"

	"guildhall/pkg/table"
)

// List walks the whole table in DynamoDB's own order (see table.Lister), with one Scan a
// call. It costs the capacity of everything it reads: it is for exports, not for requests.
func (s *Store) List(ctx context.Context, after string, limit int) ([]table.Row, string, error) {
	if err := table.Alive(ctx); err != nil {
		return nil, "", err
	}
	if limit <= 0 || limit > table.MaxPageRows {
		limit = table.MaxPageRows
	}
	scan := s.table.Scan().Consistent(true).SearchLimit(limit).RequestLimit(1)
	if after != "" {
		from, err := parsePosition(after)
		if err != nil {
			return nil, "", err
		}
		scan.StartFrom(from)
	}
	var records []record
	end, err := scan.AllWithLastEvaluatedKey(ctx, &records)
	if err != nil {
		return nil, "", translate(ctx, err)
	}
	rows := make([]table.Row, len(records))
	for i, r := range records {
		rows[i] = r.Row
	}
	next, err := position(end)
	return rows, next, err
}

// position writes a key as an opaque string, no key as "".
func position(end dynamo.PagingKey) (string, error) {
	if len(end) == 0 {
		return "", nil
	}
	var k [2]string
	var err error
	if k[0], err = asText(end[attrPK]); err != nil {
		return "", err
	}
	if k[1], err = asText(end[attrSK]); err != nil {
		return "", err
	}
	b, err := json.Marshal(k)
	return base64.RawURLEncoding.EncodeToString(b), err
}

func parsePosition(s string) (dynamo.PagingKey, error) {
	var k [2]string
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(b, &k)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: not a position of this list", table.ErrInvalid)
	}
	if err := table.ValidKey(table.Key{PK: k[0], SK: k[1]}); err != nil {
		return nil, err
	}
	return dynamo.PagingKey{attrPK: text(k[0]), attrSK: text(k[1])}, nil
}
