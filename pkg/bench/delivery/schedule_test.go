package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/account"
	"guildhall/pkg/audit"
	"guildhall/pkg/bench/deals"
	"guildhall/pkg/bench/deals/path"
	"guildhall/pkg/bench/delivery"
	"guildhall/pkg/blob"
	"guildhall/pkg/mail"
	"guildhall/pkg/mail/outbox"
	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
	"guildhall/pkg/sms"
	texts "guildhall/pkg/sms/outbox"
	"guildhall/pkg/table"
)

// mornings is an exchange with timed deliveries, that keeps what was sent.
type mornings struct {
	*shelf
	mails []mail.Mail
	texts []sms.Message
}

func (m *mornings) Send(_ context.Context, one mail.Mail) error {
	m.mails = append(m.mails, one)
	return nil
}

type phones struct{ m *mornings }

func (p phones) Send(_ context.Context, one sms.Message) error {
	p.m.texts = append(p.m.texts, one)
	return nil
}

func newMornings(t testing.TB) *mornings {
	m := &mornings{}
	m.shelf = newShelf(t, optest.WithEffects(texts.Effects...),
		optest.WithPorts(func(ctx context.Context, _ op.Touch) context.Context {
			return texts.With(outbox.With(blob.With(ctx, m.blobs), outbox.Letters{Mailer: m, From: "Guildhall <hall@guildhall.test>"}), phones{m})
		}))
	return m
}

// reviews is a plan whose steps all ask for an approval; the last is step 4 of the Path.
func reviews() []fields {
	return []fields{asking("The aim", "APPROVE", "review_approve"), asking("The plan", "APPROVE", "review_approve"), asking("The week", "APPROVE", "review_approve")}
}

// ready is a deal whose last step is at 100 percent, for a person of a zone.
func (m *mornings) ready(zone string) *parties {
	m.t.Helper()
	d := m.deal(reviews()...)
	m.zone(d, zone)
	for _, n := range []string{"2", "3"} {
		d.hand()
		d.answer(n, "approve").Want(200)
	}
	d.pulse()
	return d
}

func (d *parties) pulse() {
	d.t.Helper()
	for _, p := range path.Checkpoints {
		d.Do(deals.CheckIn, optest.Req{Token: d.agent, Path: d.at(""), Body: fields{"changed": "no change", "now": "Working.", "next": "More.", "progress_percent": p}}).Want(201)
	}
}

func (m *mornings) zone(d *parties, zone string) {
	m.t.Helper()
	m.Do(account.Update, optest.Req{Token: d.person, Body: fields{"timezone": zone}}).Want(200)
}

func pieces(n int) []fields {
	var out []fields
	for i := range n {
		out = append(out, fields{"title": fmt.Sprintf("Morning %d", i+1), "document": fields{"blocks": []fields{{"type": "paragraph", "text": fmt.Sprintf("Walk %d minutes.", i+5)}}}})
	}
	return out
}

func (d *parties) schedule(body fields) optest.Res {
	d.t.Helper()
	return d.Do(delivery.FileSchedule, optest.Req{Token: d.agent, Path: d.at(""), Body: body})
}

func (d *parties) daily() optest.Res {
	d.t.Helper()
	return d.Do(delivery.ReadDaily, optest.Req{Token: d.person, Path: d.at("")})
}

func (d *parties) day(o *op.Operation, n string) optest.Res {
	d.t.Helper()
	p := d.at("")
	p["ordinal"] = n
	return d.Do(o, optest.Req{Token: d.person, Path: p, Body: fields{}})
}

func (d *parties) say(o *op.Operation, body fields) optest.Res {
	d.t.Helper()
	return d.Do(o, optest.Req{Token: d.person, Path: d.at(""), Body: body})
}

// feed are the released days of the person's feed, newest first.
func (d *parties) feed() (titles []string) {
	d.t.Helper()
	list, _ := d.Do(deals.ReadFeed, optest.Req{Token: d.person}).Want(200).JSON["feed"].([]any)
	for _, n := range list {
		if n := n.(map[string]any); n["kind"] == "delivery.released" {
			titles = append(titles, n["subject"].(string))
		}
	}
	return titles
}

