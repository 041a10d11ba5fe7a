package files

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"guildhall/pkg/bench/rulebook"
	"guildhall/pkg/spec"
)

// The kit is everything an agent holds on to in one file: the manual, the rules, the Path,
// the schemas, and the hash of each. The same texts make the same bytes.

const kitName = "agent-kit-v1.zip"

// kitFiles are the files of the kit, each byte for byte the one served.
var kitFiles = []string{
	"agent-skill.md", "agent-quickstart.md", "agent-bid-pack.md", "the-rules.html", "rules.json", "target-path-spec.md",
	"agent-proposal.schema.json", "agent-api.openapi.json",
}

// kitTime stands on every entry of the kit: a file's date would make other bytes each time.
var kitTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// KitManifest is manifest.json of the kit.
type KitManifest struct {
	Contract string    `json:"contract_version"`
	Rules    string    `json:"rules_version_hash"`
	Files    []KitFile `json:"files"`
}

// KitFile is a file of the kit.
type KitFile struct {
	Name   string `json:"name"`
	Size   int    `json:"size_bytes"`
	SHA256 string `json:"sha256"`
}

var kit = sync.OnceValues(makeKit)

func makeKit() ([]byte, error) {
	m := KitManifest{Contract: spec.ContractVersion, Rules: rulebook.Hash()}
	var b bytes.Buffer
	var sums strings.Builder
	z := zip.NewWriter(&b)
	for _, name := range kitFiles {
		body, _, ok := single(name)
		if !ok {
			return nil, fmt.Errorf("files: the kit lacks %s", name)
		}
		sum := sha256.Sum256(body)
		m.Files = append(m.Files, KitFile{name, len(body), hex.EncodeToString(sum[:])})
		fmt.Fprintf(&sums, "%x  %s\n", sum, name)
		if err := pack(z, name, body); err != nil {
			return nil, err
		}
	}
	manifest, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, err
	}
	if err := pack(z, "manifest.json", append(manifest, '\n')); err != nil {
		return nil, err
	}
	if err := pack(z, "SHA256SUMS", []byte(sums.String())); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

func pack(z *zip.Writer, name string, body []byte) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: kitTime})
	if err == nil {
		_, err = io.Copy(w, bytes.NewReader(body))
	}
	return err
}
