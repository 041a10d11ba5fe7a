// Package closing is what the bench does when a person closes the account: the bytes of
// everything the person uploaded are removed. Serving them has ended before that, with the
// account itself.
package closing

import (
	"guildhall/pkg/account"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// pageFiles is how many files are looked up at once.
const pageFiles = 100

// Effects are done by the sweep of accounts.
var Effects = []op.EffectKind{{Kind: account.EffectClosed, Touches: op.Blobs, Do: removeUploads}}

// removeUploads removes the bytes of a person's uploads. Done again it finds them gone.
func removeUploads(c *op.Call, t op.Fired) (any, error) {
	q := table.Query{PK: "bench.PERSON#" + t.Subject, Limit: pageFiles}.Prefix(wants.FilePrefix)
	for {
		p, err := c.Query(q)
		if err != nil {
			return nil, err
		}
		keys := make([]table.Key, len(p.Rows))
		for i, r := range p.Rows {
			var ref wants.FileRef
			if err := op.Decode(r.Data, &ref); err != nil {
				return nil, err
			}
			keys[i] = wants.FileKey(ref.FileID)
		}
		if err := removeAll(c, keys); err != nil || !p.More {
			return nil, err
		}
		q.After = p.Rows[len(p.Rows)-1].SK
	}
}

func removeAll(c *op.Call, keys []table.Key) error {
	if err := c.Fetch(keys...); err != nil {
		return err
	}
	for _, k := range keys {
		f, found, err := op.Load[wants.OwnFile](c, k)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if err := blob.From(c).Delete(c, f.Key); err != nil {
			return err
		}
	}
	return nil
}
