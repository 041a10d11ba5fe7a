// Package box is the local way out for email and text messages: it keeps every message for a
// developer to read (surface 2, GET /_dev/mail) and sends nothing anywhere.
package box

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"guildhall/pkg/clock"
	"guildhall/pkg/mail"
	"guildhall/pkg/sms"
)

// What a box holds at most; when it is full the oldest quarter goes, and with it the memory
// of those keys.
const (
	maxMessages = 10_000   // messages
	maxBytes    = 16 << 20 // bytes of all messages as stored
)

// The channels a message can take.
const (
	Email = "email"
	Text  = "text"
)

// Message is a kept message as GET /_dev/mail shows it.
type Message struct {
	Channel string            `json:"channel"`
	To      string            `json:"to"`
	From    string            `json:"from"`
	Subject string            `json:"subject"`
	Text    string            `json:"text"`
	HTML    string            `json:"html"`
	Headers map[string]string `json:"headers"`
	At      string            `json:"at"` // UTC, milliseconds
}

// kept is a message as the log holds it.
type kept struct {
	Key string `json:"key"`
	Message
}

// Log is where a box keeps its messages across a restart, a line each.
type Log interface {
	// Load returns all whole lines, oldest first.
	Load() ([][]byte, error)
	// Append adds one line; nil means it is durable, an error that it is not there.
	Append(line []byte) error
	// Rewrite replaces all lines.
	Rewrite(lines [][]byte) error
}

// Box is the local way out. It is safe for use by many goroutines.
type Box struct {
	clock func() time.Time
	log   Log // nil: memory only

	mu    sync.Mutex
	all   []kept
	sizes []int // bytes of each line of all
	bytes int
	keys  map[string]bool
}

var _ mail.Mailer = (*Box)(nil)

// New opens a box over a log; nil keeps the messages in memory only.
func New(now func() time.Time, log Log) (*Box, error) {
	b := &Box{clock: now, log: log, keys: map[string]bool{}}
	if log == nil {
		return b, nil
	}
	lines, err := log.Load()
	if err != nil {
		return nil, fmt.Errorf("box: %w", err)
	}
	for i, line := range lines {
		var k kept
		if err := json.Unmarshal(line, &k); err != nil || k.Key == "" {
			return nil, fmt.Errorf("box: message %d of the log cannot be read: %w", i+1, err)
		}
		b.keep(k, len(line))
	}
	return b, nil
}

// Send implements mail.Mailer: the message is kept unless its key was seen before.
func (b *Box) Send(ctx context.Context, m mail.Mail) error {
	if err := m.Valid(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := b.add(m.Key, Message{Channel: Email, To: m.To, From: m.From, Subject: m.Subject, Text: m.Text, HTML: m.HTML, Headers: headers(m.Headers)})
	if err != nil {
		return fmt.Errorf("%w: %w", mail.ErrUnavailable, err)
	}
	return nil
}

// Texts is the box as the way out for text messages. They stand beside the emails.
func (b *Box) Texts() sms.Sender { return texts{b} }

type texts struct{ *Box }

// textKeys parts the keys of texts from those of emails.
const textKeys = "text:"

// Send implements sms.Sender.
func (b texts) Send(ctx context.Context, m sms.Message) error {
	if err := m.Valid(); err != nil {
		return err
	}
	err := ctx.Err()
	if err == nil {
		err = b.add(textKeys+m.Key, Message{Channel: Text, To: m.To, Text: m.Body, Headers: headers(nil)})
	}
	if err != nil {
		return fmt.Errorf("%w: %w", sms.ErrUnavailable, err)
	}
	return nil
}

// add keeps a message unless its key was seen before. An error means that it is not kept.
func (b *Box) add(key string, m Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.keys[key] {
		return nil
	}
	m.At = clock.Stamp(b.clock())
	k := kept{Key: key, Message: m}
	line, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if b.log != nil {
		if err := b.log.Append(line); err != nil {
			return err
		}
	}
	b.keep(k, len(line))
	return b.trim()
}

// headers copies a header map; none is an empty object on the wire, not null.
func headers(h map[string]string) map[string]string {
	if h == nil {
		return map[string]string{}
	}
	return maps.Clone(h)
}

func (b *Box) keep(k kept, size int) {
	b.all = append(b.all, k)
	b.sizes = append(b.sizes, size)
	b.bytes += size
	b.keys[k.Key] = true
}

// trim drops the oldest messages of a full box. The new message is delivered already, so a
// log that cannot be rewritten only stays longer than it should.
func (b *Box) trim() error {
	if len(b.all) <= maxMessages && b.bytes <= maxBytes {
		return nil
	}
	n, freed := 0, 0
	for n < len(b.all)-1 && (len(b.all)-n > maxMessages*3/4 || b.bytes-freed > maxBytes*3/4) {
		freed += b.sizes[n]
		delete(b.keys, b.all[n].Key)
		n++
	}
	b.all, b.sizes, b.bytes = b.all[n:], b.sizes[n:], b.bytes-freed
	if b.log == nil {
		return nil
	}
	lines := make([][]byte, len(b.all))
	for i, k := range b.all {
		line, err := json.Marshal(k)
		if err != nil {
			return err
		}
		lines[i] = line
	}
	return b.log.Rewrite(lines)
}

// Messages returns what arrived at an address, oldest first; an empty address means all.
// Case makes no difference.
func (b *Box) Messages(to string) []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []Message{}
	for _, k := range b.all {
		if to == "" || strings.EqualFold(k.To, to) {
			m := k.Message
			m.Headers = headers(m.Headers)
			out = append(out, m)
		}
	}
	return out
}
