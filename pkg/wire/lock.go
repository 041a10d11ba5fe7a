package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile is held by the one server of a data directory; the system lets go of it when the
// process ends, however it ends.
const lockFile = "serving.lock"

// lock makes this process the only server of its directory. Its clock, its mail box and its
// simulated payments are kept by one process; commands beside it touch only the table.
func (x *Exchange) lock(context.Context) error {
	if x.Dir == "" || !x.Exclusive {
		return nil
	}
	if err := os.MkdirAll(x.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(x.Dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another server is using %s (%w): stop it, or serve another directory with --data", x.Dir, errors.Join(err, f.Close()))
	}
	x.close = append(x.close, f.Close)
	return nil
}
