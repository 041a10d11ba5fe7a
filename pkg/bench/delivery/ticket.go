package delivery

import (
	"guildhall/pkg/bench/record"
	"guildhall/pkg/bench/wants"
)

// ticket is the part of an upload's answer that an announced file has (surface.md 7).
type ticket struct {
	UploadURL string       `json:"upload_url,omitempty"`
	UploadID  string       `json:"upload_id,omitempty"`
	ExpiresAt *record.Time `json:"expires_at,omitempty"`
}

func ticketOf(t *wants.Ticket) ticket { return ticket{t.UploadURL, t.UploadID, record.At(t.ExpiresAt)} }

// StatusCode implements op.Statuser: an announced file is not there yet.
func (t ticket) StatusCode() int {
	if t.UploadID != "" {
		return 200
	}
	return 201
}
