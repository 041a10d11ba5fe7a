package money

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"guildhall/pkg/op"
	"guildhall/pkg/op/optest"
)

func TestAnAccountNeverLosesOrMakesACent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Account
		for range rapid.IntRange(1, 40).Draw(t, "moves") {
			before, n := a, rapid.Int64Range(-50, 1000).Draw(t, "cents")
			var err error
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				err = a.Fund(n)
			case 1:
				err = a.Release(n)
			default:
				err = a.Return(n)
			}
			if bad := a.Check(); bad != nil {
				t.Fatal(bad)
			}
			if err != nil && a != before {
				t.Fatalf("a refused booking changed %+v to %+v", before, a)
			}
			if err == nil && n < 0 {
				t.Fatalf("%d cents were booked", n)
			}
		}
	})
}

func TestALineIsBookedOnceForEver(t *testing.T) {
	x := optest.New(t)
	l := Line{Kind: Release, DealID: "deal", AgentID: "agent", StepID: "step", Cents: 100, Cause: "person", At: x.Now()}
	book := func() error {
		return x.Engine.Run(t.Context(), x.Now(), "bench", func(c *op.Call) error { Book(c, l, true); return nil })
	}
	if err := book(); err != nil {
		t.Fatal(err)
	}
	l.At = l.At.Add(time.Hour)
	if err := book(); err == nil {
		t.Fatal("a step was released twice")
	}
	x.Run("bench", func(c *op.Call) error {
		b, err := BalanceOf(c, "agent")
		if b.Released != 100 || b.Pending != 100 {
			t.Fatalf("%+v", b)
		}
		lines, next, err2 := OfAgent(c, "agent", "")
		if err2 != nil || next != "" || len(lines) != 1 || lines[0].State != Intended {
			t.Fatalf("%v %v %+v", err2, next, lines)
		}
		return err
	})
}

func TestKeysNameTheirLines(t *testing.T) {
	if d, s, ok := parseRelease("release:d1:s1"); !ok || d != "d1" || s != "s1" {
		t.Fatal(d, s, ok)
	}
	for _, bad := range []string{"", "release:", "release:d1", "return:d1", "x:d1:s1"} {
		if _, _, ok := parseRelease(bad); ok && bad != "release:" {
			t.Errorf("%q names a release", bad)
		}
	}
	if d, k, s, ok := parseRetry(retrySubject("d1", Return, "")); !ok || d != "d1" || k != Return || s != "" {
		t.Fatal(d, k, s, ok)
	}
	if p, ok := orphanSubject(orphanPrefix + "pi_1"); !ok || p != "pi_1" {
		t.Fatal(p, ok)
	}
	if pause(1) != time.Hour || pause(3) != 4*time.Hour || pause(50) != longestPause {
		t.Fatal(pause(1), pause(3), pause(50))
	}
}
