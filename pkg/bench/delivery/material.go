package delivery

import (
	"errors"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// MaterialIn names a released file of a deal.
type MaterialIn struct {
	deals.OfDeal
	FileID string `path:"file_id" doc:"Id of the file, from released_materials."`
}

// Rows implements op.Prefetcher.
func (in MaterialIn) Rows(string) []table.Key { return in.WithFiles() }

// Material hands a released file to the deal's agent (bench.md 13.8). Every reason not to is
// the bare 404: it never says whether a file is there.
var Material = op.Declare(op.Meta{
	ID: "bench.material.read", Method: "GET", Path: "/api/bench/deals/{deal_id}/materials/{file_id}", Auth: op.Maker, Scope: "deals:write",
	Touches: op.Blobs, Timeout: uploadTimeout, Summary: "Download a file the person handed over.",
	Notes:    "For this deal only: not kept after it, not used for another, not trained on. Served until 14 days after the deal ended, or until the person deletes it.",
	Contract: "bench.md 13.8, surface.md 7",
}, material)

func material(c *op.Call, in MaterialIn) (wants.Download, error) {
	d, err := deals.Mine(c, in.DealID)
	if err != nil {
		return wants.Download{}, err
	}
	files, err := deals.LoadFiles(c, d.ID)
	if err != nil {
		return wants.Download{}, err
	}
	l := files.Find(in.FileID)
	if l == nil {
		return wants.Download{}, fault.BareNotFound
	}
	if served, err := deals.Serves(c, d, l); err != nil || !served {
		return wants.Download{}, orNotFound(err)
	}
	return serve(c, l.Key, l.Name, l.ContentType, l.Bytes)
}

// serve hands a stored file out; one that is gone is the bare 404.
func serve(c *op.Call, key, name, contentType string, size int64) (wants.Download, error) {
	d, err := wants.Serve(c, key, name, contentType, size)
	if errors.Is(err, blob.ErrNotFound) {
		err = fault.BareNotFound
	}
	return d, err
}

func orNotFound(err error) error {
	if err == nil {
		return fault.BareNotFound
	}
	return err
}

// ArtifactIn names a file the agent delivered.
type ArtifactIn struct {
	deals.OfDeal
	ReceiptID string `path:"receipt_id" doc:"Receipt of the outcome."`
}

// Rows implements op.Prefetcher.
func (in ArtifactIn) Rows(string) []table.Key { return in.WithDocument(in.ReceiptID) }

// Artifact hands a file the agent delivered to the deal's person, who owns it: for good, not
// only while the deal runs (bench.md 13.6).
var Artifact = op.Declare(op.Meta{
	ID: "person.artifact.read", Method: "GET", Path: "/api/person/deals/{deal_id}/artifacts/{receipt_id}", Auth: op.Person,
	Touches: op.Blobs, Timeout: uploadTimeout, Summary: "Download a file your agent delivered.", Contract: "surface.md 3, 7, bench.md 13.6",
}, artifact)

func artifact(c *op.Call, in ArtifactIn) (wants.Download, error) {
	d, err := deals.Seen(c, in.DealID)
	if err != nil {
		return wants.Download{}, err
	}
	kept, found, err := op.Load[deals.Kept](c, deals.DocKey(d.ID, in.ReceiptID))
	if err != nil || !found || kept.File == nil {
		return wants.Download{}, orNotFound(err)
	}
	f := kept.File
	return serve(c, f.Key, f.Filename, f.ContentType, f.Bytes)
}
