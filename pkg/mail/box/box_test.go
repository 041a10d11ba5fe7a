package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/mail"
	"guildhall/pkg/mail/mailtest"
	"guildhall/pkg/sms"
	"guildhall/pkg/sms/smstest"
)

func fixed() time.Time { return time.Date(2026, 3, 8, 10, 59, 0, 1_500_000, time.UTC) }

func open(t *testing.T, log Log) *Box {
	t.Helper()
	b, err := New(fixed, log)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSuite(t *testing.T) {
	for name, log := range map[string]func(t *testing.T) Log{
		"memory": func(*testing.T) Log { return nil },
		"file":   func(t *testing.T) Log { return NewFileLog(filepath.Join(t.TempDir(), "mail.jsonl")) },
	} {
		t.Run(name, func(t *testing.T) {
			mailtest.Run(t, func(t *testing.T) mailtest.Subject {
				b := open(t, log(t))
				return mailtest.Subject{
					Mailer: b, Keyed: true,
					Delivered: func(_ *testing.T, to string) []mail.Mail {
						var out []mail.Mail
						for _, m := range b.Messages(to) {
							out = append(out, mail.Mail{To: m.To, From: m.From, Subject: m.Subject,
								Text: m.Text, HTML: m.HTML, Headers: m.Headers})
						}
						return out
					},
				}
			})
		})
	}
}

func TestTexts(t *testing.T) {
	for name, log := range map[string]func(t *testing.T) Log{
		"memory": func(*testing.T) Log { return nil },
		"file":   func(t *testing.T) Log { return NewFileLog(filepath.Join(t.TempDir(), "mail.jsonl")) },
	} {
		t.Run(name, func(t *testing.T) {
			smstest.Run(t, func(t *testing.T) smstest.Subject {
				b := open(t, log(t))
				return smstest.Subject{Sender: b.Texts(), Keyed: true, Delivered: func(_ *testing.T, to string) []string {
					var out []string
					for _, m := range b.Messages(to) {
						if m.Channel != Text || m.From+m.Subject+m.HTML != "" {
							t.Errorf("a text is kept as %+v", m)
						}
						out = append(out, m.Text)
					}
					return out
				}}
			})
		})
	}
}

func TestTextsAndEmailsStandInTheOrderInWhichTheyWereSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	b := open(t, NewFileLog(path))
	send(t, b, "k1")
	for _, key := range []string{"k1", "k2"} { // k1: a key of each channel of its own
		if err := b.Texts().Send(t.Context(), smstest.Message(key)); err != nil {
			t.Fatal(err)
		}
	}
	send(t, b, "k3")
	for _, b := range []*Box{b, open(t, NewFileLog(path))} {
		var channels []string
		for _, m := range b.Messages("") {
			channels = append(channels, m.Channel)
		}
		if want := "email text text email"; strings.Join(channels, " ") != want {
			t.Errorf("%v, want %s", channels, want)
		}
	}
}

func send(t *testing.T, b *Box, key string) {
	t.Helper()
	if err := b.Send(t.Context(), mailtest.Message(key)); err != nil {
		t.Fatal(err)
	}
}

func TestMessagesHaveTheShapeOfTheLocalControls(t *testing.T) {
	b := open(t, nil)
	m := smstest.Message("k")
	m.Body = "Your step is waiting: $12.00 by 14 March."
	if err := b.Texts().Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(b.Messages("+15550100200"))
	want := `[{"channel":"text","to":"+15550100200","from":"","subject":"","text":"Your step is waiting: $12.00 by 14 March.",` +
		`"html":"","headers":{},"at":"2026-03-08T10:59:00.001Z"}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	if none, _ := json.Marshal(b.Messages("x")); string(none) != "[]" {
		t.Errorf("no messages are %s, want []", none)
	}
	if n := len(b.Messages("")); n != 1 {
		t.Errorf("%d messages in all, want 1", n)
	}
	send(t, b, "k2")
	if n := len(b.Messages("ADA@example.org")); n != 1 {
		t.Errorf("%d messages when asked in capitals, want 1", n)
	}
}

func TestMessagesAndKeysSurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	b := open(t, NewFileLog(path))
	send(t, b, "k1")
	send(t, b, "k2")
	b = open(t, NewFileLog(path))
	send(t, b, "k1")
	send(t, b, "k3")
	if n := len(open(t, NewFileLog(path)).Messages("ada@example.org")); n != 3 {
		t.Errorf("%d messages after two restarts, want 3", n)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestALineCutOffByACrashIsDroppedAtEveryByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	b := open(t, NewFileLog(path))
	send(t, b, "k1")
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	send(t, b, "k2")
	both, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(first); n < len(both); n += 7 {
		if err := os.WriteFile(path, both[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		b := open(t, NewFileLog(path))
		send(t, b, "k2")
		if after, err := os.ReadFile(path); err != nil || string(after) != string(both) {
			t.Fatalf("cut at %d: the log is\n%s, %v", n, after, err)
		}
	}
}

func TestADamagedLogIsNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	if err := os.WriteFile(path, []byte("{\"key\":\"k\"}\nnot json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(fixed, NewFileLog(path)); err == nil || !strings.Contains(err.Error(), "message 2") {
		t.Errorf("New: %v, want an error that names message 2", err)
	}
}

// failing is a log that cannot be written.
type failing struct{ Log }

func (failing) Append([]byte) error { return errors.New("disk full") }

func TestAMessageThatCannotBeKeptIsNotDelivered(t *testing.T) {
	b := open(t, NewFileLog(filepath.Join(t.TempDir(), "mail.jsonl")))
	whole := b.log
	b.log = failing{whole}
	if err := b.Send(t.Context(), mailtest.Message("k")); !errors.Is(err, mail.ErrUnavailable) {
		t.Errorf("Send: %v, want ErrUnavailable", err)
	}
	if err := b.Texts().Send(t.Context(), smstest.Message("k")); !errors.Is(err, sms.ErrUnavailable) {
		t.Errorf("Send of a text: %v, want ErrUnavailable", err)
	}
	b.log = whole
	send(t, b, "k")
	if n := len(b.Messages("")); n != 1 {
		t.Errorf("%d messages, want the one that was sent again", n)
	}
}

func TestAFullBoxDropsTheOldestQuarter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.jsonl")
	b := open(t, NewFileLog(path))
	for i := range maxMessages - 1 { // straight in: each Send would sync the disk
		b.keep(kept{Key: fmt.Sprint("old", i), Message: Message{To: "a@example.org"}}, 100)
	}
	send(t, b, "at the limit")
	if n := len(b.Messages("")); n != maxMessages {
		t.Fatalf("%d messages, want %d", n, maxMessages)
	}
	send(t, b, "over")
	all := b.Messages("")
	if len(all) != maxMessages*3/4 || all[len(all)-1].Subject == "" {
		t.Errorf("%d messages, want the newest %d", len(all), maxMessages*3/4)
	}
	if n := len(open(t, NewFileLog(path)).Messages("")); n != len(all) {
		t.Errorf("%d messages after a restart, want %d", n, len(all))
	}
	big := mailtest.Message("big")
	big.HTML = strings.Repeat("h", mail.MaxHTMLBytes)
	for i := range 40 {
		big.Key = fmt.Sprint("big", i)
		if err := b.Send(t.Context(), big); err != nil {
			t.Fatal(err)
		}
	}
	if b.bytes > maxBytes {
		t.Errorf("%d bytes kept, at most %d", b.bytes, maxBytes)
	}
}
