package ddb

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// schema is the table's key, as guregu/dynamo wants to be told.
type schema struct {
	PK string `dynamo:"PK,hash"`
	SK string `dynamo:"SK,range"`
}

// CreateTable makes the table, billed per request, and waits until it is ready; a table that
// is there already is fine. It is for emulators and development: on AWS the infrastructure
// makes the table. An emulator without time-to-live keeps expired rows, which is allowed.
func (s *Store) CreateTable(ctx context.Context) error {
	err := s.db.CreateTable(s.table.Name(), schema{}).OnDemand(true).Run(ctx)
	var there *types.ResourceInUseException
	if err != nil && !errors.As(err, &there) {
		return fmt.Errorf("ddb: create table %q: %w", s.table.Name(), translate(ctx, err))
	}
	if err := s.table.Wait(ctx); err != nil {
		return fmt.Errorf("ddb: wait for table %q: %w", s.table.Name(), translate(ctx, err))
	}
	var api smithy.APIError
	if err := s.table.UpdateTTL(attrExpires, true).Run(ctx); err != nil && !errors.As(err, &api) {
		return fmt.Errorf("ddb: time-to-live of table %q: %w", s.table.Name(), translate(ctx, err))
	}
	return nil
}
