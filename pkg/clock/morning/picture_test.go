package morning_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "guildhall/pkg/clock/morning"
)

var draw = flag.Bool("morning.picture", false, "write docs/mornings.svg")

// pictureFile is docs/mornings.svg.
var pictureFile = filepath.Join("..", "..", "..", "docs", "mornings.svg")

// Measures of the picture, in pixels.
const (
	width     = 980
	nameWidth = 170 // of the zones' names
	plotWidth = 650
	rowHeight = 17
	hourPixel = 5 // an hour in a row
	barTop    = 96
	barHeight = 110
	rowsTop   = barTop + barHeight + 92
	barsYear  = 2026
	quarters  = 96 // of an hour, in a day
	// maxStale is in how many of its lines the picture may differ from what the zone database
	// at hand says: governments change the clock, and a new database follows them.
	maxStale = 12
	maxBytes = 150 << 10 // of the file
)

// absent are dates that a zone has left out.
var absent = [][2]string{{"Pacific/Kwajalein", "1993-08-21"}, {"Pacific/Enderbury", "1994-12-31"}, {"Pacific/Kiritimati", "1994-12-31"},
	{"Pacific/Apia", "2011-12-30"}, {"Pacific/Fakaofo", "2011-12-30"}}

func picture(t testing.TB) string {
	var b strings.Builder
	height := rowsTop + len(hard)*rowHeight + 70
	days := number(Date{lastYear + 1, 1, 1}) - number(Date{firstYear, 1, 1})
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="t d" font-family="sans-serif" font-size="11">
<title id="t">When 06:00 comes, in every time zone</title>
<desc id="d">Above, a histogram: for each quarter of an hour of the UTC day, how many zones have a morning in it in %d. Below, one line for each of %d zones whose calendar is hard, from %d to %d: the line is higher when 06:00 local time comes later in UTC. Summer time makes steps of an hour, in Lord Howe of half an hour, in Troll of two; in Casablanca the step follows the moon; in Kathmandu there is none.</desc>
<style>text{fill:#222}.axis{stroke:#999}.bar{fill:#2b6cb0}.line{fill:none;stroke:#2b6cb0;stroke-width:1.4}.year{stroke:#ddd}.small{fill:#555;font-size:10px}</style>
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="16" y="28" font-size="17" font-weight="bold">When 06:00 comes, in every time zone</text>
<text x="16" y="48">%d zones, %d local dates in each from %d to %d: each has exactly one morning, never before 06:00.</text>
`, width, height, barsYear, len(hard), firstYear, lastYear, len(names()), days, firstYear, lastYear)
	bars(t, &b)
	rows(t, &b)
	y := rowsTop + len(hard)*rowHeight + 34
	var list []string
	for _, a := range absent {
		if _, ok := Morning(zone(t, a[0]), date(t, a[1])); !ok {
			list = append(list, a[0]+" "+a[1])
		}
	}
	fmt.Fprintf(&b, "<text x=\"16\" y=\"%d\">Earlier, some zones left out a local date; it has no morning:</text>\n<text class=\"small\" x=\"16\" y=\"%d\">%s.</text>\n</svg>\n",
		y, y+16, strings.Join(list, ", "))
	return b.String()
}

// bars is the histogram of one year: a zone counts in every quarter in which it has a morning.
func bars(t testing.TB, b *strings.Builder) {
	var count [quarters]int
	for _, name := range names() {
		var seen [quarters]bool
		loc := zone(t, name)
		for d := (Date{barsYear, 1, 1}); d.Year == barsYear; d = d.Add(1) {
			if at, ok := Morning(loc, d); ok {
				seen[at.Unix()%day/(15*minute)] = true
			}
		}
		for q := range seen {
			if seen[q] {
				count[q]++
			}
		}
	}
	top := slices.Max(count[:])
	x := func(q int) float64 { return nameWidth + float64(q)*plotWidth/quarters }
	fmt.Fprintf(b, "<text x=\"16\" y=\"%d\" font-weight=\"bold\">UTC time of the morning, %d</text>\n", barTop-18, barsYear)
	fmt.Fprintf(b, "<text class=\"small\" x=\"16\" y=\"%d\">zones per quarter of an hour</text>\n<text class=\"small\" x=\"16\" y=\"%d\">the highest: %d</text>\n", barTop+10, barTop+26, top)
	for q, n := range count {
		if n > 0 {
			h := max(1.5, float64(n*barHeight)/float64(top))
			fmt.Fprintf(b, "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%02d:%02d UTC: %d zones</title></rect>\n",
				x(q)+0.7, barTop+barHeight-h, plotWidth/float64(quarters)-1.4, h, q/4, q%4*15, n)
		}
	}
	fmt.Fprintf(b, "<path class=\"axis\" d=\"M%d %dh%d\"/>\n", nameWidth, barTop+barHeight, plotWidth)
	for h := 0; h <= 24; h += 3 {
		fmt.Fprintf(b, "<text class=\"small\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%02d:00</text>\n", x(h*4), barTop+barHeight+15, h)
	}
}

// rows draws one line of text for each hard zone.
func rows(t testing.TB, b *strings.Builder) {
	first := number(Date{firstYear, 1, 1})
	scale := plotWidth / float64(number(Date{lastYear + 1, 1, 1})-first)
	bottom := rowsTop + len(hard)*rowHeight
	fmt.Fprintf(b, "<text x=\"16\" y=\"%d\" font-weight=\"bold\">%d hard zones, day by day</text>\n", rowsTop-30, len(hard))
	fmt.Fprintf(b, "<text class=\"small\" x=\"%d\" y=\"%d\">06:00 in UTC</text>\n", nameWidth+plotWidth+10, rowsTop-8)
	for y := firstYear; y <= lastYear; y++ {
		x := nameWidth + float64(number(Date{y, 1, 1})-first)*scale
		fmt.Fprintf(b, "<path class=\"year\" d=\"M%.1f %dV%d\"/><text class=\"small\" x=\"%.1f\" y=\"%d\">%d</text>\n", x, rowsTop, bottom, x+2, rowsTop-8, y)
	}
	for i, name := range hard {
		path, times := line(t, name, rowsTop+i*rowHeight+rowHeight/2, scale)
		fmt.Fprintf(b, "<g><title>%s: %s UTC</title><text x=\"16\" y=\"%d\">%s</text><path class=\"line\" d=\"%s\"/><text class=\"small\" x=\"%d\" y=\"%d\">%s</text></g>\n",
			name, times, rowsTop+i*rowHeight+12, name, path, nameWidth+plotWidth+10, rowsTop+i*rowHeight+12, times)
	}
}

// line draws the UTC time of every morning of a zone, and lists the times it comes at.
func line(t testing.TB, name string, middle int, scale float64) (path, times string) {
	loc, first := zone(t, name), Date{firstYear, 1, 1}
	// utc is the morning in hours from the UTC midnight of its date: it goes below zero.
	utc := func(d Date) float64 {
		at, ok := Morning(loc, d)
		if !ok {
			t.Fatalf("%s has no morning on %v", name, d)
		}
		return float64(at.Unix()-number(d)*day) / hour
	}
	var all []float64
	var moves strings.Builder
	last, low, high := utc(first), utc(first), utc(first)
	type step struct{ x, to float64 }
	var steps []step
	for d := first; d.Year <= lastYear; d = d.Add(1) {
		u := utc(d)
		if u != last {
			steps = append(steps, step{nameWidth + float64(d.Sub(first))*scale, u})
		}
		last, low, high = u, min(low, u), max(high, u)
		if !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	y := func(u float64) float64 { return float64(middle) - (u-(low+high)/2)*hourPixel }
	fmt.Fprintf(&moves, "M%d %.1f", nameWidth, y(utc(first)))
	for _, s := range steps {
		fmt.Fprintf(&moves, "H%.1fV%.1f", s.x, y(s.to))
	}
	fmt.Fprintf(&moves, "H%d", nameWidth+plotWidth)
	slices.Sort(all)
	var words []string
	for _, u := range all {
		minutes := (int(u*60) + 24*60) % (24 * 60)
		words = append(words, fmt.Sprintf("%02d:%02d", minutes/60, minutes%60))
	}
	return moves.String(), strings.Join(words, ", ")
}

func TestThePictureOfTheMorningsIsNotStale(t *testing.T) {
	want := picture(t)
	if *draw {
		if err := os.WriteFile(pictureFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(pictureFile)
	if err != nil {
		t.Fatal(err)
	}
	have := strings.Split(string(got), "\n")
	stale := 0
	for i, l := range strings.Split(want, "\n") {
		if i >= len(have) || have[i] != l && !slices.Contains(have, l) {
			stale++
		}
	}
	if lines := strings.Count(want, "\n"); stale > maxStale || len(have) > lines+1+maxStale {
		t.Errorf("%d of %d lines differ: go test ./pkg/clock/morning -run Picture -morning.picture", stale, lines)
	}
	if strings.Contains(want, "NaN") || len(want) > maxBytes {
		t.Errorf("a picture of %d bytes", len(want))
	}
}
