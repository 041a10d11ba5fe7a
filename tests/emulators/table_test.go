package emulators

import (
	"context"
	"errors"
	"testing"

	"github.com/sivchari/kumo"

	"guildhall/pkg/table"
	"guildhall/pkg/table/ddb"
	"guildhall/pkg/table/tabletest"
)

// kumoVersion is what go.mod names, for the report.
const kumoVersion = "kumo v0.33.1 (in process)"

// kumoDiffers are the cases of the table's suite that kumo answers otherwise than AWS.
var kumoDiffers = map[string]string{
	"list: goes on behind a row deleted meanwhile": "a Scan whose start key names no item begins at the first",
}

func openTable(t *testing.T, endpoint string) *ddb.Store {
	t.Helper()
	s, err := ddb.New(ddb.Options{
		Table: "guildhall", Region: "us-east-1", Endpoint: endpoint, AccessKey: "test", SecretKey: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateTable(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTableOnKumo(t *testing.T) {
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	s := openTable(t, server.URL)
	var leftOut []string
	for _, c := range tabletest.Cases() {
		if _, differs := kumoDiffers[c.Name]; differs {
			leftOut = append(leftOut, c.Name)
			continue
		}
		t.Run(c.Name, func(t *testing.T) { c.Run(t, s) })
	}
	if len(leftOut) != len(kumoDiffers) {
		t.Errorf("left out %q: the suite has lost a case that kumoDiffers names", leftOut)
	}
	met("table/ddb", kumoVersion, leftOut...)
}

func TestMakingTheTableTwiceIsFine(t *testing.T) {
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	s := openTable(t, server.URL)
	if err := s.CreateTable(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.Ping(context.Background()); err != nil {
		t.Error(err)
	}
}

// A table that is not there is a mistake of ours, not an outage.
func TestAMissingTableIsNamed(t *testing.T) {
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	s, err := ddb.New(ddb.Options{Table: "nowhere", Region: "us-east-1", Endpoint: server.URL, AccessKey: "a", SecretKey: "b"})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Ping(context.Background())
	if err == nil || errors.Is(err, table.ErrUnavailable) || errors.Is(err, table.ErrInvalid) {
		t.Errorf("ping answered %v", err)
	}
}
