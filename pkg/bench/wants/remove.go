package wants

import (
	"time"

	"guildhall/pkg/blob"
	"guildhall/pkg/op"
)

// effectRemove removes bytes that nobody is served any more.
const effectRemove = "file.remove"

// doomed is its payload.
type doomed struct {
	Key string `json:"key"`
}

// Remove stages the removal of a file's bytes: a job does it after the commit.
func Remove(c *op.Call, file, key string) { c.Effect(effectRemove, file, doomed{key}) }

// Effects are the side effects of wants and of the files of their deals.
var Effects = []op.EffectKind{{Kind: effectRemove, Touches: op.Blobs, Do: removeBytes}}

func removeBytes(c *op.Call, t op.Fired) (any, error) {
	var d doomed
	if err := op.Decode(t.Payload, &d); err != nil {
		return nil, err
	}
	return nil, blob.From(c).Delete(c, d.Key)
}

// timerUpload falls due when an announced upload can no longer be claimed.
const timerUpload = "upload.lapse"

// keepLapsed is how much longer the row of an announced upload is kept than it can be
// claimed, so that its timer finds it.
const keepLapsed = 7 * 24 * time.Hour

// Timers are the clocks of uploads.
var Timers = []op.TimerKind{{Context: "bench", Kind: timerUpload, Fire: lapseUpload}}

// lapseUpload forgets an upload nobody claimed. A claim whose commit was refused or lost may
// have made its bytes a file already, which nobody names: they go too. (The bytes as they
// arrived are the blob store's to purge.)
func lapseUpload(c *op.Call, t op.Fired) error {
	a, found, err := op.Load[announced](c, uploadKey(t.Subject))
	if err != nil || !found {
		return err
	}
	c.Delete(uploadKey(t.Subject))
	Remove(c, t.Subject, a.Prefix+"/"+t.Subject)
	return nil
}
