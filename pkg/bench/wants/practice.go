package wants

import (
	"encoding/json"
	"fmt"
	"reflect"

	"guildhall/pkg/account"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
	"guildhall/pkg/text"
)

// WorldFile scripts the counterparties of a practice target (bench.md 4.10, rule 115).
type WorldFile struct {
	Counterparties []Counterparty `json:"counterparties" rule:"required,max=50"`
}

// Counterparty is somebody the agent of a practice deal has to do with.
type Counterparty struct {
	Name   string `json:"name" rule:"required,min=1,max=120"`
	Script string `json:"script" rule:"required,min=1,max=8000"`
}

// maxWorldBytes bounds a world file, as JSON: it is one row.
const maxWorldBytes = 300 << 10

// WorldKey is the row of a world file.
func WorldKey(id string) table.Key { return table.Key{PK: Partition(id), SK: "WORLD"} }

// LoadWorld reads the world file of a practice target as JSON.
func LoadWorld(c *op.Call, id string) (json.RawMessage, bool, error) {
	return op.Load[json.RawMessage](c, WorldKey(id))
}

// PracticeIn is the body of a posting with a world file beside it (surface.md 1). The
// person who plays the poster signs in with PersonEmail.
type PracticeIn struct {
	PostIn
	WorldFile   *WorldFile `json:"world_file"`
	PersonEmail string     `json:"person_email" rule:"max=254"`
}

// PracticePoster owns the practice targets whose file names no person.
const PracticePoster = "practice@guildhall.invalid"

var practiceSchema = op.SchemaOf(reflect.TypeFor[PracticeIn]())

// ReadPractice reads the file of a practice target: JSON with the fields of a posting,
// world_file and, if somebody is to play the poster, person_email.
func ReadPractice(file []byte) (in PracticeIn, err error) {
	tree, err := op.ParseStrict(file)
	if err != nil {
		return in, fault.BadJSON
	}
	if p := practiceSchema.Unknown(tree, ""); p != nil {
		return in, p.Fault()
	}
	if p := practiceSchema.Check(tree, ""); p != nil {
		return in, p.Fault()
	}
	if err := json.Unmarshal(file, &in); err != nil {
		return in, fault.BadJSON
	}
	if err := in.Validate(); err != nil {
		return in, err
	}
	if in.PersonEmail != "" && !account.ValidEmail(account.NormalEmail(in.PersonEmail)) {
		return in, fault.InvalidField.At("person_email").Say("person_email is no address.")
	}
	return in, in.WorldFile.check()
}

func (f *WorldFile) check() error {
	if f == nil {
		return nil
	}
	for i, p := range f.Counterparties {
		if text.HasControl(text.Normalize(p.Name)) || text.HasControl(text.Normalize(p.Script)) {
			return notPlain(fmt.Sprintf("world_file.counterparties[%d]", i))
		}
	}
	if b, err := json.Marshal(f); err != nil || len(b) > maxWorldBytes {
		return fault.InvalidField.At("world_file").Say("A world file has at most 300 KB.")
	}
	return nil
}

// CreatePractice stages a practice target: a dry run that scores nothing, pays nothing and
// is in no public data (bench.md 4.10, rule 99).
func CreatePractice(c *op.Call, in PracticeIn) (Want, error) {
	email := in.PersonEmail
	if email == "" {
		email = PracticePoster
	}
	p, err := account.EnsurePerson(c, email)
	if err != nil {
		return Want{}, err
	}
	w := newWant(c, p, in.PostIn)
	w.Practice = true
	if w.Frozen, err = estimate(c, w.Finish.Tile, w.Lane.Kind); err != nil {
		return Want{}, err
	}
	if in.WorldFile != nil {
		if w.WorldFile, err = digest(in.WorldFile); err != nil {
			return Want{}, err
		}
		c.Create(WorldKey(w.ID), in.WorldFile)
	}
	return w, w.Save(c)
}
