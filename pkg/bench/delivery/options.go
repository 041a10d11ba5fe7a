package delivery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"guildhall/pkg/bench/proposal"
	"guildhall/pkg/text"
	"guildhall/pkg/text/linkgate"
)

// readOptions takes tiles that replace the plan's for this round (bench.md 13.4).
func (f *filing) readOptions() error {
	raw, o, s, planned := f.in.Options, f.o, f.s, f.planned
	if !sent(raw) {
		return nil
	}
	if s.Ask != proposal.Choose || planned == nil {
		return OptionsInvalid
	}
	if f.form != formNote && f.form != formBlocks {
		return OptionsInvalid.Say("Options come with the note: on a CHOOSE step they are the delivery.")
	}
	list, err := tiles(raw)
	if err != nil {
		return err
	}
	least := leastTiles(planned)
	tooFew := OptionsInvalid.Say("Send " + strconv.Itoa(least) + " to " + strconv.Itoa(proposal.MaxChoices) + " options; Other is added by the page.")
	if len(list) < least || len(list) > proposal.MaxChoices {
		return tooFew
	}
	seen, looks, reals := map[string]bool{}, map[string]bool{}, 0
	for i := range list {
		one := &list[i]
		one.ID, one.Label, one.Detail = text.Normalize(one.ID), text.Normalize(one.Label), text.Normalize(one.Detail)
		one.ThumbnailAlt = text.Normalize(one.ThumbnailAlt)
		at := OptionsInvalid.At("options[" + strconv.Itoa(i) + "]")
		if one.Label == "" || seen[one.Key()] || looks[squeeze(one.Label)] || text.Len(one.Label) > proposal.MaxOptionLabel || text.Len(one.Detail) > proposal.MaxOptionDetail ||
			text.Len(one.ID) > proposal.MaxOptionID || text.Len(one.ThumbnailAlt) > proposal.MaxImageAlt {
			return at.Say(tileRule)
		}
		seen[one.Key()], looks[squeeze(one.Label)] = true, true
		if !proposal.IsOther(one.Label) {
			reals++
		}
		if v := linkgate.Check(one.ThumbnailURL, linkgate.Options{}); one.ThumbnailURL != "" {
			if v.Status != linkgate.OK {
				return at.Say("thumbnail_url does not pass the Link Gate: "+v.Detail).With("link_status", v.Status).With("reason", v.Reason)
			}
			one.ThumbnailURL = v.URL // as the gate read it
		}
		f.screened = append(f.screened, [2]string{"options", one.Label + "\n" + one.Detail + "\n" + one.ThumbnailAlt})
	}
	if reals < least {
		return tooFew
	}
	o.Options = list
	return nil
}

// tileRule is what every option keeps to.
var tileRule = fmt.Sprintf("An option has an id and a label that no other option has; a label is 1 to %d characters, an id at most %d, a detail %d, a thumbnail_alt %d.",
	proposal.MaxOptionLabel, proposal.MaxOptionID, proposal.MaxOptionDetail, proposal.MaxImageAlt)

// tiles reads options strictly: a field with a name of its own would be lost without a word,
// and with it the facts a person chooses by.
func tiles(raw json.RawMessage) ([]proposal.Option, error) {
	var list []proposal.Option
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if d.Decode(&list) != nil {
		return nil, OptionsInvalid.Say("Options are a list of {id?, label, detail?, thumbnail_url?, thumbnail_alt?}, all texts, and nothing else.")
	}
	return list, nil
}

// leastTiles is how many options the step's control needs at least (REJ-25).
func leastTiles(planned *proposal.Step) int {
	least := proposal.MinChoices
	for _, b := range planned.HARBlocks {
		if b.Format == proposal.MultipleChoice || b.Format == proposal.Rank {
			least = max(least, proposal.MinManyOf)
		}
	}
	return least
}
