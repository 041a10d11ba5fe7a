package blobtest

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"guildhall/pkg/blob"
)

// Local makes the Subject of a store whose upload addresses are served by the program
// itself: open gets a simulated clock and a signer, PutTo follows the address to Accept.
func Local(t *testing.T, open func(clock func() time.Time, sign blob.Signer) blob.Store) Subject {
	t.Helper()
	var millis atomic.Int64
	millis.Store(time.Date(2026, 3, 8, 10, 0, 0, 0, time.UTC).UnixMilli())
	now := func() time.Time { return time.UnixMilli(millis.Load()).UTC() }
	sign := blob.Signer{BaseURL: "http://localhost:8080", Keys: [][]byte{bytes.Repeat([]byte{7}, 32)}}
	s := open(now, sign)
	return Subject{
		Store: s, Now: now, Advance: func(d time.Duration) { millis.Add(d.Milliseconds()) }, ChecksUploads: true,
		PutTo: func(ctx context.Context, address string, body []byte) error {
			u, err := url.Parse(address)
			if err != nil {
				return err
			}
			id, ok := strings.CutPrefix(u.Path, "/uploads/")
			if !ok || u.Host != "localhost:8080" {
				return fmt.Errorf("address %s", address)
			}
			_, err = blob.Accept(ctx, s, sign, id, u.Query().Get("token"), now(), bytes.NewReader(body))
			return err
		},
	}
}
