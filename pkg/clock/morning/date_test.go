package morning_test

import (
	"encoding/json"
	"testing"
	"time"

	. "guildhall/pkg/clock/morning"
)

func TestADateIsReadStrictly(t *testing.T) {
	for _, s := range []string{"2026-11-30", "2024-02-29", "0001-01-01", "9999-12-31", "2000-02-29"} {
		d, err := ParseDate(s)
		if err != nil || d.String() != s || !d.Valid() {
			t.Errorf("%q is read as %v: %v", s, d, err)
		}
	}
	for _, s := range []string{"", "2026-11-31", "2025-02-29", "1900-02-29", "0000-01-01", "2026-1-01", "2026-01-1", "26-01-01",
		" 2026-01-01", "2026-01-01 ", "2026-01-01T00:00:00Z", "2026/01/01", "+2026-01-01", "-001-01-01", "10000-01-01",
		"2026-13-01", "2026-00-10", "2026-01-00", "２０２６-01-01", "tomorrow", "2026-01-0x"} {
		if d, err := ParseDate(s); err == nil {
			t.Errorf("%q is read as %v", s, d)
		}
	}
}

func TestADateIsTextInJSON(t *testing.T) {
	type in struct {
		D Date `json:"d,omitzero"`
	}
	var v in
	if err := json.Unmarshal([]byte(`{"d":"2026-12-01"}`), &v); err != nil || v.D != (Date{2026, 12, 1}) {
		t.Errorf("read as %v: %v", v, err)
	}
	if b, err := json.Marshal(v); err != nil || string(b) != `{"d":"2026-12-01"}` {
		t.Errorf("written as %s: %v", b, err)
	}
	if b, err := json.Marshal(in{}); err != nil || string(b) != `{}` {
		t.Errorf("no date is written as %s: %v", b, err)
	}
	if b, err := json.Marshal(Date{2026, 2, 30}); err == nil {
		t.Errorf("30 February is written as %s", b)
	}
	for _, s := range []string{`{"d":""}`, `{"d":20261201}`, `{"d":"2026-12-01T00:00:00Z"}`, `{"d":{"Year":2026,"Month":12,"Day":1}}`, `{"d":["2026-12-01"]}`} {
		v = in{Date{2020, 1, 1}}
		if err := json.Unmarshal([]byte(s), &v); err == nil || v.D != (Date{2020, 1, 1}) {
			t.Errorf("%s is read as %v: %v", s, v, err)
		}
	}
}

func TestDatesAreCountedAndCompared(t *testing.T) {
	for _, c := range []struct {
		d    Date
		n    int
		want Date
	}{
		{Date{2026, 11, 30}, 1, Date{2026, 12, 1}}, {Date{2026, 12, 31}, 1, Date{2027, 1, 1}}, {Date{2024, 2, 28}, 1, Date{2024, 2, 29}},
		{Date{2025, 2, 28}, 1, Date{2025, 3, 1}}, {Date{2026, 3, 1}, -1, Date{2026, 2, 28}}, {Date{2026, 11, 30}, 365, Date{2027, 11, 30}},
		{Date{2026, 11, 30}, 0, Date{2026, 11, 30}},
	} {
		got := c.d.Add(c.n)
		if got != c.want || got.Sub(c.d) != c.n || got.After(c.d) != (c.n > 0) || number(got)-number(c.d) != int64(c.n) {
			t.Errorf("%v and %d days is %v (%d days), want %v", c.d, c.n, got, got.Sub(c.d), c.want)
		}
	}
	if (Date{}).Valid() || !(Date{}).IsZero() || (Date{2026, 2, 29}).Valid() || (Date{10000, 1, 1}).Valid() {
		t.Error("a date that is none is valid")
	}
}

// TestTomorrowIsThePersons: at one instant there are up to three dates on earth.
func TestTomorrowIsThePersons(t *testing.T) {
	for _, c := range []struct {
		zone, now string
		want      Date
	}{
		{"Pacific/Kiritimati", "2026-11-30T09:59:59Z", Date{2026, 12, 1}}, // still the 30th at UTC+14
		{"Pacific/Kiritimati", "2026-11-30T10:00:00Z", Date{2026, 12, 2}},
		{"Pacific/Pago_Pago", "2026-11-30T10:00:00Z", Date{2026, 11, 30}}, // still the 29th at UTC-11
		{"Pacific/Pago_Pago", "2026-11-30T10:59:59.999Z", Date{2026, 11, 30}},
		{"Pacific/Pago_Pago", "2026-11-30T11:00:00Z", Date{2026, 12, 1}},
		{"UTC", "2026-11-30T10:00:00Z", Date{2026, 12, 1}},
		{"UTC", "2024-02-28T23:59:59Z", Date{2024, 2, 29}},
		{"Pacific/Apia", "2011-12-29T12:00:00Z", Date{2011, 12, 31}}, // the 29th; there is no 30th
		{"America/New_York", "2026-11-01T03:59:59Z", Date{2026, 11, 1}},
		{"America/New_York", "2026-11-01T04:00:00Z", Date{2026, 11, 2}},
	} {
		now, err := time.Parse(time.RFC3339Nano, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := Tomorrow(zone(t, c.zone), now); got != c.want {
			t.Errorf("at %s tomorrow in %s is %v, want %v", c.now, c.zone, got, c.want)
		}
	}
}
