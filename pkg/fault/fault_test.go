package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"guildhall/pkg/fault"
)

func TestEveryKindHasAStatusAndAnUnknownOneIsOurs(t *testing.T) {
	for k := fault.Internal; k <= fault.Busy; k++ {
		if s := k.Status(); s < 400 || s > 599 {
			t.Errorf("kind %d has status %d", k, s)
		}
	}
	if fault.Kind(0).Status() != 500 || fault.Kind(200).Status() != 500 {
		t.Error("a forgotten kind is an internal one")
	}
}

func TestCopiesLeaveTheOriginalAlone(t *testing.T) {
	base := fault.New(fault.Conflict, "taken", "Taken.")
	a := base.With("rej", 1)
	b := a.With("rej", 2).With("docs", "x").At("name").Say("Other.").FixedBy("GET /x")
	if base.Extra != nil || base.Field != "" || base.Message != "Taken." || base.Fix != "" {
		t.Errorf("%+v", base)
	}
	if a.Extra["rej"] != 1 || len(a.Extra) != 1 || b.Extra["rej"] != 2 || b.Field != "name" || b.Message != "Other." || b.Fix != "GET /x" {
		t.Errorf("%+v %+v", a, b)
	}
	if !errors.Is(b, base) || errors.Is(b, fault.New(fault.Gone, "taken", "")) || errors.Is(b, fault.New(fault.Conflict, "other", "")) {
		t.Error("faults are equal by kind and code")
	}
}

func TestAnUnlistedErrorIsInternalAndKeepsItsTextForTheLog(t *testing.T) {
	cause := errors.New("table secret-table is on fire")
	f := fault.From(fmt.Errorf("saving: %w", cause))
	if f.Kind != fault.Internal || strings.Contains(f.Message, "fire") || !errors.Is(f, cause) || !strings.Contains(f.Error(), "fire") {
		t.Errorf("%+v", f)
	}
	if g := fault.From(fmt.Errorf("deeper: %w", fault.BusyNow)); g != fault.BusyNow {
		t.Errorf("a wrapped fault is itself: %+v", g)
	}
}
