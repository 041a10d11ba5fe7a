package emulators

import (
	"context"
	"testing"

	"github.com/sivchari/kumo"

	"guildhall/pkg/table"
	"guildhall/pkg/table/ddb"
	"guildhall/pkg/table/tabletest"
)

func TestTableOnKumo(t *testing.T) {
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	s, err := ddb.New(ddb.Options{
		Table: "guildhall", Region: "us-east-1", Endpoint: server.URL, AccessKey: "test", SecretKey: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateTable(context.Background()); err != nil {
		t.Fatal(err)
	}
	tabletest.Run(t, func(*testing.T) table.Store { return s })
}
