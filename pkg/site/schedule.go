package site

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"time"

	"guildhall/pkg/edge/page"
	"guildhall/pkg/fault"
	"guildhall/pkg/op"
	"guildhall/pkg/text"
)

// schedule is a timed delivery as its person sees it (person.schedule.read).
type schedule struct {
	ID          string     `json:"schedule_id"`
	DealID      string     `json:"deal_id"`
	Handle      string     `json:"agent_handle"`
	Status      string     `json:"status"`
	Badge       *string    `json:"badge"`
	Pieces      int        `json:"pieces_count"`
	Released    int        `json:"released_count"`
	StartsOn    *string    `json:"starts_on"`
	NextOn      *string    `json:"next_on"`
	NextAt      *time.Time `json:"next_at"`
	Channels    []string   `json:"channels"`
	TextOffered bool       `json:"text_offered"`
	Stale       bool       `json:"stale"` // silence approved it
	Days        []day      `json:"days"`
	Controls    []string   `json:"controls"`
}

// day is one day of it.
type day struct {
	Ordinal  int        `json:"ordinal"`
	Title    string     `json:"title"`
	Date     *string    `json:"date"`
	Released bool       `json:"released"`
	Late     bool       `json:"late"`
	SharedAt *time.Time `json:"shared_at"`
	Video    *string    `json:"youtube_id"`
}

// dayCard is the card of a day that has landed.
type dayCard struct {
	Ordinal int     `json:"ordinal"`
	Of      int     `json:"of"`
	Title   string  `json:"title"`
	Date    string  `json:"date"`
	AgentNo string  `json:"agent_registry_no"`
	Handle  string  `json:"agent_handle"`
	Video   *string `json:"youtube_id"`
	Late    bool    `json:"late"`
}

// On tells whether the coming days are announced on a channel.
func (s schedule) On(channel string) bool { return slices.Contains(s.Channels, channel) }

// May tells whether something can be done with it now.
func (s schedule) May(control string) bool { return slices.Contains(s.Controls, control) }

// Path is its page.
func (s schedule) Path() string { return "/deals/" + s.DealID + "/schedule" }

// Left is how many days have not landed.
func (s schedule) Left() int { return s.Pieces - s.Released }

// Count says how many days have landed.
func (s schedule) Count() string {
	return strconv.Itoa(s.Released) + " of " + count(s.Pieces, "day") + " landed so far."
}

// Word says how it stands.
func (s schedule) Word() string { return scheduleWords[s.Status] }

var scheduleWords = map[string]string{"filed": "Waiting for your answer", "delivering": "One day each morning", "paused": "Paused", "stopped": "Stopped",
	"completed": "All days have landed", "voided": "Taken back"}

// schedulePages: what is delivered day by day, each of its days, and the feed they land in.
func (s *site) schedulePages() []*page.Page {
	return []*page.Page{
		{ID: "schedule.read", Path: "/deals/{id}/schedule", Auth: op.Person,
			Calls: []string{"person.schedule.read", "person.schedule.pause", "person.schedule.resume", "person.schedule.stop", "person.schedule.channels"},
			Get:   schedulePage, Forms: forms{"pause": onSchedule("pause"), "resume": onSchedule("resume"), "stop": onSchedule("stop"), "channels": setChannels}},
		{ID: "schedule.day", Path: "/deals/{id}/schedule/days/{ordinal}", Auth: op.Person, Calls: []string{"person.schedule.read", "person.schedule.read-day", "person.schedule.share"},
			Get: s.dayPage, Forms: forms{"share": shareDay}},
		{ID: "feed.read", Path: "/feed", Auth: op.Person, Calls: []string{"person.feed.read", "person.house.read"}, Get: feedPage},
	}
}

func ofDeal(v *page.Visit) map[string]string { return map[string]string{"deal_id": v.Path["id"]} }

func schedulePage(v *page.Visit) (*page.Answer, error) {
	var out schedule
	if err := v.Do("person.schedule.read", page.Call{Path: ofDeal(v), Into: &out}); err != nil {
		return nil, err
	}
	return &page.Answer{View: "schedule", Title: "Day by day from " + out.Handle, Data: out}, nil
}

// onSchedule is a button that needs no words.
func onSchedule(verb string) func(*page.Visit) (*page.Answer, error) {
	return func(v *page.Visit) (*page.Answer, error) {
		if err := v.Do("person.schedule."+verb, page.Call{Path: ofDeal(v), Body: map[string]string{}}); err != nil {
			return nil, err
		}
		return &page.Answer{To: v.At + "?said=saved"}, nil
	}
}

