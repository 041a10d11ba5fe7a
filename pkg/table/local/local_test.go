package local_test

import (
	"context"
	"testing"

	"guildhall/pkg/table"
	"guildhall/pkg/table/local"
	"guildhall/pkg/table/tabletest"
)

var ctx = context.Background()

func open(t testing.TB, dir string) *local.Store {
	t.Helper()
	s, err := local.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSuite(t *testing.T) {
	tabletest.Run(t, func(t *testing.T) table.Store { return open(t, t.TempDir()) })
}
