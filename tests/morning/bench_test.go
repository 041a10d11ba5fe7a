package morning

import (
	"testing"
	"time"
)

// BenchmarkAHundredThousandMornings fires them for real, over the table in memory, and
// reports what one costs.
func BenchmarkAHundredThousandMornings(b *testing.B) {
	h := newHall(b, people, pieces)
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		cost := h.dawn()
		b.ReportMetric(float64(time.Since(start).Microseconds())/people, "µs/release")
		b.ReportMetric(float64(cost.Commits)/people, "commits/release")
		b.ReportMetric(float64(cost.Gets+cost.Queries)/people, "reads/release")
		b.ReportMetric(float64(cost.WriteUnits)/people, "units/release")
	}
}