// channelsOf are the ticked channels of a form.
func channelsOf(form url.Values) []string {
	out := []string{}
	for _, ch := range []string{"email", "text"} {
		if form.Get("channel."+ch) != "" {
			out = append(out, ch)
		}
	}
	return out
}

func setChannels(v *page.Visit) (*page.Answer, error) {
	err := v.Do("person.schedule.channels", page.Call{Path: ofDeal(v), Body: map[string]any{"channels": channelsOf(v.Form)}})
	if err != nil {
		return nil, err
	}
	return &page.Answer{To: v.At + "?said=saved"}, nil
}

// dayView is the page of a day.
type dayView struct {
	DealID   string    `json:"deal_id"`
	Card     *dayCard  `json:"card"`
	Ordinal  int       `json:"ordinal"`
	Title    string    `json:"title"`
	Document *document `json:"document"`

	Of       schedule   `json:"-"`
	Sealed   bool       `json:"-"`
	When     string     `json:"-"` // the morning a sealed day comes
	SharedAt *time.Time `json:"-"`
	// Before and After are the days beside it that can be read, 0 for none.
	Before int `json:"-"`
	After  int `json:"-"`
}

func onDay(v *page.Visit) map[string]string {
	return map[string]string{"deal_id": v.Path["id"], "ordinal": v.Path["ordinal"]}
}

// dayPage shows a day, or when a sealed one comes.
func (s *site) dayPage(v *page.Visit) (*page.Answer, error) {
	var of schedule
	if err := v.Do("person.schedule.read", page.Call{Path: ofDeal(v), Into: &of}); err != nil {
		return nil, err
	}
	out := dayView{}
	err := v.Do("person.schedule.read-day", page.Call{Path: onDay(v), Into: &out})
	n := number(v.Path["ordinal"])
	if sealed := err != nil && fault.From(err).Code == "not_released"; err != nil && !sealed || n < 1 || n > len(of.Days) {
		return nil, cmp.Or(err, error(fault.BareNotFound))
	}
	line := of.Days[n-1]
	if err != nil {
		out = dayView{DealID: of.DealID, Ordinal: line.Ordinal, Title: line.Title, Sealed: true, When: of.comes(line)}
	}
	out.Of, out.SharedAt = of, line.SharedAt
	if readable := of.readable(); n <= readable+1 {
		out.Before = n - 1
		if n < readable {
			out.After = n + 1
		}
	}
	return &page.Answer{View: "day", Title: "Day " + strconv.Itoa(out.Ordinal) + ": " + text.AfterDay(out.Ordinal, out.Title), Data: out}, nil
}

// readable is how many days can be read: before the approval all of them.
func (s schedule) readable() int {
	if s.Status == "filed" {
		return s.Pieces
	}
	return s.Released
}

// comes says when a sealed day lands.
func (s schedule) comes(d day) string {
	switch {
	case d.Date != nil:
		return "It lands on " + date(d.Date) + ", at six in the morning where you live."
	case s.Status == "paused":
		return "You paused this delivery: it has no date until you go on."
	}
	return "This delivery is over, so it never comes."
}

func shareDay(v *page.Visit) (*page.Answer, error) {
	if err := v.Do("person.schedule.share", page.Call{Path: onDay(v), Body: map[string]string{}}); err != nil {
		return nil, err
	}
	return &page.Answer{To: v.At + "?said=shared"}, nil
}

// feedView is the person's feed, and the newest days of its House.
type feedView struct {
	Feed []struct {
		Subject string    `json:"subject"`
		Body    string    `json:"body"`
		Link    *string   `json:"link"`
		Day     *dayCard  `json:"day"`
		At      time.Time `json:"at"`
	} `json:"feed"`
	Next  *string `json:"next_cursor"`
	Older bool    // not its beginning
	House *string
	Days  []houseDay
}

type houseDay struct {
	Card     dayCard   `json:"card"`
	SharedAt time.Time `json:"shared_at"`
}

func feedPage(v *page.Visit) (*page.Answer, error) {
	var out feedView
	q := url.Values{}
	if after := v.Query.Get("after"); after != "" {
		q.Set("after", after)
	}
	if err := v.Do("person.feed.read", page.Call{Query: q, Into: &out}); err != nil {
		return nil, err
	}
	if out.Older = len(q) > 0; !out.Older {
		var in struct {
			House *string    `json:"house"`
			Days  []houseDay `json:"days"`
		}
		if err := v.Do("person.house.read", page.Call{Into: &in}); err != nil {
			return nil, err
		}
		out.House, out.Days = in.House, in.Days
	}
	return &page.Answer{View: "feed", Title: "Your feed", Data: out}, nil
}
