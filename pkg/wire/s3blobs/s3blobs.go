// Package s3blobs gives a function that touches files Amazon S3: a blank import is enough.
package s3blobs

import (
	"context"

	"guildhall/pkg/blob"
	"guildhall/pkg/blob/s3"
	"guildhall/pkg/config"
	"guildhall/pkg/op"
	"guildhall/pkg/wire/lambda"
)

func init() { lambda.Provide(op.Blobs, config.S3, open) }

func open(o lambda.Opening) (lambda.Port, error) {
	a := o.Config.AWS
	s, err := s3.New(s3.Options{Bucket: o.Config.Blobs.Bucket, Region: a.Region, BaseEndpoint: a.Endpoint(config.ServiceS3), Now: o.Now, NewID: o.NewID,
		Credentials: s3.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()}})
	return func(ctx context.Context) context.Context { return blob.With(ctx, s) }, err
}
