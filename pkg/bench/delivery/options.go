package delivery

import (
	"encoding/json"

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
	var list []proposal.Option
	if s.Ask != proposal.Choose || planned == nil || f.form != formNote && f.form != formBlocks || json.Unmarshal(raw, &list) != nil {
		return OptionsInvalid
	}
	if len(list) < leastTiles(planned) || len(list) > proposal.MaxChoices {
		return OptionsInvalid
	}
	seen, looks, reals := map[string]bool{}, map[string]bool{}, 0
	for i := range list {
		one := &list[i]
		one.ID, one.Label, one.Detail = text.Normalize(one.ID), text.Normalize(one.Label), text.Normalize(one.Detail)
		one.ThumbnailAlt = text.Normalize(one.ThumbnailAlt)
		if one.Label == "" || seen[one.Key()] || looks[squeeze(one.Label)] || text.Len(one.Label) > proposal.MaxOptionLabel || text.Len(one.Detail) > proposal.MaxOptionDetail ||
			text.Len(one.ID) > proposal.MaxOptionID || text.Len(one.ThumbnailAlt) > proposal.MaxImageAlt {
			return OptionsInvalid
		}
		seen[one.Key()], looks[squeeze(one.Label)] = true, true
		if !proposal.IsOther(one.Label) {
			reals++
		}
		if v := linkgate.Check(one.ThumbnailURL, linkgate.Options{}); one.ThumbnailURL != "" {
			if v.Status != linkgate.OK {
				return OptionsInvalid.Say("thumbnail_url does not pass the Link Gate: "+v.Detail).With("link_status", v.Status).With("reason", v.Reason)
			}
			one.ThumbnailURL = v.URL // as the gate read it
		}
		f.screened = append(f.screened, [2]string{"options", one.Label + "\n" + one.Detail + "\n" + one.ThumbnailAlt})
	}
	if reals < leastTiles(planned) {
		return OptionsInvalid
	}
	o.Options = list
	return nil
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
