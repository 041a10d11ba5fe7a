package wire

import (
	"fmt"

	"guildhall/pkg/config"
	"guildhall/pkg/id"
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

// Served tells whether one process can serve a configuration; the error says what to set.
func Served(c config.Config) error {
	wrong := func(name, value, instead string) error {
		return fmt.Errorf("%s=%s: this program has no adapter for it yet; leave it unset or use %s", name, value, instead)
	}
	switch {
	case c.Store.Kind != config.File && c.Store.Kind != config.Memory:
		return wrong("GUILDHALL_STORE", string(c.Store.Kind), "file:DIR or memory:")
	case c.Queue.Kind != config.Memory:
		return wrong("GUILDHALL_QUEUE", string(c.Queue.Kind), "memory:")
	case c.Blobs.Kind != config.File && c.Blobs.Kind != config.Memory:
		return wrong("GUILDHALL_BLOBS", string(c.Blobs.Kind), "file:DIR")
	case c.Mail.Kind != config.Box:
		return wrong("GUILDHALL_MAIL", string(c.Mail.Kind), "box:")
	case c.SMS != config.Box:
		return wrong("GUILDHALL_SMS", string(c.SMS), "box:")
	case c.Payments.Kind != config.Simulated:
		return wrong("GUILDHALL_PAYMENTS", string(c.Payments.Kind), "simulated:")
	}
	return nil
}
