package wire

import (
	"errors"
	"net/http"

	"guildhall/pkg/blob"
)

// upload is the local address of a staged upload (surface.md 7).
func (x *Exchange) upload(w http.ResponseWriter, r *http.Request) {
	info, err := blob.Accept(r.Context(), x.Blobs, x.signer, r.PathValue("id"), r.URL.Query().Get("token"), x.Clock.Now(), r.Body)
	if err == nil {
		answer(w, http.StatusOK, map[string]any{"ok": true, "size_bytes": info.Size, "sha256": info.SHA256})
		return
	}
	status, code := http.StatusNotFound, "not found"
	switch {
	case errors.Is(err, blob.ErrTooLarge):
		status, code = http.StatusRequestEntityTooLarge, "upload_too_large"
	case errors.Is(err, blob.ErrMismatch):
		status, code = http.StatusUnprocessableEntity, "upload_differs"
	case errors.Is(err, blob.ErrUnavailable):
		status, code = http.StatusServiceUnavailable, "unavailable"
	}
	answer(w, status, map[string]any{"ok": false, "error": code})
}
