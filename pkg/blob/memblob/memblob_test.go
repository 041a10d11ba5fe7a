package memblob

import (
	"strings"
	"testing"
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/blobtest"
)

func TestSuite(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blobtest.Subject {
		return blobtest.Local(t, func(clock func() time.Time, sign blob.Signer) blob.Store { return New(clock, sign) })
	})
}

func TestTheStoreIsFullAtItsLimit(t *testing.T) {
	s := New(func() time.Time { return time.Time{} }, blob.Signer{})
	s.total = maxTotalBytes - 3
	if _, err := s.Put(t.Context(), "a", strings.NewReader("abc"), blob.PutOptions{}); err != nil {
		t.Fatalf("Put up to the limit: %v", err)
	}
	if _, err := s.Put(t.Context(), "b", strings.NewReader("d"), blob.PutOptions{}); err == nil {
		t.Error("Put over the limit succeeded")
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "b", strings.NewReader("d"), blob.PutOptions{}); err != nil {
		t.Errorf("Put after a deletion: %v", err)
	}
}
