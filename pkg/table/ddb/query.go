package ddb

import (
	"context"
	"fmt"

	"github.com/guregu/dynamo/v2"

	"guildhall/pkg/table"
)

// maxRounds is how many requests one page may take. DynamoDB ends an answer after 1 MB, a
// page of ours ends at about the same size, so two or three are usual for the largest.
const maxRounds = 16

// Query reads one page of a partition strongly (see table.Store). The page is over when it
// has the rows asked for or table.MaxPage bytes; one row more is read to know whether any
// follows. Each request resumes by range, behind the last sort key seen: a key that names a
// deleted row is no obstacle on any emulator. (An answer that holds nothing but a row to drop
// would not get further; DynamoDB's answers have room for two rows of any size.)
func (s *Store) Query(ctx context.Context, q table.Query) (table.Page, error) {
	if err := q.Validate(); err != nil {
		return table.Page{}, err
	}
	if err := table.Alive(ctx); err != nil {
		return table.Page{}, err
	}
	p := pager{want: q.PageSize()}
	for range maxRounds {
		b, ok := boundsOf(q)
		if !ok {
			return table.Page{Rows: p.rows}, nil
		}
		records, last, err := s.round(ctx, q, b, p.next()+b.extra(q.Reverse))
		if err != nil {
			return table.Page{}, translate(ctx, err)
		}
		for _, r := range records {
			if b.drops(r.SK) {
				continue
			}
			if p.full() {
				return table.Page{Rows: p.rows, More: true}, nil
			}
			p.take(r.Row)
		}
		if last == "" {
			return table.Page{Rows: p.rows}, nil
		}
		q.After = last
	}
	if len(p.rows) == 0 {
		return table.Page{}, fmt.Errorf("%w: %d answers without a row", table.ErrUnavailable, maxRounds)
	}
	return table.Page{Rows: p.rows, More: true}, nil
}

// round sends one request and returns its rows and the last sort key DynamoDB looked at, ""
// at the end of the range.
func (s *Store) round(ctx context.Context, q table.Query, b bounds, limit int) ([]record, string, error) {
	ask := b.apply(s.table.Get(attrPK, q.PK)).Consistent(true).SearchLimit(limit).RequestLimit(1).
		Order(dynamo.Order(!q.Reverse))
	if q.KeysOnly {
		ask.Project(attrPK, attrSK, attrVersion, attrExpires)
	}
	records := make([]record, 0, limit)
	end, err := ask.AllWithLastEvaluatedKey(ctx, &records)
	if err != nil || len(end) == 0 {
		return records, "", err
	}
	last, err := asText(end[attrSK])
	return records, last, err
}

// pager fills a page.
type pager struct {
	want  int // rows at most
	rows  []table.Row
	bytes int
}

func (p *pager) full() bool { return len(p.rows) >= p.want || p.bytes >= table.MaxPage }

func (p *pager) take(r table.Row) {
	p.rows = append(p.rows, r)
	p.bytes += r.Bytes()
}

// next is how many rows to ask for: as many as still fit by count, and after a first answer
// by size too, judging by the rows seen; and one more that tells whether any follows.
func (p *pager) next() int {
	n := p.want - len(p.rows)
	if len(p.rows) > 0 {
		average := p.bytes/len(p.rows) + 1
		n = min(n, (table.MaxPage-p.bytes)/average+1)
	}
	return max(n, 0) + 1
}
