package help

import (
	"cmp"

	"guildhall/pkg/op"
	"guildhall/pkg/roll"
	"guildhall/pkg/table"
)

// Limits of lists (help.md 4.2, 7).
const (
	defaultLimit = 20      // rows
	maxPage      = 2 << 20 // bytes of rows after which a page ends
)

// Paging is what every list takes.
type Paging struct {
	Limit  int `query:"limit" rule:"min=1,max=50" doc:"Rows of a page, 20 when left out."`
	Offset int `query:"offset" rule:"min=0,max=100000" doc:"Rows to pass over."`
}

func (p Paging) limit() int {
	return cmp.Or(p.Limit, defaultLimit)
}

// Pages is what every list answers beside its rows. Follow nextOffset until it is null;
// rows that arrive between two pages may make one appear twice or be passed over.
type Pages struct {
	Total      int64 `json:"total" doc:"Rows of the whole list."`
	NextOffset *int  `json:"nextOffset" doc:"Offset of the next page, null on the last one."`
}

// fetched is a row of a page as it is stored, with its counter row where it has one.
type fetched struct {
	row, counts table.Row
}

// rows reads the rows of ids in their order, and cuts the page off once it has maxPage
// bytes. key names the row; counts its counter row, nil for none.
func rows(c *op.Call, ids []string, key, counts func(string) table.Key) (out []fetched, cut bool, err error) {
	var keys []table.Key
	for _, id := range ids {
		keys = append(keys, key(id))
		if counts != nil {
			keys = append(keys, counts(id))
		}
	}
	if err := c.Fetch(keys...); err != nil {
		return nil, false, err
	}
	size := 0
	for _, id := range ids {
		if size >= maxPage {
			return out, true, nil
		}
		var f fetched
		if f.row, err = c.Get(key(id)); err != nil {
			return nil, false, err
		}
		if counts != nil {
			if f.counts, err = c.Get(counts(id)); err != nil {
				return nil, false, err
			}
		}
		if !f.row.Found() {
			continue
		}
		size += f.row.Bytes()
		out = append(out, f)
	}
	return out, false, nil
}

// pages says how a list goes on behind a page of n rows. A page that lost all its rows to
// the writes of this moment passes over them.
func (p Paging) pages(total int64, n, ids int, more bool) Pages {
	out := Pages{Total: total}
	if more {
		next := p.Offset + n
		if n == 0 {
			next += ids
		}
		out.NextOffset = &next
	}
	return out
}

// page reads one page of a roll: the rows of its members, made into what the list shows. A
// row the maker leaves out was changed while the page was read.
func page[T any](c *op.Call, p Paging, r roll.Roll, key, counts func(string) table.Key, show func(fetched) (T, bool, error)) ([]T, Pages, error) {
	ids, total, more, err := r.Page(c, p.Offset, p.limit())
	if err != nil {
		return nil, Pages{}, err
	}
	found, cut, err := rows(c, ids, key, counts)
	if err != nil {
		return nil, Pages{}, err
	}
	list := []T{}
	for _, f := range found {
		v, ok, err := show(f)
		if err != nil {
			return nil, Pages{}, err
		}
		if ok {
			list = append(list, v)
		}
	}
	return list, p.pages(total, len(list), len(ids), more || cut), nil
}
