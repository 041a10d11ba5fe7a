package plan

import (
	"fmt"
	"os"
	"path/filepath"
)

// Built tells whether every function of a plan has been built into dist.
func Built(dist string, all []Function) error {
	for _, f := range all {
		p := filepath.Join(dist, filepath.FromSlash(f.Folder)+".zip")
		if _, err := os.Stat(p); err != nil {
			return fmt.Errorf("functions/%s is not built: run make functions (%w)", f.Folder, err)
		}
	}
	return nil
}
