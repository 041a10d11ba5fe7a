package wants

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"guildhall/pkg/blob"
	"guildhall/pkg/clock"
	"guildhall/pkg/fault"
	"guildhall/pkg/id"
	"guildhall/pkg/limit"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
	"guildhall/pkg/text/filekind"
)

// Limits of an upload call, beside those of its rule.
const (
	// MultipartOverhead is what a direct upload may add to its file: delimiters and fields.
	MultipartOverhead = 64 << 10 // bytes
	maxUploadJSON     = 16 << 10 // bytes of a staged upload's body
	maxUploadParts    = 12       // parts of a multipart body
	maxFieldBytes     = 4 << 10  // bytes of a field beside the file
	maxFilename       = 255      // characters of a file's own name
	headBytes         = 256 << 10
)

// Refusals of an upload (surface.md 7, bench.md 22.3).
var (
	UploadForm     = fault.New(fault.Invalid, "file_required", "Send exactly one part named file as multipart/form-data, or announce the file as JSON.")
	TypeNotAllowed = fault.New(fault.Invalid, "type_not_allowed", "Files of this type are not taken here. What a file is counts, not its name.").At("file")
	FileTooLarge   = fault.New(fault.TooLarge, "file_too_large", "This file is larger than the call takes.").At("file")
	FileEmpty      = fault.New(fault.Invalid, "file_empty", "This file is empty.").At("file")
	UploadUnknown  = fault.New(fault.NotFound, "upload_unknown", "There is no such upload of yours here, or its time is over. Announce the file again.").At("upload_id")
	UploadMissing  = fault.New(fault.Conflict, "upload_missing", "The bytes have not arrived. PUT them to the upload address, then send the upload_id again.").At("upload_id")
	UploadMismatch = fault.New(fault.Invalid, "upload_mismatch", "The bytes that arrived are not those you announced.").At("upload_id")
	uploadMedia    = fault.BadMediaType.Say("Send multipart/form-data with one part named file, or JSON.")
)

// UploadFaults are the refusals an operation that takes uploads declares.
var UploadFaults = []string{UploadForm.Code, TypeNotAllowed.Code, FileTooLarge.Code, FileEmpty.Code, UploadUnknown.Code, UploadMissing.Code,
	UploadMismatch.Code}

// UploadRule says what an operation takes.
type UploadRule struct {
	MaxBytes int64
	// Kind tells a file's type by its first bytes; ok is false for types that are not taken.
	// nil takes everything as octets.
	Kind func(head []byte) (k FileKind, ok bool)
	// Handed is set where a file goes from one side of a deal to the other: its type is told
	// by all of its bytes, and programs, scripts and archives that hold them are refused
	// (package filekind). Kind is not asked then.
	Handed bool
	// Prefix begins the keys the files are stored under: "attachments/<target id>".
	Prefix string
	// Target is the want in whose budget the file counts; "" for bytes that are not kept.
	Target string
	// Fields are the other fields the call takes.
	Fields []string
}

// FileKind is a type of file and the ending of its stored name.
type FileKind struct {
	ContentType string
	Ending      string // with the dot; "" for none
}

// File is a received file. It lies in the blob store under Key.
type File struct {
	ID          string // uuid
	Key         string // Prefix and ID
	Name        string // as the client called it, its own
	Stored      string // uuid and ending
	ContentType string
	blob.Digest
	Fields map[string]string
}

// Ticket is the answer to an announcement.
type Ticket struct {
	UploadURL string    `json:"upload_url"`
	UploadID  string    `json:"upload_id"`
	ExpiresAt time.Time `json:"expires_at"`
}

// announced is a staged upload on its way.
type announced struct {
	By          string      `json:"by"` // caller
	Prefix      string      `json:"prefix"`
	Name        string      `json:"name"`
	ContentType string      `json:"content_type"`
	Digest      blob.Digest `json:"digest"`
	Expires     time.Time   `json:"expires"`
	Timer       clock.Timer `json:"timer,omitzero"`
}

// claimBy is until when the bytes can be claimed.
func (a announced) claimBy() time.Time { return a.Expires.Add(blob.UnclaimedAge - blob.UploadLife) }

func uploadKey(id string) table.Key { return table.Key{PK: "bench.UPLOAD#" + id, SK: "ROOT"} }

