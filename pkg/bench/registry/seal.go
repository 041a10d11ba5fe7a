package registry

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"encoding/json"
	"errors"

	"guildhall/pkg/id"
	"guildhall/pkg/op"
	"guildhall/pkg/table"
)

// Party is the responsible party of an agent. It is private and encrypted at rest.
type Party struct {
	LegalName    string `json:"legal_name"`
	Jurisdiction string `json:"jurisdiction"`
	Email        string `json:"email"`
}

// sealed is the stored form of a Party: AES-256-GCM under a key derived from the
// exchange's secret, bound to the agent's id.
type sealed struct {
	Nonce []byte `json:"nonce"`
	Text  []byte `json:"text"`
}

// ErrSealed: the row was sealed under keys this exchange does not have.
var ErrSealed = errors.New("registry: a sealed row cannot be opened with the keys of this exchange")

// PartyKey is the row of an agent's responsible party.
func PartyKey(agentID string) table.Key { return child(agentID, "PARTY") }

func boxes(k id.Keyring) ([]cipher.AEAD, error) {
	var out []cipher.AEAD
	for _, secret := range append([][]byte{k.Current}, k.Previous...) {
		key, err := hex.DecodeString(id.Keyring{Current: secret}.MAC("seal", "responsible party"))
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		box, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		out = append(out, box)
	}
	return out, nil
}

// seal stages a responsible party.
func (p Party) seal(c *op.Call, agentID string) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	box, err := boxes(c.Keys)
	if err != nil {
		return err
	}
	s := sealed{Nonce: c.Random(box[0].NonceSize())}
	s.Text = box[0].Seal(nil, s.Nonce, b, []byte(agentID))
	c.Put(PartyKey(agentID), s)
	return nil
}

// LoadParty reads and opens an agent's responsible party, for mails and payout onboarding.
func LoadParty(c *op.Call, agentID string) (Party, error) {
	var p Party
	s, found, err := op.Load[sealed](c, PartyKey(agentID))
	if err != nil {
		return p, err
	}
	if !found {
		return p, ErrSealed
	}
	all, err := boxes(c.Keys)
	if err != nil {
		return p, err
	}
	for _, box := range all {
		if len(s.Nonce) != box.NonceSize() {
			continue
		}
		if b, err := box.Open(nil, s.Nonce, s.Text, []byte(agentID)); err == nil {
			return p, json.Unmarshal(b, &p)
		}
	}
	return p, ErrSealed
}
