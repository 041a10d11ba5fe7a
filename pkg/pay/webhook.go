package pay

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits of a webhook call.
const (
	MaxWebhookBytes    = 256 << 10       // bytes of a body
	WebhookTolerance   = 5 * time.Minute // between the signature's time and ours, either way
	maxSignatureBytes  = 2048            // bytes of the header
	maxSignatures      = 10              // v1 entries of one header
	minWebhookKeyBytes = 8               // bytes of a secret
)

// ErrSignature: the call does not come from the processor, or is too old.
var ErrSignature = errors.New("pay: the webhook signature does not hold")

// SignWebhook makes the Stripe-Signature header of a body: t=<Unix seconds>,v1=<HMAC-SHA-256
// of "t.body" in hex>.
func SignWebhook(secret string, body []byte, at time.Time) string {
	t := strconv.FormatInt(at.Unix(), 10)
	return "t=" + t + ",v1=" + hex.EncodeToString(webhookTag(secret, t, body))
}

func webhookTag(secret, t string, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(t + "."))
	h.Write(body)
	return h.Sum(nil)
}

// VerifyWebhook checks the Stripe-Signature header of a call, byte for byte of its body,
// under any of the secrets (two while one is replaced). Schemes other than v1 are ignored.
func VerifyWebhook(secrets []string, header string, body []byte, now time.Time) error {
	if len(header) > maxSignatureBytes || len(body) > MaxWebhookBytes {
		return fmt.Errorf("%w: header of %d bytes, body of %d", ErrSignature, len(header), len(body))
	}
	t, tags := parseSignature(header)
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || len(tags) == 0 {
		return fmt.Errorf("%w: no time or no v1 entry", ErrSignature)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > WebhookTolerance || age < -WebhookTolerance {
		return fmt.Errorf("%w: signed %v ago", ErrSignature, age)
	}
	for _, secret := range secrets {
		if len(secret) < minWebhookKeyBytes {
			continue
		}
		want := webhookTag(secret, t, body)
		for _, given := range tags {
			if hmac.Equal(given, want) {
				return nil
			}
		}
	}
	return fmt.Errorf("%w: no entry matches", ErrSignature)
}

// parseSignature reads the time and the v1 tags; a second time, or too many tags, voids all.
func parseSignature(header string) (t string, tags [][]byte) {
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			if t != "" {
				return "", nil
			}
			t = value
		case "v1":
			if tag, err := hex.DecodeString(value); err == nil {
				tags = append(tags, tag)
			}
		}
	}
	if len(tags) > maxSignatures {
		return "", nil
	}
	return t, tags
}

// ReceiveWebhook verifies a call and reads its event.
func ReceiveWebhook(secrets []string, header string, body []byte, now time.Time) (Event, error) {
	if err := VerifyWebhook(secrets, header, body, now); err != nil {
		return Event{}, err
	}
	return ParseEvent(body)
}