// TakeUpload receives the body of an upload call in either of its forms: the file itself,
// or JSON that announces one (a ticket comes back) or claims one that has arrived. The
// operation declares op.Blobs, a stream and MaxBody of MaxBytes+MultipartOverhead. The
// bytes are read once, however often the operation decides, and removed again when nothing
// of them is committed. A file that comes back is counted in the budget of r.Target.
func TakeUpload(c *op.Call, body io.Reader, contentType string, r UploadRule) (*File, *Ticket, error) {
	media, params, err := mime.ParseMediaType(contentType)
	switch {
	case err == nil && media == "multipart/form-data" && params["boundary"] != "":
		got, err := c.Once("upload", func() (any, error) { return receive(c, multipart.NewReader(body, params["boundary"]), r) })
		if err != nil {
			return nil, nil, err
		}
		f := *got.(*File)
		return &f, nil, r.spend(c, f.Size)
	case err == nil && media == "application/json":
		got, err := c.Once("upload", func() (any, error) { return io.ReadAll(io.LimitReader(body, maxUploadJSON+1)) })
		if err != nil {
			return nil, nil, uploadFault(err)
		}
		return staged(c, got.([]byte), r)
	}
	return nil, nil, uploadMedia
}

// spend counts a file in the budget the rule names.
func (r UploadRule) spend(c *op.Call, bytes int64) error {
	if r.Target == "" {
		return nil
	}
	return Spend(c, r.Target, bytes)
}

// uploadFault keeps what the transport refuses and words what the blob store does.
func uploadFault(err error) error {
	switch {
	case errors.Is(err, blob.ErrTooLarge):
		return FileTooLarge
	case errors.Is(err, blob.ErrUnavailable):
		return fault.Unavailable
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, multipart.ErrMessageTooLarge):
		return UploadForm
	}
	return err
}

// receive reads a multipart body with exactly one file in it into the blob store.
func receive(c *op.Call, parts *multipart.Reader, r UploadRule) (f *File, err error) {
	fields := map[string]string{}
	for n := 0; ; n++ {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, partFault(err)
		}
		switch {
		case n == maxUploadParts, p.FormName() == "file" && f != nil:
			return nil, UploadForm
		case p.FormName() == "file":
			if f, err = store(c, p, p.FileName(), r); err != nil {
				return nil, err
			}
		case slices.Contains(r.Fields, p.FormName()):
			b, err := io.ReadAll(io.LimitReader(p, maxFieldBytes+1))
			if err != nil || len(b) > maxFieldBytes {
				return nil, fault.InvalidField.At(p.FormName()).Say(p.FormName() + " is too long.")
			}
			fields[p.FormName()] = string(b)
		}
	}
	if f == nil {
		return nil, UploadForm
	}
	f.Fields = fields
	return f, nil
}

// partFault tells a broken form from a broken connection.
func partFault(err error) error {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f
	}
	return UploadForm
}

// store puts a file that arrives in the blob store, its type told by its first bytes.
func store(c *op.Call, body io.Reader, name string, r UploadRule) (*File, error) {
	head := make([]byte, headBytes)
	n, err := io.ReadFull(body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, partFault(err)
	}
	head = head[:n]
	if n == 0 {
		return nil, FileEmpty
	}
	kind, err := r.kind(name, head)
	if err != nil {
		return nil, err
	}
	f := r.file(c.NewID(), name, kind)
	discard(c, f.Key)
	info, err := blob.From(c).Put(c, f.Key, io.MultiReader(bytes.NewReader(head), body),
		blob.PutOptions{ContentType: kind.ContentType, IfAbsent: true, MaxBytes: r.MaxBytes})
	if err != nil {
		return nil, uploadFault(err)
	}
	f.Digest = info.Digest
	if !r.Handed {
		return f, r.clean(c, f)
	}
	kind, err = lookInto(c, f.Key, f.Name, f.Size)
	f.ContentType, f.Stored = kind.ContentType, f.ID+kind.Ending
	return f, err
}

// clean looks at the rest of a file whose first bytes are of a type that is taken: macros far
// behind in a document, or an archive behind a picture.
func (r UploadRule) clean(c *op.Call, f *File) error {
	if r.Kind == nil {
		return nil
	}
	_, err := lookInto(c, f.Key, f.Stored, f.Size)
	return err
}

