package site

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"guildhall/pkg/fault"
)

func TestANumberIsTypedAsPeopleWriteIt(t *testing.T) {
	for typed, want := range map[string]string{"+351 912-345.678": "+351912345678", "+44\u00a020 7946 0958": "+442079460958", "912 (34)": "912(34)", "": ""} {
		if got := bareNumber.Replace(typed); got != want {
			t.Errorf("%q is %q, want %q", typed, got, want)
		}
	}
}

func TestDollars(t *testing.T) {
	for cents, want := range map[int64]string{0: "$0", 5: "$0.05", 50: "$0.50", 100: "$1", 1250: "$12.50", 99999: "$999.99", 100000: "$1,000", 5000000: "$50,000",
		123456789: "$1,234,567.89", -4000: "-$40"} {
		if got := dollars(cents); got != want {
			t.Errorf("%d cents are %s, want %s", cents, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	for p, want := range map[float64]string{0.5: "50%", 0.7: "70%", 0.001: "under 1%", 0.004: "under 1%", 0.005: "1%", 0.999: "over 99%", 0.994: "99%", 0.999999: "over 99%"} {
		if got := percent(p); got != want {
			t.Errorf("%g is %s, want %s", p, got, want)
		}
	}
}

func TestSpansAndCounts(t *testing.T) {
	for seconds, want := range map[int64]string{0: "less than a minute", 59: "less than a minute", 60: "1 minute", 3600: "1 hour", 3660: "1 hour 1 minute", 90000: "1 day 1 hour",
		86400 + 60: "1 day 1 minute", 7 * 86400: "7 days"} {
		if got := span(seconds); got != want {
			t.Errorf("%d seconds are %q, want %q", seconds, got, want)
		}
	}
	if count(1, "bid") != "1 bid" || count(0, "bid") != "0 bids" || bytesOf(1_400_000) != "1.4 MB" || bytesOf(999) != "999 bytes" || bytesOf(1000) != "1 KB" {
		t.Error("a count or a size is worded wrongly")
	}
}

func TestTimesAreShownInThePersonsZone(t *testing.T) {
	at := time.Date(2026, 3, 29, 0, 59, 59, 0, time.UTC)
	lisbon := (&profile{Timezone: "Europe/Lisbon"}).zone()
	if got := moment(at, lisbon); got.Words != "29 March 2026, 00:59 WET" || got.Stamp != "2026-03-29T00:59:59Z" {
		t.Errorf("%+v", got)
	}
	if got := moment(at.Add(time.Second), lisbon); got.Words != "29 March 2026, 02:00 WEST" {
		t.Errorf("the first second of summer time: %+v", got)
	}
	for _, zone := range []string{"", "Local", "Mars/Olympus"} {
		if (&profile{Timezone: zone}).zone() != time.UTC {
			t.Errorf("zone %q is not UTC", zone)
		}
	}
}

func TestPlainShowsWhatDeceives(t *testing.T) {
	for in, want := range map[string]string{"plain\n\ttext": "plain\n\ttext", "a\u202eb": "a[U+202E]b", "\u0000": "[U+0000]", "\u2066x\u2069": "[U+2066]x[U+2069]",
		"\x1b[31m": "[U+001B][31m", "\xff": "[U+FFFD]", "שלום\u200f مرحبا": "שלום\u200f مرحبا", "👩\u200d🔬": "👩\u200d🔬", "\u2028": "[U+2028]", "a\rb": "a[U+000D]b"} {
		if got := plain(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func TestCleanedReachesEveryText(t *testing.T) {
	type inner struct{ Text string }
	type outer struct {
		Text  string
		Ptr   *string
		List  []inner
		Map   map[string]inner
		Any   any
		Typed Typed
		At    time.Time
		Nil   *inner
		Raw   json.RawMessage
	}
	bad, now := "\u202e", time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	in := outer{bad, &bad, []inner{{bad}}, map[string]inner{bad: {bad}}, any(inner{bad}), Typed(bad), now, nil, json.RawMessage(bad)}
	good := "[U+202E]"
	want := outer{good, &good, []inner{{good}}, map[string]inner{good: {good}}, any(inner{good}), Typed(bad), now, nil, json.RawMessage(bad)}
	if got := cleaned(in); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if in.Text != bad || *in.Ptr != bad {
		t.Error("the original was changed")
	}
}

func TestRefusalsAreWordedWithoutCodes(t *testing.T) {
	for _, c := range []struct {
		f    *fault.Fault
		want string
	}{
		{fault.New(fault.Conflict, "slots_full", "You already have three finalists."), "You already have three finalists."},
		{fault.InvalidField.At("finish_line.sentence").Say("finish_line.sentence must have at most 200 characters."), "One field must have at most 200 characters."},
		{fault.New(fault.Conflict, "deal is not active", ""), "Deal is not active."},
		{fault.BareNotFound, "That is not possible right now."},
		{fault.New(fault.Conflict, "odd_code", ""), "That is not possible right now."},
		{fault.New(fault.Invalid, "timezone_unknown", "Send the IANA name."), "We know no time zone of that name. Choose one from the list, for example Europe/Lisbon."},
	} {
		if got := words(c.f); got != c.want {
			t.Errorf("%v is worded %q, want %q", c.f, got, c.want)
		}
	}
}

func TestMoneyAsPeopleTypeIt(t *testing.T) {
	for typed, want := range map[string]int64{"200": 20000, "$200": 20000, " 1,250 ": 125000, "$ 1,250.00": 125000, "0": 0} {
		if l, err := laneOf("paid", typed); err != nil || l.CeilingCents == nil || *l.CeilingCents != want {
			t.Errorf("%q: %+v %v", typed, l, err)
		}
	}
	for _, typed := range []string{"", "plenty", "12.50", "-5", "1e9", "99999999999999999999"} {
		if _, err := laneOf("paid", typed); err == nil {
			t.Errorf("%q is taken", typed)
		}
	}
	if l, err := laneOf("free", "12"); err != nil || l.CeilingCents != nil {
		t.Errorf("a free want has a ceiling: %+v %v", l, err)
	}
}

// blockOf is a block with options, fields and slots.
func blockOf(t *testing.T, format string) block {
	t.Helper()
	var b block
	err := json.Unmarshal([]byte(`{"block_number": 2, "id": "b", "title": "Say", "format": "`+format+`", "config": {
		"options": [{"id": "a", "label": "First"}, {"label": "Second"}, {"id": "c", "label": "Third"}],
		"fields": [{"label": "Name", "key": "name"}, {"label": "Size", "key": "size", "type": "select", "options": [{"id": "s", "label": "Small"}, {"id": "l", "label": "Large"}]},
			{"label": "With", "key": "with", "type": "checkbox", "options": [{"id": "x", "label": "Milk"}, {"id": "y", "label": "Sugar"}, {"id": "z", "label": "Ice"}]}],
		"slots": ["Monday at nine", {"id": "tue", "label": "Tuesday at ten"}], "document": {"title": "Terms", "blocks": [{"type": "paragraph", "text": "Read me."}]}}}`), &b)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBlocksAreAnsweredAndComeBack reads what a form of each format sends, and finds the
// same in the form again when it was saved.
func TestBlocksAreAnsweredAndComeBack(t *testing.T) {
	now := time.Date(2026, 11, 30, 18, 20, 0, 0, time.UTC)
	for _, c := range []struct{ format, typed, want string }{
		{"short_answer", "har_2=two+chairs", `"two chairs"`},
		{"written_response", "har_2=a%0Ab", `"a\nb"`},
		{"date_time", "har_2=2026-12-04T20:30", `"2026-12-04T20:30"`},
		{"location", "har_2=Lisbon", `"Lisbon"`},
		{"code_reference", "har_2=abc", `"abc"`},
		{"single_choice", "har_2=1&har_2.other=", `{"choice":"Second","other_text":""}`},
		{"single_choice", "har_2=other&har_2.other=none", `{"choice":"other","other_text":"none"}`},
		{"multiple_choice", "har_2=0&har_2=2&har_2.other=", `{"choices":["a","c"],"other_text":""}`},
		{"rank", "har_2.0=2&har_2.1=1&har_2.2=3", `{"order":["Second","a","c"]}`},
		{"structured_form", "har_2.0=Ana&har_2.1=1&har_2.2=0&har_2.2=2", `{"name":"Ana","size":"l","with":["x","z"]}`},
		{"confirm_correct", "har_2=no&har_2.note=the+date", `{"confirmed":false,"correction":"the date"}`},
		{"confirm_correct", "har_2=yes&har_2.note=", `{"confirmed":true,"correction":""}`},
		{"agreement", "har_2=yes", `{"agreed":true}`},
		{"review_approve", "har_2=yes", `{"read_confirmed":true,"verdict":"approve"}`},
		{"signature", "har_2=Ana+Vale", `{"signed_at":"2026-11-30T18:20:00Z","signed_name":"Ana Vale"}`},
		{"external_link", "har_2=yes&har_2.note=done", `{"done":true,"note":"done"}`},
		{"communication", "har_2=yes&har_2.note=", `{"done":true,"note":""}`},
		{"schedule", "har_2=1", `{"slot":"tue"}`},
		{"schedule", "har_2=0", `{"slot":"Monday at nine"}`},
	} {
		b := blockOf(t, c.format)
		f, _ := url.ParseQuery(c.typed)
		v, ok := b.read(f, "approve", now)
		got, _ := json.Marshal(v)
		if !ok || string(got) != c.want {
			t.Errorf("%s, typed %s: %s, want %s", c.format, c.typed, got, c.want)
		}
		back := url.Values{}
		b.restore(got, back)
		if again, ok := b.read(back, "approve", now); !ok {
			t.Errorf("%s: %s comes back as %v", c.format, got, back)
		} else if second, _ := json.Marshal(again); string(second) != c.want {
			t.Errorf("%s: saved %s, then sent %s", c.format, c.want, second)
		}
	}
}

// TestAnEmptyBlockIsNoAnswer leaves it to the operation to say what is missing.
func TestAnEmptyBlockIsNoAnswer(t *testing.T) {
	for format := range controls {
		if v, ok := blockOf(t, format).read(url.Values{"har_2": {""}}, "approve", time.Time{}); ok {
			t.Errorf("an empty %s is read as %v", format, v)
		}
		if v, ok := blockOf(t, format).read(url.Values{"har_2": {"99"}, "har_2.0": {"-1"}}, "approve", time.Time{}); ok && strings.Contains(format, "choice") {
			t.Errorf("a %s takes an option that is not there: %v", format, v)
		}
	}
	if _, ok := blockOf(t, "file_upload").read(url.Values{"har_2": {"x"}}, "approve", time.Time{}); ok {
		t.Error("a block the page cannot draw is answered")
	}
}

func TestEveryViewParses(t *testing.T) {
	if all, err := views(); err != nil || len(all) < 20 {
		t.Fatalf("%d views, %v", len(all), err)
	}
}
