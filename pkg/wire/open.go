package wire

import (
	"context"
	"fmt"

	"guildhall/pkg/config"
	"guildhall/pkg/id"
	"guildhall/pkg/table"
	"guildhall/pkg/table/ddb"
)

// KeysOf makes the keys an exchange uses of the configured ones.
func KeysOf(k config.Keys) Keys {
	ring := id.Keyring{Current: k.Token.Current}
	if k.Token.Previous != nil {
		ring.Previous = [][]byte{k.Token.Previous}
	}
	return Keys{Tokens: ring, Uploads: k.Form.All(),
		// The simulated processor and its webhook live in one process: their secret follows
		// from the form key.
		WebhookSecrets: []string{id.Keyring{Current: k.Form.Current}.MAC("webhook", "simulated processor")}}
}

// TableOf opens a configured table that is not the embedded one; nil leaves the choice to
// the data directory.
func TableOf(ctx context.Context, c config.Config) (table.Store, error) {
	if c.Store.Kind != config.DynamoDB {
		return nil, nil
	}
	a := c.AWS
	s, err := ddb.New(ddb.Options{Table: c.Store.Table, Region: a.Region, Endpoint: a.Endpoint(config.ServiceDynamoDB),
		AccessKey: a.AccessKeyID, SecretKey: a.SecretAccessKey.Reveal(), SessionToken: a.SessionToken.Reveal()})
	if err != nil {
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		return nil, fmt.Errorf("GUILDHALL_STORE=dynamodb://%s does not answer: %w", c.Store.Table, err)
	}
	return s, nil
}

// Served tells whether one process can serve a configuration; the error says what to set.
func Served(c config.Config) error {
	wrong := func(name, value, instead string) error {
		return fmt.Errorf("%s=%s: this program has no adapter for it yet; leave it unset or use %s", name, value, instead)
	}
	switch {
	case c.Queue.Kind != config.Memory:
		return wrong("GUILDHALL_QUEUE", string(c.Queue.Kind), "memory:")
	case c.Payments.Kind != config.Simulated:
		return wrong("GUILDHALL_PAYMENTS", string(c.Payments.Kind), "simulated:")
	}
	return nil
}
