package desk

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"

	"guildhall/pkg/account"
	"guildhall/pkg/bench/bids"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// AttachmentIn names a file of a target by its stored name.
type AttachmentIn struct {
	TargetID string `path:"target_id"`
	Filename string `path:"filename"`
}

// Rows implements op.Prefetcher.
func (in AttachmentIn) Rows(account string) []table.Key { return BriefIn{in.TargetID}.Rows(account) }

// Attachment serves a file the person put beside the want (bench.md 4.9). Every reason not
// to is the bare 404: it never says whether a file is there.
var Attachment = op.Declare(op.Meta{
	ID: "bench.target.attachment", Method: "GET", Path: "/api/bench/targets/{target_id}/attachments/{filename}",
	Auth: op.Maker, Scope: "targets:read", Touches: op.Blobs, Summary: "Download a file of a target.", Contract: "bench.md 4.9",
}, attachment)

func attachment(c *op.Call, in AttachmentIn) (wants.Download, error) {
	w, err := readable(c, in.TargetID)
	if err != nil {
		return wants.Download{}, err
	}
	f, key, ok := w.FindFile(in.Filename)
	if !ok {
		return wants.Download{}, fault.BareNotFound
	}
	if closed, err := account.Closed(c, w.PersonID); err != nil || closed {
		return wants.Download{}, cmp.Or(err, error(fault.BareNotFound))
	}
	d, err := wants.Serve(c, key, f.Filename, f.ContentType, f.SizeBytes)
	if errors.Is(err, blob.ErrNotFound) {
		err = fault.BareNotFound
	}
	return d, err
}

// readable reads a target whose brief the caller may read; anything else is the bare 404.
func readable(c *op.Call, target string) (wants.Want, error) {
	w, _, err := bids.LoadVisible(c, target)
	if errors.Is(err, wants.NotOpen) {
		err = fault.BareNotFound
	}
	return w, err
}

// WorldOut is a world file as it is.
type WorldOut struct{ file json.RawMessage }

// Raw implements op.Rawer.
func (o WorldOut) Raw() *op.Raw {
	return &op.Raw{ContentType: "application/json", Size: int64(len(o.file)), Body: io.Reader(bytes.NewReader(o.file))}
}

// World serves the world file of a practice target: JSON {counterparties: [{name, script}]}
// (bench.md 4.10).
var World = op.Declare(op.Meta{
	ID: "bench.target.world", Method: "GET", Path: "/api/bench/targets/{target_id}/world-file",
	Auth: op.Maker, Scope: "targets:read", Summary: "Read the world file of a practice target.", Contract: "bench.md 4.10",
}, world)

func world(c *op.Call, in BriefIn) (WorldOut, error) {
	w, err := readable(c, in.TargetID)
	if err != nil {
		return WorldOut{}, err
	}
	if !w.Practice || w.WorldFile == "" {
		return WorldOut{}, fault.BareNotFound
	}
	f, found, err := wants.LoadWorld(c, w.ID)
	if err == nil && !found {
		err = fault.BareNotFound
	}
	return WorldOut{f}, err
}
