package delivery

import (
	"errors"
	"time"
	"unicode"

	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
	"guildhall/pkg/blob"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// streamed is a stream that was announced: its bytes are put to an upload address, hashed
// when they are claimed, and deleted.
type streamed struct {
	AgentID  string      `json:"agent_id"`
	DealID   string      `json:"deal_id"`
	Filename string      `json:"filename"`
	Type     string      `json:"content_type"`
	Digest   blob.Digest `json:"digest"`
	Expires  time.Time   `json:"expires"`
}

func streamKey(upload string) table.Key {
	return table.Key{PK: "bench.STREAM#" + upload, SK: "ROOT"}
}

// announce answers with an address for the bytes (surface.md 7).
func (f *filing) announce() (FileOut, error) {
	in, c := &f.in, f.c
	for _, m := range []struct {
		name string
		sent bool
	}{{"filename", in.Filename != nil}, {"content_type", in.FileType != nil}, {"size_bytes", in.SizeBytes != nil}, {"sha256", in.SHA256 != nil}} {
		if !m.sent {
			return FileOut{}, op.Problem{Field: m.name, Keyword: "missing", Name: m.name}.Fault()
		}
	}
	switch {
	case *in.SizeBytes > MaxStreamBytes:
		return FileOut{}, StreamTooLarge
	case blob.ValidType(*in.FileType) != nil:
		return FileOut{}, wants.TypeNotAllowed.At("content_type")
	}
	if err := wants.Announcing(c, "stream:"+f.d.ID); err != nil {
		return FileOut{}, err
	}
	a := streamed{AgentID: c.Caller.ID, DealID: f.d.ID, Filename: *in.Filename, Type: *in.FileType,
		Digest: blob.Digest{Size: *in.SizeBytes, SHA256: *in.SHA256}, Expires: c.Now.Add(blob.UnclaimedAge)}
	u := blob.Upload{ID: c.NewID(), Digest: a.Digest, ContentType: a.Type, Expires: c.Now.Add(blob.UploadLife)}
	url, err := blob.From(c).SignPut(c, u)
	if err != nil {
		return FileOut{}, storeFault(err)
	}
	c.CreateUntil(streamKey(u.ID), a, a.Expires)
	return FileOut{ticket: ticket{url, u.ID, record.At(u.Expires)}}, nil
}

// stream hashes the bytes, in passing or where they were put; nothing of them is kept.
func (f *filing) stream() error {
	var sum blob.Digest
	switch f.form {
	case formStream:
		got, err := f.c.Once("stream", func() (any, error) { return blob.Sum(f.c, f.in.Stream, MaxStreamBytes) })
		if err != nil {
			return storeFault(err)
		}
		sum, f.o.ContentType = got.(blob.Digest), saidType(f.in.ContentType)
	case formClaim:
		a, err := f.claim()
		if err != nil {
			return err
		}
		sum, f.o.ContentType, f.o.Filename = a.Digest, a.Type, plainName(a.Filename)
	default:
		return nil
	}
	if sum.Size == 0 {
		return StreamEmpty
	}
	f.o.Kind, f.o.SHA256, f.o.Bytes = deals.KindStream, sum.SHA256, sum.Size
	return nil
}

// claim hashes announced bytes that have arrived. They are deleted once that is recorded.
func (f *filing) claim() (a streamed, err error) {
	upload, c := *f.in.UploadID, f.c
	if !id.Valid(upload) {
		return a, wants.UploadUnknown
	}
	a, found, err := op.Load[streamed](c, streamKey(upload))
	if err != nil {
		return a, err
	}
	if !found || a.AgentID != c.Caller.ID || a.DealID != f.d.ID || !c.Now.Before(a.Expires) {
		return a, wants.UploadUnknown
	}
	got, err := c.Once("claim", func() (any, error) { return blob.SumOf(c, blob.From(c), blob.UploadKey(upload)) })
	switch {
	case errors.Is(err, blob.ErrNotFound):
		return a, wants.UploadMissing
	case err != nil:
		return a, storeFault(err)
	case got.(blob.Digest) != a.Digest:
		return a, wants.UploadMismatch
	}
	c.Delete(streamKey(upload))
	wants.Remove(c, upload, blob.UploadKey(upload))
	return a, nil
}

// storeFault keeps what the transport refuses and words what the blob store does.
func storeFault(err error) error {
	switch {
	case errors.Is(err, blob.ErrTooLarge), errors.Is(err, fault.BodyTooLarge):
		return StreamTooLarge
	case errors.Is(err, blob.ErrUnavailable):
		return fault.Unavailable
	}
	return err
}

// saidType is a declared type that can be shown, "" for one that cannot.
func saidType(s string) string {
	if blob.ValidType(s) != nil {
		return ""
	}
	return s
}

// maxShownName is how many characters of a file's own name are shown.
const maxShownName = 80

// plainName is a file's own name as it can be shown: no folders, no control characters, no
// characters that print nothing or turn others around.
func plainName(s string) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '/' || s[i] == '\\' {
			s = s[i+1:]
			break
		}
	}
	out := make([]rune, 0, len(s))
	for _, r := range text.Normalize(s) {
		if unicode.IsPrint(r) {
			out = append(out, r)
		}
	}
	return text.ShortName(string(out), maxShownName)
}