// kind tells a file's type by its first bytes, or refuses it.
func (r UploadRule) kind(name string, head []byte) (FileKind, error) {
	switch {
	case r.Handed:
		v := filekind.Head(name, head[:min(len(head), filekind.HeadBytes)])
		return FileKind{v.ContentType, v.Ending}, refused(v)
	case r.Kind == nil:
		return FileKind{ContentType: blob.DefaultType}, nil
	}
	k, ok := r.Kind(head)
	if !ok {
		return k, TypeNotAllowed
	}
	return k, nil
}

func (r UploadRule) file(id, name string, k FileKind) *File {
	return &File{ID: id, Key: r.Prefix + "/" + id, Name: ownName(name), Stored: id + k.Ending, ContentType: k.ContentType}
}

// ownName is a file's own name without the folders before it and without what cannot be
// shown; "file" when nothing is left.
func ownName(name string) string {
	name = strings.TrimSpace(text.Printable(text.Normalize(name[strings.LastIndexAny(name, `/\`)+1:])))
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Bidi_Control, r): // "photo", then "gpj.exe" read backwards
			return -1
		}
		return r
	}, name)
	name = text.ShortName(name, maxFilename)
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}

// stagedIn is the JSON of a staged upload: an announcement, or a claim.
type stagedIn struct {
	UploadID    *string `json:"upload_id" rule:"max=64"`
	Filename    *string `json:"filename" rule:"min=1,max=255"`
	ContentType *string `json:"content_type" rule:"min=1,max=127"`
	SizeBytes   *int64  `json:"size_bytes" rule:"min=1"`
	SHA256      *string `json:"sha256" rule:"pattern=^[0-9a-f]{64}$"`
}

func staged(c *op.Call, body []byte, r UploadRule) (*File, *Ticket, error) {
	in, fields, err := readStaged(body, r)
	if err != nil {
		return nil, nil, err
	}
	if in.UploadID != nil {
		f, err := claim(c, *in.UploadID, r)
		if f != nil {
			f.Fields = fields
		}
		return f, nil, err
	}
	t, err := announce(c, in, r)
	return nil, t, err
}

var stagedSchema = op.SchemaOf(reflect.TypeFor[stagedIn]())

// readStaged checks the JSON like any body.
func readStaged(body []byte, r UploadRule) (in stagedIn, fields map[string]string, err error) {
	if len(body) > maxUploadJSON {
		return in, nil, fault.BodyTooLarge.With("limit_bytes", maxUploadJSON)
	}
	tree, err := op.ParseStrict(body)
	members, ok := tree.(map[string]any)
	if err != nil || !ok {
		return in, nil, fault.BadJSON
	}
	fields = map[string]string{}
	for _, name := range r.Fields {
		s, ok := members[name].(string)
		if v, sent := members[name]; sent && v != nil && (!ok || len(s) > maxFieldBytes) {
			return in, nil, fault.InvalidField.At(name).Say(name + " must be a short text.")
		}
		if ok {
			fields[name] = s
		}
		delete(members, name)
	}
	if p := stagedSchema.Unknown(tree, ""); p != nil {
		return in, nil, p.Fault()
	}
	if p := stagedSchema.Check(tree, ""); p != nil {
		return in, nil, p.Fault()
	}
	b, err := json.Marshal(members)
	if err != nil {
		return in, nil, err
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return in, nil, fault.BadJSON
	}
	if in.UploadID != nil {
		return in, fields, nil
	}
	for _, m := range []struct {
		name string
		ok   bool
	}{{"filename", in.Filename != nil}, {"content_type", in.ContentType != nil}, {"size_bytes", in.SizeBytes != nil}, {"sha256", in.SHA256 != nil}} {
		if !m.ok {
			return in, nil, op.Problem{Field: m.name, Keyword: "missing", Name: m.name}.Fault()
		}
	}
	return in, fields, nil
}

// announceRule bounds what may lie unclaimed at one door of one want or deal: the room is
// spent by claims only, and bytes nobody claims stay for a day.
var announceRule = limit.Rule{Name: "bench.upload.announce", N: 60, Per: time.Hour, Exact: true}

// Announcing counts an announcement of the caller at a door.
func Announcing(c *op.Call, door string) error {
	return c.Charge(announceRule, c.Caller.Key()+"/"+door)
}

// announce makes the address the client puts the bytes to.
func announce(c *op.Call, in stagedIn, r UploadRule) (*Ticket, error) {
	if *in.SizeBytes > r.MaxBytes {
		return nil, FileTooLarge
	}
	if r.Target != "" {
		if _, err := room(c, r.Target, *in.SizeBytes); err != nil {
			return nil, err
		}
	}
	if blob.ValidType(*in.ContentType) != nil {
		return nil, TypeNotAllowed
	}
	a := announced{By: c.Caller.Key(), Prefix: r.Prefix, Name: *in.Filename, ContentType: *in.ContentType,
		Digest: blob.Digest{Size: *in.SizeBytes, SHA256: *in.SHA256}, Expires: c.Now.Add(blob.UploadLife)}
	if err := Announcing(c, r.Prefix); err != nil {
		return nil, err
	}
	u := blob.Upload{ID: c.NewID(), Digest: a.Digest, ContentType: a.ContentType, Expires: a.Expires}
	url, err := blob.From(c).SignPut(c, u)
	if err != nil {
		return nil, uploadFault(err)
	}
	a.Timer = c.Arm(timerUpload, u.ID, a.claimBy())
	c.CreateUntil(uploadKey(u.ID), a, a.claimBy().Add(keepLapsed))
	return &Ticket{url, u.ID, a.Expires}, nil
}

// claim makes arrived bytes a file: size and hash are checked by the store, the type here.
func claim(c *op.Call, upload string, r UploadRule) (*File, error) {
	if !id.Valid(upload) {
		return nil, UploadUnknown
	}
	keys := []table.Key{uploadKey(upload)}
	if r.Target != "" {
		keys = append(keys, BudgetKey(r.Target))
	}
	if err := c.Fetch(keys...); err != nil {
		return nil, err
	}
	a, found, err := op.Load[announced](c, uploadKey(upload))
	if err != nil {
		return nil, err
	}
	if !found || a.By != c.Caller.Key() || a.Prefix != r.Prefix || !c.Now.Before(a.claimBy()) {
		return nil, UploadUnknown
	}
	if err := r.spend(c, a.Digest.Size); err != nil { // before the bytes are made a file
		return nil, err
	}
	key := r.Prefix + "/" + upload // the upload's id: a claim made again finds the same file
	switch _, err := blob.From(c).Claim(c, upload, key, a.Digest); {
	case errors.Is(err, blob.ErrNotFound):
		return nil, UploadMissing
	case errors.Is(err, blob.ErrMismatch), errors.Is(err, blob.ErrExists):
		return nil, UploadMismatch
	case err != nil:
		return nil, uploadFault(err)
	}
	kind, err := r.stored(c, key, a)
	if err != nil {
		return nil, err
	}
	f := r.file(upload, a.Name, kind)
	f.Digest = a.Digest
	c.Delete(uploadKey(upload))
	c.Disarm(a.Timer)
	return f, nil
}

// stored tells the type of bytes that were claimed; those that are not taken are removed.
func (r UploadRule) stored(c *op.Call, key string, a announced) (FileKind, error) {
	kind, err := r.told(c, key, a)
	var f *fault.Fault
	if errors.As(err, &f) && f.Code == TypeNotAllowed.Code { // whoever claims these bytes is refused alike
		err = errors.Join(err, blob.From(c).Delete(c, key))
	}
	return kind, err
}

func (r UploadRule) told(c *op.Call, key string, a announced) (FileKind, error) {
	if r.Handed {
		return lookInto(c, key, a.Name, a.Digest.Size)
	}
	o, err := blob.From(c).Get(c, key, blob.Range{Length: headBytes})
	if err != nil {
		return FileKind{}, uploadFault(err)
	}
	defer o.Body.Close()
	head, err := io.ReadAll(io.LimitReader(o.Body, headBytes))
	if err != nil {
		return FileKind{}, uploadFault(err)
	}
	kind, err := r.kind(a.Name, head)
	if err != nil {
		return kind, err
	}
	return kind, r.clean(c, &File{Key: key, Stored: "file" + kind.Ending, Digest: a.Digest})
}
