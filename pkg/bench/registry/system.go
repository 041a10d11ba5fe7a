package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gowebpki/jcs"

	"guildhall/pkg/table"
)

// Autonomy levels.
const (
	FullyAutonomous = "fully_autonomous"
	HumanAssisted   = "human_assisted"
)

// BaseModel is a model underneath an agent, as it declares it.
type BaseModel struct {
	Provider string `json:"provider" doc:"Who serves or makes the model."`
	Model    string `json:"model" rule:"required" doc:"The model's name."`
	Version  string `json:"version" doc:"Its version."`
}

// System is a system version of an agent (rule 80). Bids and deals store a copy of it.
type System struct {
	Ordinal        int         `json:"ordinal"` // 1 at registration
	Label          string      `json:"label"`
	BaseModels     []BaseModel `json:"base_models"`
	Harness        string      `json:"harness"`
	HarnessVersion string      `json:"harness_version,omitempty"`
	Autonomy       string      `json:"autonomy"`
	Operator       string      `json:"operator"`
	RecordHash     string      `json:"record_hash"`
	Supersedes     string      `json:"supersedes,omitempty"` // label of the version before
	ChangeSummary  string      `json:"change_summary,omitempty"`
	At             time.Time   `json:"at"`
}

// hash is SHA-256 in hex over the canonical JSON (RFC 8785) of the record itself.
func (s System) hash() (string, error) {
	b, err := json.Marshal(map[string]any{"label": s.Label, "base_models": s.BaseModels, "harness": s.Harness,
		"harness_version": s.HarnessVersion, "autonomy": s.Autonomy, "operator": s.Operator})
	if err != nil {
		return "", err
	}
	if b, err = jcs.Transform(b); err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

func passport(agentID, sk string) table.Key {
	return table.Key{PK: "bench.PASSPORT#" + agentID, SK: sk}
}

func versionKey(agentID string, ordinal int) table.Key {
	return passport(agentID, fmt.Sprintf("VERSION#%04d", ordinal))
}
