package ddb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"guildhall/pkg/table"
)

// schema is the table's key, as guregu/dynamo wants to be told.
type schema struct {
	PK string `dynamo:"PK,hash"`
	SK string `dynamo:"SK,range"`
}

// How long CreateTable waits for a new table: a minute in all.
const (
	tablePolls = 60
	tablePause = time.Second
)

// CreateTable makes the table, billed per request, and waits until it is ready; a table that
// is there already is fine. It is for emulators and development: on AWS the infrastructure
// makes the table. An emulator without time-to-live keeps expired rows, which is allowed.
func (s *Store) CreateTable(ctx context.Context) error {
	err := s.db.CreateTable(s.table.Name(), schema{}).OnDemand(true).Run(ctx)
	var there *types.ResourceInUseException
	if err != nil && !errors.As(err, &there) {
		return fmt.Errorf("ddb: create table %q: %w", s.table.Name(), translate(ctx, err))
	}
	if err := s.waitForTable(ctx); err != nil {
		return fmt.Errorf("ddb: wait for table %q: %w", s.table.Name(), translate(ctx, err))
	}
	var answer *smithyhttp.ResponseError
	if err := s.table.UpdateTTL(attrExpires, true).Run(ctx); err != nil && !errors.As(err, &answer) {
		return fmt.Errorf("ddb: time-to-live of table %q: %w", s.table.Name(), translate(ctx, err))
	}
	return nil
}

// waitForTable asks until the table is ready. Some emulators name no status at all.
func (s *Store) waitForTable(ctx context.Context) error {
	name := s.table.Name()
	for range tablePolls {
		out, err := s.db.Client().DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			return err
		}
		if status := out.Table.TableStatus; status == types.TableStatusActive || status == "" {
			return nil
		}
		if err := s.sleep(ctx, tablePause); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: not ready after %v", table.ErrUnavailable, tablePolls*tablePause)
}