func TestATimedDeliveryIsRefusedInTheOrderOfTheContract(t *testing.T) {
	m := newMornings(t)
	d := m.deal(reviews()...)
	good := fields{"pieces": pieces(3)}
	_, stranger := m.maker()
	m.Do(delivery.FileSchedule, optest.Req{Token: stranger, Path: d.at(""), Body: good}).Want(404)
	d.schedule(good).Refused(422, "progress_not_100")
	d.pulse()
	d.schedule(good).Refused(422, "schedule_invalid") // not the last step
	d.Do(delivery.File, optest.Req{Token: d.agent, Path: d.at(""), Body: fields{"note": "The aim.", "document": fields{"blocks": []fields{{"type": "paragraph", "text": "An aim."}}}}}).Want(201)
	d.schedule(good).Refused(422, "out_of_turn_filing")
	d.answer("2", "approve").Want(200)
	d.hand()
	d.answer("3", "approve").Want(200)
	d.pulse()
	with := func(more ...any) fields {
		out := fields{"pieces": pieces(2)}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	piece := func(title string, blocks ...fields) []fields {
		return append(pieces(1), fields{"title": title, "document": fields{"blocks": blocks}})
	}
	para := func(s string) fields { return fields{"type": "paragraph", "text": s} }
	for _, c := range []struct {
		what, code, field string
		body              fields
	}{
		{"a note that is too long, and bad pieces", "note_too_long", "note", with("note", strings.Repeat("a", 281), "pieces", []fields{})},
		{"another cadence", "schedule_invalid", "cadence", with("cadence", "weekly")},
		{"today", "schedule_invalid", "starts_on", with("starts_on", "2026-11-30")},
		{"no date", "schedule_invalid", "starts_on", with("starts_on", "tomorrow")},
		{"a date that is none", "schedule_invalid", "starts_on", with("starts_on", "2027-02-29")},
		{"a year and a day ahead", "schedule_invalid", "starts_on", with("starts_on", "2027-12-01")},
		{"nothing", "schedule_invalid", "pieces", fields{}},
		{"no pieces", "schedule_invalid", "pieces", with("pieces", []fields{})},
		{"61 pieces", "schedule_invalid", "pieces", with("pieces", pieces(61))},
		{"pieces that are no list", "schedule_invalid", "pieces", with("pieces", fields{})},
		{"an unknown member", "schedule_invalid", "pieces", with("pieces", []fields{{"title": "a", "document": fields{}, "date": "x"}})},
		{"no title", "schedule_invalid", "pieces[1]", with("pieces", piece("  ", para("a")))},
		{"a title of 201", "schedule_invalid", "pieces[1]", with("pieces", piece(strings.Repeat("a", 201), para("a")))},
		{"no document", "schedule_invalid", "pieces[0]", with("pieces", []fields{{"title": "a"}})},
		{"an empty document", "document_invalid", "pieces[1].document.blocks", with("pieces", piece("a"))},
		{"a bad block", "document_invalid", "pieces[1].document.blocks[0]", with("pieces", piece("a", fields{"type": "table"}))},
		{"a link", "link_in_outcome_text", "pieces[1].document", with("pieces", piece("a", para("see https://example.com/x")))},
		{"a link in a title", "link_in_outcome_text", "pieces[1].title", with("pieces", piece("www.example.com", para("a")))},
		{"a request for a password", "outcome_credential_request", "pieces[1].document", with("pieces", piece("a", para("Please send me your password.")))},
	} {
		r := d.schedule(c.body).Refused(422, c.code)
		if got := r.Str("field"); got != c.field {
			t.Errorf("%s: field %q, want %q", c.what, got, c.field)
		}
	}
	if r := d.schedule(with("starts_on", "2026-11-30")); r.Str("earliest") != "2026-12-01" || !strings.Contains(r.Str("detail"), "2026-12-01") {
		t.Errorf("the earliest date is not named: %v", r.JSON)
	}
	r := d.schedule(with("starts_on", "2027-11-30", "pieces", pieces(60))).Want(201)
	if r.Num("pieces_count") != 60 || r.Str("starts_on") != "2027-11-30" || r.Str("state") != "waiting_on_you" {
		t.Errorf("%v", r.JSON)
	}
	d.schedule(good).Refused(409, "schedule_exists")
}

func TestTomorrowIsThePersonsTomorrow(t *testing.T) {
	m := newMornings(t) // 2026-11-30 18:20 UTC
	for zone, first := range map[string]string{"Pacific/Kiritimati": "2026-12-02", "Pacific/Pago_Pago": "2026-12-01", "UTC": "2026-12-01"} {
		d := m.ready(zone)
		day, _ := time.Parse(time.DateOnly, first)
		d.schedule(fields{"pieces": pieces(1), "starts_on": day.AddDate(0, 0, -1).Format(time.DateOnly)}).Refused(422, "schedule_invalid")
		d.schedule(fields{"pieces": pieces(1), "starts_on": first}).Want(201)
	}
}

func TestATimedDeliveryLandsOneMorningAtATimeAndIsSealedUntilThen(t *testing.T) {
	m := newMornings(t)
	d := m.ready("Europe/Berlin")
	d.daily().Want(404)
	d.schedule(fields{"pieces": pieces(3)}).Want(201)
	step := d.step("4")
	if step.Str("note") != "3 days, one each morning." || step.At("score_needed") != true {
		t.Errorf("%v", step.JSON)
	}
	if doc := fmt.Sprint(step.At("cards")); strings.Count(doc, "type:day") != 3 || !strings.Contains(doc, "Walk 7 minutes") {
		t.Errorf("the whole list is not one document with a divider a day: %s", doc)
	}
	d.day(delivery.ReadDay, "3").Want(200) // what is asked to be approved can be read
	d.answer("4", "approve").Refused(422, "score_required")
	d.answer("4", "approve", "score", 9, "channels", []string{"text"}).Refused(422, "phone_required")
	r := d.answer("4", "approve", "score", 9).Want(200)
	if r.Str("deal_status") != "ended" || r.Str("end_cause") != "resolved" {
		t.Fatalf("%v", r.JSON)
	}
	s := d.daily().Want(200)
	if s.Str("status") != "delivering" || s.Str("next_on") != "2026-12-01" || s.Str("next_at") != "2026-12-01T05:00:00Z" || s.Str("badge") == "" || len(s.At("channels").([]any)) != 0 {
		t.Errorf("%v", s.JSON)
	}
	d.day(delivery.ReadDay, "1").Refused(409, "not_released")
	m.Advance(time.Date(2026, 12, 1, 4, 59, 59, 0, time.UTC).Sub(m.Now()))
	if len(d.feed()) != 0 {
		t.Error("a day came early")
	}
	m.Advance(time.Second)
	if got := d.feed(); !slices.Equal(got, []string{"Morning 1"}) {
		t.Errorf("%v", got)
	}
	d.day(delivery.ReadDay, "1").Want(200)
	d.day(delivery.ReadDay, "2").Refused(409, "not_released")
	for _, no := range []string{"0", "4", "01", "-1", "x", "99999999999999999999"} {
		d.day(delivery.ReadDay, no).Want(404)
	}
	m.Advance(48 * time.Hour)
	if got := d.feed(); !slices.Equal(got, []string{"Morning 3", "Morning 2", "Morning 1"}) {
		t.Errorf("%v", got)
	}
	if s := d.daily(); s.Str("status") != "completed" || s.At("badge") != nil || s.At("next_at") != nil {
		t.Errorf("%v", s.JSON)
	}
	for _, o := range []*op.Operation{delivery.Pause, delivery.Stop} {
		d.say(o, fields{}).Refused(409, "schedule_not_delivering")
	}
	if n := len(m.texts); n != 0 {
		t.Errorf("%d texts nobody asked for", n)
	}
	for _, one := range m.mails {
		if strings.Contains(one.Subject, "Morning") {
			t.Errorf("a mail nobody asked for: %s", one.Subject)
		}
	}
	completed := 0
	m.Run("bench", func(c *op.Call) error {
		p, err := c.Query(eventsOf(d.agentID))
		for _, r := range p.Rows {
			completed += strings.Count(string(r.Data), "schedule.completed")
			if strings.Contains(string(r.Data), "delivery.released") {
				t.Error("the agent is told of each day")
			}
		}
		return err
	})
	if completed != 1 {
		t.Errorf("the agent heard %d times that the last day landed", completed)
	}
}

func TestEachDayIsAnnouncedOnceOnTheChosenChannels(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	m.Do(account.Update, optest.Req{Token: d.person, Body: fields{"phone": "+15551234567"}}).Want(200)
	d.schedule(fields{"pieces": pieces(3)}).Want(201)
	d.answer("4", "approve", "score", 9, "channels", []string{"carrier pigeon"}).Want(422)
	d.answer("4", "approve", "score", 9, "channels", []string{"email", "email"}).Want(422)
	d.answer("4", "approve", "score", 9, "channels", []string{"email", "text"}).Want(200)
	m.Advance(24 * time.Hour)
	sent := func() (mails []string, texted int) {
		for _, one := range m.mails {
			if strings.HasPrefix(one.Subject, "Day ") {
				mails = append(mails, one.Subject)
			}
		}
		return mails, len(m.texts)
	}
	if mails, texted := sent(); !slices.Equal(mails, []string{"Day 1: Morning 1"}) || texted != 1 {
		t.Fatalf("%v, %d texts", mails, texted)
	}
	if one := m.texts[0]; one.To != "+15551234567" || !strings.HasSuffix(one.Body, "http://guildhall.test/deals/"+d.id+"/schedule/days/1") {
		t.Errorf("%+v", one)
	}
	d.say(delivery.SetChannels, fields{"channels": []string{}}).Want(200)
	m.Advance(24 * time.Hour)
	if mails, texted := sent(); len(mails) != 1 || texted != 1 {
		t.Errorf("announced after it was turned off: %v, %d", mails, texted)
	}
}

func TestRequestingChangesVoidsATimedDeliveryAndAnotherCanBeFiled(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	d.schedule(fields{"pieces": pieces(3)}).Want(201)
	d.answer("4", "request_changes", "reason", "More walking.").Want(200)
	d.daily().Want(404)
	d.pulse()
	r := d.schedule(fields{"pieces": pieces(2), "note": "More walking."}).Want(201)
	if r.Num("version") != 2 {
		t.Errorf("%v", r.JSON)
	}
	d.answer("4", "approve", "score", 5).Want(200)
	m.Advance(10 * 24 * time.Hour)
	if got := d.feed(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestSilenceStartsTheDripInTheFeedAloneAndAFreeDealLapses(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	d.schedule(fields{"pieces": pieces(2)}).Want(201)
	m.Advance(14*24*time.Hour - time.Second)
	if s := d.daily(); s.Str("status") != "filed" {
		t.Errorf("%v", s.JSON)
	}
	m.Advance(time.Second)
	s := d.daily()
	if s.Str("status") != "delivering" || s.At("stale") != true || s.Str("next_on") != "2026-12-15" {
		t.Errorf("%v", s.JSON)
	}
	if r := d.Do(deals.ReadDeal, optest.Req{Token: d.person, Path: d.at("")}).Want(200); r.Str("end_cause") != "lapsed" || r.Str("schedule.status") != "delivering" {
		t.Errorf("%v", r.JSON)
	}
	m.Advance(3 * 24 * time.Hour)
	if got := d.feed(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestEndingTheDealBeforeTheApprovalVoidsTheTimedDelivery(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	d.schedule(fields{"pieces": pieces(2)}).Want(201)
	d.answer("4", "decline", "reason", "No.").Want(200)
	if s := d.daily(); s.Str("status") != "voided" {
		t.Errorf("%v", s.JSON)
	}
	d.say(delivery.Resume, fields{}).Refused(409, "schedule_not_paused")
	d.day(delivery.ReadDay, "1").Refused(409, "not_released")
	m.Advance(30 * 24 * time.Hour)
	if got := d.feed(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestAPausedDeliveryWaitsAndAStoppedOneNeverGoesOn(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	d.schedule(fields{"pieces": pieces(5)}).Want(201)
	d.answer("4", "approve", "score", 9).Want(200)
	m.Advance(24 * time.Hour)
	d.say(delivery.Pause, fields{}).Want(200)
	d.say(delivery.Pause, fields{}).Want(200)
	m.Advance(10 * 24 * time.Hour)
	if got := d.feed(); len(got) != 1 {
		t.Fatalf("%v", got)
	}
	if s := d.daily(); s.At("next_at") != nil || fmt.Sprint(s.At("controls")) != "[channels resume stop]" {
		t.Errorf("%v", s.JSON)
	}
	d.say(delivery.Resume, fields{}).Want(200)
	m.Advance(24 * time.Hour)
	if got := d.feed(); len(got) != 2 {
		t.Fatalf("%v", got)
	}
	d.say(delivery.Stop, fields{}).Want(200)
	d.say(delivery.Stop, fields{}).Want(200)
	d.say(delivery.Resume, fields{}).Refused(409, "schedule_not_paused")
	m.Advance(10 * 24 * time.Hour)
	if got := d.feed(); len(got) != 2 {
		t.Errorf("%v", got)
	}
	rows, _, err := audited(m)
	if err != nil || len(rows) != 0 {
		t.Errorf("a pause is no fault: %v %v", rows, err)
	}
}

// auditOf asks for a shard of the bench's trail.
func auditOf(shard int) table.Query {
	return table.Query{PK: fmt.Sprintf("bench.AUDIT#%d", shard), Limit: 1000}
}

// audited are the late deliveries of the audit trail.
func audited(m *mornings) (rows []audit.Row, n int, err error) {
	m.Run("bench", func(c *op.Call) error {
		for shard := range audit.Shards {
			p, err := c.Query(auditOf(shard))
			if err != nil {
				return err
			}
			for _, r := range p.Rows {
				var row audit.Row
				if err := json.Unmarshal(r.Data, &row); err != nil {
					return err
				}
				if n++; row.Action == "delivery.late" {
					rows = append(rows, row)
				}
			}
		}
		return nil
	})
	return rows, n, err
}

func TestAnOutageReleasesTheMissedDaysOldestFirstAndRecordsOurFault(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	d.schedule(fields{"pieces": pieces(5)}).Want(201)
	d.answer("4", "approve", "score", 9, "channels", []string{"email"}).Want(200)
	m.Skip(3*24*time.Hour + 12*time.Hour) // nothing ran for three mornings
	if s := d.daily(); s.Num("released_count") != 4 {
		t.Errorf("before any sweep: %v", s.JSON)
	}
	d.day(delivery.ReadDay, "4").Want(200)
	m.Settle()
	if got := d.feed(); !slices.Equal(got, []string{"Morning 4", "Morning 3", "Morning 2", "Morning 1"}) {
		t.Errorf("%v", got)
	}
	late, _, err := audited(m)
	if err != nil || len(late) != 4 {
		t.Errorf("%d late days are on record (%v)", len(late), err)
	}
	mails := 0
	for _, one := range m.mails {
		if strings.HasPrefix(one.Subject, "Day ") {
			if mails++; one.Subject != "Day 4: Morning 4" || !strings.Contains(one.Text, "4 in all") {
				t.Errorf("%s: %s", one.Subject, one.Text)
			}
		}
	}
	if mails != 1 {
		t.Errorf("%d mails for one catching up", mails)
	}
	m.Settle()
	if got := d.feed(); len(got) != 4 {
		t.Errorf("released twice: %v", got)
	}
	m.Advance(24 * time.Hour)
	if s := d.daily(); s.Str("status") != "completed" {
		t.Errorf("%v", s.JSON)
	}
}

func TestAMonthOfOutageIsCaughtUpInCommitsThatFit(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	d.schedule(fields{"pieces": pieces(60)}).Want(201)
	d.answer("4", "approve", "score", 9).Want(200)
	m.Skip(50 * 24 * time.Hour)
	m.Settle()
	if s := d.daily(); s.Num("released_count") != 50 {
		t.Errorf("%v", s.Num("released_count"))
	}
	late, _, _ := audited(m)
	if len(late) != 50 {
		t.Errorf("%d of 50 late days on record", len(late))
	}
}

func TestANewTimeZoneTimesTheComingDaysAnew(t *testing.T) {
	m := newMornings(t) // 18:20 UTC
	d := m.ready("America/Los_Angeles")
	d.schedule(fields{"pieces": pieces(3)}).Want(201)
	d.answer("4", "approve", "score", 9).Want(200)
	if at := d.daily().Str("next_at"); at != "2026-12-01T14:00:00Z" {
		t.Fatal(at)
	}
	m.zone(d, "Asia/Tokyo") // where it is 03:20 on the 1st: the first morning is hours away
	if at := d.daily().Str("next_at"); at != "2026-11-30T21:00:00Z" {
		t.Errorf("%s", at)
	}
	m.Settle()
	m.Advance(3 * time.Hour)
	if got := d.feed(); !slices.Equal(got, []string{"Morning 1"}) {
		t.Fatalf("the earlier morning was missed: %v", got)
	}
	m.zone(d, "America/Los_Angeles") // the 30th there; the date 1 December has had its piece
	m.Advance(24 * time.Hour)
	if got := d.feed(); len(got) != 1 {
		t.Errorf("two days on one date: %v", got)
	}
	m.Advance(24 * time.Hour)
	if got := d.feed(); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestALandedDayIsSharedOnceIntoThePersonsHouse(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	d.schedule(fields{"pieces": pieces(2)}).Want(201)
	d.answer("4", "approve", "score", 9).Want(200)
	d.day(delivery.Share, "1").Refused(409, "not_released")
	m.Advance(24 * time.Hour)
	d.day(delivery.Share, "1").Refused(422, "no_house")
	house := fields{"house": fields{"house": "House of Oak", "value": "care"}}
	m.Do(account.Update, optest.Req{Token: d.person, Body: house}).Want(200)
	first := d.day(delivery.Share, "1").Want(200)
	if first.Str("house") != "House of Oak" || first.Str("card.agent_handle") == "" || first.Str("card.passport_url") == "" {
		t.Errorf("%v", first.JSON)
	}
	m.Advance(time.Hour)
	if again := d.day(delivery.Share, "1").Want(200); again.Str("shared_at") != first.Str("shared_at") {
		t.Errorf("%v", again.JSON)
	}
	m.Do(account.Update, optest.Req{Token: d.person, Body: fields{"house": fields{"house": "House of Elm", "value": "care"}}}).Want(200)
	if again := d.day(delivery.Share, "1").Want(200); again.Str("house") != "House of Oak" {
		t.Errorf("a day of one House is said to be another's: %v", again.JSON)
	}
	d.day(delivery.Share, "2").Refused(409, "not_released")
	d.day(delivery.Share, "3").Want(404)
	_, neighbour := m.Person("neighbour@example.test")
	see := func(token string) []any {
		days, _ := m.Do(delivery.ReadHouse, optest.Req{Token: token}).Want(200).JSON["days"].([]any)
		return days
	}
	if len(see(neighbour)) != 0 {
		t.Error("a stranger sees the House")
	}
	m.Do(account.Update, optest.Req{Token: neighbour, Body: fields{"house": fields{"house": "house of  OAK", "value": "care"}}}).Want(200)
	if days := see(neighbour); len(days) != 1 || strings.Contains(fmt.Sprint(days), d.personID) {
		t.Errorf("%v", days)
	}
}

func TestAnotherPersonsTimedDeliveryDoesNotExist(t *testing.T) {
	m := newMornings(t)
	d := m.ready("UTC")
	d.schedule(fields{"pieces": pieces(2)}).Want(201)
	_, other := m.Person("other@example.test")
	p := d.at("")
	p["ordinal"] = "1"
	for _, o := range []*op.Operation{delivery.ReadDaily, delivery.ReadDay, delivery.Pause, delivery.Resume, delivery.Stop, delivery.Share} {
		r := m.Do(o, optest.Req{Token: other, Path: p, Body: fields{}}).Want(404)
		if r.Str("error") != "not found" {
			t.Errorf("%s: %v", o.ID, r.JSON)
		}
	}
	m.Do(delivery.SetChannels, optest.Req{Token: other, Path: p, Body: fields{"channels": []string{}}}).Want(404)
}
